package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
)

// page is what the paging tools have in common.
type page struct {
	Events []struct {
		ID string `json:"ctx_event_id"`
	}
	Pagination *struct {
		Limit, Returned int
		More            bool   `json:"has_more"`
		Next            string `json:"next_cursor"`
	}
	Next     string `json:"next_cursor"`
	Terminal bool
}

func (p page) next() string {
	if p.Pagination != nil {
		return p.Pagination.Next
	}
	return p.Next
}

func readPage(t testing.TB, r result) page {
	t.Helper()
	var p page
	if r.Failed || json.Unmarshal(r.Structured, &p) != nil {
		t.Fatalf("no page: %.300s", r.Structured)
	}
	return p
}

// all follows the cursors and returns the ids of the events.
func (c *client) all(tool string, args map[string]any, most int) (ids []string, pages int) {
	c.t.Helper()
	args = clone(args)
	for {
		r := c.call(tool, args)
		if r.Size > most {
			c.t.Fatalf("%s: a line of %d bytes, %d are allowed", tool, r.Size, most)
		}
		p := readPage(c.t, r)
		if p.Pagination != nil && (p.Pagination.More != (p.Pagination.Next != "") || p.Pagination.Returned != len(p.Events)) {
			c.t.Fatalf("pagination %+v", p.Pagination)
		}
		if p.Pagination == nil && p.Terminal == (p.Next != "") {
			c.t.Fatalf("terminal %t, cursor %q", p.Terminal, p.Next)
		}
		pages++
		for _, e := range p.Events {
			ids = append(ids, e.ID)
		}
		if p.next() == "" || pages > 200 {
			return ids, pages
		}
		args["cursor"] = p.next()
	}
}

func clone(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// sized is an archive with one session of messages of the given sizes.
func sized(t testing.TB, sizes ...int) *fixture.Archive {
	t.Helper()
	var events []fixture.Event
	for i, n := range sizes {
		word := fmt.Sprintf("word%d ", i)
		events = append(events, fixture.Event{Key: fmt.Sprint(i), Sequence: uint64(i), At: int64(1_000_000 + i), Text: strings.Repeat(word, n/len(word)+1)[:n]})
	}
	return fixture.Build(t, fixture.Session{Name: "s", Events: events})
}

func sessionID() string        { return fixture.SessionID("", "s").String() }
func eventID(key int) string   { return fixture.EventID("", "s", fmt.Sprint(key)).String() }
func repeat(size, n int) []int { return slices.Repeat([]int{size}, n) }

// Joined pages are the whole selection, however small the lines have to be.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sizes []int
		bytes int // 0: not given
		pages int // at least
	}{
		{repeat(2_000, 60), 40_960, 4}, {repeat(100_000, 30), 0, 3}, {repeat(100, 5), 0, 1}, {repeat(100, 250), 0, 1}, {repeat(3_000, 9), 8_192, 5},
	} {
		c := dial(t, server(sized(t, tt.sizes...).Store))
		var want []string
		for i := range tt.sizes {
			want = append(want, eventID(i))
		}
		for tool, args := range map[string]map[string]any{
			"show_session": {"ctx_session_id": sessionID(), "mode": "log"}, "query_events": {},
		} {
			most := maxLine
			if tt.bytes > 0 {
				args["max_bytes"], most = tt.bytes, tt.bytes
			}
			got, pages := c.all(tool, args, most)
			if strings.Join(got, " ") != strings.Join(want, " ") || pages < tt.pages {
				t.Errorf("%s of %d events in %d bytes: %d pages, %d events", tool, len(tt.sizes), most, pages, len(got))
			}
		}
	}
}

