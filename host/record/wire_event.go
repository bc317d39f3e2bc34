package record

import (
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// FromWire converts one event into dst, which aliases the message. The error is a *Rejection: a key, a span or a value that cannot be
// what it claims to be. The rules of content and the limits are the business of Admit, which must follow.
//
// Structured content that is not canonical is brought into that form; values inside it then get bytes of their own. An event without
// a scope takes that of its session. Facts that cannot be stored (unknown kind, empty, too long, more than MaxFacts) are left out.
func (c *Converter) FromWire(w *historyv1.Event, dst *Event) error {
	dst.Reset()
	s, ordinal := c.sessionOf(w.GetSession())
	if s == nil {
		return reject(RejectInvalidField, "an event of a session that was not declared")
	}
	if err := c.identify(w, s, dst); err != nil {
		return err
	}
	dst.Session = ordinal
	dst.Sequence, dst.Suborder = w.GetSequence(), w.GetSuborder()
	if w.OccurredAtMs != nil {
		dst.Timed, dst.OccurredAt = true, *w.OccurredAtMs
	}
	dst.Type, dst.Role = intern(typeNames[:], w.GetType()), intern(roleNames[:], w.GetRole())
	if !knownScope(w.GetScope()) {
		return reject(RejectInvalidField, "unknown scope of an event")
	}
	if dst.Scope = Scope(w.GetScope()); dst.Scope == ScopeUnknown {
		dst.Scope = s.Scope
	}
	if policy := w.GetPolicy(); policy != nil {
		if policy.GetStatus() < 0 || int(policy.GetStatus()) >= int(policyStates) {
			return reject(RejectInvalidField, "unknown policy of an event")
		}
		dst.Policy, dst.PolicyReason = PolicyStatus(policy.GetStatus()), policy.GetReason()
	}
	return convertContent(w, dst)
}

// identify checks the keys of an event, derives its id and that of the event it copies.
func (c *Converter) identify(w *historyv1.Event, s *Session, dst *Event) error {
	if err := checkItem(w.GetKind(), w.GetKey(), w.GetSelector()); err != nil {
		return err
	}
	dst.ID = EventID(c.source, s.ID, w.GetKind(), w.GetKey(), w.GetSelector())
	dst.own.key = AppendTypedKeyOf(dst.own.key[:0], w.GetKey())
	dst.NativeID = dst.own.key
	claim := w.GetCopy()
	if claim == nil {
		return nil
	}
	if err := checkItem(claim.GetEventKind(), claim.GetEventKey(), claim.GetEventSelector()); err != nil {
		return err
	}
	source, session, err := c.Resolve(claim.GetSession())
	if err != nil {
		return err
	}
	if claim.GetProof() <= 0 || int(claim.GetProof()) >= len(proofNames) {
		return reject(RejectInvalidField, "a copy without a known proof")
	}
	dst.own.copied = Copy{
		Session: session,
		Event:   EventID(source, session, claim.GetEventKind(), claim.GetEventKey(), claim.GetEventSelector()),
		Proof:   Proof(claim.GetProof()),
	}
	dst.Copy = &dst.own.copied
	return nil
}

func checkItem(kind string, key, selector []byte) error {
	if kind == "" {
		return reject(RejectInvalidField, "no item kind")
	}
	if err := checkNames(field{"item kind", kind, MaxName}); err != nil {
		return err
	}
	if err := ValidNativeKey(key); err != nil {
		return err
	}
	if len(selector) == 0 {
		return nil
	}
	return ValidNativeKey(selector)
}

// intern returns the constant of a known name, so that events do not keep wire messages alive for them.
func intern(names []string, text string) string {
	if c := code(names, text); c != 0 {
		return names[c]
	}
	return text
}

// content is the content of one event under conversion.
type content struct {
	e     *Event
	loose bool // the structured content is not canonical yet
}

func convertContent(w *historyv1.Event, dst *Event) error {
	ct := content{e: dst}
	if structured := w.GetStructured(); len(structured) > 0 && string(structured) != "null" {
		dst.Structured = structured
		ct.loose = !canonical.IsCanonical(structured)
	}
	if body := w.GetBody(); body != nil {
		dst.HasBody = true
		var err error
		if dst.Body, err = ct.text(body, "body"); err != nil {
			return err
		}
	}
	if err := ct.activity(w); err != nil {
		return err
	}
	if !ct.loose {
		return nil
	}
	fixed, err := canonical.Canonical(dst.Structured)
	if err != nil {
		return reject(RejectInvalidText, "structured content is not JSON")
	}
	dst.Structured = fixed
	if string(fixed) == "null" {
		dst.Structured = nil
	}
	return nil
}

func (ct *content) activity(w *historyv1.Event) error {
	e := ct.e
	if len(w.GetCallId()) == 0 && w.GetInvocation() == nil && w.GetResult() == nil && len(w.GetFacts()) == 0 {
		return nil
	}
	a := &e.own.activity
	e.Activity = a
	if id := w.GetCallId(); len(id) > 0 {
		if err := ValidTypedKey(id); err != nil {
			return err
		}
		a.CallID = id
	}
	if call := w.GetInvocation(); call != nil {
		a.Invocation = &e.own.invocation
		if err := ct.invocation(call, a.Invocation); err != nil {
			return err
		}
	}
	if r := w.GetResult(); r != nil {
		a.Result = &e.own.result
		if err := ct.result(r, a.Result); err != nil {
			return err
		}
	}
	for _, fact := range w.GetFacts() {
		converted := Fact{Value: stringBytes(fact.GetValue())}
		if kind := fact.GetKind(); kind > 0 && int(kind) < int(factKinds) {
			converted.Kind = FactKind(kind)
		}
		if checkFact(&converted) == nil && len(e.own.facts) < MaxFacts {
			e.own.facts = append(e.own.facts, converted)
		}
	}
	a.Facts = e.own.facts
	if len(a.Facts) == 0 && a.Invocation == nil && a.Result == nil {
		e.Activity = nil
	}
	return nil
}

func (ct *content) invocation(w *historyv1.Invocation, call *Invocation) (err error) {
	call.Protocol, call.Server, call.Tool = w.GetProtocol(), w.GetServer(), w.GetTool()
	if w.StartedAtMs != nil {
		call.Started, call.StartedAt = true, *w.StartedAtMs
	}
	call.Arguments, err = ct.capture(w.GetArguments(), true, "arguments")
	return err
}

func (ct *content) result(w *historyv1.Result, r *Result) (err error) {
	r.Status = w.GetStatus()
	if w.CompletedAtMs != nil {
		r.Completed, r.CompletedAt = true, *w.CompletedAtMs
	}
	if w.DurationNs != nil {
		r.HasDuration, r.DurationNS = true, *w.DurationNs
	}
	if r.Text, err = ct.capture(w.GetText(), false, "result text"); err != nil {
		return err
	}
	r.Structured, err = ct.capture(w.GetStructured(), true, "structured result")
	return err
}

// captureStatus maps the states of the wire, which are numbered in another order.
var captureStatus = map[historyv1.Capture_Status]CaptureStatus{
	historyv1.Capture_STATUS_ABSENT:          CaptureAbsent,
	historyv1.Capture_STATUS_PRESENT:         CapturePresent,
	historyv1.Capture_STATUS_UNAVAILABLE:     CaptureUnavailable,
	historyv1.Capture_STATUS_OMITTED:         CaptureOmitted,
	historyv1.Capture_STATUS_NORMALIZED_BODY: CaptureNormalizedBody,
}

func (ct *content) capture(w *historyv1.Capture, json bool, what string) (c Capture, err error) {
	status, ok := captureStatus[w.GetStatus()]
	if !ok || json && status == CaptureNormalizedBody {
		return c, reject(RejectInvalidField, "unknown state of the %s", what)
	}
	c.Status = status
	switch {
	case status == CapturePresent && json:
		c.Value, err = ct.json(w.GetValue(), what)
	case status == CapturePresent:
		c.Value, err = ct.text(w.GetValue(), what)
	case status == CaptureOmitted:
		c.Reason = w.GetReason()
		if w.ObservedBytes != nil {
			c.HasObserved, c.Observed = true, *w.ObservedBytes
		}
	}
	return c, err
}

// text converts a text value. Spans stay spans of canonical structured content; of loose one they are read out here.
func (ct *content) text(w *historyv1.Value, what string) (Value, error) {
	v, err := ct.value(w, what)
	if err != nil || !ct.loose || len(v.Spans) == 0 {
		return v, err
	}
	return Value{Inline: ct.detach(v)}, nil
}

// json converts a JSON value and makes sure that what it materialises to is canonical.
func (ct *content) json(w *historyv1.Value, what string) (Value, error) {
	v, err := ct.value(w, what)
	if err != nil {
		return v, err
	}
	if len(v.Spans) == 1 && !ct.loose && !v.Spans[0].Quoted && int(v.Spans[0].Length) == len(ct.e.Structured) {
		return v, nil // the structured content itself
	}
	var raw []byte
	if ct.loose && len(v.Spans) > 0 {
		raw = ct.detach(v)
		v = Value{Inline: raw}
	} else {
		raw = ct.e.bytesOf(v, ct.e.own.buf)
	}
	if canonical.IsCanonical(raw) {
		return v, nil
	}
	fixed, err := canonical.Canonical(raw)
	if err != nil {
		return v, reject(RejectInvalidText, "%s are not JSON", what)
	}
	return Value{Inline: fixed}, nil
}

// value checks the spans of a value.
func (ct *content) value(w *historyv1.Value, what string) (v Value, err error) {
	if len(w.GetSpans()) == 0 {
		return Value{Inline: w.GetInline()}, nil
	}
	if len(w.GetInline()) > 0 {
		return v, reject(RejectInvalidField, "%s with bytes and spans", what)
	}
	e := ct.e
	from := len(e.own.spans)
	for _, ws := range w.GetSpans() {
		span := Span{Offset: ws.GetOffset(), Length: ws.GetLength(), Quoted: ws.GetQuoted()}
		if !validSpan(e.Structured, span) {
			return v, reject(RejectInvalidField, "a span of the %s lies outside the structured content", what)
		}
		if span.Quoted && !ct.loose && !isLiteral(e.piece(span)) {
			return v, reject(RejectInvalidField, "a quoted span of the %s is no string", what)
		}
		e.own.spans = append(e.own.spans, span)
	}
	spans := e.own.spans[from:]
	return Value{Spans: spans[:len(spans):len(spans)]}, nil
}

// detach reads a value out of loose structured content, whose literals may hold any escape. A literal that is broken gives nothing;
// the structured content is then no JSON and the event is refused.
func (ct *content) detach(v Value) (out []byte) {
	for i, span := range v.Spans {
		if i > 0 {
			out = append(out, '\n')
		}
		piece := ct.e.piece(span)
		if !span.Quoted {
			out = append(out, piece...)
			continue
		}
		out, _ = canonical.Unquote(out, piece)
	}
	return out
}
