package search

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
)

const (
	snippetGraphemes = 320
	snippetBytes     = 16 << 10
)

// snippet returns the whole text when it is short, else a window of at most most grapheme clusters centred on the match (the subject),
// moved inwards at the ends, that begins and ends with whole words. A window of more than 16 KiB shrinks around the match; when not even
// the match fits, the snippet is empty. cut tells that something was left out. Only the neighbourhood of the match is segmented, so a
// text of many megabytes costs one scan for the match.
func snippet(text []byte, most int, subject func(text []byte) window) (w window, cut bool) {
	if end, n := forward(text, 0, most+1); n <= most && end == len(text) {
		if w = (window{0, len(text)}); len(text) <= snippetBytes {
			return w, false
		}
		return shrink(text, w, subject(text)), true
	}
	m := subject(text)
	if w = tidy(text, centre(text, m, most), m); w.to-w.from <= snippetBytes {
		return w, true
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

// How many bytes of a window may go so that it begins and ends where words do.
const (
	tidyStart = 48
	tidyEnd   = 24
)

// tidy moves the borders of a window inwards, best behind a line break (also an escaped one), else behind a blank, else between words;
// never into the match. The end of a line of JSON before the match is no context for people and goes as a whole.
func tidy(text []byte, w, m window) window {
	if i := bytes.IndexByte(text[w.from:max(w.from, m.from)], '\n'); i >= 0 && w.from > 0 && isJSON(text, w.from) {
		w.from += i + 1
	}
	best := 0
	for at, from := w.from, w.from; from > 0 && at <= min(from+tidyStart, m.from) && best < 3; at++ {
		if rank := beginning(text, at); rank > best {
			best, w.from = rank, at
		}
	}
	for at := w.to; at < len(text) && at >= max(w.to-tidyEnd, m.to, w.from+1); at-- {
		if ending(text, at) {
			w.to = at
			break
		}
	}
	return w
}

// beginning tells how good a place is to begin at: behind a line break 3, behind a blank 2, at the first letter of a word 1, else 0.
func beginning(text []byte, at int) int {
	if at == 0 || at == len(text) {
		return 0
	}
	before := text[at-1]
	first, _ := utf8.DecodeRune(text[at:])
	escape := at > 1 && text[at-2] == '\\'
	switch {
	case !alone(first):
		return 0
	case before == '\n' && first != '\n', before == 'n' && escape && first != '\\':
		return 3
	case before == ' ' && first != ' ', before == '\t':
		return 2
	case before < utf8.RuneSelf && !inWord(before) && before != '\\' && (unicode.IsLetter(first) || unicode.IsNumber(first)):
		return 1
	}
	return 0
}

// ending tells whether a word, an escape or a sign ends at a place.
func ending(text []byte, at int) bool {
	before := text[at-1]
	first, _ := utf8.DecodeRune(text[at:])
	if !alone(first) || before <= ' ' || before == '\\' {
		return false
	}
	return first == '\\' || !inWord(before) || !inWord(text[at])
}

// inWord takes every character beyond ASCII for a letter.
func inWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= utf8.RuneSelf
}

// shrink keeps as many clusters around the match as fit the byte bound, evenly on both sides.
func shrink(text []byte, w, m window) window {
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
		return window{}
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
	return window{borders[left], borders[right]}
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

// subject finds what a snippet is about: what the conditions of the query ask for; else the longest alternative that occurs in the text
// as it was written, of equally long ones the earliest; else the place with most of its words. Nothing found is the empty range at the start.
func (r *run) subject(text []byte) window {
	for _, rd := range r.said.readings {
		if rd.tests == nil {
			continue
		}
		if w, ok := rd.tests.window(text); ok {
			return w
		}
	}
	if w, ok := fold(text).longest(r.said.needles); ok {
		return w
	}
	return densest(text, r.termSet, r.snippet*3/4)
}

// densest finds the stretch of at most reach bytes that holds most different words; of equal ones the shortest, then the first.
func densest(text []byte, words map[string]int, reach int) window {
	type place struct{ start, end, word int }
	var places []place // of the stretch
	inside := map[int]int{}
	var best window
	most := 0
	lexical.EachSpan(text, func(token []byte, start, end int) bool {
		word, ok := words[string(token)]
		if !ok {
			return true
		}
		places = append(places, place{start, end, word})
		inside[word]++
		for first := places[0]; end-first.start > reach || inside[first.word] > 1; first = places[0] {
			if inside[first.word]--; inside[first.word] == 0 {
				delete(inside, first.word)
			}
			if places = places[1:]; len(places) == 0 {
				return true
			}
		}
		w := window{places[0].start, end}
		if len(inside) > most || len(inside) == most && w.to-w.from < best.to-best.from {
			most, best = len(inside), w
		}
		return true
	})
	return best
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
