package conformance

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// valid checks every session and event of a transcript as the host does.
func (t *transcript) valid() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%q: %w", t.source.Locator, fmt.Errorf(format, args...))
	}
	for index, s := range t.sessions {
		if err := t.session(s).Validate(); err != nil {
			return bad("session %d: %w", index, err)
		}
	}
	for _, m := range t.end.GetMetadata() {
		if t.sessions[m.Index] == nil {
			return bad("metadata of the unknown session %d", m.Index)
		}
		if n := utf8.RuneCountInString(m.Title); n > 200 {
			return bad("a title of %d characters", n)
		}
	}
	last := map[uint32]uint64{}
	seen := map[string]int{}
	for i, e := range t.events {
		if t.sessions[e.Session] == nil {
			return bad("event %d: session %d was not declared", i, e.Session)
		}
		if e.Sequence < last[e.Session] {
			return bad("event %d: sequence %d after %d", i, e.Sequence, last[e.Session])
		}
		last[e.Session] = e.Sequence
		id := fmt.Sprintf("%d\x00%s\x00%d\x00%s%s", e.Session, e.Kind, len(e.Key), e.Key, e.Selector)
		if other, taken := seen[id]; taken {
			return bad("events %d and %d have the same key", other, i)
		}
		seen[id] = i
		if err := validEvent(event(e)); err != nil {
			return bad("event %d: %w", i, err)
		}
	}
	return nil
}

// validEvent adds to the checks of the SDK those of text and JSON.
func validEvent(e *sdkplugin.Event) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if len(e.Structured) > 0 && !canonical.IsCanonical(e.Structured) {
		return fmt.Errorf("structured content is not canonical compact JSON: %.120q", e.Structured)
	}
	body, err := text(e, &e.Body)
	if err == nil && len(body) > sdkplugin.MaxEventContent {
		err = fmt.Errorf("%d bytes, at most %d", len(body), sdkplugin.MaxEventContent)
	}
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	var values []*sdkplugin.Value
	if e.Result != nil {
		if _, err := text(e, &e.Result.Text.Value); err != nil {
			return fmt.Errorf("result text: %w", err)
		}
		values = append(values, &e.Result.Structured.Value)
	}
	if e.Invocation != nil {
		values = append(values, &e.Invocation.Arguments.Value)
	}
	for _, v := range values {
		if value, err := text(e, v); err != nil || v.Present && !canonical.IsCanonical(value) {
			return fmt.Errorf("arguments or structured result are not canonical compact JSON: %.80q (%v)", value, err)
		}
	}
	return nil
}

// text returns the bytes that a value stands for.
func text(e *sdkplugin.Event, v *sdkplugin.Value) ([]byte, error) {
	out, err := v.Append(nil, e.Structured)
	if err == nil && !utf8.Valid(out) {
		err = fmt.Errorf("not UTF-8: %.80q", out)
	}
	return out, err
}

// What travelled, in the form in which the SDK checks it.

func (t *transcript) session(s *historyv1.Session) *sdkplugin.Session {
	out := &sdkplugin.Session{
		ProviderSessionID: s.ProviderSessionId, Parent: ref(s.Parent), Root: ref(s.Root),
		Relationship: s.Relationship, Scope: s.Scope, YieldsTo: ref(s.YieldsTo),
	}
	if s.Ref != nil {
		out.Ref = *ref(s.Ref)
	}
	if bytes.Equal(out.Ref.Anchor, t.source.Anchor) {
		out.Ref.Anchor = nil
	}
	return out
}

func ref(r *historyv1.SessionRef) *sdkplugin.SessionRef {
	if r == nil {
		return nil
	}
	return &sdkplugin.SessionRef{Anchor: r.Anchor, Kind: r.Kind, Key: r.Key}
}

func event(e *historyv1.Event) *sdkplugin.Event {
	out := &sdkplugin.Event{
		Session: e.Session, Kind: e.Kind, Key: e.Key, Selector: e.Selector, Sequence: e.Sequence, Suborder: e.Suborder,
		Type: e.Type, Role: e.Role, Scope: e.Scope, Body: value(e.Body), Structured: e.Structured, CallID: e.CallId,
		Policy: sdkplugin.Policy{Status: e.Policy.GetStatus(), Reason: e.Policy.GetReason()},
	}
	for _, f := range e.Facts {
		out.Facts = append(out.Facts, sdkplugin.Fact{Kind: f.GetKind(), Value: f.GetValue()})
	}
	if c := e.Copy; c != nil {
		out.Copy = &sdkplugin.CopyClaim{EventKind: c.EventKind, EventKey: c.EventKey, EventSelector: c.EventSelector, Proof: c.Proof}
		if c.Session != nil {
			out.Copy.Session = *ref(c.Session)
		}
	}
	if i := e.Invocation; i != nil {
		out.Invocation = &sdkplugin.Invocation{Protocol: i.Protocol, Server: i.Server, Tool: i.Tool, Arguments: capture(i.Arguments)}
	}
	if r := e.Result; r != nil {
		out.Result = &sdkplugin.Result{Status: r.Status, Text: capture(r.Text), Structured: capture(r.Structured)}
	}
	return out
}

func value(v *historyv1.Value) sdkplugin.Value {
	out := sdkplugin.Value{Present: v != nil, Bytes: v.GetInline()}
	for _, s := range v.GetSpans() {
		out.Spans = append(out.Spans, sdkplugin.Span{Offset: s.Offset, Length: s.Length, Quoted: s.Quoted})
	}
	return out
}

func capture(c *historyv1.Capture) sdkplugin.Capture {
	return sdkplugin.Capture{Status: c.GetStatus(), Value: value(c.GetValue()), Reason: c.GetReason()}
}
