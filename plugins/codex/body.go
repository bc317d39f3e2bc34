package codex

import (
	"bytes"

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

// Wrappers: what Codex puts into the user's place, from its opening to its closing tag.
var wrapperTags = []struct{ open, close []byte }{
	tag("environment_context"), tag("user_instructions"), tag("INSTRUCTIONS"), tag("user_shell_command"), tag("turn_aborted"),
	tag("subagent_notification"), tag("skill"), tag("permissions instructions"),
}

var (
	agentsHeading = []byte("# AGENTS.md instructions for ")
	instructions  = tag("INSTRUCTIONS")
)

func tag(name string) struct{ open, close []byte } {
	return struct{ open, close []byte }{[]byte("<" + name + ">"), []byte("</" + name + ">")}
}

// wrapperOnly tells whether a text consists of wrappers and white space only.
func wrapperOnly(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '<' && text[0] != '#' {
		return false
	}
	for len(text) > 0 {
		rest, ok := behindWrapper(text)
		if !ok {
			return false
		}
		text = bytes.TrimSpace(rest)
	}
	return true
}

// behindWrapper returns what follows the wrapper that a text begins with.
func behindWrapper(text []byte) (rest []byte, ok bool) {
	if bytes.HasPrefix(text, agentsHeading) {
		_, block, _ := bytes.Cut(text, []byte("\n"))
		block = bytes.TrimSpace(block)
		if !bytes.HasPrefix(block, instructions.open) {
			return nil, true // the instructions take the rest of the text
		}
		_, rest, _ = bytes.Cut(block, instructions.close)
		return rest, true
	}
	for _, t := range wrapperTags {
		if inside, found := bytes.CutPrefix(text, t.open); found {
			_, rest, found = bytes.Cut(inside, t.close)
			return rest, found
		}
	}
	return nil, false
}
