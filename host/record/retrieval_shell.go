package record

import (
	"regexp"
	"strings"
	"sync"
)

// pattern compiles an expression when it is first needed: every process starts with this package, few meet an answer of ctx.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// shellPiece is what a command line may be made of: blanks, a piece in single or double quotes, an escaped character, plain text.
// Whatever a shell would expand, redirect, chain or comment out is none of them.
var shellPiece = pattern(`^(?:([ \t]+)|'([^']*)'|"((?:[^"\\$` + "`" + `]|\\[^\n])*)"|\\([^\r\n])|([^ \t'"\\;|&<>()$` + "`" + `*?\[\]{}\r\n\v\f]+))`)

// escapedInQuotes are the characters that a backslash escapes inside double quotes; it is an ordinary character before any other.
var escapedInQuotes = pattern(`\\(["\\$` + "`])")

// splitCommand splits a command line into words as a POSIX shell does, if that needs nothing but quotes, backslashes and white
// space. It returns false for anything else and for a line without words.
func splitCommand(line string) (words []string, ok bool) {
	var word []byte
	inWord := false
	for rest := line + " "; rest != ""; {
		m := shellPiece().FindStringSubmatch(rest)
		if m == nil || !inWord && m[0][0] == '#' || len(words) > maxCommandWords {
			return nil, false
		}
		rest = rest[len(m[0]):]
		if m[1] == "" {
			word = append(append(append(word, m[2]...), escapedInQuotes().ReplaceAllString(m[3], "$1")...), m[4]...)
			word = append(word, m[5]...)
			inWord = true
		} else if inWord {
			words = append(words, string(word))
			word, inWord = word[:0], false
		}
	}
	ok = len(words) > 0 && len(words) <= maxCommandWords && strings.IndexByte(line, 0) < 0
	return words, ok
}
