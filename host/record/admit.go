package record

import (
	"unicode/utf8"
)

// Times that RFC 3339 can write: the years 0 to 9999.
const (
	minTime = -62167219200000
	maxTime = 253402300799999
)

// Admit checks an event against the rules and limits of the Core record and sets its two sizes. An event over the content budget is
// shrunk in a fixed order, a value is never cut: the structured content goes if that alone is enough; else captured values become
// "omitted" with reason size_limit, the largest saving first; then facts go from the end. What still does not fit, and an event that
// breaks a rule, comes back as a *Rejection.
//
// Structured content and captured JSON must be canonical JSON already, keys valid: FromWire sees to that.
func Admit(e *Event, s *Session) error {
	a := admission{e: e}
	a.fields(s)
	a.content()
	a.activity()
	if a.err != nil {
		return a.err
	}
	e.EncodedBytes, e.ContentBytes = measure(e, s)
	// The content as JSON is never shorter than what the budget counts, so most events need no closer look.
	if e.ContentBytes > MaxContent {
		if err := shrink(e); err != nil {
			return err
		}
		e.EncodedBytes, e.ContentBytes = measure(e, s)
	}
	if e.EncodedBytes > MaxRecord {
		return reject(RejectTooLarge, "record of %d bytes", e.EncodedBytes)
	}
	return nil
}

// admission checks one event and keeps the first violation.
type admission struct {
	e   *Event
	err *Rejection
}

func (a *admission) check(ok bool, code, violation string) {
	if !ok && a.err == nil {
		a.err = reject(code, "%s", violation)
	}
}

// field checks that a field keeps its rule.
func (a *admission) field(ok bool, violation string) { a.check(ok, RejectInvalidField, violation) }

// text checks an optional string: valid UTF-8 and not too long.
func (a *admission) text(name, value string, limit int) {
	if a.err == nil {
		a.err = checkText(name, value, limit)
	}
}

func checkText(name, value string, limit int) *Rejection {
	switch {
	case len(value) > limit:
		return reject(RejectInvalidField, "%s of %d bytes, at most %d", name, len(value), limit)
	case !utf8.ValidString(value):
		return reject(RejectInvalidText, "%s is not UTF-8", name)
	}
	return nil
}

func (a *admission) fields(s *Session) {
	e := a.e
	a.field(e.Type != "", "no event type")
	a.text("event type", e.Type, MaxText)
	a.text("role", e.Role, MaxText)
	a.text("policy reason", e.PolicyReason, MaxText)
	a.field(!e.Timed || e.OccurredAt >= minTime && e.OccurredAt <= maxTime, "time out of range")
	a.field(int(e.Scope) < len(scopeNames) && e.Policy < policyStates, "unknown scope or policy")
	a.check(len(e.NativeID) <= MaxTypedKey, RejectInvalidKey, "native id over its limit")
	if c := e.Copy; c != nil {
		a.field(c.Proof != ProofNone && int(c.Proof) < len(proofNames), "copy without a known proof")
		a.field(c.Session != s.ID && c.Event != e.ID, "an event cannot be a copy from its own session")
	}
}

func (a *admission) content() {
	e := a.e
	a.field(e.HasBody || len(e.Body.Inline) == 0 && len(e.Body.Spans) == 0, "a body that is not there has a value")
	a.value(e.Body, "body")
	// An activity that says nothing but a call id says nothing.
	if x := e.Activity; x != nil && x.Invocation == nil && x.Result == nil && len(x.Facts) == 0 {
		e.Activity = nil
	}
	body, structured, activity := e.HasBody && !e.empty(e.Body), len(e.Structured) > 0, e.Activity != nil
	a.field((e.Policy == PolicySelected) == (e.PolicyReason == ""), "only and every redacted or omitted event has a reason")
	a.field(e.Policy == PolicySelected || !activity && !e.Excluded, "redacted or omitted with an activity or a discovery exclusion")
	switch e.Policy {
	case PolicySelected:
		a.check(body || structured || activity, RejectNoContent, "no body, no structured content, no activity")
	case PolicyRedacted:
		a.check(body || structured, RejectNoContent, "redacted and nothing left")
	case PolicyOmitted:
		a.field(!e.HasBody && !structured, "omitted with content")
	}
}

// value checks UTF-8 and the spans. Structured content is UTF-8, so a span is when it starts and ends between characters.
func (a *admission) value(v Value, what string) {
	if len(v.Spans) == 0 {
		if a.err == nil && !utf8.Valid(v.Inline) {
			a.err = reject(RejectInvalidText, "%s is not UTF-8", what)
		}
		return
	}
	structured := a.e.Structured
	atRune := func(at uint64) bool { return at >= uint64(len(structured)) || utf8.RuneStart(structured[at]) }
	for _, span := range v.Spans {
		a.field(validSpan(structured, span), "a span lies outside the structured content")
		at := uint64(span.Offset)
		a.check(atRune(at) && atRune(at+uint64(span.Length)), RejectInvalidText, "a span cuts a character")
	}
}

func (a *admission) activity() {
	x := a.e.Activity
	if x == nil {
		return
	}
	a.field(len(x.CallID) > 0 || x.Invocation == nil && x.Result == nil, "an invocation or result without a call id")
	a.field(len(x.Facts) <= MaxFacts, "too many facts")
	for i := range x.Facts {
		a.field(validFact(&x.Facts[i]), "a fact of unknown kind, empty, too long or not UTF-8")
	}
	if call := x.Invocation; call != nil {
		a.field(call.Tool != "", "an invocation without a tool")
		a.text("protocol", call.Protocol, MaxText)
		a.text("server", call.Server, MaxText)
		a.text("tool", call.Tool, MaxText)
		a.capture(&call.Arguments, false, "arguments")
	}
	if r := x.Result; r != nil {
		a.text("result status", r.Status, MaxText)
		a.capture(&r.Text, a.e.HasBody && !a.e.empty(a.e.Body), "result text")
		a.capture(&r.Structured, false, "structured result")
	}
}

// validFact tells whether a fact has a known kind and a value within its limit.
func validFact(f *Fact) bool {
	limit := MaxText
	if f.Kind == FactFile {
		limit = MaxFileFact
	}
	return f.Kind > FactNone && f.Kind < factKinds && len(f.Value) > 0 && len(f.Value) <= limit && utf8.Valid(f.Value)
}

// capture checks a captured value, which may stand for the body only where there is one.
func (a *admission) capture(c *Capture, mayBeBody bool, what string) {
	switch c.Status {
	case CaptureAbsent, CaptureUnavailable:
	case CapturePresent:
		a.value(c.Value, what)
	case CaptureOmitted:
		a.field(c.Reason != "", "a value omitted without a reason")
		a.field(!c.HasObserved || c.Observed <= MaxObserved, "observed size of an omitted value out of range")
		a.text("reason", c.Reason, MaxText)
	default:
		a.field(c.Status == CaptureNormalizedBody && mayBeBody, "a value of unknown state, or one that is the body where there is none")
	}
}
