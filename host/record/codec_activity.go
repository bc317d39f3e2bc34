package record

import "encoding/binary"

// The activity inside the storage form of an event: flags, then the members whose flag is set.
//
//	activity    flags, [call id], [invocation], [result], [count, facts: kind and value]
//	invocation  flags, [protocol], [server], tool, arguments, [start]
//	result      flags, [status], [completion], [duration], text, structured
//	capture     state; present: value; omitted: 1 + observed size (0 = unknown), reason
const (
	hasCallID = 1 << iota
	hasInvocation
	hasResult
	hasFacts
	activityFlags
)

const (
	hasProtocol = 1 << iota
	hasServer
	hasStart
	invocationFlags
)

const (
	hasStatus = 1 << iota
	hasCompletion
	hasDuration
	resultFlags
)

func appendActivityCode(dst []byte, a *Activity) []byte {
	var flags byte
	if len(a.CallID) > 0 {
		flags |= hasCallID
	}
	if a.Invocation != nil {
		flags |= hasInvocation
	}
	if a.Result != nil {
		flags |= hasResult
	}
	if len(a.Facts) > 0 {
		flags |= hasFacts
	}
	dst = append(dst, flags)
	if flags&hasCallID != 0 {
		dst = appendBlob(dst, a.CallID)
	}
	if flags&hasInvocation != 0 {
		dst = appendInvocationCode(dst, a.Invocation)
	}
	if flags&hasResult != 0 {
		dst = appendResultCode(dst, a.Result)
	}
	if flags&hasFacts != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(a.Facts)))
		for i := range a.Facts {
			dst = appendBlob(append(dst, byte(a.Facts[i].Kind)), a.Facts[i].Value)
		}
	}
	return dst
}

func appendInvocationCode(dst []byte, call *Invocation) []byte {
	var flags byte
	if call.Protocol != "" {
		flags |= hasProtocol
	}
	if call.Server != "" {
		flags |= hasServer
	}
	if call.Started {
		flags |= hasStart
	}
	dst = append(dst, flags)
	if call.Protocol != "" {
		dst = appendBlob(dst, call.Protocol)
	}
	if call.Server != "" {
		dst = appendBlob(dst, call.Server)
	}
	dst = appendBlob(dst, call.Tool)
	dst = appendCapture(dst, &call.Arguments)
	if call.Started {
		dst = binary.AppendVarint(dst, call.StartedAt)
	}
	return dst
}

func appendResultCode(dst []byte, r *Result) []byte {
	var flags byte
	if r.Status != "" {
		flags |= hasStatus
	}
	if r.Completed {
		flags |= hasCompletion
	}
	if r.HasDuration {
		flags |= hasDuration
	}
	dst = append(dst, flags)
	if r.Status != "" {
		dst = appendBlob(dst, r.Status)
	}
	if r.Completed {
		dst = binary.AppendVarint(dst, r.CompletedAt)
	}
	if r.HasDuration {
		dst = binary.AppendUvarint(dst, r.DurationNS)
	}
	dst = appendCapture(dst, &r.Text)
	return appendCapture(dst, &r.Structured)
}

func appendCapture(dst []byte, c *Capture) []byte {
	dst = append(dst, byte(c.Status))
	switch c.Status {
	case CapturePresent:
		return appendValue(dst, c.Value)
	case CaptureOmitted:
		var observed uint64
		if c.HasObserved {
			observed = c.Observed + 1
		}
		dst = binary.AppendUvarint(dst, observed)
		return appendBlob(dst, c.Reason)
	}
	return dst
}

func (r *reader) flags(limit uint8) uint8 { return r.code(int(limit)) }

func (r *reader) activity(e *Event) {
	a := e.Activity
	flags := r.flags(activityFlags)
	if flags&hasCallID != 0 {
		a.CallID = r.filled("call id")
	}
	if flags&hasInvocation != 0 {
		a.Invocation = &e.own.invocation
		r.invocation(a.Invocation)
	}
	if flags&hasResult != 0 {
		a.Result = &e.own.result
		r.result(a.Result)
	}
	if flags&hasFacts == 0 {
		return
	}
	count := r.uint()
	if count == 0 || count > MaxFacts {
		r.fail("number of facts")
		return
	}
	for range count {
		kind := FactKind(r.code(int(factKinds)))
		r.check(kind != FactNone, "fact")
		e.own.facts = append(e.own.facts, Fact{Kind: kind, Value: r.filled("fact")})
		if r.err != nil {
			return
		}
	}
	a.Facts = e.own.facts
}

func (r *reader) invocation(call *Invocation) {
	flags := r.flags(invocationFlags)
	if flags&hasProtocol != 0 {
		call.Protocol = string(r.filled("protocol"))
	}
	if flags&hasServer != 0 {
		call.Server = string(r.filled("server"))
	}
	call.Tool = string(r.filled("tool"))
	r.capture(&call.Arguments, CaptureNormalizedBody)
	if flags&hasStart != 0 {
		call.Started, call.StartedAt = true, r.int()
	}
}

func (r *reader) result(res *Result) {
	flags := r.flags(resultFlags)
	if flags&hasStatus != 0 {
		res.Status = string(r.filled("status"))
	}
	if flags&hasCompletion != 0 {
		res.Completed, res.CompletedAt = true, r.int()
	}
	if flags&hasDuration != 0 {
		res.HasDuration, res.DurationNS = true, r.uint()
	}
	r.capture(&res.Text, captureStates)
	r.capture(&res.Structured, CaptureNormalizedBody)
}

// capture reads a capture whose state is below limit.
func (r *reader) capture(c *Capture, limit CaptureStatus) {
	c.Status = CaptureStatus(r.code(int(limit)))
	switch c.Status {
	case CapturePresent:
		c.Value = r.value()
	case CaptureOmitted:
		if observed := r.uint(); observed > 0 {
			c.HasObserved, c.Observed = true, observed-1
		}
		c.Reason = string(r.blob())
	}
}
