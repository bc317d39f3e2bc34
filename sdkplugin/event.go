package sdkplugin

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// Event types of the common vocabulary. The vocabulary is open: any other string is stored and shown unchanged, but only these
// can be searched for by type.
const (
	Message         = "message"
	ToolCall        = "tool_call"
	ToolOutput      = "tool_output"
	CommandStarted  = "command_started"
	CommandOutput   = "command_output"
	CommandFinished = "command_finished"
	Artifact        = "artifact"
	Summary         = "summary"
	Notice          = "notice"
	VCSChange       = "vcs_change"
)

// Roles.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleSystem    = "system"
	RoleTool      = "tool"
	RoleUnknown   = "unknown"
)

// Event is one thing that happened in a session. SourceWriter.Event copies everything it needs before it returns, so one Event
// and all its slices may be used again for the next.
type Event struct {
	Session  uint32    // what SourceWriter.Session returned
	Kind     string    // logical item kind, part of the id: a constant of the provider, e.g. "acme-event"
	Key      NativeKey // identity inside the session
	Selector NativeKey // of a subrecord; nil = none
	Sequence uint64    // order inside the session; equal values are legal, going back is not
	Suborder uint32    // order among events of one Sequence that came from one damaged record
	At       Instant   // zero = unknown; never invent one
	Type     string
	Role     string // empty = none
	Scope    Scope  // ScopeUnknown = as the session

	// Body is the text that people read and search. Structured is the canonical compact JSON (package canonical) of what the
	// agent stored; empty = none. Body and the captures below may be pieces of Structured, which then travels and is stored once.
	Body       Value
	Structured []byte

	Copy       *CopyClaim
	CallID     Key // of a tool call or result, normally Utf8; nil = none
	Invocation *Invocation
	Result     *Result
	Facts      []Fact
	Policy     Policy
}

// Instant is a point in time in milliseconds since 1970 UTC; the zero value is "unknown".
type Instant struct {
	Millis int64
	Known  bool
}

// AtMillis is the instant ms milliseconds after 1970 UTC.
func AtMillis(ms int64) Instant { return Instant{ms, true} }

// At is the instant of t, cut to milliseconds.
func At(t time.Time) Instant { return Instant{t.UnixMilli(), true} }

// Value is a text or JSON value: bytes of its own (Inline), or pieces of the event's structured content (Pieces), or nothing (the
// zero value).
type Value struct {
	Present bool
	Bytes   []byte
	Spans   []Span
}

// Span is a piece of Event.Structured. Quoted: the piece is a JSON string literal with its quotes, and the value is the string it
// stands for.
type Span struct {
	Offset, Length uint32
	Quoted         bool
}

// Inline is a value of its own bytes, which may be empty. A string is not copied: it must not be changed, as no string can be.
func Inline[T ~string | ~[]byte](v T) Value { return Value{Present: true, Bytes: viewOf(v)} }

// Pieces is a value that consists of pieces of Event.Structured, joined with LF.
func Pieces(spans ...Span) Value { return Value{Present: true, Spans: spans} }

// Append appends the bytes that the value stands for in an event of this structured content.
func (v *Value) Append(dst, structured []byte) ([]byte, error) {
	dst = append(dst, v.Bytes...)
	for i, s := range v.Spans {
		if i > 0 {
			dst = append(dst, '\n')
		}
		piece := structured[s.Offset:][:s.Length]
		if !s.Quoted {
			dst = append(dst, piece...)
			continue
		}
		var err error
		if dst, err = canonical.Unquote(dst, piece); err != nil {
			return nil, fmt.Errorf("span %d+%d is no string literal: %w", s.Offset, s.Length, err)
		}
	}
	return dst, nil
}

func viewOf[T ~string | ~[]byte](v T) []byte {
	if len(v) == 0 {
		return nil
	}
	// Both headers start with a pointer to the first byte; the bytes are only read.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&v)), len(v))
}

// SessionRef names a session, in this source or in another one.
type SessionRef struct {
	Anchor Anchor    // of its source; nil = the source being read
	Kind   string    // logical session kind, e.g. "acme-session"
	Key    NativeKey // native session key
}

