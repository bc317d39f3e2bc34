package refresh

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
)

const projects = ".claude/projects/p/"

func TestNothingNewOpensNothing(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one", "k2 two")
	w.put(projects+"b", "k1 other")
	first := w.run()
	w.opened("full a", "full b")
	w.expect("a present: one two", "b present: other")
	if first.Outcome != Success || first.Totals.Change != Changed || first.Totals.ImportedEvents != 3 || first.Totals.ImportedSources != 2 {
		t.Errorf("first run: %+v", first)
	}
	receipt := w.receipt()
	again := w.run()
	w.opened()
	if again.Totals.Change != NoOp || again.Generation != first.Generation || again.Outcome != Success || w.wrote != 0 {
		t.Errorf("second run: change %s, wrote %d bytes", again.Totals.Change, w.wrote)
	}
	if w.receipt() != receipt {
		t.Error("a run without news rewrote the receipt")
	}
	if *again.Totals.Current.IndexedDocuments != 3 || *again.Totals.Current.Sources != 2 {
		t.Errorf("current: %+v", again.Totals.Current)
	}
}

func (w *world) receipt() string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.data, "core", receiptFile))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func TestNothingAtAll(t *testing.T) {
	w := newWorld(t)
	rep := w.run()
	if rep.Outcome != Success || rep.Generation == "" || rep.Totals.Change != NoOp || w.provider.listed != 0 {
		t.Errorf("%+v", rep)
	}
	w.expect()
	if again := w.run(); again.Generation != rep.Generation || w.wrote != 0 {
		t.Errorf("the second run wrote %d bytes", w.wrote)
	}
}

func TestAppendReadsTheNewPart(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one", "!torn", "#skip")
	w.run()
	size := len(w.provider.files[w.path(projects+"a")].content())
	w.add(projects+"a", "k2 two", "k3 three")
	rep := w.run()
	w.opened("append a@" + itoa(size))
	w.expect("a present: one two three")
	if w.provider.fetched != 2 || rep.Totals.ImportedEvents != 2 || rep.Outcome != Success {
		t.Errorf("parsed %d lines, imported %d, %s", w.provider.fetched, rep.Totals.ImportedEvents, rep.Outcome)
	}
	c := w.certificate("a")
	if c.Counts.Complete != 5 || c.Counts.Retained != 3 || c.Counts.Rejected != 1 || c.Counts.Ignored != 1 || c.Counts.Indexed != 3 {
		t.Errorf("counts %+v", c.Counts)
	}
	if len(c.Rejections) != 1 || c.Rejections[0].Line != 2 {
		t.Errorf("rejections %+v", c.Rejections)
	}
}

