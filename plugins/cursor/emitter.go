package cursor

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

type sink = transcript.Sink

// Bodies of calls and results that have no text of their own.
const (
	callWithoutInput  = "Cursor tool call"
	resultWithoutText = "Cursor tool result"
)

const (
	sizeLimit     = "size_limit"
	tooManyEvents = "more events than one record may give"
	// maxSpanParts is how many pieces of a structured value one text may consist of; a text of more pieces travels by itself,
	// because finding the place of a piece costs time in proportion to their number.
	maxSpanParts = 64
)

// emitter makes the events of one session, whatever its store, in one draft that it keeps.
type emitter struct {
	id, parent sessionID
	root       sessionID // of parent
	out        sink      // nil: only what is learned counts
	session    uint32
	declared   bool
	learned    *learned
	prompts    int // messages of the user

	ev         sdkplugin.Event
	invocation sdkplugin.Invocation
	result     sdkplugin.Result
	walk       factWalk

	marks                            []canonical.Mark
	spans                            []sdkplugin.Span
	whole                            [1]sdkplugin.Span
	keys, callKey, structured, joint []byte
}

func (e *emitter) begin(id, parent, root sessionID, out sink) {
	e.id, e.parent, e.root, e.out, e.declared, e.learned, e.prompts = id, parent, root, out, false, newLearned(), 0
}

// declare tells the host about the session, once.
func (e *emitter) declare() (err error) {
	if !e.declared && e.out != nil {
		e.session, err = e.out.Session(e.id.declaration(e.parent, e.root))
		e.declared = err == nil
	}
	return err
}

// draft starts an event.
func (e *emitter) draft(typ, role string, sequence uint64, at sdkplugin.Instant) {
	e.walk.Reset()
	e.ev = sdkplugin.Event{Kind: eventKind, Type: typ, Role: role, Sequence: sequence, At: at, Scope: sdkplugin.ScopePrimary}
	if e.parent != "" {
		e.ev.Scope = sdkplugin.ScopeSubagent
	}
}

// said starts an event that is a text. A user's text that is only context of Cursor's own is a notice; what a person typed may
// become the title.
func (e *emitter) said(role string, text []byte, sequence uint64, at sdkplugin.Instant) {
	typ := sdkplugin.Message
	if role == sdkplugin.RoleUser {
		e.learned.context(contextOf(text))
		if typed(text) {
			e.learned.prompt(text)
			e.prompts++
		} else {
			typ, role = sdkplugin.Notice, sdkplugin.RoleSystem
		}
	}
	e.draft(typ, role, sequence, at)
	e.ev.Body = sdkplugin.Inline(text)
}

// store writes a value as the structured content of the draft and tells where its parts stand in it; nil when there are so
// many that they travel better by themselves.
func (e *emitter) store(v canonical.Value, parts ...canonical.Value) []canonical.Mark {
	e.marks = e.marks[:0]
	if len(parts) <= maxSpanParts {
		for _, part := range parts {
			e.marks = append(e.marks, canonical.Mark{Value: part})
		}
	}
	e.structured = canonical.AppendMarked(e.structured[:0], v, e.marks)
	e.ev.Structured = e.structured
	return e.marks
}

func (e *emitter) wholeSpan() sdkplugin.Value {
	e.whole[0] = sdkplugin.Span{Length: uint32(len(e.ev.Structured))}
	return sdkplugin.Value{Present: true, Spans: e.whole[:]}
}

// pieces makes a value of what store marked.
func (e *emitter) pieces(marks []canonical.Mark, quoted bool) sdkplugin.Value {
	e.spans = e.spans[:0]
	for _, m := range marks {
		e.spans = append(e.spans, sdkplugin.Span{Offset: uint32(m.Start), Length: uint32(m.End - m.Start), Quoted: quoted})
	}
	return sdkplugin.Value{Present: true, Spans: e.spans}
}

// join returns texts joined with LF.
func (e *emitter) join(parts []canonical.Value) []byte {
	e.joint = e.joint[:0]
	for i, part := range parts {
		if i > 0 {
			e.joint = append(e.joint, '\n')
		}
		e.joint = part.AppendStr(e.joint)
	}
	return e.joint
}

// called makes the draft a call, if both its id and its tool are known.
func (e *emitter) called(id, tool []byte, arguments sdkplugin.Capture) {
	if len(tool) == 0 || len(tool) > sdkplugin.MaxString || !e.setCallID(id) {
		return
	}
	e.invocation = sdkplugin.Invocation{Tool: texts.View(tool), Arguments: arguments, StartedAt: e.ev.At}
	e.ev.Invocation = &e.invocation
}

// silent gives the draft of a result the empty text that it has; a capture cannot lean on a body that says nothing.
func (e *emitter) silent() sdkplugin.Capture {
	e.ev.Body = sdkplugin.Inline("")
	return sdkplugin.Present(e.ev.Body)
}

// returned makes the draft the result of a call, if the id of that is known.
func (e *emitter) returned(id []byte, status string, text, structured sdkplugin.Capture) {
	if !e.setCallID(id) {
		return
	}
	e.result = sdkplugin.Result{Status: status, CompletedAt: e.ev.At, Text: text, Structured: structured}
	e.ev.Result = &e.result
}

// setCallID sets the id of a call, unless it is empty or too long for a key.
func (e *emitter) setCallID(id []byte) bool {
	const head = 1 + 8
	if len(id) == 0 || len(id)+head > sdkplugin.MaxTypedKey {
		return false
	}
	e.callKey = sdkplugin.AppendUtf8(e.callKey[:0], id)
	e.ev.CallID = e.callKey
	return true
}

// give finishes the draft and hands it out.
func (e *emitter) give(key sdkplugin.NativeKey) error {
	e.ev.Key, e.ev.Facts = key, e.walk.List
	e.learned.time(e.ev.At)
	if e.out == nil {
		return nil
	}
	if err := e.declare(); err != nil {
		return err
	}
	e.ev.Session = e.session
	e.fit()
	return e.out.Event(&e.ev)
}

// fit leaves the structured content out of an event that would be too large with it, and what consisted of its pieces.
func (e *emitter) fit() {
	if len(e.ev.Structured)+len(e.ev.Body.Bytes) <= sdkplugin.MaxEventContent {
		return
	}
	left := sdkplugin.Omitted(sizeLimit, uint64(len(e.ev.Structured)))
	if e.ev.Invocation != nil {
		e.ev.Invocation.Arguments = left
	}
	e.ev.Structured, e.ev.Body = nil, sdkplugin.Inline(callWithoutInput)
	if e.ev.Type == sdkplugin.ToolOutput {
		e.ev.Body = sdkplugin.Inline(resultWithoutText)
	}
	if e.ev.Result != nil {
		e.ev.Result.Text, e.ev.Result.Structured = left, left
	}
}

func isRedacted(text []byte) bool { return bytes.Equal(bytes.TrimSpace(text), redacted) }
