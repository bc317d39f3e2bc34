package conformance

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// valid checks every session and event of a transcript as the host does.
func (t *transcript) valid() error {
	for index, s := range t.sessions {
		if err := validSession(s); err != nil {
			return fmt.Errorf("session %d: %w", index, err)
		}
	}
	for _, m := range t.end.GetMetadata() {
		if t.sessions[m.Index] == nil {
			return fmt.Errorf("metadata of the unknown session %d", m.Index)
		}
		if n := utf8.RuneCountInString(m.Title); n > 200 {
			return fmt.Errorf("a title of %d characters", n)
		}
	}
	last := map[uint32]uint64{}
	seen := map[string]int{}
	for i, e := range t.events {
		if t.sessions[e.Session] == nil {
			return fmt.Errorf("event %d: session %d was not declared", i, e.Session)
		}
		if e.Sequence < last[e.Session] {
			return fmt.Errorf("event %d: sequence %d after %d", i, e.Sequence, last[e.Session])
		}
		last[e.Session] = e.Sequence
		id := fmt.Sprintf("%d\x00%s\x00%d\x00%s%s", e.Session, e.Kind, len(e.Key), e.Key, e.Selector)
		if other, taken := seen[id]; taken {
			return fmt.Errorf("events %d and %d have the same key", other, i)
		}
		seen[id] = i
		if err := validEvent(e); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return nil
}

func validRef(r *historyv1.SessionRef) error {
	if r.GetKind() == "" || len(r.GetKind()) > sdkplugin.MaxLabel {
		return fmt.Errorf("session kind %q", r.GetKind())
	}
	if len(r.Anchor) > 0 {
		if err := sdkplugin.Anchor(r.Anchor).Validate(); err != nil {
			return err
		}
	}
	return sdkplugin.NativeKey(r.Key).Validate()
}

func validSession(s *historyv1.Session) error {
	if s.Ref == nil {
		return errors.New("no reference")
	}
	for _, r := range []*historyv1.SessionRef{s.Ref, s.Parent, s.Root, s.YieldsTo} {
		if r == nil {
			continue
		}
		if err := validRef(r); err != nil {
			return err
		}
	}
	return validString("provider session id", s.ProviderSessionId)
}

func validString(what, s string) error {
	if len(s) > sdkplugin.MaxString {
		return fmt.Errorf("%s of %d bytes", what, len(s))
	}
	return nil
}

func validEvent(e *historyv1.Event) error {
	if err := sdkplugin.NativeKey(e.Key).Validate(); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if e.Kind == "" || len(e.Kind) > sdkplugin.MaxLabel || e.Type == "" || len(e.Type) > sdkplugin.MaxString {
		return fmt.Errorf("kind %q, type %.80q", e.Kind, e.Type)
	}
	if len(e.Structured) > 0 && !canonical.IsCanonical(e.Structured) {
		return fmt.Errorf("structured content is not canonical compact JSON: %.120q", e.Structured)
	}
	body, err := resolve(e, e.Body, false)
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	activity, err := validActivity(e)
	if err != nil {
		return err
	}
	if total := len(body) + len(e.Structured) + activity; total > sdkplugin.MaxEventContent && len(body) > sdkplugin.MaxEventContent {
		return fmt.Errorf("a body of %d bytes, at most %d", len(body), sdkplugin.MaxEventContent)
	}
	if c := e.Copy; c != nil {
		if err := validRef(c.Session); err != nil {
			return fmt.Errorf("copy: %w", err)
		}
		if err := sdkplugin.NativeKey(c.EventKey).Validate(); err != nil {
			return fmt.Errorf("copy: %w", err)
		}
		if c.EventKind == "" || c.Proof == historyv1.Proof_PROOF_UNSPECIFIED {
			return errors.New("copy without an event kind or proof")
		}
	}
	return validPolicy(e, len(body) > 0 || len(e.Structured) > 0 || e.Invocation != nil || e.Result != nil || len(e.Facts) > 0)
}

func validPolicy(e *historyv1.Event, content bool) error {
	switch status := e.Policy.GetStatus(); {
	case status == historyv1.Policy_STATUS_SELECTED && !content:
		return errors.New("neither body nor structured content nor activity")
	case status == historyv1.Policy_STATUS_OMITTED && content:
		return errors.New("omitted, and with content")
	case status != historyv1.Policy_STATUS_SELECTED && e.Policy.Reason == "":
		return errors.New("policy without a reason")
	}
	return nil
}

// validActivity returns the bytes of the captured values.
func validActivity(e *historyv1.Event) (int, error) {
	if len(e.CallId) > 0 {
		if err := sdkplugin.Key(e.CallId).Validate(); err != nil {
			return 0, fmt.Errorf("call id: %w", err)
		}
	} else if e.Invocation != nil || e.Result != nil {
		return 0, errors.New("an invocation or result without a call id")
	}
	if len(e.Facts) > sdkplugin.MaxFacts {
		return 0, fmt.Errorf("%d facts", len(e.Facts))
	}
	for _, f := range e.Facts {
		limit := sdkplugin.MaxString
		if f.Kind == historyv1.FactKind_FACT_KIND_FILE {
			limit = sdkplugin.MaxFileFact
		}
		if f.Kind == historyv1.FactKind_FACT_KIND_UNSPECIFIED || f.Value == "" || len(f.Value) > limit {
			return 0, fmt.Errorf("fact %v of %d bytes", f.Kind, len(f.Value))
		}
	}
	total := 0
	captures := []struct {
		what    string
		capture *historyv1.Capture
		json    bool
	}{
		{"arguments", e.GetInvocation().GetArguments(), true},
		{"result text", e.GetResult().GetText(), false},
		{"structured result", e.GetResult().GetStructured(), true},
	}
	if e.Invocation != nil && e.Invocation.Tool == "" {
		return 0, errors.New("an invocation without a tool")
	}
	for _, c := range captures {
		n, err := validCapture(e, c.capture, c.json)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.what, err)
		}
		total += n
	}
	return total, nil
}

