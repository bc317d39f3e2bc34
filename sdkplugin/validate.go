package sdkplugin

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// validEvent checks what costs little: keys, strings, sizes, spans. The text
// of bodies and the form of structured content are checked by the host, and by
// the conformance kit.
func validEvent(e *Event) error {
	if err := e.Key.Validate(); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if err := validLabel("kind", e.Kind); err != nil {
		return err
	}
	if len(e.Selector) > 0 {
		if err := e.Selector.Validate(); err != nil {
			return fmt.Errorf("selector: %w", err)
		}
	}
	if e.Type == "" {
		return errors.New("type is empty")
	}
	if err := validStrings("type", e.Type, "role", e.Role, "policy reason", e.Policy.Reason); err != nil {
		return err
	}
	if e.Scope < 0 || e.Scope > ScopeSubagent {
		return fmt.Errorf("scope %d", e.Scope)
	}
	if err := validValue(e, &e.Body); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if err := validActivity(e); err != nil {
		return err
	}
	if err := validCopy(e.Copy); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if n := contentBytes(e); n > maxWireEvent {
		return fmt.Errorf("event of %d bytes, at most %d travel", n, maxWireEvent)
	}
	return validPolicy(e)
}

func validPolicy(e *Event) error {
	content := e.Body.Present || len(e.Structured) > 0 || e.Invocation != nil || e.Result != nil || len(e.Facts) > 0
	switch e.Policy.Status {
	case Selected:
		if e.Policy.Reason != "" {
			return errors.New("policy reason without a policy")
		}
		if !content {
			return errors.New("neither body nor structured content nor activity")
		}
	case Redacted, OmittedContent:
		if e.Policy.Reason == "" {
			return errors.New("policy without a reason")
		}
		if content == (e.Policy.Status == OmittedContent) {
			return errors.New("omitted events have no content, redacted ones have some")
		}
	default:
		return fmt.Errorf("policy status %d", e.Policy.Status)
	}
	return nil
}

func validActivity(e *Event) error {
	if len(e.CallID) > 0 {
		if err := e.CallID.Validate(); err != nil {
			return fmt.Errorf("call id: %w", err)
		}
	} else if e.Invocation != nil || e.Result != nil {
		return errors.New("an invocation or result needs a call id")
	}
	if i := e.Invocation; i != nil {
		if i.Tool == "" {
			return errors.New("invocation without a tool")
		}
		if err := validStrings("protocol", i.Protocol, "server", i.Server, "tool", i.Tool); err != nil {
			return err
		}
		if err := validCapture(e, &i.Arguments, false); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
	}
	if r := e.Result; r != nil {
		if err := validStrings("status", r.Status); err != nil {
			return err
		}
		if err := validCapture(e, &r.Text, true); err != nil {
			return fmt.Errorf("result text: %w", err)
		}
		if err := validCapture(e, &r.Structured, false); err != nil {
			return fmt.Errorf("structured result: %w", err)
		}
	}
	if len(e.Facts) > MaxFacts {
		return fmt.Errorf("%d facts, at most %d", len(e.Facts), MaxFacts)
	}
	for i := range e.Facts {
		if err := validFact(&e.Facts[i]); err != nil {
			return fmt.Errorf("fact %d: %w", i, err)
		}
	}
	return nil
}

func validFact(f *Fact) error {
	limit := MaxString
	if f.Kind == FactFile {
		limit = MaxFileFact
	}
	switch {
	case f.Kind < FactSessionCWD || f.Kind > FactProviderDisposition:
		return fmt.Errorf("kind %d", f.Kind)
	case f.Value == "":
		return errors.New("empty value")
	case len(f.Value) > limit:
		return fmt.Errorf("%d bytes, at most %d", len(f.Value), limit)
	case !utf8.ValidString(f.Value):
		return errors.New("not UTF-8")
	}
	return nil
}

func validCapture(e *Event, c *Capture, text bool) error {
	switch c.Status {
	case CapturePresent:
		if !c.Value.Present {
			return errors.New("present without a value")
		}
		return validValue(e, &c.Value)
	case CaptureOmitted:
		if c.Reason == "" {
			return errors.New("omitted without a reason")
		}
		return validStrings("reason", c.Reason)
	case CaptureSameAsBody:
		if !text || !e.Body.Present {
			return errors.New("only the text of an event with a body can be the body")
		}
	case CaptureAbsent, CaptureUnavailable:
	default:
		return fmt.Errorf("capture status %d", c.Status)
	}
	if c.Value.Present || c.Reason != "" {
		return errors.New("a value or reason that the status does not have")
	}
	return nil
}

