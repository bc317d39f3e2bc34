package refresh

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/retention"
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

func (w *world) archive() *retention.Archive {
	return &retention.Archive{Store: w.store, DataRoot: w.data}
}

// forget forgets the session of a history.
func (w *world) forget(name string) {
	w.t.Helper()
	g, err := w.store.Pin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer g.Close()
	found, err := g.SessionsByProviderID("claude", name, 1)
	if err != nil || len(found) != 1 {
		w.t.Fatalf("session %s: %v, %v", name, found, err)
	}
	if _, err := w.archive().Forget(w.t.Context(), found[0].ID); err != nil {
		w.t.Fatal(err)
	}
	w.wrote = 0
}

func (w *world) undo(name string) {
	w.t.Helper()
	list, err := retention.LoadForgotten(w.data)
	if err != nil {
		w.t.Fatal(err)
	}
	ids, _ := list.Find("")
	for _, id := range ids {
		if done, err := w.archive().Undo(w.t.Context(), id); err != nil || !done.Changed {
			w.t.Fatalf("undo %s: %+v, %v", name, done, err)
		}
	}
}

func TestForgottenStaysAway(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 other")
	w.run()
	w.opened("full a", "full b")
	w.forget("a")
	w.expect("b present: other")

	// Not by an unchanged file, which is not even opened, nor by a growing one, a copy, a rebuild or a file read on request.
	again := w.run()
	w.opened()
	if w.wrote != 0 || again.Totals.Change != NoOp {
		t.Errorf("an unchanged source: %s, %d bytes written", again.Totals.Change, w.wrote)
	}
	w.add(projects+"a", "k2 two")
	grown := w.run()
	w.opened("full a")
	w.expect("b present: other")
	if grown.Totals.SkippedSessions != 1 || grown.Totals.ImportedSessions != 0 || grown.Outcome != Success {
		t.Errorf("totals %+v", grown.Totals)
	}
	w.put(".claude/projects/elsewhere/a", "k1 one", "k9 copied")
	w.run()
	w.expect("b present: other")
	w.provider.revision = "r2"
	w.run()
	w.opened("full a", "full b")
	w.expect("b present: other")

	// Undone, it is back with everything it holds now, and only its source is read.
	w.undo("a")
	w.run()
	w.opened("full a")
	w.expect("a present: one copied", "b present: other")
	w.run()
	w.opened()
}

// A newer copy that only an explicit path can reach does not keep an undone session away.
func TestUndoneSessionComesFromWhereItIs(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.run()
	w.forget("a")
	w.put("backup/projects/p/a", "k1 one", "k2 two")
	req := w.request()
	req.All, req.Provider, req.Path = false, "claude", filepath.Join(w.home, "backup", "projects")
	w.runRequest(req)
	w.expect()
	w.undo("a")
	w.run()
	w.expect("a present: one")
}

func TestForgottenBelowAnotherRoot(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.config = "[sources.roots.work]\nprovider = \"claude\"\npath = \"" + filepath.ToSlash(w.home) + "/work\"\n"
	w.put("work/projects/p/a", "k1 one")
	w.run()
	w.expect("a present: one", "a present: one")
	g, err := w.store.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	found, err := g.SessionsByProviderID("claude", "a", 2)
	if err != nil || len(found) != 2 {
		t.Fatalf("%d sessions, %v", len(found), err)
	}
	done, err := w.archive().Forget(t.Context(), found[0].ID)
	if err != nil || done.Sessions != 2 || done.Events != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	w.expect()
	w.run()
	w.expect()
}

