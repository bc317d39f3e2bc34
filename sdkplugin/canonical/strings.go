package canonical

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// shortEscape holds the letter behind the backslash of control characters that have a short escape.
var shortEscape = [0x20]byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

const lowerHex = "0123456789abcdef"

// AppendString appends the canonical literal of s, quotes included, and returns the extended slice. s should be UTF-8; its
// bytes are copied as they are.
func AppendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for {
		at := plain(s, from)
		dst = append(dst, s[from:at]...)
		if at == len(s) {
			return append(dst, '"')
		}
		switch c := s[at]; {
		case c >= 0x20:
			dst = append(dst, '\\', c)
		case shortEscape[c] != 0:
			dst = append(dst, '\\', shortEscape[c])
		default:
			dst = append(dst, '\\', 'u', '0', '0', '0'+c>>4, lowerHex[c&15])
		}
		from = at + 1
	}
}

// QuotedLen returns the length of AppendString(nil, s) without building it.
func QuotedLen(s []byte) int {
	n, from := len(s)+2, 0
	for {
		at := plain(s, from)
		if at == len(s) {
			return n
		}
		if c := s[at]; c >= 0x20 || shortEscape[c] != 0 {
			n++
		} else {
			n += 5
		}
		from = at + 1
	}
}

// Unquote appends the decoded form of exactly one string literal, quotes included, and returns the extended slice. A
// *SyntaxError says that literal is something else; dst is then returned unchanged.
func Unquote(dst, literal []byte) ([]byte, error) {
	if len(literal) < 2 || literal[0] != '"' {
		return dst, &SyntaxError{Code: Malformed, Reason: "not a string literal"}
	}
	end, escaped, _ := scanString(literal, 1)
	switch {
	case end < 0:
		code := stringFault(literal, ^end)
		return dst, &SyntaxError{Code: code, Offset: ^end, Reason: reasons[code]}
	case end != len(literal):
		return dst, &SyntaxError{Code: Trailing, Offset: end, Reason: reasons[Trailing]}
	case !escaped:
		return append(dst, literal[1:end-1]...), nil
	}
	return appendDecoded(dst, literal[1:end-1]), nil
}

// appendDecoded decodes the inside of a literal that scanString accepted.
func appendDecoded(dst, body []byte) []byte {
	for {
		at := bytes.IndexByte(body, '\\')
		if at < 0 {
			return append(dst, body...)
		}
		dst = append(dst, body[:at]...)
		if c := body[at+1]; c != 'u' {
			dst = append(dst, unescaped[c])
			body = body[at+2:]
			continue
		}
		r, used := decodeHex(body[at:])
		dst = utf8.AppendRune(dst, r)
		body = body[at+used:]
	}
}

// decodeHex decodes the \u escape, or the pair of them, at the start of body. A surrogate without its partner is U+FFFD; the
// escape behind it is not consumed.
func decodeHex(body []byte) (r rune, used int) {
	r = hex4(body, 2)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(body) >= 12 && body[6] == '\\' && body[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(body, 8)); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}
