package search

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/refresh"
)

func contextCancelled(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

func copiesArchive(t *testing.T) *fixture.Archive {
	t.Helper()
	return fixture.Build(t,
		fixture.Session{Name: "parent", Meta: record.SessionMeta{CWD: "/a"}, Events: []fixture.Event{
			{Key: "1", Sequence: 1, At: at(-9), Text: "original zephyr"}, {Key: "2", Sequence: 2, At: at(-9), Text: "answer zephyr", Role: record.Assistant},
		}},
		fixture.Session{Name: "fork", Meta: record.SessionMeta{CWD: "/b"}, Relationship: record.RelationshipForked, Events: []fixture.Event{
			{Key: "1", Sequence: 1, At: at(-1), Text: "original zephyr", CopyOf: [2]string{"parent", "1"}},
			{Key: "2", Sequence: 2, At: at(-1), Text: "answer zephyr", Role: record.Assistant, CopyOf: [2]string{"parent", "2"}, Proof: record.ProofCertifiedOrderedPrefix},
			{Key: "3", Sequence: 3, At: at(-1), Text: "own monsoon"},
		}},
		fixture.Session{Name: "second fork", Events: []fixture.Event{
			{Key: "1", Sequence: 1, Text: "original zephyr", CopyOf: [2]string{"fork", "1"}},
			{Key: "2", Sequence: 2, Text: "orphan typhoon", CopyOf: [2]string{"nobody", "1"}},
		}},
		fixture.Session{Name: "ring a", Events: []fixture.Event{{Key: "1", Text: "ring sirocco", CopyOf: [2]string{"ring b", "1"}}}},
		fixture.Session{Name: "ring b", Events: []fixture.Event{{Key: "1", Text: "ring sirocco", CopyOf: [2]string{"ring a", "1"}}}},
	)
}

func TestCopiesCollapse(t *testing.T) {
	t.Parallel()
	a := copiesArchive(t)
	got := answer(t, a, Request{Query: "original zephyr", Events: true})
	if labels(got) != "original answer" || got.Truncation.CandidatePool != 2 {
		t.Errorf("results %q, pool %+v", labels(got), got.Truncation)
	}
	row := got.Results[0]
	if row.SessionID != fixture.SessionID("", "parent").String() || row.Copy != nil || row.Lineage.ObservedCount != 2 || row.Lineage.Occurrences[0].Depth+row.Lineage.Occurrences[1].Depth != 3 {
		t.Errorf("row %+v, lineage %+v", row, row.Lineage)
	}
	got = answer(t, a, Request{Query: "zephyr"})
	if len(got.Results) != 1 || *got.Results[0].MoreMatches != 1 {
		t.Errorf("sessions %q", labels(got))
	}
	fork := fixture.SessionID("", "fork").String()
	for name, tt := range map[string]struct {
		req   Request
		owner string
		want  string
	}{
		"limited to the copy's session": {Request{Query: "zephyr", Session: fork}, "fork", "original answer"},
		"ancestor filtered by time":     {Request{Query: "zephyr", Since: "3d", Events: true}, "fork", "original answer"},
		"ancestor filtered by place":    {Request{Query: "zephyr", Workspace: "/b", Events: true}, "fork", "original answer"},
	} {
		got := answer(t, a, tt.req)
		if !sameWords(labels(got), tt.want) {
			t.Errorf("%s: %q", name, labels(got))
		}
		for _, row := range got.Results {
			if row.SessionID != fixture.SessionID("", tt.owner).String() || row.Copy == nil || row.Lineage.Resolution.State != "resolved" || row.Lineage.SelectedDepth != 1 {
				t.Errorf("%s: row %+v", name, row)
			}
		}
	}
	got = answer(t, a, Request{Query: "typhoon", Events: true})
	if labels(got) != "orphan" || got.Results[0].Lineage.Resolution.State != "unresolved" {
		t.Errorf("without an ancestor: %q", labels(got))
	}
	got = answer(t, a, Request{Query: "sirocco", Events: true})
	if labels(got) != "ring ring" || got.Results[0].Lineage.Resolution.State != "cyclic" {
		t.Errorf("a cycle: %q", labels(got))
	}
}

func TestCopyOutlivesAncestor(t *testing.T) {
	t.Parallel()
	a := copiesArchive(t)
	a.Drop(t, "parent")
	got := answer(t, a, Request{Query: "original", Events: true})
	if len(got.Results) != 2 {
		t.Errorf("without the ancestor: %q", labels(got))
	}
	for _, row := range got.Results {
		if row.Lineage.Resolution.State != "unresolved" || row.Lineage.Resolution.Session != "" {
			t.Errorf("lineage %+v", row.Lineage)
		}
	}
}

// TestCopyThatMatchesAlone: a copy whose ancestor the query does not find stays, so that no evidence is lost.
func TestCopyThatMatchesAlone(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t,
		fixture.Session{Name: "parent", Events: []fixture.Event{{Key: "1", Text: "original zephyr"}}},
		fixture.Session{Name: "fork", Events: []fixture.Event{{Key: "1", Text: "original zephyr", CopyOf: [2]string{"parent", "1"},
			Facts: []fixture.Fact{{Kind: record.FactBranch, Value: "quartz"}}}}},
	)
	if got := answer(t, a, Request{Query: "quartz", Events: true}); len(got.Results) != 1 || got.Results[0].Copy == nil {
		t.Errorf("results %q", labels(got))
	}
	if got := answer(t, a, Request{Query: "quartz zephyr", Events: true}); len(got.Results) != 1 || got.Results[0].Copy != nil {
		t.Errorf("results %q", labels(got))
	}
}