func TestUnreadableIsNoAbsence(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.run()
	files := w.provider.files
	for n, there := range []bool{false, true, true, false, true, false} { // the third absence in a row is the last
		w.provider.files, w.provider.state = map[string]*fakeFile{}, historyv1.RouteEnd_STATE_UNREADABLE
		w.expect("a present: one")
		dir := filepath.Join(w.home, ".claude")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if there {
			w.mkdir(filepath.Join(dir, "projects"))
		}
		if rep := w.run(); (rep.Totals.GoneSources == 1) != (n == 5) {
			t.Fatalf("run %d: %d gone", n, rep.Totals.GoneSources)
		}
	}
	w.expect("a gone: one")
	w.provider.files, w.provider.state = files, historyv1.RouteEnd_STATE_UNSPECIFIED
	w.mkdir(filepath.Join(w.home, ".claude", "projects"))
	w.run()
	w.expect("a present: one")
}

func TestUnmountedRootLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.config = "[sources.roots.work]\nprovider = \"claude\"\npath = \"" + filepath.ToSlash(w.home) + "/work\"\n"
	w.put("work/projects/p/a", "k1 one")
	w.run()
	if err := os.RemoveAll(filepath.Join(w.home, "work")); err != nil {
		t.Fatal(err)
	}
	w.provider.files = map[string]*fakeFile{}
	for range 5 {
		w.run()
		w.expect("a present: one")
	}
}

// A pruned session that was only a part of its source comes back when the source does.
func TestPrunedComesBack(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.run()
	w.remove(projects + "a")
	w.run()
	w.expect("a gone: one")
	pruned, err := w.archive().Prune(t.Context(), retention.Prune{Gone: true, Selected: func(string) bool { return true }})
	if err != nil || pruned.Sources != 1 || pruned.Events != 1 {
		t.Fatalf("%+v, %v", pruned, err)
	}
	w.expect()
	w.put(projects+"a", "k1 one")
	w.run()
	w.expect("a present: one")
}

// prompts makes the sessions of some histories poorer copies of what the rollouts hold.
func (w *world) prompts() {
	w.provider.hostile = func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
		for _, s := range m.GetBatch().GetSessions() {
			if better, ok := strings.CutPrefix(s.GetProviderSessionId(), "prompt-"); ok {
				s.YieldsTo = &historyv1.SessionRef{
					Anchor: sdkplugin.NativeAnchor("fake.session", sdkplugin.Utf8(better)), Kind: "fake-session",
					Key: sdkplugin.NativeID("fake.session", sdkplugin.Utf8(better)),
				}
			}
		}
		return m
	}
}

func TestYieldingSession(t *testing.T) {
	w := newWorld(t)
	w.prompts()
	w.put(projects+"prompt-a", "k1 asked", "k2 again")
	w.run()
	w.expect("prompt-a present: asked again")
	w.opened("full prompt-a")
	w.run()
	w.opened()

	// The better history appears: the poorer source is replaced, its records count as ignored.
	w.put(projects+"a", "k1 whole")
	w.run()
	w.opened("full a", "full prompt-a")
	w.expect("a present: whole")
	if c := w.certificate("prompt-a"); c.Counts.Retained != 0 || c.Counts.Ignored != 2 || c.Counts.Indexed != 0 {
		t.Errorf("counts %+v", c.Counts)
	}
	w.add(projects+"prompt-a", "k3 more")
	w.run()
	w.expect("a present: whole")
	if c := w.certificate("prompt-a"); c.Counts.Ignored != 3 {
		t.Errorf("counts %+v", c.Counts)
	}

	// It still counts when it is gone, and when it is forgotten.
	w.remove(projects + "a")
	w.add(projects+"prompt-a", "k4 more")
	w.run()
	w.opened("append prompt-a@" + itoa(len("k1 asked\nk2 again\nk3 more\n")))
	w.expect("a gone: whole")
	w.forget("a")
	w.put(projects+"prompt-a", "k1 rewritten")
	w.run()
	w.opened("full prompt-a")
	w.expect()
}

