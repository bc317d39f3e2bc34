package claude

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
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
	m.draft(nativeCall, sdkplugin.ToolCall, texts.View(m.rec.nativeRole()))
	m.block = b
	m.walk.Distinct(&factKeys, b.v)
	m.walk.Settle()
	m.literalEnd = len(m.walk.List)
	stored, err := m.rewritten(rewriter{}, b.v, nil)
	if err != nil {
		return err
	}
	m.parts = m.parts[:0]
	if input := stored.Get("input"); !b.lost(argumentsChannel) && !input.IsNull() {
		m.parts = append(m.parts, input)
	}
	m.store(b, stored, compactJSON)
	arguments := sdkplugin.Capture{}
	switch {
	case len(m.parts) > 0:
		arguments = sdkplugin.Present(m.Event.Body)
	case b.lost(argumentsChannel):
		arguments = sdkplugin.Unavailable()
	}
	if len(m.parts) == 0 {
		m.Event.Body = sdkplugin.Inline(callWithoutInput)
	}
	if m.Call(b.str(idMember, callIDChannel), texts.View(b.str(nameMember, toolNameChannel)), arguments) {
		m.MCP(b.mcp())
	}
	return m.fitAndGive(idx)
}

// toolResult gives the result of a call. What the client knows about version control goes to the first result of a record.
func (m *mapper) toolResult(b *block, idx int, first bool) error {
	var operation canonical.Value
	if op := m.rec.toolUseResult.Get("gitOperation"); first && op.IsObject() {
		operation = op
	}
	m.draftOutput(b, m.rec.toolUseResult, operation)
	var extra []byte
	if m.added = operation.Exists(); m.added {
		extra = append([]byte(`"gitOperation":`), operation.Raw()...)
	}
	stored, err := m.rewritten(rewriter{}, b.v, extra)
	if err != nil {
		return err
	}
	content := m.readable(stored)
	for element := range content.Elems {
		if text := element.Get("text"); element.Get("type").StrEquals("text") && text.IsString() {
			m.parts = append(m.parts, text)
		}
	}
	return m.output(stored, content, b.resultCallID(), idx)
}

// printedAlone tells whether the client's own object says that a command did not fail and that the text of its result is all that it
// printed: its standard output and nothing else.
func printedAlone(b *block, client canonical.Value) bool {
	content := b.v.Get("content")
	if failed, known := b.m[isErrorMember].Bool(); !known || failed || !content.IsString() || !client.IsObject() {
		return false
	}
	for name, value := range client.Each {
		no, known := value.Bool()
		switch string(name) {
		case "stdout":
			known = bytes.Equal(value.Raw(), content.Raw()) // one writer wrote both
		case "stderr":
			known = value.StrEquals("")
		case "interrupted", "isImage":
			known = known && !no
		case "noOutputExpected":
		default:
			return false
		}
		if !known {
			return false
		}
	}
	return client.Has("stdout") && client.Has("stderr")
}

// serverResult gives the result of a call that the API ran: what a person can read of it.
func (m *mapper) serverResult(b *block, idx int) error {
	m.draftOutput(b, canonical.Value{}, canonical.Value{})
	stored, err := m.rewritten(rewriter{encrypted: true}, b.v, nil)
	if err != nil {
		return err
	}
	content := m.readable(stored)
	m.readableParts(content)
	return m.output(stored, content, b.resultCallID(), idx)
}

// clientResult gives the result that only the client's own member holds, without a block of the conversation.
func (m *mapper) clientResult(idx int) error {
	r := &m.rec
	m.draftOutput(&m.noBlock, r.toolUseResult, r.toolUseResult.Get("gitOperation"))
	m.walk.Named = unstoredKeys // the record was not walked
	stored, err := m.rewritten(rewriter{visible: r.messageContent}, r.root, nil)
	if err != nil {
		return err
	}
	return m.output(stored, stored.Get("toolUseResult"), r.root.Get("sourceToolUseID").Str(), idx)
}

// draftOutput starts the draft of a result with its facts: those of the block, of the client's own result object, and of what
// that says about version control.
func (m *mapper) draftOutput(b *block, client, operation canonical.Value) {
	m.draft(nativeOutput, sdkplugin.ToolOutput, sdkplugin.RoleTool)
	m.block, m.parts = b, m.parts[:0]
	m.soleOutput = len(m.outline.results) == 1 && printedAlone(b, client)
	m.walk.Distinct(&factKeys, b.v)
	m.walk.resultFiles(client)
	m.literalEnd = len(m.walk.List)
	m.walk.gitOperation(operation)
	m.walk.Settle()
	m.literalEnd = min(m.literalEnd, len(m.walk.List))
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

// readable returns the content of the draft's result unless a repeated key makes it unreadable.
func (m *mapper) readable(stored canonical.Value) canonical.Value {
	if m.block.lost(contentChannel) {
		return canonical.Value{}
	}
	return stored.Get("content")
}

// output finishes a result: its text is content if that is one, else m.parts.
func (m *mapper) output(stored, content canonical.Value, callID []byte, idx int) error {
	b := m.block
	if content.IsString() {
		m.parts = append(m.parts[:0], content)
	}
	m.store(b, stored, joinedText)
	if len(m.parts) == 0 {
		m.Event.Body = sdkplugin.Inline(resultWithoutText)
	}
	if m.callID = callID; !m.SetCallID(callID) {
		return m.fitAndGive(idx)
	}
	m.Result = sdkplugin.Result{CompletedAt: m.at, SoleOutput: m.soleOutput}
	if failed, _ := b.m[isErrorMember].Bool(); failed {
		m.Result.Status = "error"
	}
	switch {
	case b.lost(contentChannel):
		m.Result.Text = sdkplugin.Unavailable()
	case content.IsString():
		m.Result.Text = sdkplugin.Present(m.Event.Body)
	}
	if m.Result.Structured = sdkplugin.Unavailable(); b.repeated == 0 {
		m.Result.Structured = sdkplugin.Present(m.Whole())
	}
	m.Event.Result = &m.Result
	return m.fitAndGive(idx)
}