func itoa(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func TestRewriteReplaces(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one", "k2 two", "k3 three")
	w.run()
	w.put(projects+"a", "k1 one", "k9 nine and a longer text than before")
	if p := w.progress(); p.Bytes != 45 || p.TotalBytes != 45 {
		t.Errorf("read in full, and told as an append: %+v", p)
	}
	w.expect("a present: one nine and a longer text than before")
	w.put(projects+"a", "k1 one")
	w.run()
	w.opened("full a")
	w.expect("a present: one")
}

func TestTouchedFileIsNotStoredAgain(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	first := w.run()
	w.add(projects + "a") // only the time
	rep := w.run()
	w.opened("append a@" + itoa(len("k1 one\n")))
	if rep.Totals.Change != NoOp || rep.Generation != first.Generation {
		t.Errorf("touched: %s", rep.Totals.Change)
	}
	w.run()
	w.opened()
}

func TestNewParserReadsAgain(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.run()
	w.provider.revision = "r2"
	rep := w.run()
	w.opened("full a")
	w.expect("a present: one")
	if rep.Totals.Change != Changed {
		t.Errorf("change %s", rep.Totals.Change)
	}
}

func TestMovedFileKeepsIds(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	first := w.run()
	f := w.provider.files[w.path(projects+"a")]
	w.remove(projects + "a")
	w.put(".claude/projects/elsewhere/a", "k1 one")
	w.provider.files[w.path(".claude/projects/elsewhere/a")] = f
	rep := w.run()
	w.opened()
	w.expect("a present: one")
	if rep.Generation != first.Generation || rep.Totals.GoneSources != 0 {
		t.Errorf("moved: generation changed, %d gone", rep.Totals.GoneSources)
	}
	if c := w.certificate("a"); c.Locator != "elsewhere/a.txt" {
		t.Errorf("locator %q", c.Locator)
	}
	w.run()
	if w.wrote != 0 {
		t.Errorf("after the move a run wrote %d bytes", w.wrote)
	}
}

func TestGoneAndBack(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 other")
	first := w.run()
	f := w.provider.files[w.path(projects+"a")]
	w.remove(projects + "a")
	rep := w.run()
	w.expect("a gone: one", "b present: other")
	if rep.Totals.GoneSources != 1 || rep.Totals.Change != Changed || rep.Outcome != Success || rep.Totals.RemovedSources != 0 {
		t.Errorf("gone: %+v", rep.Totals)
	}
	if rep := w.run(); rep.Totals.GoneSources != 0 || rep.Totals.Change != NoOp || w.wrote != 0 {
		t.Errorf("still gone: %+v, wrote %d", rep.Totals, w.wrote)
	}
	w.provider.files[w.path(projects+"a")] = f
	rep = w.run()
	w.opened()
	w.expect("a present: one", "b present: other")
	if rep.Generation != first.Generation {
		t.Error("the state of before has another generation id")
	}
}

func TestRetentionDrop(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 other")
	w.run()
	w.remove(projects + "a")
	w.run()
	w.config = "[retention]\ngone = \"drop\"\n"
	rep := w.run()
	w.expect("b present: other")
	if rep.Totals.RemovedSources != 1 || *rep.Totals.Current.Sources != 1 {
		t.Errorf("%+v", rep.Totals)
	}
}

func TestIncompleteInventoryProvesNothing(t *testing.T) {
	for _, state := range []int32{2, 4} {
		w := newWorldSequential(t)
		w.put(projects+"a", "k1 one")
		w.put(projects+"b", "k1 other")
		w.run()
		w.remove(projects + "a")
		w.provider.state = routeEndState(state)
		rep := w.run()
		w.expect("a present: one", "b present: other")
		if rep.Outcome != WithFailures || rep.Totals.FailedSources != 1 || rep.Failures[0].Class != classUnreadable {
			t.Errorf("state %d: %+v", state, rep)
		}
	}
}

func TestReappearsBeforePublication(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 other")
	w.run()
	f := w.provider.files[w.path(projects+"a")]
	w.remove(projects + "a")
	w.add(projects+"b", "k2 more")
	w.provider.onOpened = func() { w.provider.files[w.path(projects+"a")] = f }
	if rep := w.run(); rep.Totals.GoneSources != 0 {
		t.Errorf("%d gone", rep.Totals.GoneSources)
	}
	w.expect("a present: one", "b present: other more")
}

func TestVanishedWhileReading(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 other")
	w.run()
	w.add(projects+"a", "k2 two")
	w.put(projects+"c", "k1 new")
	w.provider.onOpened = func() {
		delete(w.provider.files, w.path(projects+"a"))
		delete(w.provider.files, w.path(projects+"c"))
	}
	rep := w.run()
	w.expect("a gone: one", "b present: other")
	if rep.Outcome != Success || rep.Totals.GoneSources != 1 {
		t.Errorf("%+v", rep)
	}
}

func TestAbsentRoute(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(".config/claude/projects/p/b", "k1 other")
	w.run()
	w.expect("a present: one", "b present: other")
	for _, dir := range []string{".claude", ".config"} {
		if err := os.RemoveAll(filepath.Join(w.home, dir)); err != nil {
			t.Fatal(err)
		}
	}
	w.provider.files = map[string]*fakeFile{}
	for n, want := range []string{"present", "present", "gone", "gone"} {
		rep := w.run()
		w.expect("a "+want+": one", "b "+want+": other")
		if gone := rep.Totals.GoneSources; (gone == 2) != (n == 2) {
			t.Errorf("run %d: %d gone", n+1, gone)
		}
		if rep.Unsettled != (n < 2) {
			t.Errorf("run %d: unsettled %v", n+1, rep.Unsettled)
		}
	}
	if w.wrote != 0 {
		t.Errorf("the fourth run wrote %d bytes", w.wrote)
	}
	w.put(projects+"a", "k1 one")
	w.run()
	w.expect("a present: one", "b gone: other")
	if err := os.RemoveAll(filepath.Join(w.home, ".claude")); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.expect("a present: one", "b gone: other") // counted from the beginning again
}

func TestSourceInTwoPlaces(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 old")
	w.put(".config/claude/projects/p/a", "k2 new")
	rep := w.run()
	w.opened("full a")
	w.expect("a present: new")
	if *rep.Totals.Current.Sources != 1 {
		t.Errorf("%d sources", *rep.Totals.Current.Sources)
	}
	w.run()
	if w.wrote != 0 {
		t.Error("a second run wrote")
	}
	// A tie goes to the longer one, then to the first path.
	w.provider.files[w.path(projects+"a")] = &fakeFile{lines: []string{"k3 longer"}, mtime: 5000}
	w.provider.files[w.path(".config/claude/projects/p/a")] = &fakeFile{lines: []string{"k4 x"}, mtime: 5000}
	w.run()
	w.expect("a present: longer")
	w.remove(projects + "a")
	w.run()
	w.expect("a present: x")
}

func TestFailingSourceIsCarried(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 other")
	w.run()
	w.add(projects+"a", "k2 two")
	w.add(projects+"b", "k2 more")
	w.put(projects+"c", "k1 never")
	w.provider.broken = map[string]string{"a": classUnreadable, "c": classInternal}
	rep := w.run()
	w.expect("a present: one", "b present: other more")
	if rep.Outcome != WithFailures || rep.FailureScope != "source" || rep.FailureType != "source_failure" || rep.Totals.FailedSources != 2 {
		t.Errorf("%+v", rep)
	}
	rows := rep.Failures
	if !rows[0].CarriedForward || rows[0].Class != classUnreadable || rows[1].CarriedForward || rows[1].Class != classInternal {
		t.Errorf("rows %+v %+v", rows[0], rows[1])
	}
	if rep.Receipt.Failed != 2 || rep.Receipt.Stale != 1 {
		t.Errorf("receipt %+v", rep.Receipt)
	}
	last, err := LastReceipt(w.request().Config)
	if err != nil || last.Failed != 2 || last.Generation != rep.Generation || len(last.Providers["claude"].Failures) != 2 {
		t.Errorf("kept receipt %+v, %v", last, err)
	}
	w.provider.broken = map[string]string{}
	rep = w.run()
	w.expect("a present: one two", "b present: other more", "c present: never")
	if rep.Outcome != Success || rep.Receipt.Failed != 0 {
		t.Errorf("repaired: %+v", rep)
	}
}

func TestEverythingFails(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.provider.broken = map[string]string{"a": classUnsupported}
	rep := w.run()
	if rep.Outcome != Failure || rep.FailureType != classUnsupported || rep.Generation != "" || rep.Failures[0].Error == "" {
		t.Errorf("%+v", rep)
	}
	if _, err := w.store.Pin(context.Background()); fault.Code(err) != fault.SourceUnavailable {
		t.Errorf("a generation was published: %v", err)
	}
}

func TestRejections(t *testing.T) {
	w := newWorld(t)
	lines := []string{"k1 good"}
	for range 8 {
		lines = append(lines, "!torn")
	}
	w.put(projects+"a", lines...)
	w.put(projects+"b", "!torn", "!torn")
	rep := w.run()
	w.expect("a present: good")
	if rep.Outcome != WithRejectionsFailures || rep.Totals.RejectedRecords != 10 || rep.Totals.FailedSources != 1 ||
		rep.Totals.RejectedSources != 1 || rep.FailureScope != "record_and_source" {
		t.Errorf("%+v", rep)
	}
	rows := rep.Rejections
	// Five of the eight, and both of the source that holds nothing else: it fails, but its lines are told.
	if len(rows) != 7 || rows[0].Line != 2 || rows[0].Class != "damaged" || rows[0].Path != w.path(projects+"a") {
		t.Errorf("%d rejection rows, first %+v", len(rows), rows[0])
	}
	if rows := rep.Failures; len(rows) != 1 || rows[0].Class != classMalformed {
		t.Errorf("failures %+v", rows)
	}
}

func TestEmptyBodyIsRejectedByTheHost(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one", "k2", "k3 three")
	rep := w.run()
	w.expect("a present: one three")
	c := w.certificate("a")
	if rep.Totals.RejectedRecords != 1 || c.Counts.Retained != 2 || c.Counts.Rejected != 1 || len(c.Rejections) != 1 {
		t.Errorf("rejected %d, counts %+v, %+v", rep.Totals.RejectedRecords, c.Counts, c.Rejections)
	}
	w.add(projects+"a", "k4 four")
	if rep := w.run(); rep.Outcome != Success {
		t.Errorf("append after a rejection: %+v", rep)
	}
	w.expect("a present: one three four")
}

func TestExplicitPath(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 inside")
	w.put("outside/p/b", "k1 outside")
	req := w.request()
	req.All, req.Provider, req.Path = false, "claude-code", "outside/p"
	rep := w.runRequest(req)
	w.expect("b present: outside")
	row := rep.Path
	if row == nil || row.Path != w.path("outside/p")[:len(w.path("outside/p"))-len(".txt")] || row.Status != "success" || !row.GenerationChanged ||
		row.Change != Changed || row.SourceFiles != 1 || row.SourceFormat != "fake_tree" {
		t.Errorf("%+v", row)
	}
	w.run()
	w.expect("a present: inside", "b present: outside")
	w.remove("outside/p/b")
	w.run()
	w.expect("a present: inside", "b present: outside") // an explicit path is not looked at by itself
	if rep := w.runRequest(req); rep.Totals.GoneSources != 1 {
		t.Errorf("%+v", rep.Totals)
	}
	req.Path = "nowhere"
	if _, err := Run(context.Background(), req); fault.Code(err) != fault.SourceUnavailable {
		t.Errorf("missing path: %v", err)
	}
	req.Provider = "nonsense"
	if _, err := Run(context.Background(), req); fault.Code(err) != fault.InvalidRequest {
		t.Errorf("unknown provider: %v", err)
	}
}

func TestOldCopyDoesNotReplaceTheOriginal(t *testing.T) {
	w := newWorld(t)
	w.put("backup/p/a", "k1 old")
	w.put(projects+"a", "k1 one", "k2 two")
	w.run()
	req := w.request()
	req.All, req.Provider, req.Path = false, "claude", "backup/p"
	if rep := w.runRequest(req); rep.Totals.Change != NoOp {
		t.Errorf("%+v", rep.Totals)
	}
	w.opened()
	// The same file by an explicit path stays with its route.
	req.Path = ".claude/projects/p"
	w.runRequest(req)
	w.opened()
	w.run()
	if w.expect("a present: one two"); w.wrote != 0 {
		t.Errorf("wrote %d bytes", w.wrote)
	}
}

func TestAutomaticOffRetains(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.run()
	w.config = "[sources]\nautomatic = false\n"
	rep := w.run()
	w.expect("a present: one")
	g, err := w.store.Pin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if len(g.Manifest().Routes) != 0 || rep.Totals.Change != NoOp || rep.Outcome != Success {
		t.Errorf("routes %+v, %+v", g.Manifest().Routes, rep.Totals)
	}
	w.run()
	if w.wrote != 0 {
		t.Errorf("the second run wrote %d bytes", w.wrote)
	}
}

func TestNamedRoots(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 automatic")
	w.put("work/projects/p/a", "k1 named")
	root := func(name, place string) { w.config += w.named(name, place) }
	w.run()
	id := w.certificate("a").Source
	root("main", ".claude")
	root("work", "work")
	w.run()
	w.opened("full a") // the named root; the automatic one got a name only
	w.expect("a present: automatic", "a present: named")
	if w.certificate("a").Source != id {
		t.Error("the named winner has other ids")
	}
	// Moved under one name: the same ids.
	before := w.run().Generation
	if err := os.Rename(filepath.Join(w.home, "work"), filepath.Join(w.home, "moved")); err != nil {
		t.Fatal(err)
	}
	w.provider.files[w.path("moved/projects/p/a")] = w.provider.files[w.path("work/projects/p/a")]
	delete(w.provider.files, w.path("work/projects/p/a"))
	w.config = ""
	root("main", ".claude")
	root("work", "moved")
	if rep := w.run(); rep.Totals.Change != NoOp || rep.Generation == before {
		t.Errorf("moved root: %+v", rep.Totals)
	}
	w.opened()
	w.expect("a present: automatic", "a present: named")
	// Another name: another session.
	w.config = ""
	root("main", ".claude")
	root("other", "moved")
	w.run()
	w.expect("a present: automatic", "a present: named", "a present: named")
}

func TestReportJSON(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one", "!torn")
	req := w.request()
	req.Resume = true
	rep := w.runRequest(req)
	text, err := json.Marshal(rep.Document())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"schema_version":2,"outcome":"completed_with_rejections","failure_scope":"record","failure_type":"record_rejection","resume":true,` +
			`"resume_mode":"idempotent_rescan","totals":{"change":"changed","current_source_count":1,"current_indexed_documents":1,` +
			`"current_complete_records":2,"current_retained_records":1,"current_rejected_records":1,"current_ignored_records":0,` +
			`"current_certified_source_bytes":13,"current_sources_with_rejections":1,"removed_source_count":0,"gone_source_count":0,` +
			`"source_files":1,"source_bytes":13,"imported_sources":1,"imported_events":1,"failed_sources":0,"rejected_records":1,` +
			`"sources_completed_with_rejections":1,"imported_sessions":1,"imported_edges":0,"skipped_sessions":0,"skipped_events":0,` +
			`"skipped_edges":0,"skipped":0,"rejections":{"rejected_records":1,"sources_completed_with_rejections":1}},"sources":[`,
		`"source_format":"provider_authoritative_all"`,
		`{"status":"rejection","failure_scope":"record","failure_type":"record_rejection","provider":"claude","path":`,
		`"line":2,"payload_type":"","class":"damaged","detail":"torn","error":`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
}

func TestOwnAnswersAreLeftOut(t *testing.T) {
	w := newWorld(t)
	check := func(step string, wantExcluded, wantAll int) {
		t.Helper()
		if excluded, all := w.excluded(); excluded != wantExcluded || all != wantAll {
			t.Errorf("%s: %d of %d events left out, want %d of %d", step, excluded, all, wantExcluded, wantAll)
		}
	}
	w.put(projects+"a", "k1 hello", "?c1")
	w.run()
	check("the call", 1, 2)
	w.add(projects+"a", "=c1") // linked to a call of the run before
	w.run()
	check("the result in an append", 2, 3)
	w.add(projects+"a", "=c1") // now the call id proves nothing
	w.run()
	w.opened("append a@17", "full a")
	check("a second result", 1, 4)
	w.put(projects+"b", "?c2", "=c2", "=c2")
	w.run()
	check("both results in one run", 2, 7)
}
