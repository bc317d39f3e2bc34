package record

// Activity is what a tool call, its result or the surroundings of an event add to it.
// Invocation and Result need a CallID.
type Activity struct {
	CallID     []byte // typed key; empty = none
	Invocation *Invocation
	Result     *Result
	Facts      []Fact
}

// Invocation is the call of a tool as the provider recorded it. Names are never split from a joined name.
type Invocation struct {
	Protocol, Server string // empty = none
	Tool             string
	Arguments        Capture // JSON
	StartedAt        int64   // Unix milliseconds, valid if Started
	Started          bool
}

// Result is the outcome of a call.
type Result struct {
	Status      string // the provider's own word; empty = none
	CompletedAt int64  // Unix milliseconds, valid if Completed
	Completed   bool
	DurationNS  uint64 // valid if HasDuration
	HasDuration bool
	Text        Capture // text
	Structured  Capture // JSON
	SoleOutput  bool    // the provider proved a success that printed the body and nothing else; not stored
}

// Capture is a value of an invocation or a result, or the reason why there is none. Of a JSON capture, Value materialises to
// canonical JSON; of a text capture, to the text.
type Capture struct {
	Status      CaptureStatus
	Value       Value  // CapturePresent
	Reason      string // CaptureOmitted
	Observed    uint64 // CaptureOmitted: size of what was left out, valid if HasObserved
	HasObserved bool
}

// Fact is one literal reference found in an event: a directory, a file, a branch. Values stand as the provider wrote them.
type Fact struct {
	Kind  FactKind
	Value []byte
}