// Session is a conversation inside a source.
type Session struct {
	Ref               SessionRef // Anchor stays nil
	ProviderSessionID string     // what the agent shows to people and takes to resume; empty = none
	Parent, Root      *SessionRef
	Relationship      Relationship
	Scope             Scope
	// YieldsTo: this session is a poorer copy of that one and is left out while that one is stored.
	YieldsTo *SessionRef
}

// SessionMetadata describes a session; none of it is part of an id. Empty fields are unknown.
type SessionMetadata struct {
	Session                    uint32
	Title                      string // one line, trimmed, at most 200 characters
	Model                      string // the newest
	Models                     []string
	AgentName                  string
	CWD                        string
	WorkspaceLabel             string // encoded directory name, when no directory is known
	Branch, LastBranch         string
	Version, LastVersion       string
	Entrypoint, LastEntrypoint string
	StartedAt, EndedAt         Instant
	ApproximateTimes           bool // from times of files
}

// CopyClaim says that an event is a copy of another one. Equal text, time or role proves nothing: claim only what the agent's own
// data proves.
type CopyClaim struct {
	Session       SessionRef
	EventKind     string
	EventKey      NativeKey
	EventSelector NativeKey
	Proof         Proof
}

// Invocation is the call of a tool. Event.CallID must be set with it.
type Invocation struct {
	Protocol  string // "mcp", only together with Server and when the agent stores the three apart
	Server    string
	Tool      string // required; the whole name as the agent stores it
	Arguments Capture
	StartedAt Instant
}

// Result is the result of a tool call. Event.CallID must be set with it.
type Result struct {
	Status      string // the agent's own word; empty = none
	CompletedAt Instant
	Duration    Duration
	Text        Capture
	Structured  Capture
	// SoleOutput: the agent's record declares success, and Body is the whole standard output of the call and nothing else: no error
	// stream, no warning, no cut. It is not stored; the host recognises answers of ctx itself by it.
	SoleOutput bool
}

// Duration is an optional number of nanoseconds.
type Duration struct {
	Nanos uint64
	Known bool
}

// Took is a known duration; negative ones count as 0.
func Took(d time.Duration) Duration { return Duration{uint64(max(d, 0)), true} }

// Capture tells what became of a value that the agent could have stored. The zero value is "absent".
type Capture struct {
	Status        CaptureStatus
	Value         Value  // CapturePresent: canonical JSON, or text in Result.Text
	Reason        string // CaptureOmitted
	ObservedBytes uint64 // CaptureOmitted; 0 = unknown
}

// Present is a captured value.
func Present(v Value) Capture { return Capture{Status: CapturePresent, Value: v} }

// Unavailable is a value that exists but cannot be told, e.g. because its key occurs twice.
func Unavailable() Capture { return Capture{Status: CaptureUnavailable} }

// Omitted is a value that was left out on purpose, e.g. for "size_limit".
func Omitted(reason string, observedBytes uint64) Capture {
	return Capture{Status: CaptureOmitted, Reason: reason, ObservedBytes: observedBytes}
}

// SameAsBody is the result text that is equal to the event's body.
func SameAsBody() Capture { return Capture{Status: CaptureSameAsBody} }

// Fact is something the event literally says: a file it names, the directory it ran in. Values are verbatim: no trimming, no path
// resolution, no merging.
type Fact struct {
	Kind  FactKind
	Value string
}

// Policy is normally the zero value: selected.
type Policy struct {
	Status PolicyStatus
	Reason string // needed unless selected
}

// Counts of native records (lines, rows), not of events.
type Counts struct {
	Complete uint64 // = Retained + Rejected + Ignored
	Retained uint64 // gave at least one event
	Rejected uint64 // could not be understood
	Ignored  uint64 // understood, and hold nothing to keep
}

// Rejection is one native record that could not be understood.
type Rejection struct {
	Locator     string // of the file; empty = the source's
	Line        uint64 // from 1; 0 = not a line
	ByteOffset  uint64 // from the start of the file
	HasOffset   bool
	Damaged     bool   // the bytes are torn, as against a record of an unknown form
	PayloadType string // native record type, when known
	Detail      string // one line without the content of the record
}