// The whole line counts, to the byte: id, text, escapes and newline.
func TestExactLimit(t *testing.T) {
	t.Parallel()
	c := dial(t, server(sized(t, 5_000, 5_000).Store))
	// The bound is in the text too: measured with one of as many digits.
	args := map[string]any{"ctx_session_id": sessionID(), "mode": "log", "limit": 1, "max_bytes": 9_999}
	one := c.call("show_session", args)
	for _, tt := range []struct {
		bytes int
		code  string
	}{{one.Size, ""}, {one.Size - 1, "output_limit_exceeded"}} {
		args["max_bytes"] = tt.bytes
		r := c.call("show_session", args)
		if tt.code == "" && (r.Failed || r.Size != tt.bytes) || tt.code != "" && r.code(t) != tt.code {
			t.Errorf("max_bytes %d: %d bytes, %.200s", tt.bytes, r.Size, r.Structured)
		}
	}
	list := c.call("query_events", map[string]any{"limit": 2})
	short := c.call("query_events", map[string]any{"limit": 2, "max_bytes": list.Size - 1})
	if p := readPage(t, short); len(p.Events) != 1 || p.Terminal || p.Next == "" {
		t.Errorf("a page that does not fit by a byte: %+v", p)
	}
}

func TestOversizedEvent(t *testing.T) {
	t.Parallel()
	c := dial(t, server(sized(t, 100, 1_300_000, 140_000, 50_000).Store))
	r := c.call("show_event", map[string]any{"ctx_event_id": eventID(1)})
	m := r.members(t)
	if r.code(t) != "output_limit_exceeded" || m["ctx_event_id"] != eventID(1) || fmt.Sprint(m["maximum_bytes"]) != fmt.Sprint(maxLine) || m["retryable"] != false ||
		m["remediation"] == nil || !strings.Contains(r.Text, eventID(1)) || m["pagination"] != nil {
		t.Errorf("%s\n%s", r.Structured, r.Text)
	}
	first := readPage(t, c.call("show_session", map[string]any{"ctx_session_id": sessionID(), "mode": "log"}))
	if len(first.Events) != 1 || !first.Pagination.More {
		t.Errorf("the page before it: %+v", first)
	}
	if r := c.call("show_session", map[string]any{"ctx_session_id": sessionID(), "mode": "log", "cursor": first.next()}); r.code(t) != "output_limit_exceeded" {
		t.Errorf("the page of it: %.200s", r.Structured)
	}
	// Its neighbours stay readable.
	if r := c.call("show_event", map[string]any{"ctx_event_id": eventID(2)}); r.Failed {
		t.Errorf("%.200s", r.Structured)
	}
	// A record over the cap is refused before it is read, with the object of the listing.
	span := map[string]any{"since": "1970-01-01T00:16:40.002Z", "until": "1970-01-01T00:16:40.003Z"}
	r = c.call("query_events", span)
	if m := r.members(t); r.code(t) != "output_limit_exceeded" || m["retryable"] != true || m["error"] != nil || m["recommendation"] == nil {
		t.Errorf("%s", r.Structured)
	}
	// What comes before it is given out first.
	if p := readPage(t, c.call("query_events", map[string]any{"since": "1970-01-01T00:16:40Z", "until": "1970-01-01T00:16:40.003Z"})); len(p.Events) != 1 || p.Next == "" {
		t.Errorf("the page before a record over the cap: %+v", p)
	} else if r := c.call("query_events", map[string]any{"since": "1970-01-01T00:16:40Z", "until": "1970-01-01T00:16:40.003Z", "cursor": p.Next}); r.code(t) != "output_limit_exceeded" {
		t.Errorf("%.300s", r.Structured)
	}
	// A row that fits the cap but not the line that was asked for.
	r = c.call("query_events", map[string]any{"since": "1970-01-01T00:16:40.003Z", "until": "1970-01-01T00:16:40.004Z", "max_bytes": 40_960})
	if m := r.members(t); r.code(t) != "output_limit_exceeded" || fmt.Sprint(m["maximum_bytes"]) != "40960" || m["retryable"] != true || m["recommendation"] == nil {
		t.Errorf("%s", r.Structured)
	}
}

