package claude

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// Bodies of calls and results that have no text of their own.
const (
	callWithoutInput  = "tool_call"
	resultWithoutText = "tool_output"
)

// toolRole is the native role of every result.
var toolRole = []byte(sdkplugin.RoleTool)

// toolCall gives one call. Its body and its arguments are the input, as it stands in the structured copy of the block.
func (m *mapper) toolCall(b *block, idx int) error {
	native := m.rec.nativeRole()
	m.draft(nativeCall, native, sdkplugin.ToolCall, role(native))
	m.block = b
	m.walk.block(b.v)
	m.walk.settle()
	m.literalEnd = len(m.walk.facts)
	stored, err := m.rewritten(b.v, false)
	if err != nil {
		return err
	}
	var input canonical.Value
	if !b.lost(argumentsChannel) {
		input = stored.Get("input")
	}
	m.parts = m.parts[:0]
	if !input.IsNull() {
		m.parts = append(m.parts, input)
	}
	m.store(b, stored, compactJSON)
	arguments := sdkplugin.Capture{}
	switch {
	case len(m.parts) > 0:
		arguments = sdkplugin.Present(m.ev.Body)
	case b.lost(argumentsChannel):
		arguments = sdkplugin.Unavailable()
	}
	if len(m.parts) == 0 {
		m.ev.Body = sdkplugin.Inline(callWithoutInput)
	}
	m.invoke(b, arguments)
	return m.fitAndGive(idx)
}

// invoke adds the invocation if the block names both its id and its tool.
func (m *mapper) invoke(b *block, arguments sdkplugin.Capture) {
	id, name := unless(b.lost(callIDChannel), b.id.Str()), unless(b.lost(toolNameChannel), b.name.Str())
	if len(id) == 0 || len(name) == 0 {
		return
	}
	m.setCallID(id)
	if m.ev.CallID == nil {
		return
	}
	m.invocation = sdkplugin.Invocation{Tool: view(name), Arguments: arguments, StartedAt: m.at}
	if server, tool, ok := b.mcp(); ok {
		m.invocation.Protocol, m.invocation.Server, m.invocation.Tool = "mcp", view(server), view(tool)
	}
	m.ev.Invocation = &m.invocation
}

func (m *mapper) setCallID(id []byte) {
	m.callID = id
	m.callKey = typedCallID(m.callKey[:0], id)
	m.ev.CallID = m.callKey
}

// toolResult gives the result of a call. What the client knows about version control goes to the first result of a record.
func (m *mapper) toolResult(b *block, idx int, first bool) error {
	m.draft(nativeOutput, toolRole, sdkplugin.ToolOutput, sdkplugin.RoleTool)
	m.block = b
	m.walk.block(b.v)
	m.walk.resultFiles(m.rec.toolUseResult)
	m.literalEnd = len(m.walk.facts)
	var operation canonical.Value
	if op := m.rec.toolUseResult.Get("gitOperation"); first && op.IsObject() {
		operation = op
		m.walk.gitOperation(op)
	}
	m.walk.settle()
	m.literalEnd = min(m.literalEnd, len(m.walk.facts))

	stored, err := m.withOperation(b.v, operation)
	if err != nil {
		return err
	}
	content := readable(b, stored)
	m.parts = m.parts[:0]
	switch {
	case content.IsString():
		m.parts = append(m.parts, content)
	default:
		for element := range content.Elems {
			if text := element.Get("text"); element.Get("type").StrEquals("text") && text.IsString() {
				m.parts = append(m.parts, text)
			}
		}
	}
	return m.output(b, stored, content, idx)
}

// serverResult gives the result of a call that the API ran: what a person can read of it.
func (m *mapper) serverResult(b *block, idx int) error {
	m.draft(nativeOutput, toolRole, sdkplugin.ToolOutput, sdkplugin.RoleTool)
	m.block = b
	m.walk.block(b.v)
	m.walk.settle()
	m.literalEnd = len(m.walk.facts)
	stored, err := m.rewritten(b.v, true)
	if err != nil {
		return err
	}
	content := readable(b, stored)
	m.parts = m.parts[:0]
	if content.IsString() {
		m.parts = append(m.parts, content)
	} else {
		m.readableParts(content)
	}
	return m.output(b, stored, content, idx)
}