func validValue(e *Event, v *Value) error {
	if !v.Present && (len(v.Bytes) > 0 || len(v.Spans) > 0) {
		return errors.New("content without Present")
	}
	if len(v.Bytes) > 0 && len(v.Spans) > 0 {
		return errors.New("both bytes and spans")
	}
	for _, s := range v.Spans {
		end := uint64(s.Offset) + uint64(s.Length)
		if end > uint64(len(e.Structured)) {
			return fmt.Errorf("span %d+%d outside the structured content of %d bytes", s.Offset, s.Length, len(e.Structured))
		}
		if s.Quoted && (s.Length < 2 || e.Structured[s.Offset] != '"' || e.Structured[end-1] != '"') {
			return fmt.Errorf("span %d+%d is no string literal", s.Offset, s.Length)
		}
	}
	return nil
}

func validCopy(c *CopyClaim) error {
	if c == nil {
		return nil
	}
	if err := validRef(&c.Session, true); err != nil {
		return err
	}
	if err := validLabel("event kind", c.EventKind); err != nil {
		return err
	}
	if c.Proof < ProofNativeEventIdentity || c.Proof > ProofCertifiedOrderedPrefix {
		return fmt.Errorf("proof %d", c.Proof)
	}
	if len(c.EventSelector) > 0 {
		if err := c.EventSelector.Validate(); err != nil {
			return err
		}
	}
	return c.EventKey.Validate()
}

func validRef(r *SessionRef, foreign bool) error {
	if err := validLabel("session kind", r.Kind); err != nil {
		return err
	}
	if len(r.Anchor) > 0 {
		if !foreign {
			return errors.New("the anchor of an own session is that of its source")
		}
		if err := r.Anchor.Validate(); err != nil {
			return fmt.Errorf("anchor: %w", err)
		}
	}
	if err := r.Key.Validate(); err != nil {
		return fmt.Errorf("session key: %w", err)
	}
	return nil
}

func validSession(s *Session) error {
	if err := validRef(&s.Ref, false); err != nil {
		return err
	}
	if err := validStrings("provider session id", s.ProviderSessionID); err != nil {
		return err
	}
	for i, ref := range [...]*SessionRef{s.Parent, s.Root, s.YieldsTo} {
		if ref == nil {
			continue
		}
		if err := validRef(ref, true); err != nil {
			return fmt.Errorf("%s: %w", [...]string{"parent", "root", "yields to"}[i], err)
		}
	}
	if s.Relationship < 0 || s.Relationship > RelationshipWorkflowChild {
		return fmt.Errorf("relationship %d", s.Relationship)
	}
	if s.Scope < 0 || s.Scope > ScopeSubagent {
		return fmt.Errorf("scope %d", s.Scope)
	}
	return nil
}

// contentBytes is what travels of an event's content. The host's cap of
// MaxEventContent counts pieces of the structured content again and then drops
// parts in a fixed order, so it is no reason to refuse an event here.
func contentBytes(e *Event) int {
	n := len(e.Body.Bytes) + len(e.Structured)
	if e.Invocation != nil {
		n += len(e.Invocation.Arguments.Value.Bytes)
	}
	if e.Result != nil {
		n += len(e.Result.Text.Value.Bytes) + len(e.Result.Structured.Value.Bytes)
	}
	return n
}

// validStrings takes pairs of a name and a string.
func validStrings(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		s := pairs[i+1]
		if len(s) > MaxString {
			return fmt.Errorf("%s of %d bytes, at most %d", pairs[i], len(s), MaxString)
		}
		if !utf8.ValidString(s) {
			return fmt.Errorf("%s is not UTF-8", pairs[i])
		}
	}
	return nil
}

// validLocator holds locators to the form that the host can join to a route
// without leaving it.
func validLocator(s string) error {
	switch {
	case len(s) > MaxLocator:
		return fmt.Errorf("locator of %d bytes, at most %d", len(s), MaxLocator)
	case strings.IndexByte(s, 0) >= 0:
		return errors.New("locator with a NUL byte")
	case !utf8.ValidString(s):
		return errors.New("locator is not UTF-8")
	case s == "":
		return nil
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part == "." || part == ".." {
			return errors.New("locator must be relative and clean")
		}
	}
	return nil
}

// clip cuts a message to one line of MaxMessage bytes, on a character boundary.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= MaxMessage {
		return s
	}
	n := MaxMessage
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
