// Package texts holds what providers do with texts and times of histories: titles of one line, timestamps, views without a copy.
package texts

import (
	"bytes"
	"math"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// MaxTitle is the longest title in characters.
const MaxTitle = 200

// OneLine returns a text as a title: white space collapsed, trimmed, cut to MaxTitle characters.
func OneLine(text []byte) string {
	var out []rune
	for word := range bytes.FieldsSeq(text) {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		for len(word) > 0 && len(out) <= MaxTitle {
			r, size := utf8.DecodeRune(word)
			out, word = append(out, r), word[size:]
		}
		if len(out) > MaxTitle {
			break
		}
	}
	return strings.TrimRight(string(out[:min(len(out), MaxTitle)]), " ")
}

// Blank tells whether a text is empty or white space only.
func Blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// Short returns a text that is not longer than limit bytes, else nothing.
func Short(text []byte, limit int) string {
	if len(text) > limit {
		return ""
	}
	return string(text)
}

// Between returns what stands between the first pair of marks of a text, nil if there is none.
func Between(text []byte, open, close string) []byte {
	_, rest, _ := bytes.Cut(text, []byte(open))
	inside, _, found := bytes.Cut(rest, []byte(close))
	if !found {
		return nil
	}
	return inside
}

// View reads bytes as a string without a copy, for fields that the writer of events copies before it returns.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Epoch reads a number of seconds (from 1e9) or milliseconds (from 1e12) since 1970; what is smaller, or no number, is no time.
func Epoch(v canonical.Value) (ms int64, ok bool) {
	f, ok := v.Float64()
	switch {
	case !ok || f < 1e9 || f >= math.MaxInt64/2:
		return 0, false
	case f < 1e12:
		return int64(math.Floor(f * 1000)), true
	}
	return int64(f), true
}

// ParseTime reads an RFC 3339 time with T, t or a space, and Z or z.
func ParseTime(s []byte) (t time.Time, ok bool) {
	const separator = len("2006-01-02")
	var room [64]byte
	text := append(room[:0], s...)
	if len(text) <= separator {
		return t, false
	}
	if c := text[separator]; c == 't' || c == ' ' {
		text[separator] = 'T'
	}
	if last := len(text) - 1; text[last] == 'z' {
		text[last] = 'Z'
	}
	return t, t.UnmarshalText(text) == nil
}
