package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/agenthistory/ctx/host/internal/selection"
)

const (
	snippetGraphemes = 320
	snippetBytes     = 16 << 10
)

// snippet returns the whole text when it is short, else a window of most grapheme clusters centred on the match (the subject) and moved inwards at
// the ends. A window of more than 16 KiB shrinks around the match; when not even the match fits, the snippet is empty. cut tells that
// something was left out. Only the neighbourhood of the match is segmented, so a text of many megabytes costs one scan for the match.
func snippet(text []byte, most int, subject func(text []byte) window) (s string, cut bool) {
	if end, n := forward(text, 0, most+1); n <= most && end == len(text) {
		if len(text) <= snippetBytes {
			return string(text), false
		}
		return shrink(text, window{0, len(text)}, subject(text)), true
	}
	m := subject(text)
	w := centre(text, m, most)
	if w.to-w.from <= snippetBytes {
		return string(text[w.from:w.to]), true
	}
	return shrink(text, w, m), true
}

// window is a byte range of a text.
type window struct{ from, to int }

// centre returns the window of most clusters around a match. The text has more clusters than that.
func centre(text []byte, m window, most int) window {
	m.from = clusterStart(text, m.from)
	end, width := m.from, 0
	for end < m.to && width < most {
		end, _ = forward(text, end, 1)
		width++
	}
	lead := (most - width) / 2
	tail, after := forward(text, end, most-width)
	if missing := most - width - lead - after; missing > 0 {
		lead += missing
	}
	from, before := backward(text, m.from, lead)
	if after > most-width-before {
		tail, _ = forward(text, end, most-width-before)
	}
	return window{from, tail}
}

// shrink keeps as many clusters around the match as fit the byte bound, evenly on both sides.
func shrink(text []byte, w, m window) string {
	var borders []int // of the clusters of the window
	for at := w.from; at < w.to; {
		borders = append(borders, at)
		at, _ = forward(text, at, 1)
	}
	borders = append(borders, w.to)
	last := len(borders) - 1
	left, _ := slices.BinarySearch(borders[1:], m.from+1) // the cluster that holds the start of the match
	left = min(left, last-1)
	right := left + 1
	for right < last && borders[right] < m.to {
		right++
	}
	if borders[right]-borders[left] > snippetBytes {
		return ""
	}
	for grown := true; grown; {
		grown = false
		if left > 0 && borders[right]-borders[left-1] <= snippetBytes {
			left, grown = left-1, true
		}
		if right < last && borders[right+1]-borders[left] <= snippetBytes {
			right, grown = right+1, true
		}
	}
	return string(text[borders[left]:borders[right]])
}

// forward moves over n clusters from a cluster boundary and returns where it stopped and how many there were.
func forward(text []byte, at, n int) (end, moved int) {
	rest, state := text[at:], -1
	for moved < n && len(rest) > 0 {
		_, rest, _, state = uniseg.FirstGraphemeCluster(rest, state)
		moved++
	}
	return len(text) - len(rest), moved
}

// backward moves over n clusters before a cluster boundary. Clusters can only be found forwards, so it starts at a place further back
// that is a boundary in any case, and goes back more when that was too near.
func backward(text []byte, at, n int) (start, moved int) {
	if n == 0 {
		return at, 0
	}
	for reach := 8 * n; ; reach *= 4 {
		from := certainBoundary(text, max(0, at-reach))
		var starts []int
		rest, state := text[from:at], -1
		for len(rest) > 0 {
			starts = append(starts, at-len(rest))
			_, rest, _, state = uniseg.FirstGraphemeCluster(rest, state)
		}
		if len(starts) >= n {
			return starts[len(starts)-n], n
		}
		if from == 0 {
			return 0, len(starts)
		}
	}
}

// clusterStart returns the start of the cluster that holds the byte at.
func clusterStart(text []byte, at int) int {
	p := certainBoundary(text, max(0, at-1))
	for p < at {
		end, n := forward(text, p, 1)
		if n == 0 || end > at {
			break
		}
		p = end
	}
	return p
}

// certainBoundary returns the last place at or before at where a cluster surely begins: between two characters of which neither ever
// joins a neighbour.
func certainBoundary(text []byte, at int) int {
	for at > 0 {
		for at < len(text) && at > 0 && !utf8.RuneStart(text[at]) {
			at--
		}
		left, size := utf8.DecodeLastRune(text[:at])
		right, _ := utf8.DecodeRune(text[at:])
		if alone(left) && (alone(right) || at == len(text)) && !(left == '\r' && right == '\n') {
			return at
		}
		at -= size
	}
	return 0
}

// alone tells whether a character neither extends a cluster nor is extended by another such character.
func alone(c rune) bool {
	return c < 0x300 || 0x370 <= c && c < 0x483 || 0x48A <= c && c < 0x530 || 0x5D0 <= c && c <= 0x5EA || 0x620 <= c && c <= 0x64A ||
		0xE01 <= c && c <= 0xE30 || 0xE40 <= c && c <= 0xE46 || 0x3041 <= c && c <= 0x3096 || 0x30A0 <= c && c <= 0x30FF ||
		0x4E00 <= c && c <= 0x9FFF || 0xAC00 <= c && c <= 0xD7A3
}

// match finds what the snippet is about: the longest alternative that occurs in the text, else the longest word of one; of equally
// long ones the earliest. Nothing found is the empty range at the start.
func match(text []byte, alternatives []string) window {
	low := fold(text)
	if w, ok := low.longest(alternatives); ok {
		return w
	}
	var words []string
	for _, a := range alternatives {
		words = append(words, strings.FieldsFunc(a, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) })...)
	}
	w, _ := low.longest(words)
	return w
}

// folded is a text in lower case that knows where its bytes come from.
type folded struct {
	low    []byte
	shifts []shift // ascending
}

// shift is a character whose length changed: where it starts and ends in the original, and where it ends in the low text.
type shift struct{ low, start, end int }

func fold(text []byte) *folded {
	f := &folded{low: make([]byte, 0, len(text)+16)}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			f.low = append(f.low, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		before := len(f.low)
		f.low = selection.AppendLower(f.low, r)
		if len(f.low)-before != size {
			f.shifts = append(f.shifts, shift{low: len(f.low), start: i, end: i + size})
		}
		i += size
	}
	return f
}

// original returns where a low offset stands in the original; inside a character that grew, where that starts (or ends).
func (f *folded) original(low int, end bool) int {
	i, _ := slices.BinarySearchFunc(f.shifts, low+1, func(s shift, at int) int { return s.low - at })
	at := low
	if i > 0 { // the last change that ends at or before low
		at = f.shifts[i-1].end + low - f.shifts[i-1].low
	}
	if i < len(f.shifts) && at > f.shifts[i].start {
		if end {
			return f.shifts[i].end
		}
		return f.shifts[i].start
	}
	return at
}

func (f *folded) longest(needles []string) (window, bool) {
	type needle struct {
		low   []byte
		chars int
	}
	var list []needle
	for _, n := range needles {
		low := fold([]byte(n)).low
		if len(low) > 0 {
			list = append(list, needle{low, utf8.RuneCount(low)})
		}
	}
	slices.SortStableFunc(list, func(a, b needle) int { return b.chars - a.chars })
	at, best := -1, needle{}
	for _, n := range list {
		if at >= 0 && n.chars < best.chars {
			break
		}
		if i := bytes.Index(f.low, n.low); i >= 0 && (at < 0 || i < at) {
			at, best = i, n
		}
	}
	if at < 0 {
		return window{}, false
	}
	return window{f.original(at, false), f.original(at+len(best.low), true)}, true
}
