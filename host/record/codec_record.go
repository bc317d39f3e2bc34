package record

import "github.com/agenthistory/ctx/host/internal/stored"

// Storage forms, version 1. A member in brackets is there when its flag is set; the flags stand in the order of these lists.
//
//	event       version, flags, id (32 bytes), session, sequence, [suborder], [time], type, [role], scope, [native id], [copy],
//	            [policy], encoded bytes, content bytes, [structured], [body], [activity]
//	activity    flags, [call id], [invocation], [result], [count, facts: kind and value]
//	invocation  flags, [protocol], [server], tool, arguments, [start]
//	result      flags, [status], [completion], [duration], text, structured
//	capture     state; present: value; omitted: 1 + observed size (0 = unknown), reason
//	session     version, flags, ordinal, id, source, descriptor, provider, format, variant, identity version, anchor, key, kind,
//	            provider session id, [parent], [root], relationship, scope, parser revision, metadata
const (
	eventVersion   = 1
	sessionVersion = 1
)

// Flags of an event.
const (
	hasTime = 1 << iota
	hasRole
	hasCopy
	hasPolicy
	hasBody
	hasStructured
	hasActivity
	hasSuborder
	hasNativeID
	isExcluded
)

// Encode appends the storage form of an event that was admitted.
func Encode(dst []byte, e *Event) []byte {
	c := coder{Coder: stored.Coder{B: dst}, event: e}
	c.storedEvent(e)
	return c.B
}

// Decode reads one event into e, which keeps its memory. The event aliases src. The error is a fault of code index_corruption; e is
// then not usable.
func Decode(src []byte, e *Event) error {
	e.Reset()
	c := coder{Coder: stored.Coder{B: src, Reading: true}, event: e}
	c.storedEvent(e)
	return c.end()
}

func (c *coder) storedEvent(e *Event) {
	c.Version("event", eventVersion)
	flags := c.Flags(e.Timed, e.Role != "", e.Copy != nil, e.Policy != PolicySelected, e.HasBody, len(e.Structured) > 0,
		e.Activity != nil, e.Suborder != 0, len(e.NativeID) > 0, e.Excluded)
	c.Optional(flags&isExcluded, &e.Excluded)
	c.Fixed(e.ID[:])
	c.Uint32(&e.Session)
	c.Uint(&e.Sequence)
	if flags&hasSuborder != 0 {
		c.Uint32(&e.Suborder)
		c.Check(e.Suborder != 0, "suborder")
	}
	if c.Optional(flags&hasTime, &e.Timed) {
		c.Int(&e.OccurredAt)
	}
	c.name(typeNames[:], TypeCode(e.Type), TypeOther, &e.Type)
	if flags&hasRole != 0 {
		c.name(roleNames[:], RoleCode(e.Role), RoleOther, &e.Role)
	}
	stored.Code(&c.Coder, &e.Scope, len(scopeNames))
	c.filled(flags&hasNativeID, &e.NativeID)
	if flags&hasCopy != 0 {
		if c.Reading {
			e.Copy = &e.own.copied
		}
		c.Fixed(e.Copy.Session[:])
		c.Fixed(e.Copy.Event[:])
		stored.Code(&c.Coder, &e.Copy.Proof, len(proofNames))
	}
	if flags&hasPolicy != 0 {
		stored.Code(&c.Coder, &e.Policy, int(policyStates))
		c.Check(e.Policy != PolicySelected, "policy")
		c.Text(&e.PolicyReason)
	}
	c.Uint(&e.EncodedBytes)
	c.Uint(&e.ContentBytes)
	c.filled(flags&hasStructured, &e.Structured)
	if c.Optional(flags&hasBody, &e.HasBody) {
		c.value(&e.Body)
	}
	if flags&hasActivity != 0 {
		if c.Reading {
			e.Activity = &e.own.activity
		}
		c.activity(e, e.Activity)
	}
}

func (c *coder) activity(e *Event, a *Activity) {
	flags := c.Flags(len(a.CallID) > 0, a.Invocation != nil, a.Result != nil, len(a.Facts) > 0)
	c.filled(flags&1, &a.CallID)
	if flags&2 != 0 {
		if c.Reading {
			a.Invocation = &e.own.invocation
		}
		c.invocation(a.Invocation)
	}
	if flags&4 != 0 {
		if c.Reading {
			a.Result = &e.own.result
		}
		c.result(a.Result)
	}
	if flags&8 != 0 {
		c.facts(e, a)
	}
}

