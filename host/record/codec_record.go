package record

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
	c := coder{b: dst, event: e}
	c.storedEvent(e)
	return c.b
}

// Decode reads one event into e, which keeps its memory. The event aliases src. The error is a fault of code index_corruption; e is
// then not usable.
func Decode(src []byte, e *Event) error {
	e.Reset()
	c := coder{b: src, event: e, reading: true}
	c.storedEvent(e)
	return c.end()
}

func (c *coder) storedEvent(e *Event) {
	c.version("event", eventVersion)
	flags := c.flags(e.Timed, e.Role != "", e.Copy != nil, e.Policy != PolicySelected, e.HasBody, len(e.Structured) > 0,
		e.Activity != nil, e.Suborder != 0, len(e.NativeID) > 0, e.Excluded)
	c.optional(flags&isExcluded, &e.Excluded)
	c.digest(&e.ID)
	c.uint32(&e.Session)
	c.uint(&e.Sequence)
	if flags&hasSuborder != 0 {
		c.uint32(&e.Suborder)
		c.check(e.Suborder != 0, "suborder")
	}
	if c.optional(flags&hasTime, &e.Timed) {
		c.int(&e.OccurredAt)
	}
	c.name(typeNames[:], TypeCode(e.Type), TypeOther, &e.Type)
	if flags&hasRole != 0 {
		c.name(roleNames[:], RoleCode(e.Role), RoleOther, &e.Role)
	}
	code(c, &e.Scope, len(scopeNames))
	c.filled(flags&hasNativeID, &e.NativeID)
	if flags&hasCopy != 0 {
		if c.reading {
			e.Copy = &e.own.copied
		}
		c.digest(&e.Copy.Session)
		c.digest(&e.Copy.Event)
		code(c, &e.Copy.Proof, len(proofNames))
	}
	if flags&hasPolicy != 0 {
		code(c, &e.Policy, int(policyStates))
		c.check(e.Policy != PolicySelected, "policy")
		c.text(&e.PolicyReason)
	}
	c.uint(&e.EncodedBytes)
	c.uint(&e.ContentBytes)
	c.filled(flags&hasStructured, &e.Structured)
	if c.optional(flags&hasBody, &e.HasBody) {
		c.value(&e.Body)
	}
	if flags&hasActivity != 0 {
		if c.reading {
			e.Activity = &e.own.activity
		}
		c.activity(e, e.Activity)
	}
}

func (c *coder) activity(e *Event, a *Activity) {
	flags := c.flags(len(a.CallID) > 0, a.Invocation != nil, a.Result != nil, len(a.Facts) > 0)
	c.filled(flags&1, &a.CallID)
	if flags&2 != 0 {
		if c.reading {
			a.Invocation = &e.own.invocation
		}
		c.invocation(a.Invocation)
	}
	if flags&4 != 0 {
		if c.reading {
			a.Result = &e.own.result
		}
		c.result(a.Result)
	}
	if flags&8 != 0 {
		c.facts(e, a)
	}
}

func (c *coder) facts(e *Event, a *Activity) {
	n := c.count(len(a.Facts), MaxFacts)
	c.check(n > 0, "number of facts")
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			e.own.facts = append(e.own.facts, Fact{})
			a.Facts = e.own.facts
		}
		code(c, &a.Facts[i].Kind, int(factKinds))
		c.check(a.Facts[i].Kind != FactNone, "fact")
		c.filled(1, &a.Facts[i].Value)
	}
}

func (c *coder) invocation(call *Invocation) {
	flags := c.flags(call.Protocol != "", call.Server != "", call.Started)
	c.filledText(flags&1, &call.Protocol)
	c.filledText(flags&2, &call.Server)
	c.filledText(1, &call.Tool)
	c.capture(&call.Arguments, CaptureNormalizedBody)
	if c.optional(flags&4, &call.Started) {
		c.int(&call.StartedAt)
	}
}

func (c *coder) result(r *Result) {
	flags := c.flags(r.Status != "", r.Completed, r.HasDuration)
	c.filledText(flags&1, &r.Status)
	if c.optional(flags&2, &r.Completed) {
		c.int(&r.CompletedAt)
	}
	if c.optional(flags&4, &r.HasDuration) {
		c.uint(&r.DurationNS)
	}
	c.capture(&r.Text, captureStates)
	c.capture(&r.Structured, CaptureNormalizedBody)
}

// capture codes a capture whose state is below limit.
func (c *coder) capture(p *Capture, limit CaptureStatus) {
	code(c, &p.Status, int(limit))
	switch p.Status {
	case CapturePresent:
		c.value(&p.Value)
	case CaptureOmitted:
		observed := uint64(0)
		if p.HasObserved {
			observed = p.Observed + 1
		}
		if c.uint(&observed); c.optional(observed, &p.HasObserved) && c.reading {
			p.Observed = observed - 1
		}
		c.text(&p.Reason)
	}
}

// Encode appends the storage form of a session.
func (s *Session) Encode(dst []byte) []byte {
	c := coder{b: dst}
	c.session(s)
	return c.b
}

// Decode reads one session. Its texts are views of src, which must not change any more. The error is a fault of code index_corruption.
func (s *Session) Decode(src []byte) error {
	*s = Session{}
	c := coder{b: src, reading: true, views: true}
	c.session(s)
	return c.end()
}

func (c *coder) session(s *Session) {
	c.version("session", sessionVersion)
	m := &s.Meta
	flags := c.flags(s.Parent != nil, s.Root != nil, m.StartedAt != nil, m.EndedAt != nil, m.ApproximateTimes)
	c.optional(flags&16, &m.ApproximateTimes)
	c.uint32(&s.Ordinal)
	c.digest(&s.ID)
	c.digest(&s.Source)
	c.digest(&s.Descriptor)
	c.text(&s.Provider)
	c.text(&s.SourceFormat)
	c.text(&s.SchemaVariant)
	c.uint32(&s.IdentityVersion)
	c.copied(&s.Anchor)
	c.copied(&s.Key)
	c.text(&s.Kind)
	c.text(&s.ProviderSessionID)
	pointer(c, flags&1, &s.Parent, c.digest)
	pointer(c, flags&2, &s.Root, c.digest)
	code(c, &s.Relationship, len(relationshipNames))
	code(c, &s.Scope, len(scopeNames))
	c.text(&s.ParserRevision)
	for _, field := range m.texts() {
		c.text(field)
	}
	list(c, &m.Models, len(c.b), c.text) // each takes a byte at least
	pointer(c, flags&4, &m.StartedAt, c.int)
	pointer(c, flags&8, &m.EndedAt, c.int)
}

// pointer codes a member that is nil unless its flag is set.
func pointer[T any](c *coder, flag uint64, p **T, value func(*T)) {
	if flag == 0 {
		return
	}
	if c.reading {
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
