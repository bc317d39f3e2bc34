package core

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

func TestNothingPublished(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	if _, err := a.Pin(context.Background()); fault.Code(err) != fault.SourceUnavailable {
		t.Fatalf("pin before the first publication: %v", err)
	}
	if g, err := a.PinPrevious(context.Background()); g != nil || err != nil {
		t.Fatalf("previous before the first publication: %v, %v", g, err)
	}
	if _, err := os.Stat(a.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("reading created the store")
	}
}

func TestColdBuild(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	s := numbered("one", 2, 20)
	s.frontier = "at the end"
	p := a.publish(s, numbered("two", 1, 5))
	if p.Disposition != DispositionPublished || p.Previous != "" {
		t.Fatalf("publication %+v", p)
	}
	a.verify()
	g := a.pin()
	if g.ID() != p.Generation || !isDigest(g.ID()) {
		t.Fatalf("id %q of publication %q", g.ID(), p.Generation)
	}
	if n := g.Manifest().Stats; n.Events != 45 || n.Sessions != 3 || n.Sources != 2 || n.Frontiers != 1 || n.Complete != 45 {
		t.Fatalf("statistics %+v", n)
	}
	if got := a.all(g); len(got) != 45 || got[0] == got[1] {
		t.Fatalf("%d events: %v", len(got), got)
	}
	cert, err := g.Certificate(s.id())
	a.must(err)
	if cert.Counts.Indexed != 40 || string(cert.Observation) != "seen once" || !cert.HasFrontier || cert.State != Present {
		t.Fatalf("certificate %+v", cert)
	}
	frontier, err := g.Frontier(s.id())
	a.must(err)
	if string(frontier) != "at the end" {
		t.Fatalf("frontier %q", frontier)
	}
	id := s.eventID("one-s1", "3")
	doc, ok, err := g.EventDoc(id)
	a.must(err)
	if !ok || a.text(g, doc) != "one.1 event 3" {
		t.Fatalf("event by id: %v %v", doc, ok)
	}
	row, _ := g.Lexical().Row(doc)
	owner, err := g.Source(row.Source)
	a.must(err)
	if owner.Source != s.id() {
		t.Fatal("the source ordinal in the columns leads elsewhere")
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	first := numbered("one", 1, 10)
	first.frontier = "10"
	a.publish(first, numbered("two", 1, 5))
	before := a.pin()

	added := source{name: "one", frontier: "13", sessions: []session{
		{name: "one-s0", title: "new title", events: span("one.0", 8, 13)}, // two of them are stored already
		{name: "one-new", events: span("one.new", 0, 2)},
	}}
	whole := source{name: "one", frontier: "13", sessions: []session{
		{name: "one-s0", title: "new title", events: span("one.0", 0, 13)},
		{name: "one-new", events: span("one.new", 0, 2)},
	}}
	var w *SourceWriter
	p := a.refresh(func(c *Candidate) { w = a.appendTo(c, added, whole) })
	if w.Events() != 5 || w.Duplicates() != 2 {
		t.Fatalf("%d events, %d duplicates", w.Events(), w.Duplicates())
	}
	if p.Disposition != DispositionPublished || p.Previous != before.ID() {
		t.Fatalf("publication %+v", p)
	}
	a.verify()
	g := a.pin()
	s, err := g.SessionByID(whole.sessionID("one-s0"))
	a.must(err)
	if s.Meta.Title != "new title" {
		t.Fatalf("title %q", s.Meta.Title)
	}
	if got := a.texts(g, g.SessionEvents(s.Ordinal, nil, false)); len(got) != 13 || got[12] != "one.0 event 12" {
		t.Fatalf("session events %q", got)
	}
	stats, err := g.SessionStats(s.Ordinal)
	a.must(err)
	if stats.Events != 13 || stats.Last-stats.First != 12_000 {
		t.Fatalf("session statistics %+v", stats)
	}
	cert, err := g.Certificate(whole.id())
	a.must(err)
	if cert.Counts.Indexed != 15 {
		t.Fatalf("certificate %+v", cert.Counts)
	}
	// The id depends on content, not on the way: one full read gives the same.
	b := newArchive(t)
	if got := b.publish(numbered("two", 1, 5), whole); got.Generation != p.Generation {
		t.Fatal("the same content read at once has another id")
	}
	// The pinned reader still sees what it saw.
	if n := len(a.all(before)); n != 15 {
		t.Fatalf("the older generation has %d events now", n)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 3, 10), numbered("two", 1, 5))
	old := a.pin()
	kept, err := old.SessionByID(source{name: "one"}.sessionID("one-s1"))
	a.must(err)

	next := source{name: "one", sessions: []session{
		{name: "one-s1", events: append(span("one.1", 5, 8), event{key: "new", sequence: 100, text: "fresh"})},
	}}
	a.publish(next)
	a.verify()
	g := a.pin()
	if n := g.Manifest().Stats; n.Events != 9 || n.Sessions != 2 || n.Sources != 2 {
		t.Fatalf("statistics %+v", n)
	}
	s, err := g.SessionByID(next.sessionID("one-s1"))
	a.must(err)
	if s.Ordinal != kept.Ordinal {
		t.Fatal("a session that stays has another ordinal")
	}
	want := []string{"one.1 event 5", "one.1 event 6", "one.1 event 7", "fresh"}
	if got := a.texts(g, g.SessionEvents(s.Ordinal, nil, false)); !slices.Equal(got, want) {
		t.Fatalf("session events %q", got)
	}
	for _, name := range []string{"one-s0", "one-s2"} {
		if s, err := g.SessionByID(next.sessionID(name)); s != nil || err != nil {
			t.Fatalf("session %s is still there: %v", name, err)
		}
		if got, err := g.SessionsByProviderID(testProvider, "native-"+name, 2); len(got) != 0 || err != nil {
			t.Fatalf("session %s is still found by its provider id", name)
		}
	}
	if _, ok, err := g.EventDoc(next.eventID("one-s1", "0")); ok || err != nil {
		t.Fatalf("an event that the source no longer holds is found: %v", err)
	}
}

