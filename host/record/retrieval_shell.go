package record

import "strings"

// splitCommand splits a command line into words as a POSIX shell does, if that needs nothing but quotes, backslashes and white
// space. It returns false for anything that a shell would expand, redirect, chain or comment out, and for a line without words.
func splitCommand(line string) (words []string, ok bool) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case '"':
			end, ok := doubleQuoted(&word, line, i+1)
			if !ok {
				return nil, false
			}
			i = end
		case '\\':
			i++
			if i == len(line) || strings.IndexByte("\r\n\x00", line[i]) >= 0 {
				return nil, false
			}
			word.WriteByte(line[i])
		case '#':
			if !inWord {
				return nil, false
			}
			word.WriteByte(c)
		default:
			if strings.IndexByte(";|&<>()$`*?[]{}\r\n\v\f\x00", c) >= 0 {
				return nil, false
			}
			word.WriteByte(c)
		}
		inWord = true
		if len(words) >= maxCommandWords {
			return nil, false
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	if strings.IndexByte(line, 0) >= 0 {
		return nil, false
	}
	return words, len(words) > 0
}

// doubleQuoted reads from behind a double quote to the closing one and returns its position. A backslash escapes only " \ $ ` there
// and is an ordinary character before any other.
func doubleQuoted(word *strings.Builder, line string, at int) (end int, ok bool) {
	for ; at < len(line); at++ {
		switch c := line[at]; c {
		case '"':
			return at, true
		case '$', '`':
			return 0, false
		case '\\':
			if at+1 == len(line) || line[at+1] == '\n' {
				return 0, false
			}
			if strings.IndexByte("\"\\$`", line[at+1]) >= 0 {
				at++
				c = line[at]
			}
			word.WriteByte(c)
		default:
			word.WriteByte(c)
		}
	}
	return 0, false
}