func TestStandingFailure(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"bad", "k1 one")
	w.put(projects+"good", "k1 other")
	w.provider.broken["bad"] = classMalformed
	w.run()
	for _, c := range []struct {
		trigger string
		asked   string
		change  func()
	}{
		{"automatic", "", func() {}},
		{"search", "", func() {}},
		{"import", "bad", func() {}},
		{"automatic", "bad", func() { w.add(projects+"bad", "k2 two") }},
		{"automatic", "", func() {}},
		{"automatic", "bad", func() { w.provider.broken["bad"] = classUnreadable; w.add(projects+"bad", "k3 three") }},
		{"automatic", "bad", func() {}}, // rights change without a trace
		{"automatic", "bad", func() { delete(w.provider.broken, "bad") }},
	} {
		c.change()
		req := w.request()
		req.Trigger = c.trigger
		rep := w.runRequest(req)
		if got := strings.Join(w.provider.asked, " "); got != c.asked {
			t.Errorf("%s asked for %q, want %q", c.trigger, got, c.asked)
		}
		if w.provider.broken["bad"] == "" {
			continue
		}
		rows := rep.Failures
		if len(rows) != 1 || rows[0].Class != w.provider.broken["bad"] || rep.Outcome != WithFailures || rep.Receipt.Failed != 1 {
			t.Fatalf("%s: %s, %+v", c.trigger, rep.Outcome, rows)
		}
		if told := strings.Contains(rows[0].Detail, "not read again"); told != (c.asked == "") {
			t.Errorf("%s: %s", c.trigger, rows[0].Detail)
		}
	}
	w.expect("bad present: one two three", "good present: other")
}

// routes are the selected routes of the active generation.
func (w *world) routes() (ids []string) {
	w.t.Helper()
	g, err := w.store.Pin(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	defer g.Close()
	for _, r := range g.Routes() {
		ids = append(ids, r.Identity)
	}
	return ids
}

// A place that gets a name, or loses it, stays the same place: what vanishes there is gone, not left behind under the old selection.
func TestNamingAPlace(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 other")
	w.put(projects+"c", "k1 third")
	w.run()
	w.remove(projects + "a")
	w.run()
	for _, config := range []string{w.named("main", ".claude"), "", w.named("again", ".claude")} {
		w.config = config
		if config != "" {
			w.remove(projects + "b")
		}
		w.run()
		w.opened()
		routes := w.routes()
		for _, session := range []string{"a", "b", "c"} {
			route := w.certificate(session).Route
			if !slices.Contains(routes, route) {
				t.Errorf("config %q: %s belongs to no selected route", config, session)
			}
		}
	}
	w.expect("a gone: one", "b gone: other", "c present: third")
}

// The root that was the automatic one keeps its ids wherever its name leads, also when the name was away in between.
func TestReleasedNameComesBack(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.config = w.named("main", ".claude")
	w.run()
	w.put("moved/projects/p/a", "k1 one")
	w.remove(projects + "a")
	for _, config := range []string{w.named("main", "moved"), "", w.named("main", "moved")} {
		w.config = config
		w.run()
	}
	w.expect("a present: one")
}

// A root that is reached through a link belongs to the same route while the link leads nowhere.
func TestLinkThatLeadsNowhere(t *testing.T) {
	w := newWorld(t)
	w.put("disk/claude/projects/p/a", "k1 automatic")
	w.put("disk/work/projects/p/b", "k1 named")
	for link, target := range map[string]string{".claude": "disk/claude", "work": "disk/work"} {
		if err := os.Symlink(filepath.Join(w.home, filepath.FromSlash(target)), filepath.Join(w.home, link)); err != nil {
			t.Skip("no links here")
		}
	}
	w.config = w.named("work", "work")
	w.run()
	w.expect("a present: automatic", "b present: named")
	if err := os.Rename(filepath.Join(w.home, "disk"), filepath.Join(w.home, "away")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"present", "present", "gone", "gone"} {

		w.run()
		w.expect("a "+want+": automatic", "b present: named")
	}
	var held int
	routes := w.routes()
	g, err := w.store.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Certificates(func(c *core.Certificate) error {
		if slices.Contains(routes, c.Route) {
			held++
		}
		return nil
	}); err != nil || held != 2 {
		t.Errorf("%d of 2 sources belong to a selected route, %v", held, err)
	}
}
