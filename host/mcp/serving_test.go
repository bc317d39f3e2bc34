package mcp

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
)

// blocking is a server whose status waits for its context. entered tells that a call of it runs.
func blocking(t testing.TB) (s *Server, entered chan struct{}) {
	s, entered = server(small(t).Store), make(chan struct{}, 100)
	s.Status = func(ctx context.Context) (any, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s, entered
}

// Ping and cancellation are served while calls run; a cancelled call gets no answer, whether it runs or waits for its place.
func TestPingAndCancelWhileBusy(t *testing.T) {
	t.Parallel()
	s, entered := blocking(t)
	c := dial(t, s)
	call := func(id string) {
		c.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"status"}}`)
	}
	for i := range atOnce {
		call(strconv.Itoa(i))
		<-entered
	}
	call(`"waiting"`)
	c.write(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if line := string(c.next()); !strings.Contains(line, `"id":"p"`) {
		t.Fatal(line)
	}
	cancel := func(params string) {
		c.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + `}`)
	}
	for _, other := range []string{`{"requestId":"1"}`, `{"requestId":99}`, `{"requestId":null}`, `{}`, `{"requestId":1.0}`} {
		cancel(other) // equal in type and value, or nothing happens
	}
	cancel(`{"requestId":"waiting"}`)
	cancel(`{"requestId":1}`)
	c.write(`{"jsonrpc":"2.0","id":50,"method":"tools/call","params":{"name":"search","arguments":{"query":"falcon"}}}`)
	if line := string(c.next()); !strings.Contains(line, `"id":50,"result"`) {
		t.Fatalf("the place of the cancelled call is not free: %s", line)
	}
	for i := range atOnce {
		cancel(fmt.Sprintf(`{"requestId":%d}`, i))
	}
	rest, err := c.finish()
	if len(rest) != 0 || err != nil {
		t.Errorf("answers of cancelled calls: %s %v", rest, err)
	}
	if len(c.deliveries) != 1 || c.deliveries[0].Tool != "search" {
		t.Errorf("counted: %+v", c.deliveries)
	}
}

// What does not end after the end of the input is cancelled.
func TestEndCancelsWhatRuns(t *testing.T) {
	t.Parallel()
	s, entered := blocking(t)
	c := dial(t, s)
	c.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status"}}`)
	<-entered
	rest, err := c.finish()
	if len(rest) != 0 || err != nil {
		t.Errorf("%s %v", rest, err)
	}
}

// Calls that wait cost memory, so a client that floods the server is read no further until places are free.
func TestWaitingCallsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWire(t.Context(), strings.NewReader(""), io.Discard, nil)
	const flood = 2 * maxQueued / callCost
	admitted := make(chan *call, flood)
	go func() {
		for range flood {
			c := &call{tool: &tools[0], args: json.RawMessage("{}")}
			w.admit(c, "tools/call", nil)
			admitted <- c
		}
	}()
	most := 0
	for range flood {
		c := <-admitted
		<-c.start // places are given in order of arrival
		w.mu.Lock()
		most = max(most, w.queued)
		w.mu.Unlock()
		if len(admitted) > maxQueued/callCost+atOnce+1 {
			t.Fatalf("%d calls wait", len(admitted))
		}
		w.end(c)
	}
	if most > maxQueued+callCost+2 || w.queued != 0 || w.running != 0 {
		t.Errorf("%d bytes waited; in the end %d, %d running", most, w.queued, w.running)
	}
}

// A panic of a tool is an answer, and the server goes on.
func TestPanicIsInternal(t *testing.T) {
	t.Parallel()
	s := server(nothing(t))
	s.Sources = func(context.Context) (any, error) { panic("odd") }
	logged := make(chan string, 1)
	s.Log = func(format string, args ...any) { logged <- fmt.Sprintf(format, args...) }
	c := dial(t, s)
	if r := c.call("sources", struct{}{}); r.code(t) != "internal" || strings.Contains(string(r.Structured), "odd") {
		t.Errorf("%s", r.Structured)
	}
	if text := <-logged; !strings.Contains(text, "odd") {
		t.Error(text)
	}
	if r := c.call("status", struct{}{}); r.Failed {
		t.Errorf("%s", r.Structured)
	}
}

