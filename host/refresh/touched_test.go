package refresh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// touch runs the refresh that follows a change of some files.
func (w *world) touch(places ...string) *Report {
	w.t.Helper()
	req := w.request()
	req.Trigger, req.Touched, req.Known = "automatic", map[string][]string{"claude": nil}, &w.known
	for _, place := range places {
		req.Touched["claude"] = append(req.Touched["claude"], w.path(place))
	}
	w.provider.listed, w.provider.given = 0, 0
	return w.runRequest(req)
}

// looked checks at what the provider had to look.
func (w *world) looked(rep *Report, want string, sources int) {
	w.t.Helper()
	if got := rep.Receipt.Looked["claude"]; !strings.HasPrefix(got, want) || w.provider.given != sources {
		w.t.Errorf("looked at %q, %d sources; want %q, %d", got, w.provider.given, want, sources)
	}
}

// After a change of known files only those are listed and read; what they alone do not tell has everything listed.
func TestTouchedFiles(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.put(projects+name, "k1 one")
	}
	w.run()
	before, err := LastReceipt(w.request().Config)
	if err != nil {
		t.Fatal(err)
	}

	w.add(projects+"a", "k2 two")
	rep := w.touch(projects + "a")
	w.looked(rep, "changed files", 1)
	w.opened("append a@" + itoa(len("k1 one\n")))
	w.expect("a present: one two", "b present: one", "c present: one")
	if rep.Receipt.Sources != before.Sources || rep.Totals.GoneSources != 0 || rep.Outcome != Success {
		t.Errorf("%d sources, %d gone, %s", rep.Receipt.Sources, rep.Totals.GoneSources, rep.Outcome)
	}
	rep = w.touch(projects+"a", projects+"b") // as they were
	w.looked(rep, "changed files", 2)
	if rep.Totals.Current.SourcesWithRejections != nil {
		t.Error("all certificates were loaded again")
	}
	if w.opened(); w.wrote != 0 || rep.Totals.Change != NoOp {
		t.Errorf("%d bytes written, %s", w.wrote, rep.Totals.Change)
	}

	w.put(projects+"d", "k1 new") // the provider can tell what a new file is
	rep = w.touch(projects + "d")
	w.looked(rep, "changed files", 1)
	if rep.Receipt.Sources != before.Sources+1 {
		t.Errorf("%d sources", rep.Receipt.Sources)
	}
	w.remove(projects + "d")
	w.looked(w.touch(projects+"d"), "everything: the changed files alone", 6) // what is gone is looked for twice
	w.expect("a present: one two", "b present: one", "c present: one", "d gone: new")
	w.put(projects+"d", "k1 new")
	w.looked(w.touch(projects+"d"), "everything: a source is back", 4)

	w.put(".claude/projects/q/a", "k1 one", "k2 two", "k3 copied") // a copy that is newer
	w.looked(w.touch(".claude/projects/q/a"), "everything: a session lies in two places", 6)
	w.expect("a present: one two copied", "b present: one", "c present: one", "d present: new")
	w.looked(w.touch(), "everything: more changed", 5)
	w.looked(w.touch("elsewhere/a"), "everything: a file beside", 5)
	w.provider.blind = true
	w.add(projects+"b", "k2 two")
	w.looked(w.touch(projects+"b"), "everything: the changed files alone", 5)
	w.expect("a present: one two copied", "b present: one two", "c present: one", "d present: new")
}

// A look at some files tells again what failed elsewhere, and counts no absence.
func TestTouchedKeepsWhatIsKnown(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"bad", "k1 one")
	w.put(projects+"good", "k1 other")
	w.put(".config/claude/projects/p/far", "k1 far")
	w.run()
	w.provider.broken["bad"] = classUnreadable
	w.add(projects+"bad", "k2 two")
	w.run()
	w.add(projects+"good", "k2 more")
	rep := w.touch(projects + "good")
	w.looked(rep, "changed files", 1)
	rows := rep.Failures
	if len(rows) != 1 || rows[0].Class != classUnreadable || !rows[0].CarriedForward || rep.Outcome != WithFailures || rep.Receipt.Failed != 1 || rep.Receipt.Stale != 1 {
		t.Fatalf("%s, %+v", rep.Outcome, rows)
	}
	delete(w.provider.broken, "bad")
	rep = w.touch(projects + "bad")
	w.looked(rep, "changed files", 1)
	w.expect("bad present: one two", "far present: far", "good present: other more")
	if rep.Outcome != Success || rep.Receipt.Failed != 0 {
		t.Errorf("%s, %d failed", rep.Outcome, rep.Receipt.Failed)
	}

	if err := os.RemoveAll(filepath.Join(w.home, ".config")); err != nil {
		t.Fatal(err)
	}
	w.remove(".config/claude/projects/p/far")
	for n := range absencesUntilGone + 1 {
		w.add(projects+"good", "k"+itoa(n+3)+" x")
		w.looked(w.touch(projects+"good"), "changed files", 1)
	}
	w.expect("bad present: one two", "far present: far", "good present: other more x x x x")
	for range absencesUntilGone {
		w.run()
	}
	w.expect("bad present: one two", "far gone: far", "good present: other more x x x x")
}

// Sources of a named root have a lineage in their ids that their provider does not know.
func TestTouchedNamedRoot(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 automatic")
	w.put("work/projects/p/a", "k1 named")
	w.config = w.named("work", "work") + "[sources]\nautomatic = true\n"
	w.run()
	w.add("work/projects/p/a", "k2 more")
	rep := w.touch("work/projects/p/a")
	w.looked(rep, "changed files", 1)
	w.expect("a present: automatic", "a present: named more")
}

// A better history that appears has the poorer one read again, which only a look at everything finds.
func TestTouchedYielding(t *testing.T) {
	w := newWorld(t)
	w.prompts()
	w.put(projects+"prompt-a", "k1 asked")
	w.run()
	w.put(projects+"a", "k1 whole")
	w.looked(w.touch(projects+"a"), "everything: a session may give way", 3)
	w.expect("a present: whole")
}
