package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/refresh"
)

// speech has one event for each thing that operators tell apart. The first word of each text names the event.
func speech() fixture.Session {
	return fixture.Session{Name: "speech", Scope: record.ScopePrimary, Events: []fixture.Event{
		{Key: "1", Sequence: 1, At: at(-9), Text: "e1 connection reset by the gateway"},
		{Key: "2", Sequence: 2, At: at(-8), Text: "e2 reset the connection, then reset it again"},
		{Key: "3", Sequence: 3, At: at(-7), Text: "e3 connection-reset while a proxy was there", Role: record.Assistant},
		{Key: "4", Sequence: 4, At: at(-6), Text: "e4 make gateways", Type: record.ToolCall, Tool: "Bash", Arguments: `{"command":"make Gateways"}`,
			Facts: []fixture.Fact{{Kind: record.FactCommand, Value: "make Gateways"}, {Kind: record.FactBranch, Value: "main"}}},
		{Key: "5", Sequence: 5, At: at(-5), Text: "e5 Bash reads pay/client.go", Facts: []fixture.Fact{{Kind: record.FactFile, Value: "/srv/pay/client.go"},
			{Kind: record.FactBranch, Value: "maintenance"}}},
		{Key: "6", Sequence: 6, At: at(-4), Text: "e6 connection at last some four words before reset"},
	}}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t, speech(), fixture.Session{Name: "x", Provider: "codex", Format: "codex_jsonl", Scope: record.ScopePrimary,
		Events: []fixture.Event{{Key: "1", Sequence: 1, At: at(-3), Text: "x1 gateway elsewhere"}}})
	for _, tt := range []struct{ query, want, relaxed string }{
		{`connection reset`, "e1 e2 e3 e6", ""},
		{`"connection reset"`, "e1 e3", ""},
		{`"Connection, reset!"`, "e1 e3", ""},
		{`"reset the" connection`, "e2", ""},
		{`"reset"`, "e1 e2 e3 e6", ""},
		{`connection NEAR/1 reset`, "e1 e3", ""},
		{`connection NEAR/2 reset`, "e1 e2 e3", ""},
		{`connection NEAR reset`, "e1 e2 e3 e6", ""},
		{`reset NEAR/4 reset`, "e2", ""},
		{`"connection reset" NEAR/3 gateway`, "e1", ""},
		{`connection -gateway`, "e2 e3 e6", ""},
		{`connection -"connection reset"`, "e2 e6", ""},
		{`-proxy "connection reset"`, "e1", ""},
		{`gatew*`, "e1 e4 x1", ""},
		{`gatew* -gateway`, "e4", ""},
		{`file:PAY/client`, "e5", ""},
		{`reads file:"client.go"`, "e5", ""},
		{`cmd:"make gate"`, "e4", ""},
		{`branch:main`, "e4", ""},
		{`tool:bash`, "e4", ""},
		{`bash tool:Bash`, "e4", ""},
		{`reset role:assistant`, "e3", ""},
		{`gateway provider:codex`, "x1", ""},
		// What leaves nothing is given up in order, and the words find what they find alone.
		{`"gateway reset"`, "e1 e2 e3 e6 x1", "phrases"},
		{`connection NEAR/1 before`, "e1 e2 e3 e6", "near"},
		{`"connection reset" NEAR/1 before`, "e1 e3", "near"},
		{`"gateway reset" -proxy`, "e1 e2 e6 x1", "phrases"},
		{`"gateway reset" file:nowhere`, "e1 e2 e3 e6 x1", "phrases fields"},
		{`tool:Read gateway`, "e1 x1", "fields"},
		{`proxy -proxy`, "e3", "exclusions"},
		{`expected "reset gateway" got "nil pointer"`, "e1 e2 e3 e6 x1", "phrases"},
		{`"nothing like it"`, "e2", "phrases"},
		{`file:"never/there"`, "e3", "fields"},
	} {
		got := answer(t, a, Request{Query: tt.query, Events: true})
		rows := strings.Fields(labels(got))
		slices.Sort(rows)
		if strings.Join(rows, " ") != tt.want || strings.Join(got.Relaxed, " ") != tt.relaxed {
			t.Errorf("%s: %v, relaxed %v, want %s, relaxed %s", tt.query, rows, got.Relaxed, tt.want, tt.relaxed)
		}
	}
}