func TestReplaceWithEqualContentIsReused(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 2, 10), numbered("two", 1, 5))
	pointer, err := os.ReadFile(a.pointerPath())
	a.must(err)
	before := files(t, a.Dir())
	p := a.publish(numbered("one", 2, 10))
	if p.Disposition != DispositionReused {
		t.Fatalf("publication %+v", p)
	}
	after, err := os.ReadFile(a.pointerPath())
	a.must(err)
	if !bytes.Equal(pointer, after) {
		t.Fatal("the pointer changed")
	}
	if now := files(t, a.Dir()); len(now) != len(before)+1 { // one file of observations
		t.Fatalf("files left behind: %d before, %d now", len(before), len(now))
	}
	a.verify()
}

func TestAbortKeepsTheOldState(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 2, 10), numbered("two", 1, 5))
	before := a.pin()
	failing := source{name: "one", sessions: []session{{name: "one-s0", title: "changed", events: span("one.0", 3, 300)}}}
	a.refresh(func(c *Candidate) {
		w, err := c.Replace(failing.spec())
		a.must(err)
		a.must(failing.feed(w))
		w.Abort()
		a.replace(c, numbered("three", 1, 4)) // shares a segment with the dead documents
	})
	a.verify()
	g := a.pin()
	if n := g.Manifest().Stats; n.Events != 29 || n.Sources != 3 {
		t.Fatalf("statistics %+v", n)
	}
	s, err := g.SessionByID(failing.sessionID("one-s0"))
	a.must(err)
	if got := a.texts(g, g.SessionEvents(s.Ordinal, nil, false)); len(got) != 10 || s.Meta.Title != "title 0" {
		t.Fatalf("%q: %q", s.Meta.Title, got)
	}
	// Aborting alone changes nothing at all.
	p := a.refresh(func(c *Candidate) {
		w, err := c.Append(failing.spec())
		a.must(err)
		a.must(failing.feed(w))
		w.Abort()
	})
	if p.Disposition != DispositionReused || p.Generation != g.ID() || before.ID() == g.ID() {
		t.Fatalf("publication %+v", p)
	}
}

// A source that is still open at the publication counts as aborted.
func TestUnfinishedSource(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 10))
	var late *SourceWriter
	more := source{name: "one", sessions: []session{{name: "one-s0", events: span("one.0", 5, 25)}}}
	a.refresh(func(c *Candidate) {
		a.replace(c, numbered("two", 1, 3))
		var err error
		late, err = c.Append(more.spec())
		a.must(err)
		a.must(more.feed(late))
	})
	if err := late.Finish(more.certificate(), nil); err == nil {
		t.Fatal("a source was finished after the publication")
	}
	late.Abort()
	a.verify()
	if got := a.all(a.pin()); len(got) != 13 {
		t.Fatalf("events %q", got)
	}
	c, err := a.Begin(context.Background(), BeginOptions{})
	a.must(err)
	w, err := c.Append(more.spec())
	a.must(err)
	a.must(more.feed(w)) // holds an iterator over the base
	c.Discard()
	if left := leftovers(t, a.Store, ""); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// After a failed append the same source can be replaced by the same candidate.