func TestSessionCursors(t *testing.T) {
	t.Parallel()
	a := sized(t, repeat(100, 4)...)
	other := fixture.Session{Name: "other", Events: []fixture.Event{{Key: "o", Text: "other"}}}
	a.Publish(t, other)
	c := dial(t, server(a.Store))
	args := map[string]any{"ctx_session_id": sessionID(), "mode": "log", "limit": 2}
	cursor := readPage(t, c.call("show_session", args)).next()
	flipped := []byte(cursor)
	flipped[20] ^= 1
	for _, tt := range []struct{ name, session, cursor, code string }{
		{"another session", fixture.SessionID("", "other").String(), cursor, history.CursorMismatch},
		{"a flipped byte", sessionID(), string(flipped), history.InvalidCursor},
		{"no cursor", sessionID(), "abc", history.InvalidCursor},
	} {
		r := c.call("show_session", map[string]any{"ctx_session_id": tt.session, "mode": "log", "cursor": tt.cursor})
		if m := r.members(t); r.code(t) != tt.code || m["retryable"] != false || m["detail"] != m["error"] {
			t.Errorf("%s: %s", tt.name, r.Structured)
		}
	}
	a.Publish(t, fixture.Session{Name: "third", Events: []fixture.Event{{Key: "x", Text: "third"}}})
	args["cursor"] = cursor
	if r := c.call("show_session", args); r.code(t) != history.CursorStale {
		t.Errorf("after a publication: %s", r.Structured)
	}
}

// A cursor is stale also when its session went with the generation.
func TestStaleCursorOfAGoneSession(t *testing.T) {
	t.Parallel()
	a := sized(t, repeat(100, 4)...)
	c := dial(t, server(a.Store))
	args := map[string]any{"ctx_session_id": sessionID(), "mode": "log", "limit": 2}
	args["cursor"] = readPage(t, c.call("show_session", args)).next()
	a.Drop(t, "s")
	if r := c.call("show_session", args); r.code(t) != history.CursorStale {
		t.Errorf("%s", r.Structured)
	}
}

// Filters that are longer than the line may be are no reason to blame an event.
func TestFiltersOverTheLimit(t *testing.T) {
	t.Parallel()
	c := dial(t, server(small(t).Store))
	r := c.call("query_events", map[string]any{"workspace": strings.Repeat("w", 6_000), "max_bytes": 4_096})
	if m := r.members(t); r.code(t) != "output_limit_exceeded" || fmt.Sprint(m["maximum_bytes"]) != "4096" || !strings.Contains(r.Text, "shorten the filters") {
		t.Errorf("%s", r.Structured)
	}
}

// A cursor of a listing goes on in its own generation while that is retained.
func TestRangeCursorOutlivesPublication(t *testing.T) {
	t.Parallel()
	a := sized(t, repeat(100, 4)...)
	c := dial(t, server(a.Store))
	first := readPage(t, c.call("query_events", map[string]any{"limit": 3}))
	if first.Terminal || len(first.Events) != 3 {
		t.Fatalf("%+v", first)
	}
	third := fixture.Session{Name: "third", Events: []fixture.Event{{Key: "x", Text: "third", At: 1}}}
	a.Publish(t, third)
	second := readPage(t, c.call("query_events", map[string]any{"cursor": first.Next}))
	if len(second.Events) != 1 || second.Events[0].ID != eventID(3) || !second.Terminal {
		t.Errorf("%+v", second)
	}
	for _, text := range []string{"a", "b"} {
		third.Events[0].Text = text
		a.Publish(t, third)
	}
	r := c.call("query_events", map[string]any{"cursor": first.Next})
	if m := r.members(t); r.code(t) != history.GenerationNotRetained || m["restart_required"] != true {
		t.Errorf("%s", r.Structured)
	}
}

// Captured values come exactly; the text shows no control.
func TestValuesAndText(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "s", Events: []fixture.Event{
		{Key: "0", Type: record.ToolCall, Text: "a <b> & \x1b[31mred \u202e bidi", Tool: "Bash", Arguments: `{"b":null,"a":[1.0,"<\u2028\u001b[0m"]}`},
	}})
	c := dial(t, server(a.Store))
	for _, r := range []result{
		c.call("show_event", map[string]any{"ctx_event_id": eventID(0)}),
		c.call("show_session", map[string]any{"ctx_session_id": sessionID()[:8], "mode": "log"}),
		c.call("search", map[string]any{"query": "bidi"}),
	} {
		if r.Failed || strings.ContainsAny(r.Text, "\x1b\u202e\u2028\x00") || !strings.Contains(r.Text, `\x1b`) && !strings.Contains(r.Text, `\u001b`) {
			t.Errorf("%q", r.Text)
		}
		if bytes.Contains(r.Structured, []byte(`\u003c`)) {
			t.Errorf("escapes for HTML: %s", r.Structured)
		}
	}
	r := c.call("show_event", map[string]any{"ctx_event_id": eventID(0)})
	if !bytes.Contains(r.Structured, []byte(`"b":null`)) || !bytes.Contains(r.Structured, []byte(`[1.0,`)) {
		t.Errorf("%s", r.Structured)
	}
}