// TestCopyWhoseAncestorFails: the index finds both, but only the text of the copy passes.
func TestCopyWhoseAncestorFails(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t,
		fixture.Session{Name: "parent", Events: []fixture.Event{{Key: "1", Text: "zephyr over the original"}}},
		fixture.Session{Name: "fork", Events: []fixture.Event{{Key: "1", Text: "original zephyr over", CopyOf: [2]string{"parent", "1"}}}},
	)
	for query, want := range map[string]string{`"original zephyr"`: "original", `"zephyr over"`: "zephyr", "zephyr original": "zephyr"} {
		if got := answer(t, a, Request{Query: query, Events: true}); labels(got) != want || got.Relaxed != nil {
			t.Errorf("%s: %q, relaxed %v, want %q", query, labels(got), got.Relaxed, want)
		}
	}
}

func TestRelaxations(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	env := environment(map[string]string{"CODEX_THREAD_ID": "nowhere"})
	for name, tt := range map[string]struct {
		req  Request
		want string
	}{
		"none to blame":      {Request{Query: "nosuchword", Provider: "codex"}, "[]"},
		"no filter":          {Request{Query: "nosuchword"}, "[]"},
		"provider":           {Request{Query: "stork", Provider: "codex"}, "[{provider 1}]"},
		"two filters of two": {Request{Query: "stork", Provider: "codex", Since: "2026-01-01T00:00:00Z"}, "[]"},
		"only one of two":    {Request{Query: "question", Provider: "claude", Since: "3d"}, "[{since 1}]"},
		"sorted by count":    {Request{Query: "falcon", Workspace: "/srv/k", Since: "3d"}, "[{since 2} {workspace 2}]"},
		"larger first":       {Request{Query: "falcon", Workspace: "/srv/k", EventType: "notice"}, "[{event_type 2} {workspace 1}]"},
		"scope":              {Request{Query: "notice", PrimaryOnly: true, ContentScope: "transcript"}, "[{content_scope 1}]"},
		"primary":            {Request{Query: "beside", PrimaryOnly: true}, "[{primary_only 1}]"},
		"roots as one":       {Request{Query: "question", SourceRoots: []string{"work"}, SourceGroups: []string{"h"}}, "[{source_selection 1}]"},
		"session":            {Request{Query: "stork", Session: fixture.SessionID("", "main").String()}, "[{session 1}]"},
		"exclusion":          {Request{Query: "stork", Exclude: []string{fixture.SessionID("", "second").String()}}, "[{exclude_session 1}]"},
		"file with a query":  {Request{Query: "question", File: "intro"}, "[{file 1}]"},
		"current session":    {Request{Query: "nowhere", Environment: env}, "[{current_session 1}]"},
		"identity":           {Request{Query: "k1", HistorySource: "acme/two"}, "[{history_source 1}]"},
		"format":             {Request{Query: "stork", SourceFormat: "codex_jsonl"}, "[{source_format 1}]"},
	} {
		got := answer(t, a, tt.req)
		if len(got.Results) > 0 || got.Coverage.Relaxations == nil || fmt.Sprint(*got.Coverage.Relaxations) != tt.want {
			t.Errorf("%s: %q, relaxations %v, want %s", name, labels(got), got.Coverage.Relaxations, tt.want)
		}
	}
	if got := answer(t, a, Request{Query: "falcon", Provider: "codex"}); got.Coverage.Relaxations != nil {
		t.Error("relaxations beside results")
	}
}