func TestAbortThenReplace(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 10))
	next := numbered("one", 1, 12)
	a.refresh(func(c *Candidate) {
		w, err := c.Append(next.spec())
		a.must(err)
		a.must(source{name: "one", sessions: []session{{name: "one-s0", events: span("x", 10, 40)}}}.feed(w))
		w.Abort()
		a.replace(c, next)
	})
	a.verify()
	if got := a.all(a.pin()); len(got) != 12 {
		t.Fatalf("events %q", got)
	}
}

func TestAnErrorOfABatchFailsTheSourceOnly(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	broken := errors.New("line 7 is broken")
	a.refresh(func(c *Candidate) {
		s := numbered("one", 1, 10)
		w, err := c.Replace(s.spec())
		a.must(err)
		a.must(s.feed(w))
		a.must(w.AddBatch(1, func(func(*record.Event) error) error { return broken }))
		if err := w.Finish(s.certificate(), nil); !errors.Is(err, broken) {
			t.Errorf("finish after a broken batch: %v", err)
		}
		if err := w.AddBatch(1, func(func(*record.Event) error) error { return nil }); !errors.Is(err, broken) {
			t.Errorf("batch after a broken batch: %v", err)
		}
		w.Abort()
		a.replace(c, numbered("two", 1, 3))
	})
	a.verify()
	if got := a.all(a.pin()); len(got) != 3 {
		t.Fatalf("events %q", got)
	}
}

func TestEqualIdsInOneRun(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	s := numbered("one", 1, 5)
	s.sessions[0].events = append(s.sessions[0].events, event{key: "3", sequence: 3, text: "a second one"})
	var w *SourceWriter
	a.refresh(func(c *Candidate) { w = a.replace(c, s) })
	if w.Events() != 5 || w.Duplicates() != 1 {
		t.Fatalf("%d events, %d duplicates", w.Events(), w.Duplicates())
	}
	a.verify()
	if got := a.all(a.pin()); strings.Contains(strings.Join(got, " "), "second") {
		t.Fatalf("the second event won: %q", got)
	}
}

func TestGoneAndBack(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	s := numbered("one", 1, 5)
	first := a.publish(s)
	gone := a.refresh(func(c *Candidate) { a.must(c.SetState(s.id(), Gone)) })
	if gone.Disposition != DispositionPublished || gone.Generation == first.Generation {
		t.Fatalf("publication %+v", gone)
	}
	g := a.pin()
	cert, err := g.Certificate(s.id())
	a.must(err)
	if cert.State != Gone || g.Manifest().Stats.GoneSources != 1 || len(a.all(g)) != 5 {
		t.Fatalf("certificate %+v", cert)
	}
	a.verify()
	back := a.refresh(func(c *Candidate) { a.must(c.SetState(s.id(), Present)) })
	if back.Generation != first.Generation {
		t.Fatal("equal state, other id")
	}
	again := a.refresh(func(c *Candidate) { a.must(c.SetState(s.id(), Present)) })
	if again.Disposition != DispositionReused {
		t.Fatalf("publication %+v", again)
	}
}

func TestDropSourceAndSession(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	one, two := numbered("one", 3, 5), numbered("two", 1, 4)
	two.frontier = "f"
	a.publish(one, two)
	a.refresh(func(c *Candidate) {
		a.must(c.Drop(two.id()))
		a.must(c.DropSession(one.sessionID("one-s1"), 0))
		a.must(c.DropSession(one.sessionID("one-s2"), 0))
		if err := c.DropSession(one.sessionID("one-s2"), 0); fault.Code(err) != fault.NotFound {
			t.Errorf("dropping a session twice: %v", err)
		}
		if _, err := c.Replace(one.spec()); err == nil {
			t.Error("a source with dropped sessions can be written in the same candidate")
		}
	})
	a.verify()
	g := a.pin()
	if n := g.Manifest().Stats; n.Events != 5 || n.Sessions != 1 || n.Sources != 1 || n.Frontiers != 0 {
		t.Fatalf("statistics %+v", n)
	}
	if cert, err := g.Certificate(two.id()); cert != nil || err != nil {
		t.Fatalf("the dropped source has a certificate: %v", err)
	}
}

