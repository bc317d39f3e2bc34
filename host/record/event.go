package record

// Event is one stored record. What its session knows is not repeated here.
//
// An Event is made to be reused: Decode and FromWire overwrite it and keep its memory. The slices of a decoded event alias the
// bytes it was decoded from, those of a converted one the message of the provider. Do not copy the struct (Activity, Copy and
// spans point into it).
type Event struct {
	ID           Digest
	Session      uint32 // ordinal of the Session
	NativeID     []byte // typed key that the provider knows the event by; empty = none
	Sequence     uint64 // the provider's order inside the session
	Suborder     uint32 // order of several records recovered from one damaged line
	OccurredAt   int64  // Unix milliseconds, valid if Timed
	Timed        bool
	Type         string // open vocabulary, never empty
	Role         string // empty = none
	Scope        Scope
	Copy         *Copy
	Policy       PolicyStatus
	PolicyReason string
	Excluded     bool // derived from retrieval by ctx itself: not discoverable by search
	HasBody      bool
	Body         Value
	Structured   []byte // canonical JSON; empty = none
	Activity     *Activity

	// EncodedBytes and ContentBytes are the lengths of the canonical JSON of the whole Core record and of its content member.
	// Admit computes them.
	EncodedBytes, ContentBytes uint64

	own storage
}

// Copy names the event that another one repeats.
type Copy struct {
	Session, Event Digest // the ancestor
	Proof          Proof
}

// Value is a text or a JSON value: bytes of its own, or spans of the event's structured content joined with LF.
type Value struct {
	Inline []byte
	Spans  []Span
}

// Span is a piece of the structured content. The bytes of a quoted span are one JSON string literal; the value is its decoded
// text.
type Span struct {
	Offset, Length uint32
	Quoted         bool
}

// storage is the memory of an event that is reused. Pointers and slices of the event lead into it.
type storage struct {
	activity   Activity
	invocation Invocation
	result     Result
	copied     Copy
	facts      []Fact
	spans      []Span
	buf        []byte // scratch of one call
	key        []byte // NativeID of a converted event
}

// Reset empties the event and keeps its memory.
func (e *Event) Reset() {
	facts := e.own.facts
	clear(facts)
	*e = Event{own: storage{facts: facts[:0], spans: e.own.spans[:0], buf: e.own.buf[:0], key: e.own.key[:0]}}
}

// Discoverable tells whether search may find the event.
func (e *Event) Discoverable() bool { return e.Policy == PolicySelected && !e.Excluded }
