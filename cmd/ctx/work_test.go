package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/daemon"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/pluginhost"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// work counts what a refresh costs: sources that providers list, sources opened by them, bytes they certified anew, records they decoded, bytes written by the store,
// and how often it made a generation durable.
type work struct {
	mu   sync.Mutex
	room int // writes until the disk is full; negative: it never is
	costs
}

type costs struct {
	listed, opened, records, syncs, publications int
	read, written                                int64
}

func (w *work) add(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// take returns what was counted since the last call.
func (w *work) take() (was costs) {
	w.add(func() { was, w.costs = w.costs, costs{} })
	return was
}

func (c costs) String() string {
	return fmt.Sprintf("%d listed, %d opened, %d new bytes, %d records, %d bytes written, %d syncs, %d publications",
		c.listed, c.opened, c.read, c.records, c.written, c.syncs, c.publications)
}

// write counts the bytes that the store writes, as long as there is room.
func (w *work) write(n int) (err error) {
	w.add(func() {
		if w.room == 0 {
			err = syscall.ENOSPC
			return
		}
		w.room--
		w.written += int64(n)
	})
	return err
}

// step counts the steps of the store.
func (w *work) step(name string) error {
	w.add(func() {
		switch name {
		case core.StepSync, core.StepPointerSync:
			w.syncs++
		case core.StepPointerRename:
			w.publications++
		}
	})
	return nil
}

// counting starts the provider of Claude Code from the built program, and counts what it does.
type counting struct {
	pluginhost.Launcher
	work *work
}

func (c *counting) Names() []string { return []string{"claude"} }

func (c *counting) Start(ctx context.Context, name string) (refresh.Plugin, error) {
	p, err := c.Launcher.Start(ctx, pluginhost.Spec{Name: name})
	if err != nil {
		return nil, err
	}
	return &countingPlugin{p, c.work}, nil
}

func (c *counting) Describe(ctx context.Context, name string) (*historyv1.DescribeResponse, error) {
	p, err := c.Start(ctx, name)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Descriptor(), nil
}

func (c *counting) Resolve(context.Context, string, *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error) {
	return &historyv1.ResolveResponse{}, nil
}

type countingPlugin struct {
	refresh.Plugin
	work *work
}

func (p *countingPlugin) Inventory(ctx context.Context, req *historyv1.InventoryRequest, each func(*historyv1.Source) error) (*historyv1.InventoryEnd, error) {
	return p.Plugin.Inventory(ctx, req, func(s *historyv1.Source) error {
		p.work.add(func() { p.work.listed++ })
		return each(s)
	})
}

func (p *countingPlugin) Scan(ctx context.Context, next func() (*historyv1.ScanSource, bool), on func(*historyv1.ScanMessage) error) error {
	known := map[uint32]uint64{} // bytes that were certified before
	return p.Plugin.Scan(ctx, func() (*historyv1.ScanSource, bool) {
		s, ok := next()
		if ok {
			p.work.add(func() {
				p.work.opened++
				if known[s.GetOrdinal()] = 0; s.GetMode() == historyv1.Mode_MODE_APPEND {
					known[s.GetOrdinal()] = s.GetCertifiedBytes()
				}
			})
		}
		return s, ok
	}, func(m *historyv1.ScanMessage) error {
		p.work.add(func() {
			p.work.records += len(m.GetBatch().GetEvents())
			if end := m.GetEnd(); end != nil {
				p.work.read += int64(end.GetCertifiedBytes() - known[end.GetSource()])
			}
		})
		return on(m)
	})
}

// liveWorld is a home full of sessions with a daemon in this process.
type liveWorld struct {
	*daemon.Control
	t        *testing.T
	projects string
	store    *core.Store
	work     *work
}

func newLiveWorld(t *testing.T, sessions int) *liveWorld {
	t.Helper()
	t.Parallel()
	dir, err := os.MkdirTemp("", "ctxw")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &liveWorld{t: t, projects: filepath.Join(dir, "h", ".claude", "projects"), work: &work{room: -1}}
	for i := range sessions {
		w.write(w.session(i), os.O_TRUNC, line(i, 0, "first"))
	}
	root := filepath.Join(dir, "d")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	env := config.NewEnvironment(config.System().Platform, filepath.Join(dir, "h"), dir, os.Geteuid(), func(string) (string, bool) { return "", false })
	settings, err := config.Load(root, env)
	if err != nil {
		t.Fatal(err)
	}
	w.Control = &daemon.Control{Config: settings, Executable: binary}
	w.store = core.Open(filepath.Join(root, "core"), core.Options{
		Step: w.work.step, Write: w.work.write,
	})
	plugins := &counting{pluginhost.Launcher{Self: binary, Version: "test"}, w.work}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		over <- daemon.Run(ctx, daemon.Options{
			DataRoot: root, Environment: env, Store: w.store, Executable: binary, Version: "test", Trigger: "import",
			Plugins: func(*config.Config) daemon.Plugins { return plugins },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	w.until("the daemon", func(h *daemon.Health) bool { return h != nil })
	return w
}

// session is the file of a session; a directory holds 100.
func (w *liveWorld) session(i int) string {
	return filepath.Join(w.projects, fmt.Sprintf("-w-%d", i/100), fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", i))
}

func line(session, n int, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u%d-%d","sessionId":"%08d-0000-4000-8000-000000000000","timestamp":"2026-05-01T08:00:00.000Z","cwd":"/w","message":{"role":"user","content":%q}}`+"\n",
		session, n, session, text)
}

func (w *liveWorld) write(path string, how int, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *liveWorld) until(what string, condition func(*daemon.Health) bool) {
	w.t.Helper()
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(10 * time.Millisecond) {
		h, err := w.Health(context.Background())
		if err == nil && condition(h) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s did not come: %+v %v", what, h, err)
		}
	}
}

// all refreshes everything and waits.
func (w *liveWorld) all() *refresh.Report {
	w.t.Helper()
	report, err := w.try()
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

func (w *liveWorld) try() (*refresh.Report, error) {
	r := w.NewRequest("import")
	r.All = true
	report, _, err := w.Refresh(context.Background(), r, nil)
	return report, err
}

// settled waits until the daemon has published something new and rests.
func (w *liveWorld) settled(before string) {
	w.t.Helper()
	w.until("the change", func(h *daemon.Health) bool {
		return h.Last != nil && h.Last.Generation != before && h.Running == nil && h.Pending == 0 && len(h.Marked) == 0
	})
}

// What a refresh costs follows what changed, not the 10,000 sessions around it.
func TestWorkFollowsChange(t *testing.T) {
	sessions := 10_000
	if testing.Short() {
		sessions = 1000
	}
	w := newLiveWorld(t, sessions)
	generation := w.all().Generation
	t.Logf("%d sessions: %s", sessions, w.work.take())
	added := line(7, 1, "one more")
	for _, tt := range []struct {
		name                 string
		change               func()
		listed               int // 0: nobody says
		opened, records      int
		read, written        int64
		publications, atMost int
	}{
		{name: "nothing", listed: sessions, change: func() { w.all() }},
		{name: "one line appended", listed: 1, opened: 1, records: 1, read: int64(len(added)), written: 64<<10 + 8*int64(len(added)), publications: 1,
			change: func() { w.write(w.session(7), os.O_APPEND, added) }},
		{name: "one rewritten", listed: 1, opened: 1, records: 2, read: 4096, written: 64<<10 + 8*4096, publications: 1,
			change: func() { w.write(w.session(8), os.O_TRUNC, line(8, 5, "another text")+line(8, 6, "and more")) }},
		{name: "one deleted", written: 64 << 10, publications: 1,
			change: func() {
				if err := os.Remove(w.session(9)); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "one new", listed: 1, opened: 1, records: 1, read: 4096, written: 64<<10 + 8*4096, publications: 1,
			change: func() {
				w.write(filepath.Join(filepath.Dir(w.session(1)), filepath.Base(w.session(2*sessions))), os.O_TRUNC, line(2*sessions, 0, "a new one"))
			}},
		{name: "one new, in a new directory", opened: 1, records: 1, read: 4096, written: 64<<10 + 8*4096, publications: 1,
			change: func() { w.write(w.session(sessions), os.O_TRUNC, line(sessions, 0, "a new one")) }},
	} {
		tt.change()
		if tt.publications > 0 {
			w.settled(generation)
		}
		h, err := w.Health(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		generation = h.Last.Generation
		did := w.work.take()
		t.Logf("%s: %s; looked at %v", tt.name, did, h.Last.Looked)
		if tt.listed > 0 && did.listed != tt.listed {
			t.Errorf("%s: %d sources were listed, want %d", tt.name, did.listed, tt.listed)
		}
		if did.opened != tt.opened || did.records != tt.records || did.read > tt.read || did.written > tt.written || did.publications != tt.publications {
			t.Errorf("%s: %s; want %d opened, %d records, at most %d bytes read and %d written, %d publications",
				tt.name, did, tt.opened, tt.records, tt.read, tt.written, tt.publications)
		}
	}
}

// Nine agents that write at once share publications, and every line of theirs is stored once.
func TestLiveSessions(t *testing.T) {
	const agents, rounds = 9, 25
	w := newLiveWorld(t, agents)
	generation := w.all().Generation
	w.work.take()
	started, appended := time.Now(), 0
	for round := range rounds {
		for agent := range agents {
			text := line(agent, round+1, strings.Repeat("live ", 20)+fmt.Sprint(round))
			appended += len(text)
			w.write(w.session(agent), os.O_APPEND, text)
		}
		time.Sleep(200 * time.Millisecond)
	}
	took := time.Since(started)
	w.settled(generation)
	var report *refresh.Report
	w.until("everything", func(*daemon.Health) bool {
		report = w.all()
		return *report.Totals.Current.IndexedDocuments == agents*(rounds+1)
	})
	did := w.work.take()
	t.Logf("%v: %s for %d bytes appended", took.Round(time.Millisecond), did, appended)
	if most := int(took/(2*time.Second)) + 3; did.publications > most {
		t.Errorf("%d publications in %v, at most %d are meant", did.publications, took, most)
	}
	if did.records != agents*rounds || did.read != int64(appended) {
		t.Errorf("%d records and %d bytes read, written were %d and %d", did.records, did.read, agents*rounds, appended)
	}
	if most := int64(did.publications)*(64<<10) + 8*int64(appended); did.written > most {
		t.Errorf("%d bytes written, at most %d are meant", did.written, most)
	}
}

// The disk is full at every write in turn: the request says so, the index stays as it was, and with room again nothing is missing.
func TestDiskFullInTheBackground(t *testing.T) {
	w := newLiveWorld(t, 3)
	before := w.all().Generation
	w.write(w.session(1), os.O_APPEND, line(1, 1, "one more"))
	failures := 0
	for room := 0; ; room++ {
		w.work.add(func() { w.work.room = room })
		report, err := w.try()
		if err == nil {
			if *report.Totals.Current.IndexedDocuments != 4 {
				t.Errorf("%d events", *report.Totals.Current.IndexedDocuments)
			}
			break
		}
		failures++
		p, pointerErr := w.store.Pointer()
		if code := fault.Code(err); code != fault.ResourceUnavailable || pointerErr != nil || p.Active.Generation != before {
			t.Fatalf("with room for %d writes: %s, %v, active %+v %v", room, code, err, p.Active, pointerErr)
		}
	}
	if failures == 0 {
		t.Error("nothing was written")
	}
	t.Logf("%d writes failed in turn", failures)
	w.work.add(func() { w.work.room = -1 })
	if check, err := w.store.Verify(context.Background(), true, nil); err != nil || !check.OK() {
		t.Errorf("%+v %v", check, err)
	}
	if report := w.all(); report.Totals.Change != refresh.NoOp {
		t.Errorf("the next refresh says %s", report.Totals.Change)
	}
}

// Segments are merged in the background without changing what is stored, and a generation goes when its last reader does.
func TestMergeInTheBackground(t *testing.T) {
	w := newLiveWorld(t, 3)
	w.all()
	reader, err := w.store.Pin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		w.write(w.session(n%3), os.O_APPEND, line(n%3, n+1, "one more"))
		w.all()
	}
	segments := func() int {
		g, err := w.store.Pin(context.Background())
		if err != nil {
			return -1
		}
		defer g.Close()
		return len(g.Manifest().Segments)
	}
	w.until("a merge", func(h *daemon.Health) bool { return !h.Merging && segments() < 16 })
	if check, err := w.store.Verify(context.Background(), true, nil); err != nil || !check.OK() {
		t.Errorf("%+v %v", check, err)
	}
	// A process that is being started holds the locks of its parent for a moment, so this is looked at more than once.
	held := func(n int) {
		w.until(fmt.Sprintf("%d generations held by readers", n), func(*daemon.Health) bool {
			left, err := w.store.Reclaim(context.Background())
			return err == nil && left == n
		})
	}
	held(1)
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	held(0)
	if report := w.all(); report.Totals.Change != refresh.NoOp || *report.Totals.Current.IndexedDocuments != 23 {
		t.Errorf("%s, %d events", report.Totals.Change, *report.Totals.Current.IndexedDocuments)
	}
}