// What a session leaves behind decides when its source is read again: a pruned session returns with it, a forgotten one does not.
func TestDropSessionLeavesItsMark(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	pruned, forgotten := numbered("one", 2, 4), numbered("two", 2, 4)
	pruned.frontier, forgotten.frontier = "quotes it", "quotes it"
	a.publish(pruned, forgotten)
	before, err := a.pin().Certificate(forgotten.id())
	a.must(err)
	a.refresh(func(c *Candidate) {
		a.must(c.DropSession(pruned.sessionID("one-s1"), 0))
		a.must(c.DropSession(forgotten.sessionID("two-s1"), 9))
	})
	a.verify()
	g := a.pin()
	for _, s := range []source{pruned, forgotten} {
		cert, err := g.Certificate(s.id())
		a.must(err)
		frontier, err := g.Frontier(s.id())
		a.must(err)
		if cert.HasFrontier || frontier != nil || cert.Counts.Indexed != 4 || cert.Counts.Retained != 8 {
			t.Errorf("%s: %+v, frontier %q", s.name, cert, frontier)
		}
		if s.name == "one" && (cert.Observation != nil || cert.Forgotten != nil) {
			t.Errorf("pruned: %+v", cert)
		}
		if s.name == "two" && (!bytes.Equal(cert.Observation, before.Observation) || !slices.Equal(cert.Forgotten, []uint64{9})) {
			t.Errorf("forgotten: %+v", cert)
		}
	}
}

func TestTouchMakesNoGeneration(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	one, two := numbered("one", 1, 5), numbered("two", 1, 4)
	first := a.publish(one, two)
	route := Route{Identity: strings.Repeat("a", 64), Provider: testProvider, Path: "/p"}
	routed := a.refresh(func(c *Candidate) { c.SetRoutes([]Route{route}) })
	if routed.Disposition != DispositionPublished || routed.Generation == first.Generation {
		t.Fatalf("a new route: %+v", routed)
	}
	pointer, err := os.ReadFile(a.pointerPath())
	a.must(err)
	p := a.refresh(func(c *Candidate) {
		a.must(c.Touch(one.id(), Sighting{Route: "r2", Locator: "moved.jsonl", Observation: []byte("seen twice"), ModTime: 7}))
		missed := route
		missed.Absent = 2
		c.SetRoutes([]Route{missed})
	})
	if p.Disposition != DispositionReused || p.Generation != routed.Generation {
		t.Fatalf("publication %+v", p)
	}
	now, err := os.ReadFile(a.pointerPath())
	a.must(err)
	if !bytes.Equal(now, pointer) {
		t.Fatal("the pointer changed")
	}
	check := func(when string) {
		t.Helper()
		g := a.pin()
		cert, err := g.Certificate(one.id())
		a.must(err)
		if cert.Locator != "moved.jsonl" || string(cert.Observation) != "seen twice" || cert.ModTime != 7 {
			t.Fatalf("%s: %+v", when, cert.Sighting)
		}
		seen := 0
		a.must(g.Certificates(func(c *Certificate) error {
			if c.Locator == "moved.jsonl" {
				seen++
			}
			return nil
		}))
		if seen != 1 || g.Routes()[0].Absent != 2 {
			t.Fatalf("%s: %d certificates moved, routes %+v", when, seen, g.Routes())
		}
		want := Deliveries{{testProvider, "r", uint64(g.Manifest().Stats.Sources) - 1}, {testProvider, "r2", 1}}
		if got := g.Deliveries(); !slices.Equal(got, want) {
			t.Fatalf("%s: delivered by %v, want %v", when, got, want)
		}
		a.verify()
	}
	check("kept beside the generation")
	a.publish(numbered("three", 1, 2))
	check("in the next generation")
	if g := a.pin(); len(g.observations.sightings) != 0 {
		t.Fatal("the next generation has observations beside it")
	}
	a.verify()
}

