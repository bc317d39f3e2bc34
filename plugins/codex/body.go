package codex

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
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

// store writes the structured content of the draft, unless a key that stands twice makes it ambiguous or it is too long.
func (m *mapper) store(v canonical.Value, parts ...canonical.Value) {
	if m.doubled != 0 {
		return
	}
	if m.Store(v, parts...); len(m.Event.Structured) > sdkplugin.MaxEventContent {
		m.Event.Structured = nil
	}
}

// storeTexts writes the structured content and makes the collected texts the body, as pieces of it where possible.
func (m *mapper) storeTexts(v canonical.Value) {
	m.store(v, m.parts...)
	if len(m.Event.Structured) == 0 || len(m.parts) > transcript.MaxPieces {
		m.Event.Body = sdkplugin.Inline(m.Join(m.parts))
		return
	}
	m.Event.Body = m.Pieces(m.Marks, true)
}
