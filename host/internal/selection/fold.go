package selection

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold prepares a path or a part of one for comparison: full lower case, character by character and without locale, and '\' as '/'.
func Fold(value string) []byte { return appendFolded(nil, []byte(value)) }

// AppendLower appends the lower case of c as the tokenizer defines it: Unicode's own mapping, and i with a dot above for U+0130.
func AppendLower(dst []byte, c rune) []byte {
	if c == 'İ' {
		return append(dst, "i̇"...)
	}
	return utf8.AppendRune(dst, unicode.ToLower(c))
}

func appendFolded(dst, value []byte) []byte {
	for i := 0; i < len(value); {
		c := value[i]
		switch {
		case c == '\\':
			dst = append(dst, '/')
			i++
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c+'a'-'A')
			i++
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(value[i:])
			dst = AppendLower(dst, r)
			i += n
		}
	}
	return dst
}

func contains(value, needle []byte) bool {
	var stack [256]byte
	return bytes.Contains(appendFolded(stack[:0], value), needle)
}

// foldDirectory is Fold without trailing separators, so that a directory matches with and without them.
func foldDirectory(value string) []byte { return bytes.TrimRight(Fold(value), "/") }

const maxLabel = 200

// encodeLabel writes a directory the way agents name their project folders: every character that is no ASCII letter or digit
// becomes '-'. Runs of '-' count as one, because agents disagree about them.
func encodeLabel(value string) string {
	var b strings.Builder
	n := 0
	for _, c := range value {
		if n == maxLabel {
			break
		}
		if !isLabelChar(c) {
			c = '-'
		}
		b.WriteRune(unicode.ToLower(c))
		n++
	}
	return strings.Trim(collapse(b.String()), "-")
}

// foldLabel prepares a stored label for comparison with an encoded directory.
func foldLabel(label string) string {
	return strings.TrimLeft(collapse(strings.ToLower(label)), "-")
}

func isLabelChar(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func collapse(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '-' && i > 0 && s[i-1] == '-' {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
