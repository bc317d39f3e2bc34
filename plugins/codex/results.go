package codex

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

const mcpEnd = "mcp_tool_call_end"

// terminal maps a record that ends a call. The first one of a call id carries the body; a later one is kept, without a body, only
// when it tells more: an exit code, a duration, an MCP identity or the files it changed.
func (m *mapper) terminal(kind string) (transcript.Outcome, error) {
	if !m.payload.IsObject() {
		return transcript.Outcome{}, nil
	}
	m.walkRecord(true)
	ambiguous := m.doubled&callIDs != 0
	id := m.payload.Get("call_id").Str()
	linked := !ambiguous && len(id) > 0 && len(id) <= maxNativeID
	first, exec := true, false
	if linked {
		first = m.state.terminal(id)
		exec = m.state.finish(id)
	}
	m.Event.Type = sdkplugin.ToolOutput
	if exec && kind != mcpEnd {
		m.Event.Type = sdkplugin.CommandOutput
	}
	more := m.declared(kind)
	if !linked && !ambiguous {
		m.walk.Restart()
	}
	m.walk.Settle()

	invocation := m.payload.Get("invocation")
	output := m.payload.Get("output")
	if !output.Exists() {
		output = m.payload.Get("result")
	}
	m.store(m.payload, output, invocation.Get("arguments"))
	m.resultBody(output)
	if !first && !more {
		m.skip(m.Event.Type)
		return transcript.Outcome{}, nil
	}
	if linked {
		m.SetCallID(id)
		m.conclude(output, exec)
		if kind == mcpEnd {
			m.mcpCall(invocation)
		}
	}
	if !first {
		m.Event.Body = sdkplugin.Value{}
	}
	return transcript.Retained, m.give(sdkplugin.RoleTool, m.Event.Type, sdkplugin.RoleTool)
}

// declared takes what a terminal record declares beyond its output and tells whether there is anything.
func (m *mapper) declared(kind string) (more bool) {
	m.Result = sdkplugin.Result{CompletedAt: m.Event.At}
	if status := m.payload.Get("status").Str(); m.doubled&contents == 0 && len(status) <= sdkplugin.MaxString {
		m.Result.Status = texts.View(status)
	}
	switch kind {
	case "exec_command_end":
		more = m.disposition(m.payload.Get("exit_code"))
		fallthrough
	case "patch_apply_end", mcpEnd:
		m.Result.Duration = duration(m.payload.Get("duration"))
		more = more || m.Result.Duration.Known
	}
	if changes := m.payload.Get("changes"); kind == "patch_apply_end" && changes.IsObject() {
		m.changeFacts(changes)
		more = true
	}
	if kind == mcpEnd {
		_, _, exact := m.mcpNames(m.payload.Get("invocation"))
		more = more || exact
	}
	// A string that holds JSON with the output and what is known about it.
	if text := m.payload.Get("output"); m.doubled&results == 0 && bytes.HasPrefix(text.Raw(), []byte(`"{`)) &&
		bytes.Contains(text.Raw(), []byte(`metadata`)) && m.inner.Parse(text.Str()) == nil && m.inner.Root().Get("output").IsString() {
		more = m.disposition(m.inner.Root().Get("metadata").Get("exit_code")) || more
	}
	return more
}

// resultBody sets the body of a result: its output as it stands when it is text, else as JSON, else the whole payload.
func (m *mapper) resultBody(output canonical.Value) {
	stored := len(m.Event.Structured) > 0
	switch {
	case m.doubled&results != 0, emptyText(output):
		m.digestText = []byte(m.Event.Type + " " + sdkplugin.RoleTool)
		m.Event.Body = sdkplugin.Inline(m.digestText)
		return
	case !output.Exists() && stored:
		m.Event.Body, m.digestText = m.Whole(), m.Event.Structured
		return
	case !output.Exists():
		output = m.payload
	case stored:
		m.Event.Body = m.Pieces(m.Marks[:1], output.IsString())
		if m.digestValue = output; !output.IsString() {
			m.digestText = m.Event.Structured[m.Marks[0].Start:m.Marks[0].End]
		}
		return
	}
	if m.digestText = output.Str(); !output.IsString() {
		m.digestText = canonical.AppendValue(nil, output)
	}
	m.Event.Body = sdkplugin.Inline(m.digestText)
}

// emptyText tells whether a value is the empty string, without decoding it.
func emptyText(v canonical.Value) bool { return v.IsString() && len(v.Raw()) == len(`""`) }

// conclude adds the result with its channels: text for a string that is not empty, structured content for everything else.
func (m *mapper) conclude(output canonical.Value, exec bool) {
	r := &m.Result
	m.Event.Result = r
	switch {
	case m.doubled&results != 0:
		r.Text, r.Structured = sdkplugin.Unavailable(), sdkplugin.Unavailable()
		return
	case !output.Exists():
	case emptyText(output):
		r.Structured = sdkplugin.Present(sdkplugin.Inline(`""`))
	case output.IsString():
		r.Text = sdkplugin.Present(m.Event.Body)
	default:
		r.Structured = sdkplugin.Present(m.Event.Body)
	}
	if exec && (m.extra || m.state.Doubled) && r.Structured.Status == sdkplugin.CaptureAbsent {
		// The line holds more than the payload, or the file makes its call ids ambiguous: the result proves nothing.
		r.Structured = sdkplugin.Unavailable()
	}
}

// mcpNames returns server and tool of an exact MCP call.
func (m *mapper) mcpNames(invocation canonical.Value) (server, tool []byte, exact bool) {
	server, tool = invocation.Get("server").Str(), invocation.Get("tool").Str()
	exact = m.doubled&mcpNames == 0 && len(server) > 0 && len(server) <= maxMember && len(tool) > 0 && len(tool) <= maxMember
	return server, tool, exact
}

// mcpCall adds the invocation that the end of an MCP call tells of.
func (m *mapper) mcpCall(invocation canonical.Value) {
	server, tool, exact := m.mcpNames(invocation)
	if !exact {
		return
	}
	m.Invocation = sdkplugin.Invocation{
		Protocol: mcp, Server: texts.View(server), Tool: texts.View(tool),
		Arguments: m.arguments(invocation.Get("arguments"), 1),
	}
	m.Event.Invocation = &m.Invocation
	if m.state.Doubled { // no result of this file proves anything; the body still holds this one
		m.Result.Structured = sdkplugin.Unavailable()
	}
}
