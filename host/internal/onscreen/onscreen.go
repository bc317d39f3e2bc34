// Package onscreen makes recorded text harmless to look at. What agents recorded may hold sequences that move a cursor, change a
// title or turn the direction of writing; none of them may reach a terminal, or the view of whoever reads an agent's answer.
package onscreen

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape shows control characters and bidirectional formatting as escapes. Line feeds and tabs stay, and a carriage return before a
// line feed is part of the line's end.
func Escape(text string) string {
	if strings.IndexFunc(text, hazardous) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		switch {
		case !hazardous(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Line is Escape on one line: white space is collapsed.
func Line(text string) string { return Escape(strings.Join(strings.Fields(text), " ")) }

// Plain makes foreign text fit for a log or a report: one line of at most so many bytes, with spaces in place of controls.
func Plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// hazardous tells the C0 and C1 controls (but line feed and tab), the separators of lines that terminals do not agree about, and the
// bidirectional formatting characters.
func hazardous(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r) || r == 0x2028 || r == 0x2029:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// Writer hands text on to a terminal. What JSON may hold as it is but a terminal would obey becomes an escape that JSON reads back. The
// other control characters pass: JSON has them escaped, and in text they are this program's own. The text ends with a whole character.
func Writer(terminal io.Writer) io.Writer { return &writer{to: terminal} }

type writer struct {
	to   io.Writer
	rest []byte // the beginning of a character that the next piece ends
}

func (w *writer) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	out := make([]byte, 0, len(text))
	for utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		if text = text[size:]; r >= 0x7f && hazardous(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	w.rest = bytes.Clone(text)
	_, err := w.to.Write(out)
	return len(p), err
}

// Clip is text of at most so many characters, with an ellipsis behind it where there are more.
func Clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// Quote shows somebody's word inside a message: short, on one line, without control characters.
func Quote(text string) string { return strconv.Quote(Clip(text, 80)) }