// TestRelaxationsOfOperators: an entry counts what the search without that filter finds, read as that search reads it.
func TestRelaxationsOfOperators(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, speech(), fixture.Session{Name: "x", Provider: "codex", Format: "codex_jsonl", Meta: record.SessionMeta{CWD: "/srv/x"},
		Events: []fixture.Event{{Key: "1", Text: "x1 nothing of it"}}})
	for _, query := range []string{
		`"connection reset"`, "connection NEAR/2 reset", "connection -gateway", `connection -"connection reset"`, "reset role:assistant", "conn* -proxy",
		`"gateway reset"`, `"gateway reset" -proxy`, "conectoin -gateway", "branch:main", `"connection reset" NEAR/1 before`,
	} {
		for _, filtered := range []Request{{Provider: "codex"}, {Workspace: "/srv/x"}, {ContentScope: "calls", Provider: "codex"}} {
			filtered.Query, filtered.Events = query, true
			got := answer(t, a, filtered)
			want := answer(t, a, Request{Query: query, Events: true, ContentScope: filtered.ContentScope})
			n := len(want.Results)
			if n == 0 {
				continue
			}
			if r := got.Coverage.Relaxations; r == nil || len(*r) != 1 || (*r)[0].WouldMatch != n {
				t.Errorf("%s, %+v: relaxations %v, want %d (relaxed %v)", query, got.Filters, r, n, want.Relaxed)
			}
			if u := got.Coverage.UnknownWorkspace; filtered.Workspace != "" && (u == nil || *u != 1) {
				t.Errorf("%s: unknown workspaces %v", query, u)
			}
			if len(got.Relaxed) == 0 && len(want.Relaxed) > 0 {
				t.Errorf("%s: the answer does not say that %v was given up", query, want.Relaxed)
			}
		}
	}
}

// TestUnknownWorkspacePassesConditions: a session that the query does not find is not left out by its workspace.
func TestUnknownWorkspacePassesConditions(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "here", Meta: record.SessionMeta{CWD: "/srv/x"}, Events: []fixture.Event{{Key: "1", Text: "x1 connection reset"}}},
		fixture.Session{Name: "phrase", Events: []fixture.Event{{Key: "1", Text: "p1 connection reset"}}},
		fixture.Session{Name: "words", Events: []fixture.Event{{Key: "1", Text: "w1 reset the connection"}}})
	for query, want := range map[string]int{"connection reset": 2, `"connection reset"`: 1, `connection -"connection reset"`: 2} {
		if got := answer(t, a, Request{Query: query, Workspace: "/srv/x"}).Coverage.UnknownWorkspace; got == nil || *got != want {
			t.Errorf("%s: %v, want %d", query, got, want)
		}
	}
}

