package record

import (
	"bytes"
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Projection is the search text of an event: its parts, empty ones left out, joined with LF in the order body, structured content,
// protocol, server, tool, arguments, result status, result text, structured result, facts. Call ids, times, durations and capture
// states are no part of it. Text[:Body] is the body.
//
// Every value is given once. Pieces of the structured content that the body is made of are replaced by an ellipsis there (a quoted
// piece stands decoded in the body: it is the same value). A captured value that lies in the structured content has been given with
// it. Any other part is left out when an earlier part contains it as a whole, between word borders.
type Projection struct {
	Text []byte
	Body int

	budget int // bytes that may still be searched for repeated parts
}

// containmentBudget bounds the bytes that are searched for repeated parts of one event (thousands of facts beside a body of
// megabytes). Past it parts are simply added, which makes the text longer and loses nothing.
const containmentBudget = 32 << 20

// Fill makes p the projection of e and reuses the memory of p. It is empty for an event that is not discoverable.
func (p *Projection) Fill(e *Event) {
	*p = Projection{Text: p.Text[:0], budget: containmentBudget}
	if !e.Discoverable() {
		return
	}
	p.Text = e.AppendBody(p.Text)
	p.Body = len(p.Text)
	p.structured(e)
	a := e.Activity
	if a == nil {
		return
	}
	if call := a.Invocation; call != nil {
		p.add(stringBytes(call.Protocol))
		p.add(stringBytes(call.Server))
		p.add(stringBytes(call.Tool))
		p.capture(e, &call.Arguments)
	}
	if r := a.Result; r != nil {
		p.add(stringBytes(r.Status))
		p.capture(e, &r.Text)
		p.capture(e, &r.Structured)
	}
	for i := range a.Facts {
		// Many events name their directory twice; to see that here spares a search through all their text.
		value := a.Facts[i].Value
		if !slices.ContainsFunc(a.Facts[:min(i, 8)], func(f Fact) bool { return bytes.Equal(f.Value, value) }) {
			p.add(value)
		}
	}
}

// border starts a new part.
func (p *Projection) border() {
	if len(p.Text) > 0 {
		p.Text = append(p.Text, '\n')
	}
}

func (p *Projection) add(part []byte) {
	if len(part) == 0 || p.has(part) {
		return
	}
	p.border()
	p.Text = append(p.Text, part...)
}

// has tells whether the text so far contains the part between word borders. Without the borders "main" would be found in "remain",
// and the token main would be lost.
func (p *Projection) has(part []byte) bool {
	rest := p.Text
	if len(part) > len(rest) || p.budget < len(rest) {
		return false
	}
	p.budget -= len(rest)
	for at := 0; ; at++ {
		i := bytes.Index(rest[at:], part)
		if i < 0 {
			return false
		}
		at += i
		if wordBorder(rest[:at], part) && wordBorder(part, rest[at+len(part):]) {
			return true
		}
	}
}

// wordBorder tells whether a word ends between before and after: one of the characters there is no part of a word.
func wordBorder(before, after []byte) bool {
	last, _ := utf8.DecodeLastRune(before)
	first, _ := utf8.DecodeRune(after)
	return len(before) == 0 || len(after) == 0 || !inWord(last) || !inWord(first)
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// ellipsis stands in the structured part for what the body has given.
const ellipsis = "…"

// structured adds the structured content without the pieces that the body gave.
func (p *Projection) structured(e *Event) {
	if len(e.Structured) == 0 {
		return
	}
	if !e.HasBody || len(e.Body.Spans) == 0 {
		p.add(e.Structured)
		return
	}
	if len(e.Body.Spans) == 1 && int(e.Body.Spans[0].Length) == len(e.Structured) {
		return // the body is the structured content
	}
	p.border()
	spans := e.Body.Spans
	byOffset := func(a, b Span) int { return cmp.Compare(a.Offset, b.Offset) }
	if !slices.IsSortedFunc(spans, byOffset) { // providers nearly always send them in order
		spans = slices.SortedFunc(slices.Values(spans), byOffset)
	}
	at := 0
	for _, span := range spans {
		if int(span.Offset) > at {
			p.Text = append(p.Text, e.Structured[at:span.Offset]...)
		}
		if end := int(span.Offset) + int(span.Length); end > at {
			p.Text = append(p.Text, ellipsis...)
			at = end
		}
	}
	p.Text = append(p.Text, e.Structured[at:]...)
}

// capture adds a captured value. JSON that lies in the structured content was given there, whatever the body took out of it; a
// text that lies there was given decoded if it belongs to the body, else only escaped, so that it is added.
func (p *Projection) capture(e *Event, c *Capture) {
	if c.Status != CapturePresent {
		return
	}
	if len(c.Value.Spans) == 0 {
		p.add(c.Value.Inline)
		return
	}
	for _, span := range c.Value.Spans {
		if span.Quoted && !(e.HasBody && slices.Contains(e.Body.Spans, span)) {
			e.own.buf = e.AppendValue(e.own.buf[:0], c.Value)
			p.add(e.own.buf)
			return
		}
	}
}
