package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
)

func service(a *fixture.Archive) *Service {
	return &Service{Store: a.Store, Now: func() time.Time { return noon }}
}

func answer(t *testing.T, a *fixture.Archive, req Request) *Answer {
	t.Helper()
	got, err := service(a).Search(t.Context(), req)
	if err != nil {
		t.Fatalf("%+v: %v", req, err)
	}
	return got
}

// labels names the rows by the first word of their snippet.
func labels(a *Answer) string {
	var out []string
	for _, r := range a.Results {
		first, _, _ := strings.Cut(r.Snippet, " ")
		first, _, _ = strings.Cut(first, "\n")
		out = append(out, first)
	}
	return strings.Join(out, " ")
}

func at(day int) int64 { return noon.AddDate(0, 0, day).UnixMilli() }

// home has sessions of several providers. The first word of each text names the event.
func home() []fixture.Session {
	return []fixture.Session{
		{
			Name: "main", Scope: record.ScopePrimary, Meta: record.SessionMeta{CWD: `C:\Users\dev\repo\`, Title: "Fix the falcon"},
			Events: []fixture.Event{
				{Key: "1", Sequence: 1, At: at(-9), Text: "m1 falcon falcon question", Scope: record.ScopePrimary},
				{Key: "2", Sequence: 2, At: at(-9) + 1, Text: "m2 gateway", Type: record.ToolCall, Role: record.Assistant, Scope: record.ScopePrimary,
					Tool: "Read", Arguments: `{"file_path":"pay/Ärger.go"}`, Facts: []fixture.Fact{{Kind: record.FactFile, Value: `pay\Ärger.go`}}},
				{Key: "3", Sequence: 3, At: at(-9) + 2, Text: "m3 heron output falcon", Type: record.ToolOutput, Role: record.Tool, Scope: record.ScopePrimary},
				{Key: "4", Sequence: 4, At: at(-9) + 3, Text: "m4 falcon retrieved", Type: record.ToolOutput, Scope: record.ScopePrimary, Excluded: true},
				{Key: "5", Sequence: 5, At: at(-9) + 4, Type: record.Message, Omitted: "privacy", Scope: record.ScopePrimary},
			},
		},
		{
			Name: "child", Parent: "main", Root: "main", Relationship: record.RelationshipDelegated, Scope: record.ScopeSubagent,
			Meta: record.SessionMeta{CWD: "/srv/STRASSE/app"},
			Events: []fixture.Event{
				{Key: "1", Sequence: 1, At: at(-2), Text: "c1 falcon beside the heron", Scope: record.ScopeSubagent},
			},
		},
		{
			Name: "second", Meta: record.SessionMeta{CWD: "/srv/blog"}, Route: "route-named", State: core.Gone, Scope: record.ScopePrimary,
			Events: []fixture.Event{
				{Key: "1", Sequence: 1, Text: "s1 stork untimed", Scope: record.ScopePrimary, Facts: []fixture.Fact{{Kind: record.FactFile, Value: "/srv/blog/Intro.md"}}},
				{Key: "2", Sequence: 2, At: at(-1), Text: "s2 falcon notice", Type: record.Notice, Scope: record.ScopePrimary},
			},
		},
		{
			Name: "x", Provider: "codex", Format: "codex_jsonl", Route: "route-old", Meta: record.SessionMeta{WorkspaceLabel: "-home-dev--my-app"},
			Events: []fixture.Event{{Key: "1", Sequence: 1, At: at(-5), Text: "x1 falcon summary", Type: record.Summary}},
		},
		{
			Name: "nowhere", Provider: "codex", Format: "codex_jsonl",
			Events: []fixture.Event{{Key: "1", Sequence: 1, At: at(-5), Text: "n1 falcon nowhere"}},
		},
		{
			Name: "k", Provider: "custom", Format: "custom_jsonl", Meta: record.SessionMeta{CWD: "/srv/k"},
			Events: []fixture.Event{
				{Key: "1", Sequence: 1, At: at(-5), Text: "k1 falcon", Native: []string{"acme", "one", "1"}},
				{Key: "2", Sequence: 2, At: at(-5), Text: "k2 falcon", Native: []string{"acme", "two", "2"}},
			},
		},
	}
}

func homeArchive(t *testing.T) *fixture.Archive {
	t.Helper()
	a := fixture.New(t)
	a.Routes = append(a.Routes, core.Route{Identity: "route-named", Provider: "claude", Format: fixture.Format, Authority: "configured", Root: "work"})
	a.Roots = []core.Root{{Provider: "claude", Name: "work", Group: "g"}, {Provider: "claude", Name: "empty", Group: "h"}}
	a.Publish(t, home()...)
	return a
}

func TestFilters(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	id := func(provider, name string) string { return fixture.SessionID(provider, name).String() }
	const all = "m1 k1 k2 n1 c1 x1 s2 m3"
	for _, tt := range []struct {
		name string
		req  Request
		want string // events in any order
	}{
		{"nothing", Request{}, all},
		{"provider", Request{Provider: "codex"}, "n1 x1"},
		{"source format", Request{SourceFormat: "codex_jsonl"}, "n1 x1"},
		{"root", Request{SourceRoots: []string{"work"}}, "s2"},
		{"group", Request{SourceGroups: []string{"g"}}, "s2"},
		{"roots or groups", Request{SourceRoots: []string{"empty"}, SourceGroups: []string{"g"}}, "s2"},
		{"root without sources", Request{SourceRoots: []string{"empty"}}, ""},
		{"root and provider", Request{SourceRoots: []string{"work"}, Provider: "codex"}, ""},
		{"empty lists", Request{SourceRoots: []string{}, SourceGroups: []string{}}, all},
		{"workspace by cwd", Request{Workspace: "c:/users/DEV/repo/"}, "m1 m3"},
		{"workspace by label", Request{Workspace: "/home/dev/my.app/"}, "x1"},
		{"workspace in lower case", Request{Workspace: "strasse"}, "c1"},
		{"workspace in plain lower case", Request{Workspace: "straße"}, ""},
		{"file", Request{File: "PAY/ärger"}, ""},
		{"since", Request{Since: "3d"}, "c1 s2"},
		{"since time", Request{Since: "2026-02-24T12:00:00.000Z"}, "c1 s2 n1 x1 k1 k2"},
		{"primary", Request{PrimaryOnly: true}, "m1 m3 s2"},
		{"transcript", Request{ContentScope: "transcript"}, "m1 c1 n1 x1 k1 k2"},
		{"outputs", Request{ContentScope: "outputs"}, "m3"},
		{"calls", Request{ContentScope: "calls"}, ""},
		{"event type", Request{EventType: "notice"}, "s2"},
		{"session", Request{Session: id("", "main")}, "m1 m3"},
		{"exclude", Request{Exclude: []string{id("", "main"), id("codex", "x")}}, "c1 s2 n1 k1 k2"},
		{"history source", Request{HistorySource: "acme/two"}, "k2"},
		{"provider key", Request{ProviderKey: "acme", Provider: "custom"}, "k1 k2"},
		{"source id", Request{SourceID: "one"}, "k1"},
		{"two identities", Request{ProviderKey: "acme", SourceID: "one"}, "k1"},
		{"contradicting identities", Request{HistorySource: "acme/two", SourceID: "one"}, ""},
	} {
		tt.req.Query, tt.req.Events = "falcon", true
		got := answer(t, a, tt.req)
		if !sameWords(labels(got), tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, labels(got), tt.want)
		}
		if c := got.Coverage; c.Sources+c.SourcesUnselected != 6 {
			t.Errorf("%s: %d sources and %d unselected", tt.name, c.Sources, c.SourcesUnselected)
		}
	}
}

func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestFilterFailures(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	for name, tt := range map[string]struct {
		req  Request
		code string
	}{
		"unknown root":     {Request{SourceRoots: []string{"secretroot"}}, fault.InvalidRequest},
		"case of a root":   {Request{SourceRoots: []string{"WORK"}}, fault.InvalidRequest},
		"unknown group":    {Request{SourceRoots: []string{"work"}, SourceGroups: []string{"secretgroup"}}, fault.InvalidRequest},
		"unknown session":  {Request{Session: "ffffffff-ffff-8fff-8fff-ffffffffffff"}, fault.NotFound},
		"bad session":      {Request{Session: "xyz"}, fault.InvalidRequest},
		"unknown excluded": {Request{Exclude: []string{"ffffffff"}}, fault.NotFound},
	} {
		tt.req.Query = "falcon"
		_, err := service(a).Search(t.Context(), tt.req)
		if fault.Code(err) != tt.code || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFileOnly(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	got := answer(t, a, Request{File: "/"})
	// Newest first, untimed last; sessions by their newest match.
	if labels(got) != "m2 s1" || got.Query != "" || got.Results[0].ResultScope != "session" {
		t.Errorf("results %q", labels(got))
	}
	for _, r := range got.Results {
		if fmt.Sprint(r.Why) != "[file]" || r.Score != 1 {
			t.Errorf("row %+v", r)
		}
	}
	if got = answer(t, a, Request{File: "intro.MD"}); labels(got) != "s1" {
		t.Errorf("results %q", labels(got))
	}
	got = answer(t, a, Request{File: "nothing", Provider: "claude"})
	if len(*got.Coverage.Relaxations) != 0 {
		t.Errorf("the file is the query: %v", *got.Coverage.Relaxations)
	}
	got = answer(t, a, Request{File: "intro", Provider: "codex"})
	if fmt.Sprint(*got.Coverage.Relaxations) != "[{provider 1}]" {
		t.Errorf("relaxations %v", *got.Coverage.Relaxations)
	}
}

func TestRowMembers(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	s := service(a)
	s.DataRoot = "/data/it's here"
	got, err := s.Search(t.Context(), Request{Query: "falcon heron", Limit: 1, Freshness: Freshness{Mode: "off", Status: "existing_generation"}, ShortIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	session, event, parent := fixture.SessionID("", "child").String(), fixture.EventID("", "child", "1").String(), fixture.SessionID("", "main").String()
	score := fmt.Sprint(float32(got.Results[0].Score))
	want := `{"schema_version":1,"payload_type":"search_results","query":"falcon heron","filters":{"content_scope":"all"},` +
		`"freshness":{"mode":"off","status":"existing_generation","source_count":6},` +
		`"retrieval":{"requested_mode":"lexical","effective_mode":"lexical","semantic_weight":0.0,"semantic_status":"skipped","index":"core",` +
		`"generation_id":"` + a.Pin(t).ID() + `","indexed_documents":12,"phase_attribution":{"query_seconds":0.0}},` +
		`"coverage":{"sources":6,"sources_unselected":0,"sessions":6,"events":10},"phase_attribution":{"query_seconds":0.0},` +
		`"generated_at":"2026-03-01T12:00:00.000Z","results":[{"item_id":"` + session + `","result_type":"session_result","result_scope":"session",` +
		`"ctx_event_id":"` + event + `","ctx_session_id":"` + session + `","event_id":"` + event + `","session_id":"` + session + `","event_seq":1,` +
		`"title":"claude user message","source_state":"present","snippet":"c1 falcon beside the heron","snippet_truncated":false,"snippet_max_chars":320,` +
		`"rank":1,"retrieval_score":` + score + `,"session_importance":` + score + `,"more_matches_in_session":0,"why_matched":["text"],` +
		`"provider":"claude","source_format":"test_jsonl","provider_session_id":"child","parent_ctx_session_id":"` + parent + `","root_ctx_session_id":"` + parent + `",` +
		`"session_relationship":"delegated","copied_lineage":{"schema_version":2,"resolution":{"state":"resolved","ctx_event_id":"` + event + `","ctx_session_id":"` + session + `"},` +
		`"selected_depth":0,"observed_count":0,"returned":0,"occurrences":[],"relationship_counts":{},"truncated":false},"agent_scope":"subagent",` +
		`"timestamp":"2026-02-27T12:00:00.000Z","cwd":"/srv/STRASSE/app","suggested_next_commands":["ctx --data-root '/data/it'\\''s here' show session ` + session + `",` +
		`"ctx --data-root '/data/it'\\''s here' show event ` + event + ` --window 10","ctx --data-root '/data/it'\\''s here' search 'falcon heron' --session ` + session + `"],` +
		`"citations":[{"item_id":"` + event + `","target_type":"event","ctx_event_id":"` + event + `","ctx_session_id":"` + session + `","provider":"claude","session_id":"` + session + `","event_seq":1}],` +
		`"visibility":"local"}],"result_window":{"limit":1,"returned":1,"more_available":true},"truncation":{"candidate_pool":8,"candidate_pool_truncated":false}}` + "\n"
	if b.String() != want {
		t.Errorf("got  %s\nwant %s", b.String(), want)
	}
	row := got.Results[0]
	if len(row.ShortSession) != 8 || len(row.ShortEvent) != 8 || !strings.HasSuffix(row.ShortCommands[0], "show session "+row.ShortSession) {
		t.Errorf("short ids %q %q %q", row.ShortSession, row.ShortEvent, row.ShortCommands)
	}
}

func TestRowFacts(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	row := answer(t, a, Request{Query: "stork", Events: true}).Results[0]
	if row.ItemID != row.EventID || row.ResultType != "event" || row.ResultScope != "event" || row.MoreMatches != nil || row.SessionImportance != nil ||
		row.Timestamp != "" || row.SourceState != "gone" || !strings.Contains(row.Commands[0], "show event") {
		t.Errorf("event row %+v", row)
	}
	if why := answer(t, a, Request{Query: "falcon stork", File: "intro", Events: true}).Results[0].Why; fmt.Sprint(why) != "[text file]" {
		t.Errorf("why %v", why)
	}
	if why := answer(t, a, Request{Query: "blog"}).Results[0].Why; fmt.Sprint(why) != "[metadata]" {
		t.Errorf("why %v", why)
	}
	if why := answer(t, a, Request{Query: "gateway read"}).Results[0].Why; fmt.Sprint(why) != "[text metadata]" {
		t.Errorf("why %v", why)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	for _, query := range []string{"retrieved", "privacy", "question?!nowhere else", "?!"} {
		got := answer(t, a, Request{Query: query})
		if query == "question?!nowhere else" {
			if labels(got) != "m1 n1" && labels(got) != "n1 m1" {
				t.Errorf("%q: %q", query, labels(got))
			}
			continue
		}
		if len(got.Results) != 0 || got.Coverage.Relaxations == nil || len(*got.Coverage.Relaxations) != 0 {
			t.Errorf("%q finds %q", query, labels(got))
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	r := &run{service: &Service{}, query: &query{alternatives: []string{"-x", "two words", "plain"}, filters: Filters{ContentScope: "calls", File: "a'b"}}}
	if got := r.arguments(); got != `--term=-x --term='two words' --term=plain --file='a'\''b' --content-scope=calls ` {
		t.Errorf("arguments %q", got)
	}
	r.alternatives = []string{"plain"}
	if got := r.commands("S", "E")[2]; got != `ctx search plain --file='a'\''b' --content-scope=calls --session S` {
		t.Errorf("command %q", got)
	}
}

func TestClassWeights(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		typ    string
		weight float64
	}{
		{record.Message, 1}, {record.Summary, 0.9}, {record.ToolCall, 0.8}, {record.CommandStarted, 0.8}, {record.ToolOutput, 0.6},
		{record.CommandOutput, 0.6}, {record.CommandFinished, 0.6}, {record.Notice, 0.8}, {"future_type", 0.8},
	}
	s := fixture.Session{Name: "s"}
	for i, k := range kinds {
		s.Events = append(s.Events, fixture.Event{Key: k.typ, Sequence: uint64(i), At: 1, Type: k.typ, Text: "dodo body"})
	}
	a := fixture.Build(t, s)
	score := map[string]float64{}
	for _, row := range answer(t, a, Request{Query: "dodo", Events: true}).Results {
		score[row.Type] = float64(row.Score)
	}
	for _, k := range kinds {
		if got := score[k.typ] / score[record.Message]; math.Abs(got-k.weight) > 1e-6 {
			t.Errorf("%s has weight %v, want %v", k.typ, got, k.weight)
		}
	}
	for scope, want := range map[string]int{"all": 9, "transcript": 2, "calls": 2, "outputs": 3} {
		got := answer(t, a, Request{Query: "dodo", Events: true, ContentScope: scope})
		if len(got.Results) != want || got.Filters.ContentScope != scope || got.Coverage.Events != want {
			t.Errorf("%s: %d results, coverage %+v", scope, len(got.Results), got.Coverage)
		}
		if top := float64(got.Results[0].Score); math.Abs(top/score[record.Message]-1) > 1e-6 {
			t.Errorf("%s: the best score is %v of a message", scope, top/score[record.Message])
		}
	}
}

// TestRanking is a golden order over the rules: coverage, then weighted score, then time, sequence and id.
func TestRanking(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t,
		fixture.Session{Name: "a", Events: []fixture.Event{
			{Key: "1", Sequence: 1, At: 1000, Text: "two zebra quagga zebra quagga"},
			{Key: "2", Sequence: 2, At: 1000, Text: "all a long output with other words before zebra then quagga and last the okapi of them", Type: record.ToolOutput},
			{Key: "3", Sequence: 3, At: 5000, Text: "newer zebra"},
			{Key: "4", Sequence: 4, At: 4000, Text: "older zebra"},
			{Key: "5", Sequence: 5, Text: "never zebra"},
			{Key: "6", Sequence: 7, At: 4000, Text: "later zebra"},
			{Key: "7", Sequence: 8, At: 9000, Text: "call zebra", Type: record.ToolCall},
		}},
	)
	got := answer(t, a, Request{Query: "okapi ZEBRA", Terms: []string{"quagga"}, Events: true})
	if want := "all two newer later older never call"; labels(got) != want {
		t.Errorf("order %q, want %q", labels(got), want)
	}
	if got.Query != "okapi ZEBRA OR quagga" {
		t.Errorf("query %q", got.Query)
	}
}

