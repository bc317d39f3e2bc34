package pluginhost

import (
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// event checks what later code relies on without looking: the session is declared, the order does not go back, strings and
// lists have their sizes, pieces lie inside the structured content and do not blow up, and text is UTF-8. Whether the structured
// content is canonical JSON and a quoted piece a literal is found out beside the conversion, by package record.
func (s *scanned) event(e *historyv1.Event) error {
	session := e.GetSession()
	switch {
	case int(session) >= len(s.last):
		return brokenf("an event of an undeclared session")
	case e.GetSequence() < s.last[session]:
		return brokenf("an event before its predecessor")
	case len(e.GetKey()) == 0 || len(e.GetKey()) > longestNativeKey || len(e.GetSelector()) > longestNativeKey:
		return brokenf("an event key of %d bytes", len(e.GetKey()))
	case e.GetKind() == "" || len(e.GetKind()) > sdkplugin.MaxLabel:
		return brokenf("an event kind of %d bytes", len(e.GetKind()))
	case e.GetType() == "" || len(e.GetType()) > sdkplugin.MaxString || len(e.GetRole()) > sdkplugin.MaxString:
		return brokenf("an event type of %d bytes", len(e.GetType()))
	case e.GetScope() < 0 || e.GetScope() > historyv1.Scope_SCOPE_SUBAGENT:
		return brokenf("scope %d", e.GetScope())
	case len(e.GetCallId()) > longestAnchor:
		return brokenf("a call id of %d bytes", len(e.GetCallId()))
	case len(e.GetCallId()) == 0 && (e.GetInvocation() != nil || e.GetResult() != nil):
		return brokenf("an invocation or result without a call id")
	}
	s.last[session] = e.GetSequence()
	if err := checkValue(e.GetBody(), e.GetStructured(), true); err != nil {
		return err
	}
	if err := checkActivity(e); err != nil {
		return err
	}
	if err := checkCopy(e.GetCopy()); err != nil {
		return err
	}
	policy := e.GetPolicy()
	if policy.GetStatus() < 0 || policy.GetStatus() > historyv1.Policy_STATUS_OMITTED || len(policy.GetReason()) > sdkplugin.MaxString {
		return brokenf("policy %d", policy.GetStatus())
	}
	return nil
}

func checkActivity(e *historyv1.Event) error {
	if call := e.GetInvocation(); call != nil {
		if call.GetTool() == "" || max(len(call.GetTool()), len(call.GetServer()), len(call.GetProtocol())) > sdkplugin.MaxString {
			return brokenf("an invocation with names of wrong length")
		}
		if err := checkCapture(call.GetArguments(), e, false); err != nil {
			return err
		}
	}
	if result := e.GetResult(); result != nil {
		if len(result.GetStatus()) > sdkplugin.MaxString {
			return brokenf("a result status of %d bytes", len(result.GetStatus()))
		}
		if err := checkCapture(result.GetText(), e, true); err != nil {
			return err
		}
		if err := checkCapture(result.GetStructured(), e, false); err != nil {
			return err
		}
	}
	if len(e.GetFacts()) > sdkplugin.MaxFacts {
		return brokenf("an event of %d facts", len(e.GetFacts()))
	}
	for _, f := range e.GetFacts() {
		limit := sdkplugin.MaxString
		if f.GetKind() == historyv1.FactKind_FACT_KIND_FILE {
			limit = sdkplugin.MaxFileFact
		}
		if f.GetKind() <= 0 || f.GetKind() > historyv1.FactKind_FACT_KIND_PROVIDER_DISPOSITION || f.GetValue() == "" || len(f.GetValue()) > limit {
			return brokenf("a fact of kind %d and %d bytes", f.GetKind(), len(f.GetValue()))
		}
	}
	return nil
}

// checkCapture checks a captured value: text is UTF-8, any other one is JSON and is read later.
func checkCapture(c *historyv1.Capture, e *historyv1.Event, text bool) error {
	switch c.GetStatus() {
	case historyv1.Capture_STATUS_PRESENT:
		if c.GetValue() == nil {
			return brokenf("a present capture without a value")
		}
		return checkValue(c.GetValue(), e.GetStructured(), text)
	case historyv1.Capture_STATUS_OMITTED:
		if c.GetReason() == "" || len(c.GetReason()) > sdkplugin.MaxString {
			return brokenf("an omitted capture with a reason of %d bytes", len(c.GetReason()))
		}
	case historyv1.Capture_STATUS_NORMALIZED_BODY:
		if !text || e.GetBody() == nil {
			return brokenf("a capture that is the body of an event without one")
		}
	case historyv1.Capture_STATUS_ABSENT, historyv1.Capture_STATUS_UNAVAILABLE:
	default:
		return brokenf("capture status %d", c.GetStatus())
	}
	return nil
}

// checkValue checks a value. Pieces may overlap, so their sum has a bound of its own: a few bytes of the wire could otherwise
// stand for terabytes of text.
func checkValue(v *historyv1.Value, structured []byte, text bool) error {
	if v == nil {
		return nil
	}
	if len(v.Spans) == 0 {
		if text && !utf8.Valid(v.Inline) {
			return brokenf("text that is not UTF-8")
		}
		return nil
	}
	if len(v.Inline) > 0 {
		return brokenf("a value with bytes and pieces")
	}
	total := uint64(0)
	for _, span := range v.Spans {
		from, length := uint64(span.GetOffset()), uint64(span.GetLength())
		end := from + length
		if end > uint64(len(structured)) {
			return brokenf("a piece outside the structured content")
		}
		if total += length + 1; total > sdkplugin.MaxWireMessage {
			return brokenf("pieces of more than %d bytes", sdkplugin.MaxWireMessage)
		}
		if span.GetQuoted() {
			if length < 2 || structured[from] != '"' || structured[end-1] != '"' {
				return brokenf("a quoted piece that is no string")
			}
		} else if cuts(structured, from) || cuts(structured, end) {
			return brokenf("a piece that cuts a character")
		}
	}
	return nil
}

// cuts tells whether a place lies inside a character.
func cuts(text []byte, at uint64) bool {
	return at < uint64(len(text)) && !utf8.RuneStart(text[at])
}

func checkCopy(c *historyv1.CopyClaim) error {
	if c == nil {
		return nil
	}
	switch {
	case c.GetSession() == nil:
		return brokenf("a copy of no session")
	case len(c.GetEventKey()) == 0 || len(c.GetEventKey()) > longestNativeKey || len(c.GetEventSelector()) > longestNativeKey:
		return brokenf("a copied event key of %d bytes", len(c.GetEventKey()))
	case c.GetEventKind() == "" || len(c.GetEventKind()) > sdkplugin.MaxLabel:
		return brokenf("a copied event kind of %d bytes", len(c.GetEventKind()))
	case c.GetProof() <= 0 || c.GetProof() > historyv1.Proof_PROOF_CERTIFIED_ORDERED_PREFIX:
		return brokenf("proof %d", c.GetProof())
	}
	return checkRef(c.GetSession())
}