// A configuration that cannot be used fails the tools that need it, without its text.
func TestMalformedConfig(t *testing.T) {
	t.Parallel()
	s := server(small(t).Store)
	broken := fault.New(fault.ConfigMalformed, "config.toml is not valid: secretword").WithHint("/home/u/.ctx/config.toml")
	s.Status = func(context.Context) (any, error) { return map[string]any{"local_only": true}, broken }
	s.Sources = func(context.Context) (any, error) { return nil, broken }
	c := dial(t, s)
	for _, tool := range []string{"status", "sources"} {
		r := c.call(tool, struct{}{})
		if r.code(t) != "internal" || strings.Contains(string(r.Structured)+r.Text, "secretword") || strings.Contains(string(r.Structured), "config.toml") {
			t.Errorf("%s: %s", tool, r.Structured)
		}
		if tool == "status" && r.members(t)["local_only"] != true {
			t.Errorf("%s", r.Structured)
		}
	}
	if r := c.call("search", map[string]any{"query": "falcon"}); r.Failed {
		t.Errorf("%s", r.Structured)
	}
}

// Every recognized call is counted once, with the bytes of its line.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	c := dial(t, server(small(t).Store))
	var want []string
	for _, tt := range []struct {
		params, code string
		rows         int // -1: none
	}{
		{`{"name":"search","arguments":{"query":"falcon","events":true}}`, "", 6}, {`{"name":"search","arguments":{"limit":0}}`, "invalid_request", -1},
		{`{"name":"status"}`, "", -1}, {`{"name":"sources"}`, "", 0}, {`{"name":"status","arguments":[]}`, "invalid_params", -1},
		{`{"name":"show_session","arguments":{"ctx_session_id":"ffffffff"}}`, "not_found", -1},
	} {
		c.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + tt.params + `}`)
		var name struct{ Name string }
		if err := json.Unmarshal([]byte(tt.params), &name); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(name.Name, " ", tt.code, " ", len(c.next()), " ", tt.rows))
	}
	for _, uncounted := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}`, `broken`,
		`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"status"}}`,
	} {
		c.write(uncounted)
		c.next()
	}
	c.write(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"status"}}`)
	if _, err := c.finish(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range c.deliveries {
		rows := -1
		if d.Rows != nil {
			rows = *d.Rows
		}
		got = append(got, fmt.Sprint(d.Tool, " ", d.Code, " ", d.Bytes, " ", rows))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("counted\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A generation is kept between calls, replaced when the pointer moves, and let go when nobody asks any more.
func TestArchive(t *testing.T) {
	t.Parallel()
	store := small(t)
	a := &archive{store: store.Store, idle: time.Hour}
	first, err := a.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := a.acquire(t.Context()); err != nil || again != first {
		t.Fatal("opened again", err)
	}
	a.release(first)
	store.Publish(t, fixture.Session{Name: "new", Events: []fixture.Event{{Key: "n", Text: "condor"}}})
	second, err := a.acquire(t.Context())
	if err != nil || second == first || second.gen.ID() == first.gen.ID() {
		t.Fatal("the old generation answers", err)
	}
	if _, err := first.gen.SessionByID(fixture.SessionID("", "s")); err != nil {
		t.Error("closed under its reader:", err)
	}
	a.release(first)
	a.release(second)
	a.expire()
	if a.current != nil {
		t.Error("kept after the idle time")
	}
	third, err := a.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.close()
	if _, err := third.gen.SessionByID(fixture.SessionID("", "s")); err != nil {
		t.Error("closed under its reader:", err)
	}
	a.release(third)
	leftovers(t, store)
}

// leftovers fails when a lease is still held: a writer must be able to remove every generation but the two newest.
func leftovers(t *testing.T, a *fixture.Archive) {
	t.Helper()
	for i := range 3 {
		a.Publish(t, fixture.Session{Name: "last", Events: []fixture.Event{{Key: "l", Text: fmt.Sprint("last ", i)}}})
	}
	kept, err := os.ReadDir(filepath.Join(a.Root, "core", "generations"))
	if err != nil || len(kept) > 2 {
		t.Errorf("%d generations are left: %v", len(kept), err)
	}
}

// Several servers answer from one data root while it is published again and again. Every answer is that of one generation.
// CTX_TEST_REFRESHES makes it a long test.
func TestServersDuringRefreshes(t *testing.T) {
	t.Parallel()
	refreshes := 6
	if n, err := strconv.Atoi(os.Getenv("CTX_TEST_REFRESHES")); err == nil {
		refreshes = n
	}
	// Every fourth publication has one event more, and all of them say another thing in the last one.
	length := func(n int) int { return 1 + n/4 }
	growing := func(n int) fixture.Session {
		s := fixture.Session{Name: "s"}
		for i := range length(n) {
			s.Events = append(s.Events, fixture.Event{Key: fmt.Sprint(i), Sequence: uint64(i), At: int64(i + 1), Text: fmt.Sprint("falcon ", i)})
		}
		s.Events[len(s.Events)-1].Text += fmt.Sprint(" in publication ", n)
		return s
	}
	a := fixture.Build(t, growing(0))
	var all sync.WaitGroup
	// One a server. Two of them ask after a publication, while the next one is made; the others still hold an earlier generation.
	var published []chan struct{}
	for range 8 {
		c, news := dial(t, server(a.Store)), make(chan struct{}, 1)
		published = append(published, news)
		all.Go(func() {
			last := 0
			for range news {
				last = c.checkGrowth(last)
			}
			if last = c.checkGrowth(last); last != length(refreshes) {
				t.Errorf("%d events at the end", last)
			}
			if _, err := c.finish(); err != nil {
				t.Error(err)
			}
		})
	}
	for n := 1; n <= refreshes; n++ {
		a.Publish(t, growing(n))
		for i, news := range published {
			if i%4 != n%4 {
				continue
			}
			select {
			case news <- struct{}{}:
			default: // it is still asking about an earlier one
			}
		}
	}
	for _, news := range published {
		close(news)
	}
	all.Wait()
	leftovers(t, a)
}

// checkGrowth asks for the growing session in three ways and returns how many events it has now.
func (c *client) checkGrowth(last int) int {
	r := c.call("search", map[string]any{"query": "falcon", "events": true, "limit": 200})
	var found struct {
		Results  []struct{ Snippet string }
		Coverage struct{ Events int }
	}
	if r.Failed || json.Unmarshal(r.Structured, &found) != nil || len(found.Results) != min(200, found.Coverage.Events) || found.Coverage.Events < last {
		c.t.Errorf("search after %d events: %.300s", last, r.Structured)
		return last
	}
	args := map[string]any{"ctx_session_id": sessionID(), "mode": "log", "limit": 4096}
	shown := c.call("show_session", args)
	if p := readPage(c.t, shown); len(p.Events) < found.Coverage.Events {
		c.t.Errorf("%d events shown after %d", len(p.Events), found.Coverage.Events)
	}
	listed := readPage(c.t, c.call("query_events", map[string]any{"content": "none", "direction": "descending"}))
	if len(listed.Events) != 100 && len(listed.Events) < found.Coverage.Events || listed.Events[len(listed.Events)-1].ID != eventID(0) && listed.Terminal {
		c.t.Errorf("listed %d events after %d", len(listed.Events), found.Coverage.Events)
	}
	return found.Coverage.Events
}

var update = flag.Bool("update", false, "write the golden transcript again")

// What changes from run to run in a transcript.
var volatile = regexp.MustCompile(`"(query_seconds|generated_at)":("[^"]*"|[0-9.e-]+)`)

// opaque is what a store of another revision spells otherwise: the generation and the cursors into it.
var opaque = regexp.MustCompile(`"(generation_id|next_cursor)":"([^"]+)"`)

// TestTranscript replays a session with the server and compares every line. -update writes it again. The recording has a name in angle
// brackets for everything opaque, in answers and in the requests that repeat it.
func TestTranscript(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "transcript.txt")
	recorded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, server(small(t).Store))
	var names, values []string // pairs for a replacer, in either direction
	named := func(line string) string {
		for _, m := range opaque.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(values, m[2]) {
				name := fmt.Sprintf("<%s %d>", m[1], len(names)/2+1)
				names, values = append(names, name, m[2]), append(values, m[2], name)
			}
		}
		return strings.NewReplacer(values...).Replace(line)
	}
	var b strings.Builder
	for line := range strings.Lines(string(recorded)) {
		line = strings.TrimSuffix(line, "\n")
		switch request, sent := strings.CutPrefix(line, "-> "); {
		case sent:
			fmt.Fprintln(&b, line)
			c.write(strings.NewReplacer(names...).Replace(request))
			if strings.Contains(request, `"id"`) {
				fmt.Fprintf(&b, "<- %s", named(volatile.ReplaceAllString(string(c.next()), `"$1":0`)))
			}
		case !strings.HasPrefix(line, "<- "):
			fmt.Fprintln(&b, line) // a comment
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, want := strings.Split(b.String(), "\n"), strings.Split(string(recorded), "\n")
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d differs (go test -update after a look):\n%s", i+1, got[i])
		}
	}
}