// TestDeletionsDoNotScore: an archive with deleted documents scores like one that never had them.
func TestDeletionsDoNotScore(t *testing.T) {
	t.Parallel()
	keep := fixture.Session{Name: "keep", Events: []fixture.Event{{Key: "1", Text: "one zebra and more"}, {Key: "2", Sequence: 1, Text: "two zebra zebra"}}}
	gone := fixture.Session{Name: "gone"}
	for i := range 40 {
		gone.Events = append(gone.Events, fixture.Event{Key: fmt.Sprint(i), Sequence: uint64(i), Text: "three zebra quagga"})
	}
	fresh := answer(t, fixture.Build(t, keep), Request{Query: "zebra quagga", Events: true})
	a := fixture.Build(t, keep, gone)
	a.Drop(t, "gone")
	left := answer(t, a, Request{Query: "zebra quagga", Events: true})
	if len(left.Results) != 2 || len(fresh.Results) != 2 {
		t.Fatalf("%d and %d results", len(left.Results), len(fresh.Results))
	}
	for i := range left.Results {
		if left.Results[i].Score != fresh.Results[i].Score || left.Results[i].EventID != fresh.Results[i].EventID {
			t.Errorf("row %d: %v, fresh %v", i, left.Results[i].Score, fresh.Results[i].Score)
		}
	}
}