func (c *coder) facts(e *Event, a *Activity) {
	n := c.Count(len(a.Facts), MaxFacts)
	c.Check(n > 0, "number of facts")
	for i := 0; i < n && c.Err == nil; i++ {
		if c.Reading {
			e.own.facts = append(e.own.facts, Fact{})
			a.Facts = e.own.facts
		}
		stored.Code(&c.Coder, &a.Facts[i].Kind, int(factKinds))
		c.Check(a.Facts[i].Kind != FactNone, "fact")
		c.filled(1, &a.Facts[i].Value)
	}
}

func (c *coder) invocation(call *Invocation) {
	flags := c.Flags(call.Protocol != "", call.Server != "", call.Started)
	c.filledText(flags&1, &call.Protocol)
	c.filledText(flags&2, &call.Server)
	c.filledText(1, &call.Tool)
	c.capture(&call.Arguments, CaptureNormalizedBody)
	if c.Optional(flags&4, &call.Started) {
		c.Int(&call.StartedAt)
	}
}

func (c *coder) result(r *Result) {
	flags := c.Flags(r.Status != "", r.Completed, r.HasDuration)
	c.filledText(flags&1, &r.Status)
	if c.Optional(flags&2, &r.Completed) {
		c.Int(&r.CompletedAt)
	}
	if c.Optional(flags&4, &r.HasDuration) {
		c.Uint(&r.DurationNS)
	}
	c.capture(&r.Text, captureStates)
	c.capture(&r.Structured, CaptureNormalizedBody)
}

// capture codes a capture whose state is below limit.
func (c *coder) capture(p *Capture, limit CaptureStatus) {
	stored.Code(&c.Coder, &p.Status, int(limit))
	switch p.Status {
	case CapturePresent:
		c.value(&p.Value)
	case CaptureOmitted:
		observed := uint64(0)
		if p.HasObserved {
			observed = p.Observed + 1
		}
		if c.Uint(&observed); c.Optional(observed, &p.HasObserved) && c.Reading {
			p.Observed = observed - 1
		}
		c.Text(&p.Reason)
	}
}

// Encode appends the storage form of a session.
func (s *Session) Encode(dst []byte) []byte {
	c := coder{Coder: stored.Coder{B: dst}}
	c.session(s)
	return c.B
}

// Decode reads one session. Its texts are views of src, which must not change any more. The error is a fault of code index_corruption.
func (s *Session) Decode(src []byte) error {
	*s = Session{}
	c := coder{Coder: stored.Coder{B: src, Reading: true, Views: true}}
	c.session(s)
	return c.end()
}

func (c *coder) session(s *Session) {
	c.Version("session", sessionVersion)
	m := &s.Meta
	flags := c.Flags(s.Parent != nil, s.Root != nil, m.StartedAt != nil, m.EndedAt != nil, m.ApproximateTimes)
	c.Optional(flags&16, &m.ApproximateTimes)
	c.Uint32(&s.Ordinal)
	c.Fixed(s.ID[:])
	c.Fixed(s.Source[:])
	c.Fixed(s.Descriptor[:])
	c.Text(&s.Provider)
	c.Text(&s.SourceFormat)
	c.Text(&s.SchemaVariant)
	c.Uint32(&s.IdentityVersion)
	c.Copied(&s.Anchor)
	c.Copied(&s.Key)
	c.Text(&s.Kind)
	c.Text(&s.ProviderSessionID)
	pointer(c, flags&1, &s.Parent, func(d *Digest) { c.Fixed(d[:]) })
	pointer(c, flags&2, &s.Root, func(d *Digest) { c.Fixed(d[:]) })
	stored.Code(&c.Coder, &s.Relationship, len(relationshipNames))
	stored.Code(&c.Coder, &s.Scope, len(scopeNames))
	c.Text(&s.ParserRevision)
	for _, field := range m.texts() {
		c.Text(field)
	}
	stored.List(&c.Coder, &m.Models, len(c.B), c.Text) // each takes a byte at least
	pointer(c, flags&4, &m.StartedAt, c.Int)
	pointer(c, flags&8, &m.EndedAt, c.Int)
}

// pointer codes a member that is nil unless its flag is set.
func pointer[T any](c *coder, flag uint64, p **T, value func(*T)) {
	if flag == 0 {
		return
	}
	if c.Reading {
		*p = new(T)
	}
	value(*p)
}

// texts lists the text fields in the order of the storage form: append only.
func (m *SessionMeta) texts() [11]*string {
	return [...]*string{
		&m.Title, &m.Model, &m.AgentName, &m.CWD, &m.WorkspaceLabel, &m.Branch, &m.LastBranch, &m.Version, &m.LastVersion,
		&m.Entrypoint, &m.LastEntrypoint,
	}
}
