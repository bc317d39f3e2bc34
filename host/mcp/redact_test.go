package mcp

import (
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/redact"
)

// With a Redactor every tool that gives out records says so and shows no secret; cursors lead on, and max_bytes holds.
func TestRedacted(t *testing.T) {
	t.Parallel()
	const secret = "hT7kd93ksLq02mZ"
	var events []fixture.Event
	for i := range 40 {
		events = append(events, fixture.Event{Key: string(rune('A' + i)), Sequence: uint64(i), At: int64(1000 + i),
			Text: "say friend, password=" + secret + "\n" + strings.Repeat("more words ", 20), Content: `{"password":"` + secret + `"}`})
	}
	a := fixture.Build(t, fixture.Session{Name: "s", Events: events})
	s := server(a.Store)
	s.Redact = redact.New
	c := dial(t, s)
	session, event := fixture.SessionID("", "s").String(), fixture.EventID("", "s", "B").String()
	for tool, args := range map[string]map[string]any{
		"search":     {"query": "friend"},
		"show_event": {"ctx_event_id": event, "window": 2},
	} {
		r := c.call(tool, args)
		if m := r.members(t); m["redacted"] != true || !strings.Contains(r.Text, redactedLine) {
			t.Errorf("%s: %v %q", tool, m["redacted"], r.Text)
		}
		if all := string(r.Structured) + r.Text; strings.Contains(all, secret) || !strings.Contains(all, "password=[redacted:generic-api-key]") {
			t.Errorf("%s: %s", tool, all)
		}
	}
	for tool, args := range map[string]map[string]any{
		"show_session": {"ctx_session_id": session, "mode": "log", "max_bytes": 6000},
		"query_events": {"max_bytes": 8000},
	} {
		if ids, pages := c.all(tool, args, 8000); len(ids) != len(events) || pages < 3 {
			t.Errorf("%s: %d events on %d pages", tool, len(ids), pages)
		}
		if r := c.call(tool, args); strings.Contains(string(r.Structured)+r.Text, secret) || r.members(t)["redacted"] != true {
			t.Errorf("%s: %s", tool, r.Structured)
		}
	}
	if r := c.call("status", map[string]any{}); r.members(t)["redacted"] != nil {
		t.Errorf("status: %s", r.Structured)
	}
	if r := c.call("show_event", map[string]any{"ctx_event_id": "00000000"}); r.members(t)["redacted"] != nil || r.code(t) != "not_found" {
		t.Errorf("a failure: %s", r.Structured)
	}
}
