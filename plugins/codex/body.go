package codex

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// The text of an event, and how it is stored: as pieces of the structured content where that holds it.

// textMembers are the members that hold the text of a content, the first one first.
var textMembers = [...]string{"text", "input_text", "output_text", "summary_text", "content"}

// texted returns the first of them that is a string.
func texted(v canonical.Value) canonical.Value {
	for _, key := range textMembers {
		if member := v.Get(key); member.IsString() {
			return member
		}
	}
	return canonical.Value{}
}

// readable collects the texts of a content: a string, the elements of an array, or the first usable member of an object.
func (m *mapper) readable(content canonical.Value) {
	switch content.Kind() {
	case canonical.String:
		m.parts = append(m.parts, content)
	case canonical.Array:
		for element := range content.Elems {
			if text := texted(element); text.Exists() {
				m.parts = append(m.parts, text)
			}
		}
	case canonical.Object:
		for _, key := range textMembers {
			if m.readable(content.Get(key)); !m.emptyParts() {
				return
			}
			m.parts = m.parts[:0]
		}
	}
}

// emptyParts tells whether the collected texts are empty together.
func (m *mapper) emptyParts() bool {
	for _, part := range m.parts {
		if len(part.Str()) > 0 {
			return false
		}
	}
	return true
}

// joined returns the collected texts, joined with LF. One text is not copied.
func (m *mapper) joined() []byte {
	if len(m.parts) == 1 {
		return m.parts[0].Str()
	}
	m.text = m.text[:0]
	for i, part := range m.parts {
		if i > 0 {
			m.text = append(m.text, '\n')
		}
		m.text = part.AppendStr(m.text)
	}
	return m.text
}

func spanOf(mark canonical.Mark, quoted bool) sdkplugin.Span {
	return sdkplugin.Span{Offset: uint32(mark.Start), Length: uint32(mark.End - mark.Start), Quoted: quoted}
}

// store writes the structured content of the draft, unless a key that stands twice makes it ambiguous or it is too long.
func (m *mapper) store(v canonical.Value, marks []canonical.Mark) {
	m.structured = m.structured[:0]
	if m.doubled != 0 {
		return
	}
	m.structured = canonical.AppendMarked(m.structured, v, marks)
	if len(m.structured) <= sdkplugin.MaxEventContent {
		m.ev.Structured = m.structured
	}
}

// whole is the value that the structured content is as a whole.
func (m *mapper) whole() sdkplugin.Value {
	m.wholeSpan = append(m.wholeSpan[:0], sdkplugin.Span{Length: uint32(len(m.ev.Structured))})
	return sdkplugin.Value{Present: true, Spans: m.wholeSpan}
}

// maxSpanParts is how many pieces of the structured content one text may consist of; more travel by themselves.
const maxSpanParts = 64

// storeTexts writes the structured content and makes the collected texts the body, as pieces of it where possible.
func (m *mapper) storeTexts(v canonical.Value) {
	m.marks = m.marks[:0]
	if len(m.parts) <= maxSpanParts {
		for _, part := range m.parts {
			m.marks = append(m.marks, canonical.Mark{Value: part})
		}
	}
	m.store(v, m.marks)
	if len(m.ev.Structured) == 0 || len(m.parts) > maxSpanParts {
		m.ev.Body = sdkplugin.Inline(bytes.Clone(m.joined()))
		return
	}
	m.spans = m.spans[:0]
	for _, mark := range m.marks {
		m.spans = append(m.spans, spanOf(mark, true))
	}
	m.ev.Body = sdkplugin.Value{Present: true, Spans: m.spans}
}
