package canonical

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// special marks, in the highest bit of each byte of x, the bytes that end a plain run inside a string: quote, backslash and
// control characters. Only the lowest mark is exact (the subtractions may borrow into higher bytes), and only that is used.
// Looking at eight bytes at once makes string scanning about four times as fast as a byte loop.
func special(x uint64) uint64 {
	quote := x ^ (lowBits * '"')
	slash := x ^ (lowBits * '\\')
	return ((quote - lowBits) | (slash - lowBits) | (x - lowBits*0x20)) &^ x & highBits
}

// plain returns the position of the first quote, backslash or control character at or after pos, or len(s).
func plain(s []byte, pos int) int {
	for pos+8 <= len(s) {
		if m := special(binary.LittleEndian.Uint64(s[pos:])); m != 0 {
			return pos + bits.TrailingZeros64(m)>>3
		}
		pos += 8
	}
	for pos < len(s) {
		if c := s[pos]; c == '"' || c == '\\' || c < 0x20 {
			return pos
		}
		pos++
	}
	return pos
}

// skipSpace returns the position of the first byte at or after pos that is not JSON white space.
func skipSpace(s []byte, pos int) int {
	for pos < len(s) {
		switch s[pos] {
		case ' ', '\t', '\n', '\r':
			pos++
		default:
			return pos
		}
	}
	return pos
}

// invalidUTF8 returns the position of the first byte that is not UTF-8, or -1. Transcripts are ASCII with single other
// characters in between: runs of ASCII are passed 16 bytes at a time wherever they stand.
func invalidUTF8(s []byte) int {
	pos := 0
	for {
		for pos+16 <= len(s) {
			x := binary.LittleEndian.Uint64(s[pos:]) | binary.LittleEndian.Uint64(s[pos+8:])
			if x&highBits != 0 {
				break
			}
			pos += 16
		}
		end := min(pos+16, len(s))
		for pos < end {
			if s[pos] < utf8.RuneSelf {
				pos++
				continue
			}
			r, size := utf8.DecodeRune(s[pos:])
			if r == utf8.RuneError && size == 1 {
				return pos
			}
			pos += size
		}
		if pos >= len(s) {
			return -1
		}
	}
}

// Escape classes of the byte behind a backslash.
const (
	escapeBad   uint8 = iota
	escapeShort       // the form that the writer uses
	escapeLoose       // legal, but the writer would write it otherwise
	escapeHex         // four hexadecimal digits follow
)

var escapeClass = [256]uint8{
	'"': escapeShort, '\\': escapeShort, 'b': escapeShort, 'f': escapeShort, 'n': escapeShort, 'r': escapeShort, 't': escapeShort,
	'/': escapeLoose, 'u': escapeHex,
}

var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// scanString reads a literal whose first inside byte is at pos and returns the position behind its closing quote, whether it
// holds escapes and whether its bytes differ from the canonical literal. A negative end is ^(position of the error).
func scanString(s []byte, pos int) (end int, escaped, loose bool) {
	start, seen := pos, uint64(0) // seen collects the bits of all bytes, so that only wide strings are checked for UTF-8
	for {
		// The loop of plain, repeated here: the call between any two escapes was a fifth of the scanning time.
		for pos+8 <= len(s) {
			x := binary.LittleEndian.Uint64(s[pos:])
			seen |= x
			if m := special(x); m != 0 {
				pos += bits.TrailingZeros64(m) >> 3
				goto found
			}
			pos += 8
		}
		for ; ; pos++ {
			if pos >= len(s) {
				return ^pos, false, false
			}
			c := s[pos]
			seen |= uint64(c)
			if c == '"' || c == '\\' || c < 0x20 {
				break
			}
		}
	found:
		switch s[pos] {
		case '"':
			if seen&highBits != 0 {
				if at := invalidUTF8(s[start:pos]); at >= 0 {
					return ^(start + at), false, false
				}
			}
			return pos + 1, escaped, loose
		case '\\':
			after, odd := scanEscape(s, pos)
			if after < 0 {
				return ^pos, false, false
			}
			escaped, loose = true, loose || odd
			pos = after
		default:
			return ^pos, false, false
		}
	}
}

// scanEscape returns the position behind the escape at pos, or -1, and whether the writer would spell it otherwise.
func scanEscape(s []byte, pos int) (after int, odd bool) {
	if pos+1 >= len(s) {
		return -1, false
	}
	switch escapeClass[s[pos+1]] {
	case escapeShort:
		return pos + 2, false
	case escapeLoose:
		return pos + 2, true
	case escapeHex:
		if r := hex4(s, pos+2); r >= 0 {
			return pos + 6, !canonicalHex(s[pos+2:pos+6], r)
		}
	}
	return -1, false
}

// hex4 returns the value of the four hexadecimal digits at pos, or -1.
func hex4(s []byte, pos int) rune {
	if pos+4 > len(s) {
		return -1
	}
	var r rune
	for _, c := range s[pos : pos+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// canonicalHex tells whether the writer itself would spell the character r with these four digits.
func canonicalHex(digits []byte, r rune) bool {
	if r >= 0x20 || shortEscape[r] != 0 {
		return false
	}
	return digits[3] < 'A' || digits[3] > 'F'
}

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
