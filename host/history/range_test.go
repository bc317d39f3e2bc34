package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
)

func sessionKey(s *Shown) record.SessionKey { return record.SessionKeyOf(s.Event) }

// mixed has events of all kinds that filters tell apart. Times are in milliseconds; 0 is untimed.
func mixed() []fixture.Session {
	return []fixture.Session{
		{
			Name: "main", Meta: record.SessionMeta{CWD: `C:\Users\dev\Repo\`, Title: "main"}, Scope: record.ScopePrimary, Frontier: true,
			Events: []fixture.Event{
				{Key: "m1", Sequence: 1, At: 1000, Text: "text m1", Scope: record.ScopePrimary, Facts: []fixture.Fact{{Kind: record.FactBranch, Value: "topic"}}},
				{Key: "m2", Sequence: 2, At: 2000, Text: "text m2", Type: record.ToolCall, Role: record.Assistant, Tool: "Edit", Arguments: `{"a":1}`,
					Scope: record.ScopePrimary, Facts: []fixture.Fact{{Kind: record.FactFile, Value: `src\Ärger.go`}}},
				{Key: "m3", Sequence: 3, At: 2000, Text: "text m3", Type: "novel_type", Role: "curator", Scope: record.ScopePrimary},
				{Key: "m4", Sequence: 4, Text: "text m4", Type: record.Notice, Excluded: true},
			},
		},
		{
			Name: "child", Parent: "main", Root: "main", Scope: record.ScopeSubagent, Relationship: record.RelationshipDelegated,
			Meta: record.SessionMeta{CWD: "/srv/STRASSE", AgentName: "reviewer"},
			Events: []fixture.Event{
				{Key: "c1", Sequence: 1, At: 1500, Text: "text c1", Scope: record.ScopeSubagent},
				{Key: "c2", Sequence: 2, At: 3000, Text: "text c2", Role: record.Assistant, Scope: record.ScopeSubagent,
					Facts: []fixture.Fact{{Kind: record.FactBranch, Value: "topic/b"}, {Kind: record.FactWorkspace, Value: "/elsewhere/project"}}},
			},
		},
		{
			Name: "x", Provider: "codex", Format: "codex_jsonl", Meta: record.SessionMeta{WorkspaceLabel: "-srv-my--app"},
			Events: []fixture.Event{{Key: "x1", Sequence: 9, At: 2000, Text: "text x1"}, {Key: "x2", Sequence: 10, Text: "text x2"}},
		},
		{
			Name: "custom", Provider: "custom", Format: "custom_jsonl",
			Events: []fixture.Event{
				{Key: "k1", Sequence: 1, At: 9000, Text: "text k1", Native: []string{"acme", "one", "k1"}},
				{Key: "k2", Sequence: 2, At: 9001, Text: "text k2", Native: []string{"acme", "two", "k2"}},
			},
		},
	}
}

func listing(t *testing.T, a *fixture.Archive, req RangeRequest) *Range {
	t.Helper()
	r, err := Events(t.Context(), a.Store, req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func names(rows []listed) string {
	var out []string
	for _, l := range rows {
		_, rest, _ := strings.Cut(string(l.row), `"text":"text `)
		text, _, _ := strings.Cut(rest, `"`)
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func listed1(t *testing.T, a *fixture.Archive, req RangeRequest) string {
	t.Helper()
	p, err := listing(t, a, req).Page(t.Context(), PageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	return names(p.rows)
}

func TestRangeFilters(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	const all = "m1 c1 m2 m3 x1 c2 k1 k2 m4 x2"
	id := func(provider, name string) string { return fixture.SessionID(provider, name).String() }
	tests := []struct {
		name string
		req  RangeRequest
		want string
	}{
		{"nothing", RangeRequest{}, all},
		{"provider", RangeRequest{Providers: []string{"codex"}}, "x1 x2"},
		{"providers", RangeRequest{Providers: []string{" codex", "custom", "codex"}}, "x1 k1 k2 x2"},
		{"unknown provider", RangeRequest{Providers: []string{"nobody"}}, ""},
		{"source", RangeRequest{Source: fixture.SourceID("codex", "x").String()}, "x1 x2"},
		{"source format", RangeRequest{SourceFormat: "codex_jsonl"}, "x1 x2"},
		{"session", RangeRequest{Session: id("", "main")}, "m1 m2 m3 m4"},
		{"unknown session", RangeRequest{Session: id("", "nobody")}, ""},
		{"parent", RangeRequest{ParentSession: id("", "main")}, "c1 c2"},
		{"root", RangeRequest{RootSession: strings.ToUpper(id("", "main"))}, "c1 c2"},
		{"provider session", RangeRequest{ProviderSession: "x"}, "x1 x2"},
		{"branch", RangeRequest{Branch: "topic"}, "m1"},
		{"part of a branch", RangeRequest{Branch: "top"}, ""},
		{"event type", RangeRequest{EventType: "tool_call"}, "m2"},
		{"open event type", RangeRequest{EventType: "novel_type"}, "m3"},
		{"excluded ones are listed", RangeRequest{EventType: "notice"}, "m4"},
		{"role", RangeRequest{Role: "assistant"}, "m2 c2"},
		{"open role", RangeRequest{Role: "curator"}, "m3"},
		{"scope", RangeRequest{Scope: "primary"}, "m1 m2 m3"},
		{"all scopes", RangeRequest{Scope: "all"}, all},
		{"agent type by scope", RangeRequest{AgentType: "subagent"}, "c1 c2"},
		{"agent type by name", RangeRequest{AgentType: "reviewer"}, "c1 c2"},
		{"part of an agent name", RangeRequest{AgentType: "review"}, ""},
		{"file", RangeRequest{File: " SRC/ärger "}, "m2"},
		{"workspace by cwd", RangeRequest{Workspace: "c:/users/DEV/repo/"}, "m1 m2 m3 m4"},
		{"workspace by fact", RangeRequest{Workspace: "elsewhere"}, "c2"},
		{"workspace by label", RangeRequest{Workspace: "/srv/my.app"}, "x1 x2"},
		{"plain lower case", RangeRequest{Workspace: "straße"}, ""},
		{"lower case", RangeRequest{Workspace: "strasse"}, "c1 c2"},
		{"history source", RangeRequest{HistorySource: "acme/two"}, "k2"},
		{"provider key", RangeRequest{ProviderKey: "acme"}, "k1 k2"},
		{"source id", RangeRequest{SourceID: "one"}, "k1"},
		{"two that exclude each other", RangeRequest{HistorySource: "acme/two", SourceID: "one"}, ""},
		{"range", RangeRequest{Since: "1970-01-01T00:00:01.500Z", Until: "1970-01-01T00:00:03Z"}, "c1 m2 m3 x1"},
		{"range with offset", RangeRequest{Since: "1970-01-01T01:00:03+01:00", Until: "1970-01-01T00:00:09.001Z"}, "c2 k1"},
		{"range and filter", RangeRequest{Since: "1970-01-01T00:00:00Z", Until: "1970-01-02T00:00:00Z", Session: id("", "main")}, "m1 m2 m3"},
		{"several", RangeRequest{Role: "user", EventType: "message", Providers: []string{"claude"}, Scope: "primary"}, "m1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := listed1(t, a, tt.req); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			tt.req.Direction = "descending"
			want := strings.Fields(tt.want)
			slices.Reverse(want)
			if got := listed1(t, a, tt.req); got != strings.Join(want, " ") {
				t.Errorf("descending %q", got)
			}
		})
	}
}

// TestWalksAgree compares the two ways through a selection, which choose themselves by its size.
func TestWalksAgree(t *testing.T) {
	t.Parallel()
	var sessions []fixture.Session
	for s := range 5 {
		session := fixture.Session{Name: fmt.Sprintf("s%d", s)}
		for n := range 12 {
			session.Events = append(session.Events, fixture.Event{
				Key: fmt.Sprintf("e%d", n), Sequence: uint64(n / 4), At: int64(n%3) * 1000, Text: fmt.Sprintf("text s%de%d", s, n),
			})
		}
		sessions = append(sessions, session)
	}
	a := fixture.Build(t, sessions...)
	for _, req := range []RangeRequest{
		{}, {Direction: "descending"}, {Since: "1970-01-01T00:00:01Z", Until: "1970-01-01T00:00:02Z"},
		{Since: "1970-01-01T00:00:01Z", Until: "1970-01-01T00:00:02.001Z", Direction: "descending"},
	} {
		req.Role = "user" // a filter that everything passes
		base := listing(t, a, req)
		whole := collect(t, base.scan(nil), base)
		if got := collect(t, base.gather(nil), base); !slices.Equal(got, whole) {
			t.Errorf("%+v: gathered %v, scanned %v", req, got, whole)
		}
		for i, key := range whole {
			want := whole[i+1:]
			if got := collect(t, base.scan(&key), base); !slices.Equal(got, want) {
				t.Errorf("scan behind %d: %d events, want %d", i, len(got), len(want))
			}
			if got := collect(t, base.gather(&key), base); !slices.Equal(got, want) {
				t.Errorf("gather behind %d: %d events, want %d", i, len(got), len(want))
			}
		}
		for i := 1; i < len(whole); i++ {
			if c := bytes.Compare(whole[i-1][:], whole[i][:]); req.Direction == "" && c >= 0 || req.Direction != "" && c <= 0 {
				t.Fatalf("%+v: events %d and %d are out of order", req, i-1, i)
			}
		}
	}
}

func collect(t *testing.T, w rangeWalk, r *Range) []record.RangeKey {
	t.Helper()
	defer w.close()
	var out []record.RangeKey
	for {
		doc, ok, err := w.next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		var e record.Event
		if err := r.view.gen.Event(doc, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, record.RangeKeyOf(&e))
	}
}

func TestRangeRefusals(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	long := strings.Repeat("x", 65537)
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprint("p", i))
	}
	for name, tt := range map[string]struct {
		req  RangeRequest
		code string
	}{
		"half a range":         {RangeRequest{Since: "2026-01-01T00:00:00Z"}, InvalidRange},
		"empty range":          {RangeRequest{Since: "2026-01-01T00:00:00Z", Until: "2026-01-01T00:00:00Z"}, InvalidRange},
		"backward range":       {RangeRequest{Since: "2026-01-02T00:00:00Z", Until: "2026-01-01T00:00:00Z"}, InvalidRange},
		"no time":              {RangeRequest{Since: "soon", Until: "2026-01-01T00:00:00Z"}, InvalidRange},
		"a date":               {RangeRequest{Since: "2026-01-01", Until: "2026-01-02"}, InvalidRange},
		"no offset":            {RangeRequest{Since: "2026-01-01T00:00:00", Until: "2026-01-02T00:00:00"}, InvalidRange},
		"comma":                {RangeRequest{Since: "2026-01-01T00:00:00,5Z", Until: "2026-01-02T00:00:00Z"}, InvalidRange},
		"part of millisecond":  {RangeRequest{Since: "2026-01-01T00:00:00.0001Z", Until: "2026-01-02T00:00:00Z"}, InvalidRange},
		"blank filter":         {RangeRequest{Branch: "  "}, InvalidRange},
		"long filter":          {RangeRequest{Workspace: long}, InvalidRange},
		"history source":       {RangeRequest{HistorySource: "acme"}, InvalidRange},
		"half history source":  {RangeRequest{HistorySource: "acme/"}, InvalidRange},
		"many providers":       {RangeRequest{Providers: many}, InvalidRange},
		"blank provider":       {RangeRequest{Providers: []string{" "}}, InvalidRange},
		"long provider":        {RangeRequest{Providers: []string{long[:257]}}, InvalidRange},
		"prefix":               {RangeRequest{Session: "12345678"}, fault.InvalidRequest},
		"no uuid":              {RangeRequest{Source: "nothing"}, fault.InvalidRequest},
		"scope":                {RangeRequest{Scope: "both"}, fault.InvalidRequest},
		"direction":            {RangeRequest{Direction: "up"}, fault.InvalidRequest},
		"content":              {RangeRequest{Content: "some"}, fault.InvalidRequest},
		"limit 0":              {RangeRequest{LimitGiven: true}, ResourceLimit},
		"negative limit":       {RangeRequest{Limit: -1}, ResourceLimit},
		"limit above the most": {RangeRequest{Limit: 10_000_001, LimitGiven: true}, ResourceLimit},
	} {
		_, err := Events(t.Context(), a.Store, tt.req)
		if fault.Code(err) != tt.code {
			t.Errorf("%s: %v", name, err)
		}
		object, ok := RangeError(err)
		if ok != (tt.code != fault.InvalidRequest) || ok && !strings.Contains(string(object), `"error_code":"`+tt.code+`"`) {
			t.Errorf("%s: object %s", name, object)
		}
	}
}

func TestRangeErrorObject(t *testing.T) {
	t.Parallel()
	object, ok := RangeError(fault.New(GenerationNotRetained, "gone"))
	want := `{"schema_version":1,"error_code":"generation_not_retained","detail":"gone","retryable":false,"restart_required":true,"recommendation":"start again without a cursor"}`
	if !ok || string(object) != want {
		t.Errorf("object %s", object)
	}
	object, _ = RangeError(fmt.Errorf("disk"))
	want = `{"schema_version":1,"error_code":"event_query_failed","detail":"disk","retryable":false,"restart_required":false,"recommendation":null}`
	if string(object) != want {
		t.Errorf("object %s", object)
	}
	if _, ok = RangeError(nil); ok {
		t.Error("an object without an error")
	}
}

type decodedPage struct {
	PayloadType string         `json:"payload_type"`
	Generation  string         `json:"generation_id"`
	Domain      map[string]any `json:"domain"`
	Filters     map[string]any `json:"filters"`
	Direction   string
	Content     string
	Limit       int64
	Terminal    bool
	Truncated   bool
	NextCursor  *string `json:"next_cursor"`
	Freshness   map[string]any
	Frontier    map[string]any
	Events      []map[string]any
	RecordType  string `json:"record_type"`
	Usage       map[string]any
}

func page(t *testing.T, r *Range) (decodedPage, []byte) {
	t.Helper()
	p, err := r.Page(t.Context(), PageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	object, err := p.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var d decodedPage
	if err := json.Unmarshal(object, &d); err != nil {
		t.Fatal(err)
	}
	if d.Usage["bytes"] != float64(len(object)+1) || d.Usage["items"] != float64(len(d.Events)) {
		t.Errorf("usage %v of %d bytes", d.Usage, len(object))
	}
	return d, object
}

func TestRangePage(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	d, _ := page(t, listing(t, a, RangeRequest{Since: "1970-01-01T00:00:00Z", Until: "1970-01-02T00:00:00.5Z", Scope: "primary", Providers: []string{"claude"}}))
	if d.PayloadType != "event_range_page" || d.Generation != a.Pin(t).ID() || d.Direction != "ascending" || d.Content != "full" || d.Limit != 10000 ||
		!d.Terminal || d.Truncated || d.NextCursor != nil || d.Frontier["cursor"] != nil {
		t.Errorf("page %+v", d)
	}
	if fmt.Sprint(d.Domain) != "map[kind:range range:map[since:1970-01-01T00:00:00.000Z until:1970-01-02T00:00:00.500Z]]" {
		t.Errorf("domain %v", d.Domain)
	}
	if fmt.Sprint(d.Filters) != "map[providers:[claude] scope:primary]" {
		t.Errorf("filters %v", d.Filters)
	}
	if fmt.Sprint(d.Freshness) != "map[mode:pinned read_only:true source_count:4 status:not_checked]" {
		t.Errorf("freshness %v", d.Freshness)
	}
	if d.Frontier["status"] != "partial" || d.Frontier["certified_sources"] != 4.0 || d.Frontier["sources_with_frontier"] != 1.0 {
		t.Errorf("frontier %v", d.Frontier)
	}
	d, _ = page(t, listing(t, a, RangeRequest{Limit: 3}))
	if len(d.Events) != 3 || d.Terminal || !d.Truncated || d.NextCursor == nil || d.Frontier["cursor"] != *d.NextCursor {
		t.Errorf("limited page %+v", d)
	}
	if len(*d.NextCursor) != 248 {
		t.Errorf("a cursor of %d characters", len(*d.NextCursor))
	}
}

func TestRangeContent(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	for content, want := range map[string]string{"full": "text m2 activity", "text": "text m2 -", "none": "<nil> -"} {
		d, _ := page(t, listing(t, a, RangeRequest{EventType: "tool_call", Content: content}))
		row := d.Events[0]
		got := fmt.Sprint(row["text"])
		if _, ok := row["activity"]; ok {
			got += " activity"
		} else {
			got += " -"
		}
		if got != want || row["content_projection"] != content {
			t.Errorf("%s: %q, projection %v", content, got, row["content_projection"])
		}
	}
}

func TestRangeCursorPages(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	for _, req := range []RangeRequest{{}, {Direction: "descending"}, {Scope: "primary"}, {Since: "1970-01-01T00:00:00Z", Until: "1970-01-01T00:00:05Z", Direction: "descending"}} {
		want := listed1(t, a, req)
		for limit := int64(1); limit < 6; limit++ {
			var got []string
			next := req
			next.Limit = limit
			for pages := 0; ; pages++ {
				if pages > 20 {
					t.Fatal("no end")
				}
				r := listing(t, a, next)
				p, err := r.Page(t.Context(), PageLimits{})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.Fields(names(p.rows))...)
				d, _ := pageObject(t, p, p.Len())
				if d.NextCursor == nil {
					break
				}
				next.Cursor = *d.NextCursor
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%+v limit %d: %v, want %s", req, limit, got, want)
			}
		}
	}
}

func pageObject(t *testing.T, p *RangePage, n int) (decodedPage, []byte) {
	t.Helper()
	object, err := p.AppendPrefix(nil, n)
	if err != nil {
		t.Fatal(err)
	}
	var d decodedPage
	if err := json.Unmarshal(object, &d); err != nil {
		t.Fatal(err)
	}
	return d, object
}

func TestRangePagePrefix(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	p, err := listing(t, a, RangeRequest{}).Page(t.Context(), PageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < p.Len(); n++ {
		d, object := pageObject(t, p, n)
		if len(d.Events) != n || d.Terminal || d.Truncated || d.NextCursor == nil || d.Usage["bytes"] != float64(len(object)+1) {
			t.Errorf("prefix %d: %+v", n, d)
		}
		rest := listed1(t, a, RangeRequest{Cursor: *d.NextCursor})
		if want := names(p.rows[n:]); rest != want {
			t.Errorf("behind prefix %d: %q, want %q", n, rest, want)
		}
	}
	if _, err := p.AppendPrefix(nil, 0); fault.Code(err) != InvalidPage {
		t.Errorf("empty prefix: %v", err)
	}
}

func TestRangeCursorErrors(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	d, _ := page(t, listing(t, a, RangeRequest{Limit: 3}))
	cursor := *d.NextCursor
	code := func(cursor string, change func(*RangeRequest)) string {
		req := RangeRequest{Cursor: cursor}
		if change != nil {
			change(&req)
		}
		r, err := Events(t.Context(), a.Store, req)
		if err == nil {
			r.Close()
		}
		return fault.Code(err)
	}
	for i := range cursor {
		for _, c := range "AB_" {
			if changed := cursor[:i] + string(c) + cursor[i+1:]; changed != cursor {
				if got := code(changed, nil); got != InvalidCursor {
					t.Fatalf("character %d changed: %q", i, got)
				}
			}
		}
	}
	for _, bad := range []string{"!!!", strings.Repeat("A", 513), cursor + "A", cursor[:len(cursor)-1], cursor + "\r\n", cursor + "="} {
		if got := code(bad, nil); got != InvalidCursor {
			t.Errorf("%.20q: %q", bad, got)
		}
	}
	for name, change := range map[string]func(*RangeRequest){
		"filter":    func(r *RangeRequest) { r.Providers = []string{"codex"} },
		"direction": func(r *RangeRequest) { r.Direction = "descending" },
		"range":     func(r *RangeRequest) { r.Since, r.Until = "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z" },
	} {
		if got := code(cursor, change); got != CursorRequestMismatch {
			t.Errorf("another %s: %q", name, got)
		}
	}
	if got := code(cursor, func(r *RangeRequest) { r.Limit, r.Content, r.Scope = 7, "none", "all" }); got != "" {
		t.Errorf("limit, content and the default scope are free: %q", got)
	}
}

func TestRangeCursorCoordinate(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	r := listing(t, a, RangeRequest{Since: "1970-01-01T00:00:01Z", Until: "1970-01-01T00:00:02.5Z", Scope: "primary"})
	whole := map[string]record.RangeKey{}
	for _, key := range collect(t, listing(t, a, RangeRequest{}).scan(nil), r) {
		e, err := r.view.FindEvent(t.Context(), key.Event().String())
		if err != nil {
			t.Fatal(err)
		}
		whole[strings.TrimPrefix(e.Text(), "text ")] = key
	}
	changed := whole["m1"]
	changed[52]++ // another size
	for name, tt := range map[string]struct {
		key record.RangeKey
		ok  bool
	}{
		"inside":       {whole["m1"], true},
		"after range":  {whole["c2"], false},
		"untimed":      {whole["m4"], false},
		"filtered out": {whole["c1"], false},
		"other size":   {changed, false},
		"not stored":   {record.FirstAt(1500), false},
	} {
		req := r.plan
		p := rangePosition{generation: r.view.gen.ID(), selection: r.selection, key: tt.key}
		_, err := Events(t.Context(), a.Store, RangeRequest{
			Since: "1970-01-01T00:00:01Z", Until: "1970-01-01T00:00:02.5Z", Scope: "primary", Cursor: p.encode(), Limit: req.limit,
		})
		if got := fault.Code(err); tt.ok && got != "" || !tt.ok && got != InvalidCursorCoordinate {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRangeCursorPinsGeneration(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, mixed()...)
	start := listing(t, a, RangeRequest{Limit: 2})
	first, _ := page(t, start)
	start.Close() // a reader would hold its generation
	req := RangeRequest{Limit: 20, Cursor: *first.NextCursor}
	a.Publish(t, fixture.Session{Name: "more", Events: talk("uu")})
	held, err := Events(t.Context(), a.Store, req)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := page(t, held)
	if d.Generation != first.Generation || len(d.Events) != 8 {
		t.Errorf("the retained generation gives %d events of %s", len(d.Events), d.Generation)
	}
	held.Close()
	a.Publish(t, fixture.Session{Name: "and more", Events: talk("uu")})
	if _, err := Events(t.Context(), a.Store, req); fault.Code(err) != GenerationNotRetained {
		t.Errorf("error %v", err)
	} else if object, ok := RangeError(err); !ok || !bytes.Contains(object, []byte(`"restart_required":true`)) {
		t.Errorf("object %s", object)
	}
}
