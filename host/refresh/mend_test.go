package refresh

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

func TestBigFrontiers(t *testing.T) {
	for _, size := range []int{63 << 10, 64<<10 - 1, 64 << 10, 65 << 10, 90 << 10, 2 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			w := newWorld(t)
			lines := []string{"k1 one"}
			for i := range 3000 { // calls without a result fill the state of the linker
				lines = append(lines, fmt.Sprintf("?c%d", i))
			}
			w.put(projects+"big", lines...)
			w.put(projects+"b", "k1 good")
			w.provider.hostile = func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
				if e := m.GetEnd(); e != nil {
					e.Frontier = append(e.Frontier, bytes.Repeat([]byte(" "), size-len(e.Frontier))...)
				}
				return m
			}
			if rep := w.run(); rep.Outcome != Success || rep.Totals.ImportedSources != 2 {
				t.Fatalf("%+v", rep)
			}
			w.add(projects+"big", "k2 two")
			rep := w.run()
			want := "append big"
			if size > 70<<10 {
				want = "full big"
			}
			if rep.Outcome != Success || len(w.provider.opened) != 1 || !strings.HasPrefix(w.provider.opened[0], want) {
				t.Errorf("%q, %+v", w.provider.opened, rep)
			}
		})
	}
}

func TestChangedParentIsReadInFull(t *testing.T) {
	w := newWorld(t)
	parent := ""
	w.provider.hostile = func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
		for _, s := range m.GetBatch().GetSessions() {
			s.Parent = &historyv1.SessionRef{
				Anchor: sdkplugin.NativeAnchor("fake.session", sdkplugin.Utf8(parent)), Kind: "fake-session",
				Key: sdkplugin.NativeID("fake.session", sdkplugin.Utf8(parent)),
			}
		}
		return m
	}
	w.put(projects+"a", "k1 one")
	parent = "p"
	w.run()
	w.add(projects+"a", "k2 two")
	parent = "q"
	p := w.progress()
	w.opened("append a@7", "full a")
	w.expect("a present: one two")
	if p.Bytes != 14 || p.TotalBytes != 14 || *p.CompletedFiles != 1 {
		t.Errorf("read in full after an append: %+v", p)
	}
	w.run()
	w.opened()
}

func TestRecordsAreCountedOnce(t *testing.T) {
	type event struct {
		session  uint32
		sequence uint64
		fate     fate
	}
	for name, c := range map[string]struct {
		events   []event
		retained uint64
		want     [2]uint64 // rejected, ignored
	}{
		"one event a record":               {[]event{{0, 1, refused}, {0, 2, kept}, {0, 3, refused}}, 3, [2]uint64{2, 0}},
		"a part of a record":               {[]event{{0, 1 << 16, refused}, {0, 1<<16 + 1, kept}}, 1, [2]uint64{0, 0}},
		"a whole record":                   {[]event{{0, 1 << 16, refused}, {0, 1<<16 + 1, refused}, {0, 2 << 16, kept}}, 2, [2]uint64{1, 0}},
		"two sessions":                     {[]event{{0, 5, refused}, {0, 5, refused}, {1, 6, refused}}, 2, [2]uint64{2, 0}},
		"never more than are retained":     {[]event{{0, 1 << 16, refused}, {0, 2 << 16, refused}, {0, 3 << 16, refused}}, 1, [2]uint64{1, 0}},
		"records that gave no event":       {[]event{{0, 1 << 16, refused}}, 9, [2]uint64{1, 0}},
		"nothing refused, nothing counted": {[]event{{0, 1, kept}}, 1, [2]uint64{0, 0}},
		"records that gave way":            {[]event{{0, 1, yielded}, {1, 2, kept}, {0, 3, yielded}, {0, 4, refused}}, 4, [2]uint64{1, 2}},
		"a record in parts that gave way":  {[]event{{0, 1, yielded}, {0, 1, yielded}, {1, 2, kept}}, 2, [2]uint64{0, 1}},
		"no events":                        {nil, 4, [2]uint64{0, 0}},
	} {
		var r records
		for _, e := range c.events {
			r.event(e.session, e.sequence, e.fate)
		}
		var got [2]uint64
		if got[0], got[1] = r.moved(c.retained); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestAppendRefusesOnlyWhatIsNew(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one", "k2 two")
	w.run()
	w.add(projects+"a", "#ignored")
	// One ignored line gives three events that cannot be stored.
	w.provider.hostile = func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
		for i := range uint64(3) {
			if b := m.GetBatch(); b != nil {
				b.Events = append(b.Events, &historyv1.Event{
					Key: sdkplugin.NativeID("fake.event", sdkplugin.U64(i)), Kind: "fake-event", Sequence: 10 + i, Type: "message", Role: "user",
				})
			}
		}
		return m
	}
	rep := w.run()
	c := w.certificate("a").Counts
	if w.expect("a present: one two"); rep.Outcome != Success || c.Retained != 2 || c.Rejected != 0 || c.Ignored != 1 {
		t.Errorf("%+v, %+v", c, rep)
	}
}

func TestNewerExplicitCopyIsKept(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.run()
	w.put("backup/p/a", "k1 one", "k2 newer")
	req := w.request()
	req.All, req.Provider, req.Path = false, "claude", "backup/p"
	w.runRequest(req)
	w.expect("a present: one newer")
	for _, reset := range []bool{false, true} {
		all := w.request()
		all.Reset = reset
		w.runRequest(all)
		if w.opened(); w.wrote != 0 && !reset {
			t.Errorf("wrote %d bytes", w.wrote)
		}
		w.expect("a present: one newer")
	}
	w.age()
	w.run() // rebuilt from what is stored, not from the older file
	w.expect("a present: one newer")
	w.remove("backup/p/a")
	w.run()
	w.expect("a present: one")
}

func TestReceiptThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.mkdir(filepath.Join(w.data, "core", receiptFile, "in the way"))
	var logged []string
	req := w.request()
	req.Log = func(format string, args ...any) { logged = append(logged, fmt.Sprintf(format, args...)) }
	if rep := w.runRequest(req); rep.Outcome != Success || rep.Generation == "" {
		t.Errorf("%+v", rep)
	}
	w.expect("a present: one")
	if !strings.Contains(strings.Join(logged, "\n"), "receipt") {
		t.Errorf("log: %q", logged)
	}
}