func TestLanguageOfAlternatives(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t, speech())
	for _, tt := range []struct {
		terms []string
		want  string
	}{
		{[]string{`"reset it"`, "gateways"}, "e2 e4"},
		{[]string{`connection -reset`, "proxy"}, "e3"},
		{[]string{`gatew* -reset`, `"pay client"`}, "e4 e5"},
		{[]string{`file:client`, "proxy"}, "e3 e5"}, // beside words, fields alone are words: "client"
	} {
		if got := answer(t, a, Request{Terms: tt.terms, Events: true}); !sameWords(labels(got), tt.want) || got.Relaxed != nil {
			t.Errorf("%q: %s, relaxed %v, want %s", tt.terms, labels(got), got.Relaxed, tt.want)
		}
	}
}

func TestCorrections(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t, speech())
	for _, tt := range []struct{ query, want, used string }{
		{"conection", "e1 e2 e3 e6", "conection>connection"},
		{"cnonectoin proxy", "e1 e2 e3 e6", "cnonectoin>connection"},
		{"rseet gateway", "e1 e2 e3 e6", "rseet>reset"},
		{"gatewa", "", ""},        // goes on in the index: no stemming
		{"bsh", "", ""},           // too short
		{"e9 connectio9", "", ""}, // names with digits
		{"conect*", "", ""},
		{"conection*", "e1 e2 e3 e6", "conection>connection"}, // begins no word, so it is one
		{"connection", "e1 e2 e3 e6", ""},
		{`"conection reset"`, "e1 e2 e3 e6", "conection>connection"},
		{`conection -gateway`, "e2 e3 e6", "conection>connection"},
	} {
		got := answer(t, a, Request{Query: tt.query, Events: true})
		used := []string{}
		for _, c := range got.Corrections {
			used = append(used, c.Word+">"+c.Used)
		}
		if !sameWords(labels(got), tt.want) || strings.Join(used, " ") != tt.used || len(got.Notes()) < len(used) {
			t.Errorf("%s: %s, corrected %v, want %s, %s", tt.query, labels(got), used, tt.want, tt.used)
		}
	}
}

// What looks like a field and cannot be one is searched as words, and the answer says so.
func TestUnknownFieldValue(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t, speech())
	for query, note := range map[string]string{
		`role:"boss" connection`: `There is no role "boss", so role:boss was searched as words`,
		"role:user connection":   "",
		"other:nope connection":  "",
		"provider: connection":   "",
	} {
		notes := answer(t, a, Request{Query: query, Events: true}).Notes()
		if found := slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, "There is no ") }); found != (note != "") || found && !slices.Contains(notes, note) {
			t.Errorf("%s: %q", query, notes)
		}
	}
}

// A word that many others begin with stands for the most frequent of them, and the answer says so.
func TestExpansionBound(t *testing.T) {
	t.Parallel()
	s := fixture.Session{Name: "many", Scope: record.ScopePrimary}
	for i := range maxExpansions + 10 {
		s.Events = append(s.Events, fixture.Event{Key: fmt.Sprint(i), Sequence: uint64(i + 1), At: at(-1), Text: fmt.Sprintf("w%d prefix%03d often", i, i)})
	}
	s.Events = append(s.Events, fixture.Event{Key: "again", Sequence: 500, At: at(-1), Text: fmt.Sprintf("again prefix%03d", maxExpansions+9)})
	a := fixture.New(t)
	a.Publish(t, s)
	got := answer(t, a, Request{Query: "prefix*", Events: true, Limit: 200, Explain: true})
	if len(got.Results) != maxExpansions+1 || !slices.Equal(got.Expansions, []Expansion{{"prefix", maxExpansions, true}}) || len(got.Notes()) != 1 {
		t.Errorf("%d results, %v, %v", len(got.Results), got.Expansions, got.Notes())
	}
	if !strings.Contains(labels(got), "again") || len(got.Explain.Terms) != 1 || len(got.Explain.Terms[0].Words) != maxExpansions {
		t.Errorf("the most frequent word is missing, or the explanation: %+v", got.Explain.Terms)
	}
}