func validCapture(e *historyv1.Event, c *historyv1.Capture, json bool) (int, error) {
	switch c.GetStatus() {
	case historyv1.Capture_STATUS_PRESENT:
		value, err := resolve(e, c.Value, json)
		return len(value), err
	case historyv1.Capture_STATUS_OMITTED:
		if c.Reason == "" {
			return 0, errors.New("omitted without a reason")
		}
	case historyv1.Capture_STATUS_NORMALIZED_BODY:
		if json || e.Body == nil {
			return 0, errors.New("the body stands for result text only, and there must be one")
		}
	}
	return 0, nil
}

// resolve returns the bytes that a value stands for.
func resolve(e *historyv1.Event, v *historyv1.Value, json bool) ([]byte, error) {
	out := v.GetInline()
	if len(v.GetSpans()) > 0 {
		if len(out) > 0 {
			return nil, errors.New("both bytes and spans")
		}
		var err error
		if out, err = spans(e.Structured, v.Spans); err != nil {
			return nil, err
		}
	}
	if !utf8.Valid(out) {
		return nil, fmt.Errorf("not UTF-8: %.80q", out)
	}
	if json && !canonical.IsCanonical(out) {
		return nil, fmt.Errorf("not canonical compact JSON: %.80q", out)
	}
	return out, nil
}

func spans(structured []byte, spans []*historyv1.Span) ([]byte, error) {
	var out []byte
	for i, s := range spans {
		end := uint64(s.Offset) + uint64(s.Length)
		if end > uint64(len(structured)) {
			return nil, fmt.Errorf("span %d+%d outside of %d bytes", s.Offset, s.Length, len(structured))
		}
		if i > 0 {
			out = append(out, '\n')
		}
		piece := structured[s.Offset:end]
		if !s.Quoted {
			out = append(out, piece...)
			continue
		}
		var err error
		if out, err = canonical.Unquote(out, piece); err != nil {
			return nil, fmt.Errorf("span %d+%d is no string literal: %w", s.Offset, s.Length, err)
		}
	}
	return out, nil
}
