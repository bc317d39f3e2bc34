package record

import (
	"slices"

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
	if err := requireText("item kind", kind, MaxName); err != nil {
		return err
	}
	if err := ValidNativeKey(key); err != nil || len(selector) == 0 {
		return err
	}
	return ValidNativeKey(selector)
}

// intern returns the constant of a known name, so that events do not keep wire messages alive for them.
func intern(names []string, text string) string {
	if c := codeOf(names, text); c != 0 {
		return names[c]
	}
	return text
}

// content is the content of one event under conversion. The first violation is kept.
type content struct {
	e     *Event
	loose bool // the structured content is not canonical yet
	err   *Rejection
}

func (ct *content) fail(code, format, what string) {
	if ct.err == nil {
		ct.err = reject(code, format, what)
	}
}

func convertContent(w *historyv1.Event, dst *Event) error {
	ct := content{e: dst}
	if structured := w.GetStructured(); len(structured) > 0 && string(structured) != "null" {
		dst.Structured = structured
		ct.loose = !canonical.IsCanonical(structured)
	}
	if body := w.GetBody(); body != nil {
		dst.HasBody, dst.Body = true, ct.text(body, "body")
	}
	ct.activity(w)
	if ct.loose {
		fixed, err := canonical.Canonical(dst.Structured)
		if err != nil {
			ct.fail(RejectInvalidText, "%s is not JSON", "structured content")
		}
		dst.Structured = fixed
		if string(fixed) == "null" {
			dst.Structured = nil
		}
	}
	if ct.err != nil {
		return ct.err
	}
	return nil
}

func (ct *content) activity(w *historyv1.Event) {
	e := ct.e
	a := &e.own.activity
	if id := w.GetCallId(); len(id) > 0 {
		if ValidTypedKey(id) != nil {
			ct.fail(RejectInvalidKey, "%s is no typed key", "the call id")
		}
		a.CallID = id
	}
	if call := w.GetInvocation(); call != nil {
		a.Invocation = &e.own.invocation
		*a.Invocation = Invocation{
			Protocol: call.GetProtocol(), Server: call.GetServer(), Tool: call.GetTool(),
			Started: call.StartedAtMs != nil, StartedAt: call.GetStartedAtMs(),
			Arguments: ct.capture(call.GetArguments(), true, "arguments"),
		}
	}
	if r := w.GetResult(); r != nil {
		a.Result = &e.own.result
		*a.Result = Result{
			Status: r.GetStatus(), Completed: r.CompletedAtMs != nil, CompletedAt: r.GetCompletedAtMs(),
			HasDuration: r.DurationNs != nil, DurationNS: r.GetDurationNs(),
			Text: ct.capture(r.GetText(), false, "result text"), Structured: ct.capture(r.GetStructured(), true, "structured result"),
			SoleOutput: r.GetSoleOutput(),
		}
	}
	for _, fact := range w.GetFacts() {
		converted := Fact{Value: stringBytes(fact.GetValue())}
		if kind := fact.GetKind(); kind > 0 && int(kind) < int(factKinds) {
			converted.Kind = FactKind(kind)
		}
		if validFact(&converted) && len(e.own.facts) < MaxFacts {
			e.own.facts = append(e.own.facts, converted)
		}
	}
	if a.Facts = e.own.facts; len(a.Facts) > 0 || a.Invocation != nil || a.Result != nil {
		e.Activity = a
	}
}

// captureStatus maps the states of the wire, which are numbered in another order.
var captureStatus = map[historyv1.Capture_Status]CaptureStatus{
	historyv1.Capture_STATUS_ABSENT:          CaptureAbsent,
	historyv1.Capture_STATUS_PRESENT:         CapturePresent,
	historyv1.Capture_STATUS_UNAVAILABLE:     CaptureUnavailable,
	historyv1.Capture_STATUS_OMITTED:         CaptureOmitted,
	historyv1.Capture_STATUS_NORMALIZED_BODY: CaptureNormalizedBody,
}

func (ct *content) capture(w *historyv1.Capture, json bool, what string) (c Capture) {
	status, ok := captureStatus[w.GetStatus()]
	if !ok || json && status == CaptureNormalizedBody {
		ct.fail(RejectInvalidField, "unknown state of the %s", what)
	}
	c.Status = status
	switch {
	case status == CapturePresent && json:
		c.Value = ct.json(w.GetValue(), what)
	case status == CapturePresent:
		c.Value = ct.text(w.GetValue(), what)
	case status == CaptureOmitted:
		c.Reason, c.HasObserved, c.Observed = w.GetReason(), w.ObservedBytes != nil, w.GetObservedBytes()
	}
	return c
}

// text converts a text value. Spans stay spans of canonical structured content; of loose one they are read out here.
func (ct *content) text(w *historyv1.Value, what string) Value {
	v := ct.value(w, what)
	if ct.loose && len(v.Spans) > 0 {
		return Value{Inline: ct.detach(v)}
	}
	return v
}

// json converts a JSON value and makes sure that what it materialises to is canonical.
func (ct *content) json(w *historyv1.Value, what string) Value {
	v := ct.text(w, what)
	if len(v.Spans) == 1 && !v.Spans[0].Quoted && int(v.Spans[0].Length) == len(ct.e.Structured) {
		return v // the structured content itself
	}
	raw := ct.e.bytesOf(v, ct.e.own.buf)
	if canonical.IsCanonical(raw) {
		return v
	}
	fixed, err := canonical.Canonical(raw)
	if err != nil {
		ct.fail(RejectInvalidText, "%s are not JSON", what)
	}
	return Value{Inline: fixed}
}

// value checks the spans of a value.
func (ct *content) value(w *historyv1.Value, what string) Value {
	e := ct.e
	if len(w.GetSpans()) == 0 {
		return Value{Inline: w.GetInline()}
	}
	if len(w.GetInline()) > 0 {
		ct.fail(RejectInvalidField, "%s with bytes and spans", what)
	}
	from := len(e.own.spans)
	for _, ws := range w.GetSpans() {
		span := Span{Offset: ws.GetOffset(), Length: ws.GetLength(), Quoted: ws.GetQuoted()}
		if !validSpan(e.Structured, span) || span.Quoted && !ct.loose && !isLiteral(e.piece(span)) {
			ct.fail(RejectInvalidField, "a span of the %s lies outside the structured content or is no string", what)
			return Value{}
		}
		e.own.spans = append(e.own.spans, span)
	}
	return Value{Spans: slices.Clip(e.own.spans[from:])}
}

// detach reads a value out of loose structured content, whose literals may hold any escape. A literal that is broken gives nothing;
// the structured content is then no JSON and the event is refused.
func (ct *content) detach(v Value) (out []byte) {
	for i, span := range v.Spans {
		if i > 0 {
			out = append(out, '\n')
		}
		piece := ct.e.piece(span)
		if span.Quoted {
			out, _ = canonical.Unquote(out, piece)
		} else {
			out = append(out, piece...)
		}
	}
	return out
}
