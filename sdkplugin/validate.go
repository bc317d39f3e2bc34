package sdkplugin

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Validate reports the first rule that the event breaks, of those that cost little: keys, strings, sizes, spans. The text of
// bodies and the form of structured content are checked by the host, and by the conformance kit.
func (e *Event) Validate() error {
	switch n := contentBytes(e); {
	case e.Type == "":
		return errors.New("type is empty")
	case e.Scope < 0 || e.Scope > ScopeSubagent:
		return fmt.Errorf("scope %d", e.Scope)
	case len(e.CallID) == 0 && (e.Invocation != nil || e.Result != nil):
		return errors.New("an invocation or result needs a call id")
	case len(e.Facts) > MaxFacts:
		return fmt.Errorf("%d facts, at most %d", len(e.Facts), MaxFacts)
	case n > maxWireEvent:
		return fmt.Errorf("event of %d bytes, at most %d travel", n, maxWireEvent)
	}
	for i := range e.Facts {
		if err := validFact(&e.Facts[i]); err != nil {
			return fmt.Errorf("fact %d: %w", i, err)
		}
	}
	return cmp.Or(
		about("key", e.Key.Validate()),
		about("selector", optional(e.Selector)),
		about("call id", optional(e.CallID)),
		validLabel("kind", e.Kind),
		validStrings("type", e.Type, "role", e.Role, "policy reason", e.Policy.Reason),
		about("body", e.validValue(&e.Body)),
		about("invocation", e.validInvocation()),
		about("result", e.validResult()),
		about("copy", validCopy(e.Copy)),
		e.validPolicy(),
	)
}

func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func optional[K interface {
	~[]byte
	Validate() error
}](key K) error {
	if len(key) == 0 {
		return nil
	}
	return key.Validate()
}

func (e *Event) validPolicy() error {
	content := e.Body.Present || len(e.Structured) > 0 || e.Invocation != nil || e.Result != nil || len(e.Facts) > 0
	switch status := e.Policy.Status; {
	case status < Selected || status > OmittedContent:
		return fmt.Errorf("policy status %d", status)
	case (status == Selected) != (e.Policy.Reason == ""):
		return errors.New("a policy needs a reason, and a reason a policy")
	case content == (status == OmittedContent):
		return errors.New("an event has a body, structured content or activity, unless it is omitted")
	}
	return nil
}

func (e *Event) validInvocation() error {
	i := e.Invocation
	switch {
	case i == nil:
		return nil
	case i.Tool == "":
		return errors.New("no tool")
	}
	return cmp.Or(validStrings("protocol", i.Protocol, "server", i.Server, "tool", i.Tool),
		about("arguments", e.validCapture(&i.Arguments, false)))
}

func (e *Event) validResult() error {
	r := e.Result
	if r == nil {
		return nil
	}
	return cmp.Or(validStrings("status", r.Status), about("text", e.validCapture(&r.Text, true)),
		about("structured", e.validCapture(&r.Structured, false)))
}

func validFact(f *Fact) error {
	switch limit := f.Limit(); {
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

// Limit is the longest value of the kind in bytes.
func (f *Fact) Limit() int {
	if f.Kind == FactFile {
		return MaxFileFact
	}
	return MaxString
}

func (e *Event) validCapture(c *Capture, text bool) error {
	switch present := c.Status == CapturePresent; {
	case c.Status < CaptureAbsent || c.Status > CaptureSameAsBody:
		return fmt.Errorf("capture status %d", c.Status)
	case present != c.Value.Present:
		return errors.New("only a present capture has a value")
	case (c.Status == CaptureOmitted) != (c.Reason != ""):
		return errors.New("an omitted capture, and no other, has a reason")
	case c.Status == CaptureSameAsBody && (!text || !e.Body.Present):
		return errors.New("only the text of an event with a body can be the body")
	}
	return cmp.Or(validStrings("reason", c.Reason), e.validValue(&c.Value))
}

func (e *Event) validValue(v *Value) error {
	if !v.Present && (len(v.Bytes) > 0 || len(v.Spans) > 0) || len(v.Bytes) > 0 && len(v.Spans) > 0 {
		return errors.New("a value has bytes or spans, and is present then")
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
	switch {
	case c == nil:
		return nil
	case c.Proof < ProofNativeEventIdentity || c.Proof > ProofCertifiedOrderedPrefix:
		return fmt.Errorf("proof %d", c.Proof)
	}
	return cmp.Or(c.Session.validate(), validLabel("event kind", c.EventKind), c.EventKey.Validate(), optional(c.EventSelector))
}

func (r *SessionRef) validate() error {
	if r == nil {
		return nil
	}
	return cmp.Or(validLabel("session kind", r.Kind), about("anchor", optional(r.Anchor)), about("session key", r.Key.Validate()))
}

// Validate reports the first rule that the session breaks.
func (s *Session) Validate() error {
	switch {
	case len(s.Ref.Anchor) > 0:
		return errors.New("the anchor of an own session is that of its source")
	case s.Relationship < 0 || s.Relationship > RelationshipWorkflowChild:
		return fmt.Errorf("relationship %d", s.Relationship)
	case s.Scope < 0 || s.Scope > ScopeSubagent:
		return fmt.Errorf("scope %d", s.Scope)
	}
	return cmp.Or(s.Ref.validate(), validStrings("provider session id", s.ProviderSessionID),
		about("parent", s.Parent.validate()), about("root", s.Root.validate()), about("yields to", s.YieldsTo.validate()))
}

// contentBytes is what travels of an event's content. The host's cap of MaxEventContent counts pieces of the structured content
// again and then drops parts in a fixed order, so it is no reason to refuse an event here.
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

// ValidLocator tells whether a locator, of a source, diagnostic or rejection, can be joined to a route without leaving it: at
// most MaxLocator bytes of UTF-8, '/' separated, relative and clean; empty is the route itself.
func ValidLocator(s string) bool { return jsonl.ValidLocator(s) }

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