// The parts of a score make exactly the score, and a whole match is told.
func TestExplain(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t, speech())
	got := answer(t, a, Request{Query: `connection gatew* "reset"`, Events: true, Explain: true})
	e := got.Explain
	if len(e.Hits) != len(got.Results) || len(e.Hits) == 0 || len(e.Terms) != 3 || e.Terms[2].Term != "gatew*" {
		t.Fatalf("%+v", e)
	}
	for i, h := range e.Hits {
		if h.Score != got.Results[i].Score || h.Event != got.Results[i].EventID || h.Covered != len(h.Terms) {
			t.Errorf("hit %d: %+v, the row has %v", i, h, got.Results[i].Score)
		}
		sum := float64(0)
		for _, term := range h.Terms {
			sum += float64(term.Score)
			if math.Abs(float64(term.IDF*term.TF-term.Score)) > 1e-5 {
				t.Errorf("%+v", term)
			}
		}
		if math.Abs(sum*float64(h.Weight)*float64(h.Share)*float64(h.Near)-float64(h.Score)) > 1e-5 {
			t.Errorf("the terms make %v of %+v", sum, h)
		}
	}
	if !e.Hits[0].Whole || e.Hits[0].Share != 1 || got.Results[0].Snippet[:2] != "e1" {
		t.Errorf("%+v", e.Hits[0])
	}
	if r := e.Readings[0].String(); r != "words: connection, reset; phrases: reset; prefixes: gatew" {
		t.Error(r)
	}
	if without := answer(t, a, Request{Query: "connection"}); without.Explain != nil || without.Expansions != nil {
		t.Error("nobody asked for an explanation")
	}
}

// Of events with the same words those come first in which the words follow each other as they do in the query.
func TestNeighboursComeFirst(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t, fixture.Session{Name: "s", Scope: record.ScopePrimary, Events: []fixture.Event{
		{Key: "1", Sequence: 1, At: at(-9), Text: "e1 exit status here now"},
		{Key: "2", Sequence: 2, At: at(-8), Text: "e2 exit with that status"},
		{Key: "3", Sequence: 3, At: at(-7), Text: "e3 status exit here now"},
		{Key: "4", Sequence: 4, At: at(-6), Text: "e4 exit-status exit-status exit exit exit"},
	}})
	for query, want := range map[string]string{"exit status": "e4 e1 e3 e2", "status exit": "e4 e3 e2 e1", "exit": "e4 e3 e2 e1"} {
		for _, limit := range []int{1, 20} {
			got := answer(t, a, Request{Query: query, Events: true, Limit: limit, Explain: true})
			if rows := labels(got); !strings.HasPrefix(want, rows) || limit > 1 && rows != want {
				t.Errorf("%s, limit %d: %s, want %s", query, limit, rows, want)
			}
			if near := got.Explain.Hits[0].Near; (near > 1) != (query != "exit") {
				t.Errorf("%s: neighbours %v", query, near)
			}
		}
	}
}

func TestSnippetShowsPhrase(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("reset and other words. ", 60)
	a := fixture.New(t)
	a.Publish(t, fixture.Session{Name: "long", Scope: record.ScopePrimary, Events: []fixture.Event{
		{Key: "1", Sequence: 1, At: at(-1), Text: filler + "the connection-reset stands here " + filler},
	}})
	for _, query := range []string{`"connection reset"`, `reset "Connection Reset"`, `stands NEAR/3 connection`, `words -nothing "reset stands"`} {
		got := answer(t, a, Request{Query: query})
		if len(got.Results) != 1 || !strings.Contains(got.Results[0].Snippet, "connection-reset stands") {
			t.Errorf("%s: %+v", query, got.Results)
		}
	}
}

func TestCommandsRepeatTheQuery(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t, speech())
	got := answer(t, a, Request{Query: `"connection reset" gatew* -"don't"`})
	if last := got.Results[0].Commands[2]; !strings.Contains(last, `ctx search '"connection reset" gatew* -"don'\''t"' --session `) {
		t.Error(last)
	}
	got = answer(t, a, Request{Query: `-proxy reset`})
	if last := got.Results[0].Commands[2]; !strings.Contains(last, `ctx search --term='-proxy reset' --session `) {
		t.Error(last)
	}
}

