package codex

import (
	"bytes"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

const (
	shellTool = "shell"
	mcp       = "mcp"
)

// execTools are the tools that run a command line.
var execTools = []string{"exec", "exec_command", "shell", "bash", "command"}

var roles = map[string]string{
	"user": sdkplugin.RoleUser, "assistant": sdkplugin.RoleAssistant, "developer": sdkplugin.RoleSystem, "system": sdkplugin.RoleSystem,
}

// message maps a message. One that is nothing but wrappers is a notice; its id is that of the message.
func (m *mapper) message() (transcript.Outcome, error) {
	role, known := roles[string(m.payload.Get("role").Str())]
	if !known {
		return transcript.Reject("a message of an unknown role")
	}
	m.walkRecord(false)
	m.parts = m.parts[:0]
	content := m.payload.Get("content")
	if m.readable(content); len(m.parts) == 0 {
		for element := range content.Elems {
			if element.Get("type").StrEquals("input_image") {
				m.store(m.payload)
				m.Event.Type = sdkplugin.Message
				return transcript.Retained, m.give(role, sdkplugin.Message, role)
			}
		}
		return transcript.Reject("a message without text and image")
	}
	m.Event.Type = sdkplugin.Message
	return transcript.Retained, m.giveText(role)
}

// giveText gives the draft of a message with the collected texts as its body.
func (m *mapper) giveText(role string) error {
	native := role
	body := m.Join(m.parts)
	switch {
	case m.emptyParts() && len(body) == 0:
		m.parts = m.parts[:0]
		body = []byte(sdkplugin.Message + " " + role)
		m.store(m.payload)
		m.Event.Body = sdkplugin.Inline(body)
	case role == sdkplugin.RoleUser && wrapperOnly(body):
		m.Event.Type, role = sdkplugin.Notice, sdkplugin.RoleSystem
		fallthrough
	default:
		if m.Event.Type == sdkplugin.Message && role == sdkplugin.RoleUser && m.state.Prompt == "" {
			m.state.Prompt = texts.OneLine(body)
		}
		m.storeTexts(m.payload)
	}
	m.digestText = body
	return m.give(role, sdkplugin.Message, native)
}

// eventMessage gives the text of an event message, in files whose messages come in no other way.
func (m *mapper) eventMessage(role string) (transcript.Outcome, error) {
	text := m.payload.Get("message")
	if m.state.Messages || !text.IsString() {
		return transcript.Outcome{}, nil
	}
	m.state.Fallback = true
	m.walkRecord(false)
	m.Event.Type = sdkplugin.Message
	m.parts = append(m.parts[:0], text)
	return transcript.Retained, m.giveText(role)
}

// reasoning maps the summary of a reasoning.
func (m *mapper) reasoning() (transcript.Outcome, error) {
	m.parts = m.parts[:0]
	summary := m.payload.Get("summary")
	m.readable(summary)
	if m.emptyParts() {
		if m.parts = m.parts[:0]; len(m.payload.Get("summary_text").Str()) > 0 {
			m.parts = append(m.parts, m.payload.Get("summary_text"))
		} else if len(m.payload.Get("encrypted_content").Str()) > 0 {
			return transcript.Outcome{}, nil
		} else {
			return transcript.Reject("a reasoning without text")
		}
	}
	m.walkRecord(false)
	m.Event.Type = sdkplugin.Summary
	m.digestText = m.Join(m.parts)
	m.storeTexts(m.payload)
	return transcript.Retained, m.give(sdkplugin.RoleAssistant, sdkplugin.Summary, sdkplugin.RoleAssistant)
}

// compacted maps the summary that takes the place of earlier history. The history that replaces it is not stored again.
func (m *mapper) compacted() (transcript.Outcome, error) {
	m.parts = m.parts[:0]
	message := m.payload.Get("message")
	if !texts.Blank(message.Str()) {
		m.parts = append(m.parts, message)
	} else if m.readable(m.payload); m.emptyParts() {
		if message.IsString() && m.payload.Get("replacement_history").IsArray() {
			return transcript.Outcome{}, nil
		}
		return transcript.Reject("a compaction without text")
	}
	m.walkRecord(false)
	m.Event.Type = sdkplugin.Summary
	m.digestText = m.Join(m.parts)
	if m.payload.Has("replacement_history") && m.doubled == 0 {
		stored, err := m.without("replacement_history")
		if err != nil {
			return transcript.Outcome{}, err
		}
		m.store(stored)
		m.Event.Body = sdkplugin.Inline(m.digestText)
	} else {
		m.storeTexts(m.payload)
	}
	return transcript.Retained, m.give(sdkplugin.RoleSystem, sdkplugin.Summary, sdkplugin.RoleSystem)
}

// without returns the payload without one member. The text is JSON that this package writes.
func (m *mapper) without(member string) (canonical.Value, error) {
	text := []byte{'{'}
	for key, v := range m.payload.Each {
		if string(key) == member {
			continue
		}
		text = append(append(append(canonical.AppendString(text, key), ':'), v.Raw()...), ',')
	}
	if err := m.inner.Parse(append(bytes.TrimSuffix(text, []byte(",")), '}')); err != nil {
		return canonical.Value{}, err
	}
	return m.inner.Root(), nil
}

// call maps a tool call. args is the member with its arguments. A call whose kind has no name of its own gives no activity.
func (m *mapper) call(argsMember string, name canonical.Value, active bool) (transcript.Outcome, error) {
	m.walkRecord(active)
	args := m.payload.Get(argsMember)
	tool := texts.View(name.Str())
	if m.payload.Get("type").StrEquals("local_shell_call") {
		tool = shellTool
	}
	id := m.payload.Get("call_id").Str()
	ambiguous := m.doubled&(callIDs|toolNames) != 0
	exact := active && !ambiguous && tool != "" && len(id) > 0 && len(id) <= maxNativeID && len(tool) <= sdkplugin.MaxString
	if !exact && !ambiguous {
		m.walk.Restart()
	}
	if (exact || ambiguous && active) && m.doubled&arguments == 0 {
		m.argumentFacts(tool, args)
	}
	m.walk.Settle()
	m.Event.Type = sdkplugin.ToolCall
	m.store(m.payload, args)
	if m.digestText = m.Event.Structured; len(m.digestText) > 0 {
		m.Event.Body = m.Whole()
	} else {
		m.text = canonical.AppendValue(m.text[:0], m.payload)
		m.digestText = m.text
		m.Event.Body = sdkplugin.Inline(m.text)
	}
	if exact {
		m.Call(id, tool, m.arguments(args, 0))
		// It is one of MCP only when the payload itself says so in three members; names are never split.
		if m.doubled&mcpNames == 0 && m.payload.Get("protocol").StrEquals(mcp) {
			m.MCP(m.payload.Get("server").Str(), m.payload.Get("tool").Str())
		}
		m.state.call(id, slices.Contains(execTools, tool) && m.Invocation.Protocol == "")
	}
	return transcript.Retained, m.give(sdkplugin.RoleAssistant, sdkplugin.ToolCall, sdkplugin.RoleAssistant)
}

// arguments captures a value that stands at a mark of the structured content.
func (m *mapper) arguments(args canonical.Value, mark int) sdkplugin.Capture {
	switch {
	case m.doubled&arguments != 0:
		return sdkplugin.Unavailable()
	case !args.Exists():
		return sdkplugin.Capture{}
	case len(m.Event.Structured) == 0:
		return sdkplugin.Present(sdkplugin.Inline(canonical.AppendValue(nil, args)))
	}
	return sdkplugin.Present(m.Piece(mark, false))
}