// readableParts collects text, title and address of every object inside a value, in this order in each object.
func (m *mapper) readableParts(v canonical.Value) {
	switch v.Kind() {
	case canonical.Array:
		for element := range v.Elems {
			m.readableParts(element)
		}
	case canonical.Object:
		for _, key := range [...]string{"text", "title", "url"} {
			if text := v.Get(key); len(text.Str()) > 0 {
				m.parts = append(m.parts, text)
			}
		}
		for key, member := range v.Each {
			if string(key) != "text" && string(key) != "title" && string(key) != "url" {
				m.readableParts(member)
			}
		}
	}
}

// readable returns the content of a result unless a repeated key makes it unreadable.
func readable(b *block, stored canonical.Value) canonical.Value {
	if b.lost(contentChannel) {
		return canonical.Value{}
	}
	return stored.Get("content")
}

// output finishes a result whose text is m.parts.
func (m *mapper) output(b *block, stored, content canonical.Value, idx int) error {
	m.store(b, stored, joinedText)
	if len(m.parts) == 0 {
		m.ev.Body = sdkplugin.Inline(resultWithoutText)
	}
	if id := b.resultCallID(); len(id) > 0 {
		m.setCallID(id)
	}
	if m.ev.CallID != nil {
		m.result = sdkplugin.Result{CompletedAt: m.at}
		if failed, _ := b.isError.Bool(); failed {
			m.result.Status = "error"
		}
		switch {
		case b.lost(contentChannel):
			m.result.Text = sdkplugin.Unavailable()
		case content.IsString():
			m.result.Text = sdkplugin.Present(m.ev.Body)
		}
		m.result.Structured = m.wholeCapture(b)
		m.ev.Result = &m.result
	}
	return m.fitAndGive(idx)
}

// wholeCapture captures the structured copy as a whole.
func (m *mapper) wholeCapture(b *block) sdkplugin.Capture {
	if b.repeated != 0 {
		return sdkplugin.Unavailable()
	}
	m.whole = append(m.whole[:0], sdkplugin.Span{Length: uint32(len(m.ev.Structured))})
	return sdkplugin.Present(sdkplugin.Value{Present: true, Spans: m.whole})
}

// clientResult gives the result that only the client's own member holds, without a block of the conversation.
func (m *mapper) clientResult(idx int) error {
	r := &m.rec
	m.draft(nativeOutput, toolRole, sdkplugin.ToolOutput, sdkplugin.RoleTool)
	m.walk.resultFiles(r.toolUseResult)
	m.literalEnd = len(m.walk.facts)
	m.walk.gitOperation(r.toolUseResult.Get("gitOperation"))
	m.walk.settle()
	m.literalEnd = min(m.literalEnd, len(m.walk.facts))

	m.rewriter = rewriter{dst: m.rewriter.dst[:0], visible: r.messageContent}
	m.rewriter.object(r.root, nil, nil)
	stored, err := m.reparsed()
	if err != nil {
		return err
	}
	m.parts = m.parts[:0]
	text := stored.Get("toolUseResult")
	if text.IsString() {
		m.parts = append(m.parts, text)
	}
	m.store(&m.noBlock, stored, joinedText)
	if len(m.parts) == 0 {
		m.ev.Body = sdkplugin.Inline(resultWithoutText)
	}
	if id := r.sourceToolUseID.Str(); len(id) > 0 {
		m.setCallID(id)
	}
	if m.ev.CallID != nil {
		m.result = sdkplugin.Result{CompletedAt: m.at, Structured: m.wholeCapture(&m.noBlock)}
		if text.IsString() {
			m.result.Text = sdkplugin.Present(m.ev.Body)
		}
		m.ev.Result = &m.result
	}
	return m.fitAndGive(idx)
}
