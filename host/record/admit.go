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
	if err := checkFields(e, s); err != nil {
		return err
	}
	if err := checkContent(e); err != nil {
		return err
	}
	if a := e.Activity; a != nil {
		if err := checkActivity(e, a); err != nil {
			return err
		}
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

func checkFields(e *Event, s *Session) error {
	if e.Type == "" {
		return reject(RejectInvalidField, "no event type")
	}
	if err := checkNames(
		field{"event type", e.Type, MaxText}, field{"role", e.Role, MaxText}, field{"policy reason", e.PolicyReason, MaxText},
	); err != nil {
		return err
	}
	if e.Timed && (e.OccurredAt < minTime || e.OccurredAt > maxTime) {
		return reject(RejectInvalidField, "time out of range")
	}
	if int(e.Scope) >= len(scopeNames) || e.Policy >= policyStates {
		return reject(RejectInvalidField, "unknown scope or policy")
	}
	if len(e.NativeID) > MaxTypedKey {
		return reject(RejectInvalidKey, "native id of %d bytes", len(e.NativeID))
	}
	if c := e.Copy; c != nil {
		if c.Proof == ProofNone || int(c.Proof) >= len(proofNames) {
			return reject(RejectInvalidField, "copy without a known proof")
		}
		if c.Session == s.ID || c.Event == e.ID {
			return reject(RejectInvalidField, "an event cannot be a copy from its own session")
		}
	}
	return nil
}

type field struct {
	name, value string
	limit       int
}

// checkNames checks optional strings: valid UTF-8 and not too long.
func checkNames(fields ...field) error {
	for _, f := range fields {
		if len(f.value) > f.limit {
			return reject(RejectInvalidField, "%s of %d bytes, at most %d", f.name, len(f.value), f.limit)
		}
		if !utf8.ValidString(f.value) {
			return reject(RejectInvalidText, "%s is not UTF-8", f.name)
		}
	}
	return nil
}

func checkContent(e *Event) error {
	if e.HasBody {
		if err := checkValue(e, e.Body, "body"); err != nil {
			return err
		}
	}
	if !e.HasBody && (len(e.Body.Inline) > 0 || len(e.Body.Spans) > 0) {
		return reject(RejectInvalidField, "a body that is not there has a value")
	}
	// An activity that says nothing but a call id says nothing.
	if a := e.Activity; a != nil && a.Invocation == nil && a.Result == nil && len(a.Facts) == 0 {
		e.Activity = nil
	}
	body, structured, activity := e.HasBody && !e.empty(e.Body), len(e.Structured) > 0, e.Activity != nil
	if e.Policy != PolicySelected {
		if e.PolicyReason == "" {
			return reject(RejectInvalidField, "%s without a reason", e.Policy)
		}
		if activity || e.Excluded {
			return reject(RejectInvalidField, "%s with an activity or a discovery exclusion", e.Policy)
		}
	}
	switch e.Policy {
	case PolicySelected:
		if e.PolicyReason != "" {
			return reject(RejectInvalidField, "selected with a reason")
		}
		if !body && !structured && !activity {
			return reject(RejectNoContent, "no body, no structured content, no activity")
		}
	case PolicyRedacted:
		if !body && !structured {
			return reject(RejectNoContent, "redacted and nothing left")
		}
	case PolicyOmitted:
		if e.HasBody || structured {
			return reject(RejectInvalidField, "omitted with content")
		}
	}
	return nil
}

// checkValue checks UTF-8 and the spans. Structured content is UTF-8, so a span is when it starts and ends between characters.
func checkValue(e *Event, v Value, what string) error {
	if len(v.Spans) == 0 {
		if !utf8.Valid(v.Inline) {
			return reject(RejectInvalidText, "%s is not UTF-8", what)
		}
		return nil
	}
	for _, span := range v.Spans {
		if !validSpan(e.Structured, span) {
			return reject(RejectInvalidField, "a span of the %s lies outside the structured content", what)
		}
		end := int(span.Offset) + int(span.Length)
		if !atRune(e.Structured, int(span.Offset)) || !atRune(e.Structured, end) {
			return reject(RejectInvalidText, "a span of the %s cuts a character", what)
		}
	}
	return nil
}

func atRune(b []byte, at int) bool { return at >= len(b) || utf8.RuneStart(b[at]) }

func checkActivity(e *Event, a *Activity) error {
	if len(a.CallID) == 0 && (a.Invocation != nil || a.Result != nil) {
		return reject(RejectInvalidField, "an invocation or result without a call id")
	}
	if len(a.Facts) > MaxFacts {
		return reject(RejectInvalidField, "%d facts, at most %d", len(a.Facts), MaxFacts)
	}
	for i := range a.Facts {
		if err := checkFact(&a.Facts[i]); err != nil {
			return err
		}
	}
	if call := a.Invocation; call != nil {
		if call.Tool == "" {
			return reject(RejectInvalidField, "an invocation without a tool")
		}
		if err := checkNames(
			field{"protocol", call.Protocol, MaxText}, field{"server", call.Server, MaxText}, field{"tool", call.Tool, MaxText},
		); err != nil {
			return err
		}
		if err := checkCapture(e, &call.Arguments, "arguments"); err != nil {
			return err
		}
	}
	r := a.Result
	if r == nil {
		return nil
	}
	if err := checkNames(field{"result status", r.Status, MaxText}); err != nil {
		return err
	}
	if r.Text.Status == CaptureNormalizedBody {
		if !e.HasBody || e.empty(e.Body) {
			return reject(RejectInvalidField, "the result text is the body, and there is none")
		}
	} else if err := checkCapture(e, &r.Text, "result text"); err != nil {
		return err
	}
	return checkCapture(e, &r.Structured, "structured result")
}

// checkFact refuses what is no fact: an unknown kind, an empty or an overlong value.
func checkFact(f *Fact) error {
	if f.Kind == FactNone || f.Kind >= factKinds {
		return reject(RejectInvalidField, "unknown kind of fact")
	}
	if len(f.Value) == 0 || len(f.Value) > factLimit(f.Kind) {
		return reject(RejectInvalidField, "a %s fact of %d bytes", f.Kind, len(f.Value))
	}
	if !utf8.Valid(f.Value) {
		return reject(RejectInvalidText, "a %s fact is not UTF-8", f.Kind)
	}
	return nil
}

func factLimit(kind FactKind) int {
	if kind == FactFile {
		return MaxFileFact
	}
	return MaxText
}

func checkCapture(e *Event, c *Capture, what string) error {
	switch c.Status {
	case CaptureAbsent, CaptureUnavailable:
		return nil
	case CapturePresent:
		return checkValue(e, c.Value, what)
	case CaptureOmitted:
		if c.Reason == "" {
			return reject(RejectInvalidField, "%s omitted without a reason", what)
		}
		if c.HasObserved && c.Observed > MaxObserved {
			return reject(RejectInvalidField, "observed size of the %s out of range", what)
		}
		return checkNames(field{"reason", c.Reason, MaxText})
	}
	return reject(RejectInvalidField, "unknown state of the %s", what)
}