func TestReadmit(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	s := numbered("one", 1, 6)
	for _, i := range []int{1, 3} {
		s.sessions[0].events[i].excluded = true
		s.sessions[0].events[i].text = strings.Repeat("hidden ", 10)
	}
	a.publish(s)
	if n := a.pin().Manifest().Stats; n.Events != 6 || n.Searchable != 4 {
		t.Fatalf("statistics %+v", n)
	}
	// From the same run.
	b := newArchive(t)
	b.refresh(func(c *Candidate) {
		w, err := c.Replace(s.spec())
		b.must(err)
		b.must(s.feed(w))
		b.must(w.Readmit([]record.Digest{s.eventID("one-s0", "1")}))
		b.must(w.Finish(s.certificate(), nil))
	})
	b.verify()
	if n := b.pin().Manifest().Stats; n.Events != 6 || n.Searchable != 5 {
		t.Fatalf("statistics %+v", n)
	}
	// From an earlier one.
	whole := s
	whole.sessions = []session{s.sessions[0]}
	whole.sessions[0].events = append(slices.Clone(s.sessions[0].events), event{key: "last", sequence: 50, text: "last"})
	added := source{name: "one", sessions: []session{{name: "one-s0", title: "title 0", events: whole.sessions[0].events[6:]}}}
	a.refresh(func(c *Candidate) {
		w, err := c.Append(s.spec())
		a.must(err)
		a.must(added.feed(w))
		a.must(w.Readmit([]record.Digest{s.eventID("one-s0", "3")}))
		a.must(w.Finish(whole.certificate(), nil))
	})
	a.verify()
	if n := a.pin().Manifest().Stats; n.Events != 7 || n.Searchable != 6 {
		t.Fatalf("statistics %+v", n)
	}
	if got := len(a.all(a.pin())); got != 7 {
		t.Fatalf("%d events", got)
	}
}

func TestWhatACallerMayNotDo(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	one := numbered("one", 1, 5)
	a.publish(one)
	c, err := a.Begin(context.Background(), BeginOptions{})
	a.must(err)
	defer c.Discard()

	spec := one.spec()
	spec.Source[3] ^= 1
	if _, err := c.Replace(spec); err == nil {
		t.Error("a source that does not belong to its anchor")
	}
	if _, err := c.Append(numbered("new", 1, 1).spec()); err == nil {
		t.Error("an append to a source that is not stored")
	}
	w, err := c.Append(one.spec())
	a.must(err)
	if _, err := c.Replace(one.spec()); err == nil {
		t.Error("a source is written twice at the same time")
	}
	other := numbered("other", 1, 1)
	if _, err := w.Session(other.record(other.sessions[0])); err == nil {
		t.Error("a session of another source")
	}
	claims := one.record(one.sessions[0])
	p1, p2 := one.sessionID("p1"), one.sessionID("p2")
	claims.Parent = &p1
	if _, err := w.Session(claims); err != nil {
		t.Errorf("a first claim: %v", err)
	}
	contradiction := one.record(one.sessions[0])
	contradiction.Parent = &p2
	if _, err := w.Session(contradiction); fault.Code(err) != fault.InvalidRequest {
		t.Errorf("a second claim: %v", err)
	}
	for name, change := range map[string]func(*Certificate){
		"counts that do not add up":  func(c *Certificate) { c.Counts.Complete++ },
		"fewer records than before":  func(c *Certificate) { c.Counts = Counts{Complete: 1, Retained: 1} },
		"fewer bytes than before":    func(c *Certificate) { c.CertifiedBytes = 1 },
		"another parser":             func(c *Certificate) { c.ParserRevision = "other" },
		"no parser":                  func(c *Certificate) { c.ParserRevision = "" },
		"certificate of another one": func(c *Certificate) { c.Source = p1 },
	} {
		cert := one.certificate()
		change(&cert)
		if err := w.Finish(cert, nil); err == nil {
			t.Errorf("finish with %s", name)
		}
	}
	if err := w.Finish(one.certificate(), make([]byte, maxFrontier+1)); err == nil {
		t.Error("finish with a huge frontier")
	}
	var e record.Event
	a.must(one.event(one.sessions[0], event{key: "x", text: "x"}, claims, &e))
	e.Session = 99
	a.must(w.AddBatch(1, func(emit func(*record.Event) error) error { return emit(&e) }))
	if err := w.Wait(); err == nil {
		t.Error("an event of no declared session")
	}
	w.Abort()
	for name, err := range map[string]error{
		"touch": c.Touch(other.id(), Sighting{}), "state": c.SetState(other.id(), Gone),
		"drop": c.Drop(other.id()), "drop session": c.DropSession(p1, 0),
	} {
		if fault.Code(err) != fault.NotFound {
			t.Errorf("%s of something unknown: %v", name, err)
		}
	}
}