func TestDeterminism(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	for _, req := range []Request{{Query: "falcon heron stork"}, {File: "/"}, {Query: "falcon", Events: true}, {Query: "nothing", Provider: "codex"}} {
		var texts []string
		for range 5 {
			text, err := json.Marshal(answer(t, a, req))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		for _, text := range texts[1:] {
			if text != texts[0] {
				t.Errorf("%+v differs:\n%s\n%s", req, text, texts[0])
			}
		}
	}
}

func TestPoolGrows(t *testing.T) {
	t.Parallel()
	// 300 matching events of one session hide another session at the end of the list.
	long := fixture.Session{Name: "long"}
	for i := range 300 {
		long.Events = append(long.Events, fixture.Event{Key: fmt.Sprint(i), Sequence: uint64(i), At: 1, Text: "zebra zebra"})
	}
	last := fixture.Session{Name: "last", Events: []fixture.Event{{Key: "1", At: 1, Text: "zebra with many other words that make it much less about the animal"}}}
	a := fixture.Build(t, long, last)
	got := answer(t, a, Request{Query: "zebra"})
	if len(got.Results) != 2 || got.Window.MoreAvailable || got.Truncation.CandidatePool != 301 || *got.Results[0].MoreMatches != 299 {
		t.Errorf("window %+v, truncation %+v", got.Window, got.Truncation)
	}
	got = answer(t, a, Request{Query: "zebra", Events: true})
	if got.Truncation.CandidatePool != 256 || got.Truncation.CandidatePoolTruncated || !got.Window.MoreAvailable {
		t.Errorf("an event list is decided at once: %+v", got.Truncation)
	}
}

func TestPoolBound(t *testing.T) {
	t.Parallel()
	long := fixture.Session{Name: "long"}
	for i := range 4100 {
		long.Events = append(long.Events, fixture.Event{Key: fmt.Sprint(i), Sequence: uint64(i), At: int64(i + 1), Text: "zebra", Facts: []fixture.Fact{{Kind: record.FactFile, Value: "f"}}})
	}
	a := fixture.Build(t, long)
	got := answer(t, a, Request{Query: "zebra"})
	if got.Truncation != (Truncation{CandidatePool: 4096, CandidatePoolTruncated: true}) || *got.Results[0].MoreMatches != 4095 {
		t.Errorf("truncation %+v", got.Truncation)
	}
	got = answer(t, a, Request{File: "f", Events: true, Limit: 1})
	if got.Truncation != (Truncation{CandidatePool: 4096, CandidatePoolTruncated: true}) || got.Results[0].EventSeq != 4099 || !got.Window.MoreAvailable {
		t.Errorf("by file: %+v, first %d", got.Truncation, got.Results[0].EventSeq)
	}
}

func TestLimitSentinel(t *testing.T) {
	t.Parallel()
	var sessions []fixture.Session
	for i := range 5 {
		sessions = append(sessions, fixture.Session{Name: fmt.Sprint(i), Events: []fixture.Event{{Key: "1", At: int64(i + 1), Text: "zebra"}}})
	}
	a := fixture.Build(t, sessions...)
	for _, events := range []bool{false, true} {
		for _, limit := range []int{1, 4, 5, 6, 200} {
			got := answer(t, a, Request{Query: "zebra", Limit: limit, Events: events})
			if got.Window != (Window{limit, min(limit, 5), limit < 5}) || len(got.Results) != min(limit, 5) {
				t.Errorf("limit %d: %+v", limit, got.Window)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	gen := a.Pin(t)
	ctx, cancel := contextCancelled(t)
	defer cancel()
	if _, err := service(a).SearchIn(ctx, gen, Request{Query: "falcon"}); err == nil {
		t.Error("a cancelled search gave an answer")
	}
}

func TestEmptyGeneration(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t)
	for _, req := range []Request{{Query: "x"}, {File: "x"}, {Query: "x", Workspace: "/srv", Since: "3d", Provider: "claude"}, {Query: "x", Events: true}} {
		got := answer(t, a, req)
		if len(got.Results) != 0 || got.Coverage.Events != 0 || got.Coverage.Sessions != 0 || got.Coverage.Sources != 0 || got.Truncation != (Truncation{}) ||
			len(*got.Coverage.Relaxations) != 0 {
			t.Errorf("%+v: %+v %+v", req, got.Coverage, got.Truncation)
		}
	}
}

// TestFilterAndColumnsAgree: counting without filters reads columns, with filters sets; both see the same events, deleted ones left out.
func TestFilterAndColumnsAgree(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	a.Drop(t, "child")
	plain := answer(t, a, Request{Query: "falcon"}).Coverage
	filtered := answer(t, a, Request{Query: "falcon", Exclude: []string{fixture.SessionID("", "second").String()}}).Coverage
	if plain.Events != 9 || plain.Sessions != 5 || filtered.Events != plain.Events-2 || filtered.Sessions != plain.Sessions-1 {
		t.Errorf("plain %+v, filtered %+v", plain, filtered)
	}
}
