package codex

import (
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// envelope says what kind of line an envelope type is.
type envelope uint8

const (
	unknownEnvelope envelope = iota
	metaEnvelope
	turnEnvelope
	itemEnvelope
	eventEnvelope
	compactEnvelope
	otherEnvelope // known, without anything to keep
)

var envelopeTypes = map[string]envelope{
	"session_meta": metaEnvelope, "turn_context": turnEnvelope, "response_item": itemEnvelope, "event_msg": eventEnvelope,
	"compacted": compactEnvelope, "inter_agent_communication": otherEnvelope, "inter_agent_communication_metadata": otherEnvelope,
	"world_state": otherEnvelope, "token_usage_record": otherEnvelope, "retained_context": otherEnvelope,
	"security_risk_score": otherEnvelope, "realtime_item": otherEnvelope,
}

// errOwner ends the scan of a file whose lines contradict each other about its thread.
var errOwner = malformed("session_meta lines contradict each other")

// mapper turns the lines of one rollout into events. It works on one draft of an event in memory that it keeps.
type mapper struct {
	out      transcript.Sink // nil: only the state is built that the lines lead to
	state    *state
	inherits *ancestry // compares with the parent's rollout; nil when there is none
	// given gets every event with its line's type and payload, for the comparison with a child.
	given func(envelope string, payload canonical.Value, key sdkplugin.NativeKey)

	session    uint32
	hasSession bool

	// The line.
	root, payload canonical.Value
	kind          []byte // envelope type
	when          time.Time
	extra         bool // members beside time, type and payload
	doubled       channel

	transcript.Draft
	walk     factWalk
	keys     eventKeys
	parts    []canonical.Value
	text     []byte
	ancestor []byte
	inner    canonical.Doc // JSON inside of strings, and rewritten payloads
	// What the id of an event without a native one is made from: a text, or a string that is decoded only when it is needed.
	digestText  []byte
	digestValue canonical.Value
}

// keptNodes bounds the values inside of strings whose memory is kept from record to record.
const keptNodes = 1 << 16

// begin makes the mapper ready for a file.
func (m *mapper) begin(s *state, out transcript.Sink) {
	m.state, m.out, m.inherits, m.given = s, out, nil, nil
	m.hasSession = false
}

// Known tells whether an object found in a damaged line is a record.
func (m *mapper) Known(v canonical.Value) bool {
	return envelopeTypes[string(v.Get("type").Str())] != unknownEnvelope
}

// Record maps one record of a line.
func (m *mapper) Record(at transcript.Place, v canonical.Value) (transcript.Outcome, error) {
	outcome, err := m.record(at, v)
	if outcome.Rejected != "" && outcome.PayloadType == "" && len(m.kind) <= maxMember {
		outcome.PayloadType = string(m.kind)
	}
	if cap(m.inner.Nodes()) > keptNodes {
		m.inner = canonical.Doc{}
	}
	return outcome, err
}

func (m *mapper) record(at transcript.Place, v canonical.Value) (transcript.Outcome, error) {
	if m.state.Owner.Bare {
		return m.bareRecord(at, v)
	}
	var typ, timestamp canonical.Value
	m.root, m.payload, m.extra = v, canonical.Value{}, false
	for key, member := range v.Each {
		switch string(key) {
		case "type":
			typ = member
		case "timestamp":
			timestamp = member
		case "payload":
			m.payload = member
		default:
			m.extra = true
		}
	}
	if m.kind = typ.Str(); len(m.kind) == 0 {
		return transcript.Reject("no type")
	}
	when, timed := texts.ParseTime(timestamp.Str())
	if !timed && !timestamp.IsNull() {
		return transcript.Reject("the timestamp is no RFC 3339 text")
	}
	m.draft(at, when)
	switch envelopeTypes[string(m.kind)] {
	case metaEnvelope:
		return m.sessionMeta(at)
	case turnEnvelope:
		return m.turnContext()
	case itemEnvelope:
		return m.item()
	case eventEnvelope:
		return m.event()
	case compactEnvelope:
		return m.compacted()
	}
	return transcript.Outcome{}, nil
}

// bareRecord maps a line of the oldest files: a response item without envelope and time.
func (m *mapper) bareRecord(at transcript.Place, v canonical.Value) (transcript.Outcome, error) {
	m.root, m.payload, m.extra = v, v, true
	m.kind = v.Get("type").Str()
	switch {
	case at.Line.Ordinal == m.state.Owner.Line, v.Has("record_type"):
		return transcript.Outcome{}, nil
	case len(m.kind) == 0:
		return transcript.Reject("no type")
	}
	m.draft(at, time.Time{})
	return m.item()
}

// draft starts an event. A line without a time happened when the session started, save in the oldest files.
func (m *mapper) draft(at transcript.Place, when time.Time) {
	if when.IsZero() && !m.state.Owner.Bare {
		when = m.state.Owner.Start
	}
	m.when = when
	m.Event = sdkplugin.Event{Kind: eventKind, Sequence: at.Line.Ordinal, Suborder: uint32(at.Nth)}
	if !when.IsZero() {
		m.Event.At = sdkplugin.At(when)
	}
	m.doubled, m.digestText, m.digestValue = 0, nil, canonical.Value{}
	m.walk.Reset()
}

// sessionMeta takes a session_meta line. The owner's own one was read before the first line; where it was not found there, it
// tells here what a file name cannot.
func (m *mapper) sessionMeta(at transcript.Place) (transcript.Outcome, error) {
	line, ok := readMeta(m.payload, m.when)
	line.Line = at.Line.Ordinal
	if !ok || !m.state.Others.add(line) {
		return transcript.Outcome{}, errOwner
	}
	if o := &m.state.Owner; o.Named && o.ID == line.ID {
		if m.state.CWD == "" {
			m.state.CWD = line.CWD
		}
		if o.CWD == "" {
			o.CWD, o.Commit, o.Branch, o.URL = line.CWD, line.Commit, line.Branch, line.URL
			o.Originator, o.Version, o.Agent = line.Originator, line.Version, line.Agent
		}
	}
	return transcript.Outcome{}, nil
}

// turnContext takes a turn_context line: the directory and model of what follows, and perhaps the first turn of the thread's own.
func (m *mapper) turnContext() (transcript.Outcome, error) {
	cwd := m.payload.Get("cwd").Str()
	if texts.Blank(cwd) || len(cwd) > sdkplugin.MaxString {
		return transcript.Reject("a turn_context without a directory")
	}
	m.state.CWD = string(cwd)
	m.state.Models.Learn([]byte(bounded(m.payload.Get("model"), maxMember)))
	turn, timed := uuidTime(string(m.payload.Get("turn_id").Str()))
	if start, ok := uuidTime(m.state.Owner.ID); ok && timed && turn > start {
		m.state.LocalTurn, m.state.Inherited = true, false
	}
	return transcript.Outcome{}, nil
}

// item maps a response item.
func (m *mapper) item() (transcript.Outcome, error) {
	if !m.payload.IsObject() {
		return transcript.Outcome{}, nil
	}
	kind := m.payload.Get("type").Str()
	switch string(kind) {
	case "message":
		m.state.Messages = true
		return m.message()
	case "reasoning":
		return m.reasoning()
	case "function_call":
		return m.call("arguments", m.payload.Get("name"), true)
	case "custom_tool_call":
		return m.call("input", m.payload.Get("name"), true)
	case "local_shell_call":
		return m.call("action", canonical.Value{}, true)
	case "web_search_call", "tool_search_call":
		return m.call("arguments", canonical.Value{}, false)
	case "function_call_output", "custom_tool_call_output", "tool_search_output", "tool_output", "tool_result":
		return m.terminal(string(kind))
	}
	return transcript.Outcome{}, nil
}

// event maps an event message: a terminal record, a title, or in a file without messages of its own the text of one.
func (m *mapper) event() (transcript.Outcome, error) {
	switch kind := m.payload.Get("type").Str(); string(kind) {
	case "exec_command_end", "patch_apply_end", "web_search_end", "command_complete", "tool_complete", mcpEnd:
		return m.terminal(string(kind))
	case "thread_name_updated":
		// A copied history brings the names of its own thread along.
		thread := m.payload.Get("thread_id")
		name := texts.OneLine(m.payload.Get("thread_name").Str())
		if name != "" && (thread.IsNull() || thread.StrEquals(m.state.Owner.ID)) {
			m.state.Named = name
		}
	case "user_message":
		return m.eventMessage(sdkplugin.RoleUser)
	case "agent_message":
		return m.eventMessage(sdkplugin.RoleAssistant)
	}
	return transcript.Outcome{}, nil
}

// give finishes the draft and hands it out.
func (m *mapper) give(role string, nativeType, nativeRole string) error {
	m.identify(nativeType, nativeRole)
	key := m.keys.number(m.state.Occurrences.next(m.keys.print()))
	m.Event.Key, m.Event.Role, m.Event.Facts = key, role, m.walk.List
	m.state.Times.Learn(m.Event.At)
	m.claimCopy(nativeType)
	if m.given != nil {
		m.given(string(m.kind), m.payload, key)
	}
	if m.out == nil {
		return nil
	}
	if err := m.declare(); err != nil {
		return err
	}
	m.Event.Session = m.session
	return m.out.Event(&m.Event)
}

// skip counts the occurrence of a terminal record that gives no event.
func (m *mapper) skip(nativeType string) {
	m.identify(nativeType, sdkplugin.RoleTool)
	m.state.Occurrences.next(m.keys.print())
}

// maxNativeID is the longest native id that becomes part of a key, in bytes: a key has 64 KiB, and this is room for its other parts.
const maxNativeID = 64<<10 - 256

// identify makes the key of the draft: the call id of its payload, else the id, else its content.
func (m *mapper) identify(nativeType, nativeRole string) {
	if m.doubled&callIDs == 0 {
		for _, member := range [...]string{"call_id", "id"} {
			if id := m.payload.Get(member).Str(); len(id) > 0 && len(id) <= maxNativeID {
				m.keys.native(member, texts.View(id), nativeType, nativeRole)
				return
			}
		}
	}
	if m.digestText == nil {
		m.digestText = m.digestValue.Str()
	}
	m.keys.fallback(m.when, nativeType, nativeRole, m.digestText)
}

// declare declares the session before its first event.
func (m *mapper) declare() (err error) {
	if m.hasSession {
		return nil
	}
	o := &m.state.Owner
	s := sdkplugin.Session{Ref: ownRef(o.ID), ProviderSessionID: o.ID, Relationship: o.Relationship, Scope: o.Scope}
	if o.Parent != "" {
		s.Parent = refTo(o.Parent)
	}
	switch {
	case o.Relationship == sdkplugin.RelationshipRoot:
		own := ownRef(o.ID)
		s.Root = &own
	case o.Root != "":
		s.Root = refTo(o.Root)
	}
	m.session, err = m.out.Session(s)
	m.hasSession = err == nil
	return err
}