func TestReceiptNamesFailures(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"ok", "k1 one")
	w.provider.broken = map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("f%02d", i)
		w.put(projects+name, "k1 one")
		w.provider.broken[name] = classUnreadable
	}
	rep := w.run()
	kept := rep.Receipt.Providers["claude"]
	if kept.Failed != 20 || len(kept.Failures) != 16 || kept.Failures[0].Path != w.path(projects+"f00") || kept.Failures[0].Detail != "told" {
		t.Errorf("%+v", kept)
	}
	for _, p := range rep.Providers {
		if p.Status != string(Failure) || p.FailureScope != "source" {
			t.Errorf("%+v", p)
		}
	}
}

func TestShrunkBeforePublication(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 a rather long first line")
	w.put(projects+"b", "k1 b")
	once := false
	w.provider.onOpened = func() {
		if w.provider.onListedAgain(&once) {
			w.put(projects+"a", "k1 short")
		}
	}
	req := w.request()
	var last Progress
	req.Progress = func(p Progress) {
		if last = p; p.CompletedBytes > p.TotalBytes || p.TotalKnown && *p.CompletedFiles > *p.TotalFiles {
			t.Errorf("more was read than there is: %+v", p)
		}
	}
	w.runRequest(req)
	w.expect("a present: short", "b present: b")
	if size := uint64(len("k1 short\nk1 b\n")); *last.CompletedFiles != 2 || last.Bytes != size || *last.ImportedEvents != 2 || last.Sessions != 2 {
		t.Errorf("what the first attempt read is counted again: %+v", last)
	}
}

// onListedAgain reports, once, that the first source has been read.
func (p *fakeProvider) onListedAgain(done *bool) bool {
	if *done || len(p.opened) == 0 {
		return false
	}
	*done = true
	return true
}

func TestGoneComesBackBeforePublication(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 other")
	w.run()
	f := w.provider.files[w.path(projects+"a")]
	w.remove(projects + "a")
	req := w.request()
	r := &run{req: &req, tally: tally{lost: []string{w.path(projects + "a")}}}
	if err := r.recheck(context.Background()); err != nil {
		t.Errorf("still gone: %v", err)
	}
	w.put(projects+"a", "k1 one")
	w.provider.files[w.path(projects+"a")] = f
	if err := r.recheck(context.Background()); err != errMoved {
		t.Errorf("back: %v", err)
	}
}