func TestRelaxationCountsNoCollapsedCopies(t *testing.T) {
	t.Parallel()
	a := copiesArchive(t)
	got := answer(t, a, Request{Query: "zephyr", Provider: "codex"})
	if fmt.Sprint(*got.Coverage.Relaxations) != "[{provider 2}]" {
		t.Errorf("relaxations %v", *got.Coverage.Relaxations)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	for name, tt := range map[string]struct {
		req  Request
		want string // sources unselected sessions events
	}{
		"all":       {Request{}, "6 0 6 10"},
		"provider":  {Request{Provider: "codex"}, "2 4 2 2"},
		"root":      {Request{SourceRoots: []string{"work"}}, "1 5 1 2"},
		"format":    {Request{SourceFormat: "codex_jsonl", Provider: "claude"}, "0 6 0 0"},
		"identity":  {Request{SourceID: "one"}, "1 5 1 1"},
		"since":     {Request{Since: "3d"}, "6 0 2 2"},
		"workspace": {Request{Workspace: "/srv/blog"}, "6 0 1 2"},
	} {
		tt.req.Query = "falcon"
		c := answer(t, a, tt.req).Coverage
		if got := fmt.Sprint(c.Sources, c.SourcesUnselected, c.Sessions, c.Events); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		if c.SourcesStale != nil || c.SourcesFailed != nil {
			t.Errorf("%s: stale and failed without a receipt", name)
		}
		if (c.UnknownWorkspace != nil) != (tt.req.Workspace != "") {
			t.Errorf("%s: unknown workspace %v", name, c.UnknownWorkspace)
		}
	}
}

func TestUnknownWorkspace(t *testing.T) {
	t.Parallel()
	a := homeArchive(t)
	for name, tt := range map[string]struct {
		req  Request
		want int
	}{
		"one session":              {Request{Query: "falcon", Workspace: "/srv/k"}, 1},
		"it does not match":        {Request{Query: "stork", Workspace: "/srv"}, 0},
		"another filter drops it":  {Request{Query: "falcon", Workspace: "/srv/k", Provider: "claude"}, 0},
		"counted without results":  {Request{Query: "nowhere", Workspace: "/srv/k"}, 1},
		"a label is known":         {Request{Query: "summary", Workspace: "/srv/k"}, 0},
		"by file, nothing unknown": {Request{File: "intro", Workspace: "/srv/k"}, 0},
	} {
		if c := answer(t, a, tt.req).Coverage; c.UnknownWorkspace == nil || *c.UnknownWorkspace != tt.want {
			t.Errorf("%s: %v", name, c.UnknownWorkspace)
		}
	}
}

func TestStaleAndFailed(t *testing.T) {
	t.Parallel()
	a := homeArchive(t) // the Codex session x has a route that is not selected: retained
	lost := fixture.SourceID("", "second").String()
	receipt := &refresh.Receipt{
		ReceiptCounts: refresh.ReceiptCounts{Failed: 3, Stale: 1},
		Providers: map[string]refresh.ProviderReceipt{
			"claude": {ReceiptCounts: refresh.ReceiptCounts{Failed: 1, Stale: 1}, Failures: []refresh.ReceiptError{{Source: lost, Class: "unreadable"}}},
			"cursor": {ReceiptCounts: refresh.ReceiptCounts{Failed: 2}, Failures: []refresh.ReceiptError{{Source: "a", Class: "unreadable"}, {Source: "b", Class: "unreadable"}}},
		},
	}
	s := service(a)
	s.Receipt = func() (*refresh.Receipt, error) { return receipt, nil }
	for name, tt := range map[string]struct {
		req  Request
		want string
	}{
		"all":               {Request{}, "2 3"},
		"provider":          {Request{Provider: "claude"}, "1 1"},
		"retained only":     {Request{Provider: "codex"}, "1 0"},
		"not indexed":       {Request{Provider: "cursor"}, "0 2"},
		"root":              {Request{SourceRoots: []string{"work"}, Provider: "claude"}, "1 1"},
		"other root":        {Request{SourceRoots: []string{"empty"}, Provider: "claude"}, "0 0"},
		"cannot be judged":  {Request{SourceRoots: []string{"work"}}, "1 -"},
		"format of another": {Request{SourceFormat: "codex_jsonl", Provider: "codex"}, "1 0"},
	} {
		tt.req.Query = "falcon"
		got, err := s.Search(t.Context(), tt.req)
		if err != nil {
			t.Fatal(err)
		}
		if text := show(got.Coverage.SourcesStale) + " " + show(got.Coverage.SourcesFailed); text != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
	receipt.Providers["claude"] = refresh.ProviderReceipt{ReceiptCounts: refresh.ReceiptCounts{Failed: 17}}
	got, err := s.Search(t.Context(), Request{Query: "x", SourceRoots: []string{"work"}})
	if err != nil || got.Coverage.SourcesStale != nil || got.Coverage.SourcesFailed != nil {
		t.Errorf("failures that are not all named: %+v, %v", got.Coverage, err)
	}
	s.Receipt = func() (*refresh.Receipt, error) { return nil, fmt.Errorf("unreadable") }
	if got, err = s.Search(t.Context(), Request{Query: "x"}); err != nil || got.Coverage.SourcesStale != nil {
		t.Errorf("an unreadable receipt: %+v, %v", got.Coverage, err)
	}
}

func show(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing":        {nil, ""},
		"codex":          {map[string]string{"CODEX_THREAD_ID": " t "}, "codex t"},
		"claude":         {map[string]string{"CLAUDE_CODE_SESSION_ID": "s"}, "claude s"},
		"blank":          {map[string]string{"CLAUDE_CODE_SESSION_ID": "  "}, ""},
		"too long":       {map[string]string{"CLAUDE_CODE_SESSION_ID": strings.Repeat("x", 65537)}, ""},
		"two":            {map[string]string{"CLAUDE_CODE_SESSION_ID": "s", "CODEX_THREAD_ID": "t"}, ""},
		"qwen":           {map[string]string{"QWEN_CODE_SESSION_ID": "s", "QWEN_CODE": "1"}, "qwen_code s"},
		"qwen lacks":     {map[string]string{"QWEN_CODE_SESSION_ID": "s"}, ""},
		"pi":             {map[string]string{"PI_SESSION_ID": "s", "AI_AGENT": "pi", "PI_CODING_AGENT": "true"}, "pi s"},
		"pi contradicts": {map[string]string{"PI_SESSION_ID": "s", "AI_AGENT": "other", "PI_CODING_AGENT": "true"}, ""},
		"hermes":         {map[string]string{"HERMES_SESSION_ID": "s", "AI_AGENT": "hermes-agent", "HERMES_AGENT": "true"}, "hermes s"},
		"goose by agent": {map[string]string{"AGENT_SESSION_ID": "s", "AGENT": "goose"}, "goose s"},
		"goose both":     {map[string]string{"AGENT_SESSION_ID": "s", "AGENT": "goose", "GOOSE_TERMINAL": "1"}, "goose s"},
		"goose one off":  {map[string]string{"AGENT_SESSION_ID": "s", "AGENT": "goose", "GOOSE_TERMINAL": "0"}, ""},
		"goose bare":     {map[string]string{"AGENT_SESSION_ID": "s"}, ""},
		"mux":            {map[string]string{"MUX_WORKSPACE_ID": "s", "MUX_RUNTIME": "docker"}, "mux s"},
		"mux runtime":    {map[string]string{"MUX_WORKSPACE_ID": "s", "MUX_RUNTIME": "moon"}, ""},
		"grok":           {map[string]string{"GROK_SESSION_ID": "s"}, "grok_build s"},
		"shelley":        {map[string]string{"SHELLEY_CONVERSATION_ID": "s"}, "shelley s"},
		"deepseek":       {map[string]string{"DSH_SESSION_ID": "s", "DSH_SHELL": "1"}, "deepseek_harness s"},
	} {
		provider, session, ok := caller(environment(tt.env))
		got := ""
		if ok {
			got = provider + " " + session
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if _, _, ok := caller(nil); ok {
		t.Error("no environment matched a provider")
	}
}

func TestCallerTree(t *testing.T) {
	t.Parallel()
	one := func(name, parent, root string) fixture.Session {
		return fixture.Session{Name: name, Parent: parent, Root: root, Events: []fixture.Event{{Key: "1", Text: name + " zephyr"}}}
	}
	a := fixture.Build(t,
		one("top", "", "top"), one("mid", "top", "top"), one("leaf", "mid", "top"), one("sibling", "top", ""), one("byroot", "", "top"),
		one("other", "", ""),
		one("orphan", "missing", ""), one("orphanchild", "orphan", ""),
		one("strange", "", "other"), one("strangechild", "strange", ""),
		one("ring", "gnir", ""), one("gnir", "ring", ""),
	)
	all := []string{"top", "mid", "leaf", "sibling", "byroot", "other", "orphan", "orphanchild", "strange", "strangechild", "ring", "gnir"}
	for caller, gone := range map[string]string{
		"top":     "top mid leaf sibling byroot",
		"leaf":    "top mid leaf sibling byroot",
		"byroot":  "byroot", // its root is no ancestor of its
		"other":   "other strange strangechild",
		"orphan":  "orphan",  // the chain of parents is not complete
		"strange": "strange", // its root claim names no ancestor
		"ring":    "ring",    // a cycle
		"unknown": "",
	} {
		var want []string
		for _, name := range all {
			if !strings.Contains(" "+gone+" ", " "+name+" ") {
				want = append(want, name)
			}
		}
		req := Request{Query: "zephyr", Events: true, Limit: 50, Environment: environment(map[string]string{"CLAUDE_CODE_SESSION_ID": caller})}
		if got := answer(t, a, req); !sameWords(labels(got), strings.Join(want, " ")) {
			t.Errorf("caller %s: %q, want %q", caller, labels(got), want)
		}
		req.IncludeCurrent = true
		if got := answer(t, a, req); len(got.Results) != len(all) || !got.Filters.IncludeCurrent {
			t.Errorf("caller %s included: %q", caller, labels(got))
		}
		req.IncludeCurrent, req.Session = false, fixture.SessionID("", "top").String()
		if got := answer(t, a, req); labels(got) != "top" {
			t.Errorf("caller %s in its own session: %q", caller, labels(got))
		}
	}
}

func TestGoneState(t *testing.T) {
	t.Parallel()
	s := fixture.Session{Name: "s", State: core.Gone, Events: []fixture.Event{{Key: "1", Text: "still zephyr"}}}
	a := fixture.Build(t, s)
	if got := answer(t, a, Request{Query: "zephyr"}); got.Results[0].SourceState != "gone" {
		t.Errorf("state %s", got.Results[0].SourceState)
	}
	s.State = core.Present
	a.Publish(t, s)
	if got := answer(t, a, Request{Query: "zephyr"}); got.Results[0].SourceState != "present" {
		t.Errorf("state %s", got.Results[0].SourceState)
	}
}