// Phrases are looked for in at most so many candidates; when that was not enough, the answer says so.
func TestPhrasePoolBound(t *testing.T) {
	t.Parallel()
	s := fixture.Session{Name: "many", Scope: record.ScopePrimary}
	for i := range maxPool + 50 {
		s.Events = append(s.Events, fixture.Event{Key: fmt.Sprint(i), Sequence: uint64(i + 1), At: at(-1), Text: "beta alpha"})
	}
	a := fixture.New(t)
	a.Publish(t, s)
	got := answer(t, a, Request{Query: `"alpha beta"`, Events: true, Limit: 1})
	if !got.Truncation.CandidatePoolTruncated || !slices.Equal(got.Relaxed, []string{"phrases"}) || len(got.Results) != 1 {
		t.Errorf("%+v, relaxed %v", got.Truncation, got.Relaxed)
	}
}

// A search reads no certificate and counts no rows to tell what was searched: its cost does not follow the number of sources.
func TestCoverageSavesWork(t *testing.T) {
	t.Parallel()
	work := func(sources int) (blocks int64, rows uint64) {
		a := fixture.New(t)
		sessions := []fixture.Session{{Name: "wanted", Events: []fixture.Event{{Key: "1", Text: "falcon"}}}}
		for i := range sources {
			sessions = append(sessions, fixture.Session{Name: strings.Repeat("long", 30) + fmt.Sprint(i), Events: []fixture.Event{{Key: "1", Text: "heron"}}})
		}
		a.Publish(t, sessions...)
		s := service(a)
		s.Receipt = func() (*refresh.Receipt, error) { return &refresh.Receipt{}, nil }
		for _, provider := range []string{"", fixture.Provider} {
			gen := a.Pin(t)
			got, err := s.SearchIn(t.Context(), gen, Request{Query: "falcon", Provider: provider})
			if err != nil || got.Coverage.Sources != sources+1 || *got.Coverage.SourcesStale != 0 || len(got.Results) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			blocks += gen.BlocksRead()
			if provider == "" {
				rows = gen.Lexical().Work().Rows
			}
		}
		return blocks, rows
	}
	few, rows := work(20)
	many, more := work(800)
	if few == 0 || many > few+4 || more != rows {
		t.Errorf("%d and %d blocks, %d and %d rows", few, many, rows, more)
	}
}

// The workspace filter compares every directory once and reads no session.
func TestWorkspaceSavesWork(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	var sessions []fixture.Session
	for i := range 600 {
		sessions = append(sessions, fixture.Session{
			Name: fmt.Sprint("s", i), Events: []fixture.Event{{Key: "1", Text: "falcon"}},
			Meta: record.SessionMeta{CWD: "/home/src/" + []string{"one", "two"}[i%2], Title: strings.Repeat("a long title ", 40)},
		})
	}
	a.Publish(t, sessions...)
	blocks := func(workspace string) int64 {
		gen := a.Pin(t)
		got, err := service(a).SearchIn(t.Context(), gen, Request{Query: "falcon", Workspace: workspace, Limit: 1})
		if err != nil || len(got.Results) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		return gen.BlocksRead()
	}
	if none, two := blocks(""), blocks("src/two"); two > none+3 {
		t.Errorf("%d blocks read without a workspace, %d with one", none, two)
	}
}

// A filter never makes a search read more: what it leaves out is neither scored nor looked at.
func TestFiltersSaveWork(t *testing.T) {
	t.Parallel()
	var sessions []fixture.Session
	for i := range 40 {
		s := fixture.Session{Name: fmt.Sprintf("s%02d", i), Scope: record.ScopePrimary}
		for j := range 20 {
			s.Events = append(s.Events, fixture.Event{Key: fmt.Sprint(j), Sequence: uint64(j + 1), At: at(-40 + i), Text: fmt.Sprintf("falcon number %d", j)})
		}
		sessions = append(sessions, s)
	}
	a := fixture.New(t)
	a.Publish(t, sessions...)
	rows := func(req Request) uint64 {
		gen, err := a.Store.Pin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer gen.Close()
		req.Query, req.Limit = "falcon", 5
		before := gen.Lexical().Work()
		if _, err := service(a).SearchIn(t.Context(), gen, req); err != nil {
			t.Fatal(err)
		}
		return gen.Lexical().Work().Rows - before.Rows
	}
	// One pass over the columns finds the documents of the filter; after that only those 20 are looked at.
	for name, req := range map[string]Request{
		"session": {Session: fixture.SessionID("", "s07").String()},
		"since":   {Since: "1d"},
	} {
		if got, most := rows(req), uint64(800+3*40); got > most {
			t.Errorf("%s: %d rows looked at, want at most %d", name, got, most)
		}
	}
}