func TestDescriptionsAreKeptByTheFirstRun(t *testing.T) {
	w := newWorld(t)
	if err := os.Remove(w.data); err != nil {
		t.Fatal(err)
	}
	w.put(projects+"a", "k1 one")
	req := w.request()
	program := filepath.Join(w.home, "program")
	if err := os.WriteFile(program, []byte("x"), 0o700); err != nil {
		t.Fatal(err)
	}
	req.Executable = program
	w.runRequest(req)
	if _, err := os.Stat(filepath.Join(w.data, "plugins", "descriptors.json")); err != nil {
		t.Error(err)
	}
}

func TestDamagedPointerIsRebuilt(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	first := w.run()
	if err := os.Chmod(filepath.Join(w.data, "core", "active.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.data, "core", "active.json"), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	req := w.request()
	req.All, req.Provider = false, "claude"
	if _, err := Run(context.Background(), req); fault.Code(err) != fault.PublicationAuthorityInvalid {
		t.Errorf("a run over one provider: %v", err)
	}
	rep := w.run()
	w.opened("full a")
	if w.expect("a present: one"); rep.Generation != first.Generation {
		t.Errorf("%+v", rep)
	}
}

// searches refreshes for n searches that wait, each after one new source, and then tells how many segments there are and whether a merge
// is due.
func (w *world) searches(name string, n int) (segments int, due bool) {
	w.t.Helper()
	for i := range n {
		w.put(projects+fmt.Sprint(name, i), "k1 text")
		req := w.request()
		req.Trigger = "search"
		w.runRequest(req)
	}
	return w.merging()
}

// merging tells how many segments there are and whether a merge is due.
func (w *world) merging() (segments int, due bool) {
	w.t.Helper()
	g, err := w.store.Pin(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	defer g.Close()
	return len(g.Manifest().Segments), g.MergeDue()
}

func TestMergeAfterPublication(t *testing.T) {
	w := newWorld(t)
	for i := range 20 { // one small segment each
		w.put(projects+fmt.Sprint("s", i), "k1 text")
		rep := w.run()
		g, err := w.store.Pin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if g.MergeDue() || g.ID() != rep.Generation {
			t.Errorf("run %d left a merge, or reported %s instead of %s", i, rep.Generation, g.ID())
		}
		g.Close()
	}
	// A search that waits for its refresh does not wait for a merge.
	left, due := w.searches("t", 40)
	if !due {
		t.Fatalf("no merge is due among %d segments", left)
	}
	// What it left is merged by a run that finds nothing new.
	rep := w.run()
	if n, due := w.merging(); due || n >= left || rep.Totals.Change != NoOp {
		t.Errorf("%d segments, then %d; due: %v; %+v", left, n, due, rep.Totals)
	}
	// Where nothing else ever merges, a search does so before too much waits.
	if n, _ := w.searches("u", 80); n > 64 {
		t.Errorf("searches alone gathered %d segments", n)
	}
}

func TestUnlistedPartIsNamed(t *testing.T) {
	s := &route{problems: []*historyv1.Diagnostic{{Message: "no locator"}, {Locator: "p/x", Message: "permission denied"}, {Locator: "p/y"}, {Locator: "p/z"}}}
	s.Path = filepath.FromSlash("/place")
	want := filepath.FromSlash("/place/p/x") + " could not be listed (permission denied), nor 2 others; nothing counts as gone there until it can be read"
	if got := s.unlisted(); got != want {
		t.Errorf("%q", got)
	}
}

func TestDamagedGenerationIsRebuilt(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 gone")
	w.run()
	w.remove(projects + "b")
	w.run()
	w.put(projects+"c", "k1 new")
	w.run()
	pointer, err := w.store.Pointer()
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(w.data, "core", "generations", pointer.Active.Directory, "manifest.json")
	if err := os.Chmod(manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Pin(context.Background()); err == nil {
		t.Fatal("the generation is not damaged")
	}
	rep := w.run()
	w.opened("full a", "full c")
	if w.expect("a present: one", "b gone: gone", "c present: new"); rep.Outcome != Success {
		t.Errorf("%+v", rep)
	}
	w.run()
	w.opened()
}

// The clock is set back between two lines, and between two runs: a file whose time lies before its last one has changed all the same.
func TestClockIsSetBack(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 one")
	w.run()
	w.clock -= 900
	w.add(projects+"a", "k2 two")
	w.put(projects+"b", "k2 rewritten")
	w.run()
	w.opened("append a@"+itoa(len("k1 one\n")), "full b")
	w.expect("a present: one two", "b present: rewritten")
	w.run()
	w.opened()
}