// A query without a word finds nothing and says why: signs are no syntax, and no error.
func TestQueryWithoutWords(t *testing.T) {
	t.Parallel()
	c := dial(t, server(fixture.Build(t, fixture.Session{Name: "s", Events: []fixture.Event{{Key: "0", Text: "falcon * ( -"}}}).Store))
	for _, query := range []string{"*", "(", "-", `"`, `""`, "-(", "\U0001F600"} {
		r := c.call("search", map[string]any{"query": query})
		m := r.members(t)
		if rows, ok := m["results"].([]any); r.Failed || !ok || len(rows) > 0 || m["coverage"] == nil || !strings.Contains(r.Text, "no word that can be searched") {
			t.Errorf("%s: %s", query, r.Text)
		}
	}
}

// A compact answer tells the same results in fewer bytes.
func TestCompactSearch(t *testing.T) {
	t.Parallel()
	var sessions []fixture.Session
	for i := range 20 {
		sessions = append(sessions, fixture.Session{Name: fmt.Sprint("s", i), Events: []fixture.Event{{Key: "e", Text: strings.Repeat("before ", 60) + "falcon" + strings.Repeat(" after", 60)}}})
	}
	c := dial(t, server(fixture.Build(t, sessions...).Store))
	ids := func(r result) (out []string) {
		var m struct {
			Results []struct {
				Event   string `json:"ctx_event_id"`
				Snippet string
			}
		}
		if err := json.Unmarshal(r.Structured, &m); err != nil {
			t.Fatal(err)
		}
		for _, row := range m.Results {
			if !strings.Contains(row.Snippet, "falcon") {
				t.Errorf("the match is not in %q", row.Snippet)
			}
			out = append(out, row.Event)
		}
		return out
	}
	whole, compact := c.call("search", map[string]any{"query": "falcon", "limit": 20}), c.call("search", map[string]any{"query": "falcon", "compact": true})
	if a, b := ids(whole), ids(compact); len(a) != 20 || strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("%v\n%v", a, b)
	}
	if compact.Size > 12_000 || compact.Size*3 > whole.Size {
		t.Errorf("compact %d, whole %d bytes", compact.Size, whole.Size)
	}
	for _, gone := range []string{`"session_id":`, `"copied_lineage"`, `"suggested_next_commands"`, `"citations"`} {
		if bytes.Contains(compact.Structured, []byte(gone)) || !bytes.Contains(whole.Structured, []byte(gone)) {
			t.Errorf("%s: whole %t", gone, bytes.Contains(whole.Structured, []byte(gone)))
		}
	}
}

// Without a limit of its own a search keeps its line short: trailing results are left out, and the answer says that there are more.
func TestSearchWithoutLimitIsShort(t *testing.T) {
	t.Parallel()
	title := strings.Repeat("title ", 40)
	var sessions []fixture.Session
	for i := range 20 {
		sessions = append(sessions, fixture.Session{Name: fmt.Sprint("s", i), Meta: record.SessionMeta{Title: title, CWD: "/" + title}, Events: []fixture.Event{
			{Key: "e", Text: strings.Repeat("before ", 60) + "falcon" + strings.Repeat(" after", 60)}}})
	}
	c := dial(t, server(fixture.Build(t, sessions...).Store))
	type found struct {
		Results []struct {
			Event string `json:"ctx_event_id"`
		}
		Window struct {
			Limit, Returned int
			More            bool `json:"more_available"`
		} `json:"result_window"`
	}
	read := func(args map[string]any) (f found, size int) {
		args["query"] = "falcon"
		r := c.call("search", args)
		if err := json.Unmarshal(r.Structured, &f); err != nil || r.Failed || f.Window.Returned != len(f.Results) || f.Window.Limit != 20 {
			t.Fatalf("%.300s: %+v", r.Structured, f.Window)
		}
		if f.Window.More != strings.Contains(r.Text, "more results exist") {
			t.Error(r.Text)
		}
		return f, r.Size
	}
	all, size := read(map[string]any{"limit": 20})
	if len(all.Results) != 20 || all.Window.More || size <= usualLine {
		t.Fatalf("%d bytes, %+v: this test needs more than %d", size, all.Window, usualLine)
	}
	for _, tt := range []struct {
		args map[string]any
		most int
	}{{map[string]any{}, usualLine}, {map[string]any{"compact": true}, compactLine}} {
		few, size := read(tt.args)
		if n := len(few.Results); size > tt.most || size < tt.most*9/10 || n >= 20 || !few.Window.More || few.Results[n-1] != all.Results[n-1] {
			t.Errorf("%v: %d bytes, %+v", tt.args, size, few.Window)
		}
	}
}

