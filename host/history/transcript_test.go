package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
)

func view(t *testing.T, a *fixture.Archive) *View {
	t.Helper()
	v, err := Open(t.Context(), a.Store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

func find(t *testing.T, v *View, name string) *Session {
	t.Helper()
	s, err := v.FindSession(t.Context(), SessionSelector{ID: fixture.SessionID("", name).String()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// talk makes events from a short notation: u and a are messages of user and assistant, s of the system, n a notice, m a summary, c a
// tool call, o its output. The key of an event is its letter and position.
func talk(script string) []fixture.Event {
	var events []fixture.Event
	for i, c := range script {
		e := fixture.Event{Key: fmt.Sprintf("%c%d", c, i), Sequence: uint64(i), At: int64(1000 + i), Text: fmt.Sprintf("text %c%d", c, i)}
		switch c {
		case 'a':
			e.Role = record.Assistant
		case 's':
			e.Role = record.System
		case 'n':
			e.Type = record.Notice
		case 'm':
			e.Type = record.Summary
		case 'c':
			e.Type, e.Role = record.ToolCall, record.Assistant
		case 'o':
			e.Type, e.Role = record.ToolOutput, record.Tool
		}
		events = append(events, e)
	}
	return events
}

func keys(t *testing.T, tr *Transcript) string {
	t.Helper()
	var out []string
	for {
		shown, err := tr.Next()
		if err != nil {
			t.Fatal(err)
		}
		if shown == nil {
			return strings.Join(out, " ")
		}
		out = append(out, strings.TrimPrefix(shown.Text(), "text "))
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	tests := []struct{ script, full, lite string }{
		{"", "", ""},
		{"u", "u0", "u0"},
		{"a", "a0", "a0"},
		{"ua", "u0 a1", "u0 a1"},
		{"uaaua", "u0 a1 a2 u3 a4", "u0 a2 u3 a4"},
		{"aau", "a0 a1 u2", "a1 u2"},
		{"uu", "u0 u1", "u0 u1"},
		// Neither system messages nor notices, summaries and tools end a run.
		{"uasanacomaou", "u0 a1 s2 a3 a5 a9 u11", "u0 a9 u11"},
		{"coscos", "s2 s5", ""},
	}
	for _, tt := range tests {
		t.Run("script "+tt.script, func(t *testing.T) {
			t.Parallel()
			a := fixture.Build(t, fixture.Session{Name: "s", Events: talk(tt.script)})
			v := view(t, a)
			s := find(t, v, "s")
			var all []string
			for i, c := range tt.script {
				all = append(all, fmt.Sprintf("%c%d", c, i))
			}
			for mode, want := range map[Mode]string{ModeLog: strings.Join(all, " "), ModeFull: tt.full, ModeLite: tt.lite} {
				if got := keys(t, v.Transcript(t.Context(), s, mode, 0)); got != want {
					t.Errorf("%s: %q, want %q", mode, got, want)
				}
				n := len(strings.Fields(want))
				for most := 1; most <= n+1; most++ {
					tr := v.Transcript(t.Context(), s, mode, most)
					got := keys(t, tr)
					if want := strings.Join(strings.Fields(want)[:min(most, n)], " "); got != want || tr.Truncated() != (most < n) || tr.Returned() != min(most, n) {
						t.Errorf("%s, at most %d: %q truncated %v returned %d", mode, most, got, tr.Truncated(), tr.Returned())
					}
				}
			}
		})
	}
}

func TestSessionOrder(t *testing.T) {
	t.Parallel()
	events := []fixture.Event{
		{Key: "late", Sequence: 1, At: 5, Text: "text late"},
		{Key: "untimed", Sequence: 1, Text: "text untimed"},
		{Key: "early", Sequence: 1, At: 3, Text: "text early"},
		{Key: "second part", Sequence: 0, Suborder: 2, At: 1, Text: "text part2"},
		{Key: "first part", Sequence: 0, Suborder: 1, At: 9, Text: "text part1"},
	}
	a := fixture.Build(t, fixture.Session{Name: "s", Events: events})
	v := view(t, a)
	if got := keys(t, v.Transcript(t.Context(), find(t, v, "s"), ModeLog, 0)); got != "part1 part2 untimed early late" {
		t.Errorf("order %q", got)
	}
}

func TestTranscriptJSON(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{
		Name: "s", Parent: "p", Relationship: record.RelationshipDelegated, Scope: record.ScopeSubagent,
		Meta: record.SessionMeta{Title: "a <b> title", WorkspaceLabel: "-srv-x"}, Events: talk("uau"),
	})
	v := view(t, a)
	s := find(t, v, "s")
	for _, most := range []int{0, 2} {
		var out bytes.Buffer
		if err := v.Transcript(t.Context(), s, ModeLog, most).WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), "\n") != 1 || !bytes.Contains(out.Bytes(), []byte("a <b> title")) {
			t.Errorf("not one line, or escaped: %s", out.String())
		}
		var doc struct {
			SchemaVersion int `json:"schema_version"`
			Target, Mode  string
			PayloadType   string         `json:"payload_type"`
			ID            string         `json:"ctx_session_id"`
			Native        string         `json:"provider_session_id"`
			Session       map[string]any `json:"session"`
			Events        []map[string]any
			Truncated     map[string]any
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.SchemaVersion != 1 || doc.Target != "session" || doc.PayloadType != "session_transcript" || doc.ID != s.ID.String() || doc.Native != "s" || doc.Mode != "log" {
			t.Errorf("envelope %+v", doc)
		}
		if doc.Session["title"] != "a <b> title" || doc.Session["workspace_label"] != "-srv-x" || doc.Session["source_state"] != "present" ||
			doc.Session["parent_ctx_session_id"] != fixture.SessionID("", "p").String() || doc.Session["agent_scope"] != "subagent" {
			t.Errorf("session %v", doc.Session)
		}
		wantRows := 3
		if most > 0 {
			wantRows = most
		}
		if len(doc.Events) != wantRows || (doc.Truncated != nil) != (most > 0) {
			t.Errorf("%d rows, truncated %v", len(doc.Events), doc.Truncated)
		}
		if most > 0 && (doc.Truncated["events"] != true || doc.Truncated["max_events"] != 2.0) {
			t.Errorf("truncated %v", doc.Truncated)
		}
	}
}

func TestTranscriptJSONL(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "s", Events: talk("uau")}, fixture.Session{Name: "empty"})
	v := view(t, a)
	for _, tt := range []struct {
		name     string
		most     int
		rows     int
		complete bool
	}{{"s", 0, 3, true}, {"s", 1, 1, false}, {"s", 3, 3, true}, {"empty", 0, 0, true}} {
		var out bytes.Buffer
		if err := v.Transcript(t.Context(), find(t, v, tt.name), ModeLog, tt.most).WriteJSONL(&out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != tt.rows+1 {
			t.Fatalf("%d lines of %s", len(lines), tt.name)
		}
		for _, line := range lines[:tt.rows] {
			if !strings.HasPrefix(line, `{"schema_version":1,"payload_type":"session_transcript_event",`) || !json.Valid([]byte(line)) {
				t.Errorf("record %s", line)
			}
		}
		want := fmt.Sprintf(`{"schema_version":1,"payload_type":"session_transcript_completion","ctx_session_id":"%s","provider":"claude",`+
			`"provider_session_id":"%s","mode":"log","events_returned":%d,"complete":%v`, fixture.SessionID("", tt.name), tt.name, tt.rows, tt.complete)
		if !tt.complete {
			want += fmt.Sprintf(`,"truncated":{"events":true,"max_events":%d}`, tt.most)
		}
		if lines[tt.rows] != want+"}" {
			t.Errorf("completion %s\nwant %s}", lines[tt.rows], want)
		}
	}
}

func TestCancelledTranscript(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "s", Events: talk(strings.Repeat("c", 600))})
	v := view(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tr := v.Transcript(ctx, find(t, v, "s"), ModeLite, 0)
	if _, err := tr.Next(); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "s", Events: talk("uacoau")}, fixture.Session{Name: "other", Events: talk("uu")})
	v := view(t, a)
	id := fixture.EventID("", "s", "c2")
	for _, tt := range []struct {
		before, after int
		want          string
	}{{0, 0, "c2"}, {1, 0, "a1 c2"}, {0, 2, "c2 o3 a4"}, {50, 50, "u0 a1 c2 o3 a4 u5"}} {
		w, err := v.Window(t.Context(), id.String(), tt.before, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, shown := range w.Events {
			got = append(got, strings.TrimPrefix(shown.Text(), "text "))
		}
		if strings.Join(got, " ") != tt.want || w.Selected.Event.ID != id || w.Lineage.Resolution.State != "resolved" {
			t.Errorf("-%d +%d: %v", tt.before, tt.after, got)
		}
		object, err := w.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			PayloadType string           `json:"payload_type"`
			Event       map[string]any   `json:"event"`
			Events      []map[string]any `json:"events"`
			Lineage     map[string]any   `json:"copied_lineage"`
		}
		if err := json.Unmarshal(object, &doc); err != nil {
			t.Fatal(err)
		}
		if doc.PayloadType != "event_window" || doc.Event["ctx_event_id"] != id.String() || len(doc.Events) != len(got) || doc.Lineage["schema_version"] != 2.0 {
			t.Errorf("object %s", object)
		}
		lines, err := w.AppendJSONL(nil)
		if err != nil || bytes.Count(lines, []byte("\n")) != len(got) {
			t.Errorf("lines %s, %v", lines, err)
		}
	}
	if _, err := v.Window(t.Context(), id.String(), 51, 0); fault.Code(err) != fault.InvalidRequest {
		t.Errorf("51 neighbours: %v", err)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	events := talk("cu")
	events[0].At = 0
	a := fixture.Build(t,
		fixture.Session{Name: "s", Root: "r", Events: talk("ua")},
		fixture.Session{Name: "untimed first", Events: events},
		fixture.Session{Name: "empty"},
	)
	v := view(t, a)
	located := func(sel SessionSelector) *SessionLocation {
		s, err := v.FindSession(t.Context(), sel)
		if err != nil {
			t.Fatal(err)
		}
		l, err := v.LocateSession(s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := located(SessionSelector{Provider: "claude", ProviderSession: "s"})
	if l.StartedAt != "1970-01-01T00:00:01.000Z" || l.SessionID != fixture.SessionID("", "s").String() || l.Root != fixture.SessionID("", "r").String() ||
		l.SourceState != "present" || l.Source.SourceID != fixture.SourceID("", "s").String() || l.Source.SchemaVariant != fixture.Variant {
		t.Errorf("location %+v", l)
	}
	for _, name := range []string{"untimed first", "empty"} {
		if l := located(SessionSelector{ID: fixture.SessionID("", name).String()}); l.StartedAt != "" {
			t.Errorf("%s: started %q", name, l.StartedAt)
		}
	}
	e, err := v.LocateEvent(t.Context(), fixture.EventID("", "s", "a1").String())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"schema_version":1,"target":"event","payload_type":"event_location","ctx_event_id":"%s","ctx_session_id":"%s",`+
		`"provider":"claude","provider_session_id":"s","provider_event_id":{"Utf8":"a1"},"sequence":1,"event_type":"message","role":"assistant",`+
		`"occurred_at":"1970-01-01T00:00:01.001Z","source_state":"present","source":{"ctx_source_id":"%s","source_format":"test_jsonl",`+
		`"schema_variant":"test-v1","provider_identity_version":1}}`, e.EventID, e.SessionID, fixture.SourceID("", "s"))
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
