package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
)

func TestRangePageBounds(t *testing.T) {
	t.Parallel()
	var events []fixture.Event
	for n := range 250 {
		events = append(events, fixture.Event{Key: fmt.Sprint(n), Sequence: uint64(n), At: int64(n + 1), Text: fmt.Sprint("text ", n)})
	}
	a := fixture.Build(t, fixture.Session{Name: "many", Events: events})
	d, _ := page(t, listing(t, a, RangeRequest{}))
	if len(d.Events) != 100 || d.Terminal || d.Truncated || d.NextCursor == nil {
		t.Errorf("page of %d events, terminal %v, truncated %v", len(d.Events), d.Terminal, d.Truncated)
	}
	big := strings.Repeat("x", 400<<10)
	a = fixture.Build(t, fixture.Session{Name: "big", Events: []fixture.Event{
		{Key: "1", Sequence: 1, At: 1, Text: "text 1" + big}, {Key: "2", Sequence: 2, At: 2, Text: "text 2" + big},
		{Key: "3", Sequence: 3, At: 3, Text: "text 3" + big}, {Key: "4", Sequence: 4, At: 4, Text: "text 4" + big + big + big},
	}})
	r := listing(t, a, RangeRequest{})
	var sizes []int
	var singles []any
	for range 3 {
		d, _ := page(t, r)
		sizes, singles = append(sizes, len(d.Events)), append(singles, d.Usage["oversized_singleton"])
	}
	if fmt.Sprint(sizes, singles) != "[2 1 1] [false false true]" {
		t.Errorf("pages %v, oversized %v", sizes, singles)
	}
	_, err := listing(t, a, RangeRequest{}).Page(t.Context(), PageLimits{RecordBytes: 131072})
	if object, ok := RangeError(err); !ok || fault.Code(err) != fault.OutputLimitExceeded || !bytes.Contains(object, []byte(`"retryable":true`)) || !bytes.Contains(object, []byte("jsonl")) {
		t.Errorf("record bound: %v, %s", err, object)
	}
}

func TestRangeStream(t *testing.T) {
	t.Parallel()
	var sessions []fixture.Session
	for s := range 3 {
		session := fixture.Session{Name: fmt.Sprint("s", s)}
		for n := range 90 {
			session.Events = append(session.Events, fixture.Event{Key: fmt.Sprint(n), Sequence: uint64(n), At: int64(n + 1), Text: fmt.Sprint("text ", n)})
		}
		sessions = append(sessions, session)
	}
	a := fixture.Build(t, sessions...)
	for _, tt := range []struct {
		limit, items, pages int64
		terminal            bool
	}{{0, 270, 3, true}, {270, 270, 3, true}, {269, 269, 3, false}, {100, 100, 1, false}, {1, 1, 1, false}} {
		var out bytes.Buffer
		flushed := 0
		r := listing(t, a, RangeRequest{Limit: tt.limit})
		if err := r.WriteJSONL(t.Context(), &out, func() error { flushed++; return nil }); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if int64(len(lines)) != tt.items+1 || flushed != len(lines) {
			t.Fatalf("limit %d: %d lines, %d flushes", tt.limit, len(lines), flushed)
		}
		for i, line := range lines[:tt.items] {
			var rec struct {
				RecordType string `json:"record_type"`
				Generation string `json:"generation_id"`
				Ordinal    int
			}
			if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.Ordinal != i || rec.RecordType != "event_range_event" || rec.Generation != r.view.gen.ID() {
				t.Fatalf("line %d: %+v, %v", i, rec, err)
			}
		}
		var end decodedPage
		if err := json.Unmarshal([]byte(lines[tt.items]), &end); err != nil {
			t.Fatal(err)
		}
		if end.RecordType != "event_range_completion" || end.Terminal != tt.terminal || end.Truncated == tt.terminal || (end.NextCursor == nil) != tt.terminal {
			t.Errorf("limit %d: completion %+v", tt.limit, end)
		}
		if end.Usage["items"] != float64(tt.items) || end.Usage["pages"] != float64(tt.pages) || end.Usage["bytes"] != float64(out.Len()) || end.Usage["oversized_singleton_pages"] != 0.0 {
			t.Errorf("limit %d: usage %v of %d bytes", tt.limit, end.Usage, out.Len())
		}
	}
}

func TestEmptyRangeStream(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	var out bytes.Buffer
	if err := listing(t, a, RangeRequest{Branch: "nothing"}).WriteJSONL(t.Context(), &out, nil); err != nil {
		t.Fatal(err)
	}
	var end decodedPage
	if err := json.Unmarshal(out.Bytes(), &end); err != nil || !end.Terminal || end.Usage["items"] != 0.0 || end.Usage["bytes"] != float64(out.Len()) {
		t.Errorf("completion %s, %v", out.String(), err)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	var out bytes.Buffer
	if err := Export(t.Context(), a.Store, nil, &out); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines {
		var rec struct {
			RecordType string         `json:"record_type"`
			Record     map[string]any `json:"record"`
			Metadata   map[string]any `json:"metadata"`
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		kinds[rec.RecordType]++
		if rec.RecordType == "event" && rec.Record["record_version"] != 3.0 {
			t.Errorf("event %s", line)
		}
	}
	if fmt.Sprint(kinds) != "map[event:10 export_completion:1 session:4]" || !strings.Contains(lines[len(lines)-1], `"sessions":4,"events":10}`) {
		t.Errorf("records %v, last %s", kinds, lines[len(lines)-1])
	}
}

func TestGoneSource(t *testing.T) {
	t.Parallel()
	sessions := mixed()
	sessions[0].State = core.Gone
	a := fixture.Build(t, sessions...)
	v := view(t, a)
	if s := find(t, v, "main"); s.SourceState != "gone" {
		t.Errorf("state %s", s.SourceState)
	}
	if listed1(t, a, RangeRequest{Branch: "topic"}) != "m1" {
		t.Error("records of a gone source are not listed")
	}
}