// A search answer drops trailing results rather than failing.
func TestSearchShrinks(t *testing.T) {
	t.Parallel()
	// Clusters of many bytes make snippets of 16 KiB.
	heavy := "falcon " + strings.Repeat("e"+strings.Repeat("\u0301", 24), 330)
	var events []fixture.Event
	for i := range 120 {
		events = append(events, fixture.Event{Key: fmt.Sprint(i), Sequence: uint64(i), Text: heavy})
	}
	c := dial(t, server(fixture.Build(t, fixture.Session{Name: "s", Events: events}).Store))
	r := c.call("search", map[string]any{"query": "falcon", "events": true, "limit": 120})
	var m struct {
		Results []json.RawMessage
		Window  struct {
			Returned int
			More     bool `json:"more_available"`
		} `json:"result_window"`
	}
	if err := json.Unmarshal(r.Structured, &m); err != nil || r.Size > maxLine || !m.Window.More || m.Window.Returned != len(m.Results) {
		t.Fatalf("%d bytes, %+v, %v", r.Size, m.Window, err)
	}
	if len(m.Results) < 50 || r.Size < maxLine*8/10 {
		t.Errorf("%d results in %d bytes: more would have fitted", len(m.Results), r.Size)
	}
	if !strings.Contains(r.Text, "more results exist") {
		t.Error(r.Text)
	}
}

// Thousands of matches and one message of 2 MiB: every line fits, pages lead to each message once, and a publication in between means
// a restart, never a doubled or lost message.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	sizes := repeat(400, 1_500)
	a := sized(t, append(sizes, 2<<20)...)
	c := dial(t, server(a.Store))
	r := c.call("search", map[string]any{"query": "word0", "limit": 100, "events": true})
	if r.Failed || r.Size > maxLine {
		t.Errorf("%d bytes, %.200s", r.Size, r.Structured)
	}
	if r := c.call("search", map[string]any{"query": "word0", "limit": 100_000}); r.code(t) != "invalid_request" {
		t.Errorf("%s", r.Structured)
	}
	args := map[string]any{"ctx_session_id": sessionID(), "mode": "log", "max_bytes": 40_960}
	var got []string
	for {
		r := c.call("show_session", args)
		if r.Size > 40_960 {
			t.Fatalf("a line of %d bytes", r.Size)
		}
		if r.Failed {
			if m := r.members(t); r.code(t) != "output_limit_exceeded" || m["ctx_event_id"] != eventID(len(sizes)) {
				t.Errorf("%.300s", r.Structured)
			}
			break
		}
		p := readPage(t, r)
		for _, e := range p.Events {
			got = append(got, e.ID)
		}
		args["cursor"] = p.next()
	}
	for i := range sizes {
		if i >= len(got) || got[i] != eventID(i) {
			t.Fatalf("message %d of %d is lost or doubled", i, len(got))
		}
	}
	a.Publish(t, fixture.Session{Name: "other", Events: []fixture.Event{{Key: "o", Text: "other"}}})
	if r := c.call("show_session", args); r.code(t) != history.CursorStale {
		t.Errorf("%.300s", r.Structured)
	}
}
