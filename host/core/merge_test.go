package core

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func (a *archive) merge(p MergePolicy) Publication {
	a.t.Helper()
	out, err := a.Merge(context.Background(), p)
	a.must(err)
	return out
}

func TestMergeOfManySmallSegments(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	whole := numbered("one", 1, 2)
	a.publish(whole)
	for i := 2; i < 2+mergeFanIn; i++ {
		whole.sessions[0].events = span("one.0", 0, i+1)
		added := source{name: "one", sessions: []session{{name: "one-s0", title: "title 0", events: span("one.0", i, i+1)}}}
		a.refresh(func(c *Candidate) { a.appendTo(c, added, whole) })
	}
	before := a.pin()
	want := a.all(before)
	if !before.MergeDue() || len(before.Manifest().Segments) != mergeFanIn+1 {
		t.Fatalf("%d segments, due %v", len(before.Manifest().Segments), before.MergeDue())
	}
	p := a.merge(MergePolicy{})
	if p.Disposition != DispositionPublished || p.Generation != before.ID() || p.Directory == before.Published().Directory {
		t.Fatalf("publication %+v", p)
	}
	a.verify()
	g := a.pin()
	if len(g.Manifest().Segments) != 1 || g.MergeDue() {
		t.Fatalf("%d segments", len(g.Manifest().Segments))
	}
	if got := a.all(g); !slices.Equal(got, want) {
		t.Fatalf("events %q, before %q", got, want)
	}
	if n := g.records.Metrics().Levels[0].TablesCount; n >= mergeFanIn {
		t.Fatalf("%d tables of keys lie over each other", n)
	}
	if p := a.merge(MergePolicy{}); p.Disposition != DispositionReused {
		t.Fatalf("merging again: %+v", p)
	}
	// The merged state is a base like any other.
	whole.sessions[0].events = span("one.0", 0, 30)
	a.publish(whole)
	a.verify()
	if got := a.all(a.pin()); len(got) != 30 {
		t.Fatalf("%d events", len(got))
	}
}

// Refreshes that only change states add no segment, but a table each.
func TestMergeOfTables(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	s := numbered("one", 1, 2)
	a.publish(s)
	state := Present
	for n := 0; !a.pin().MergeDue(); n++ {
		if n > 2*maxTables {
			t.Fatal("no merge is ever due")
		}
		state = Gone - state
		a.refresh(func(c *Candidate) { a.must(c.SetState(s.id(), state)) })
	}
	id := a.pin().ID()
	if p := a.merge(MergePolicy{}); p.Disposition != DispositionPublished || p.Generation != id {
		t.Fatalf("publication %+v", p)
	}
	a.verify()
	g := a.pin()
	if n := g.records.Metrics().Levels[0].TablesCount; n >= levelZeroTables {
		t.Fatalf("%d tables of keys lie over each other", n)
	}
	if cert, err := g.Certificate(s.id()); err != nil || cert.State != state {
		t.Fatalf("certificate %+v, %v", cert, err)
	}
}

func TestMergeOfDeletions(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 12), numbered("two", 1, 4))
	a.refresh(func(c *Candidate) { a.must(c.Drop(numbered("two", 1, 4).id())) }) // exactly a quarter
	if a.pin().MergeDue() {
		t.Fatal("a quarter of deletions is not yet due")
	}
	s := numbered("one", 1, 12)
	a.refresh(func(c *Candidate) {
		a.must(c.DropSession(s.sessionID("one-s0"), 0))
		a.replace(c, numbered("three", 1, 2))
	})
	if n := len(a.pin().Manifest().Segments); n != 1 {
		t.Fatalf("%d segments: one without live events stays", n)
	}
	a.publish(numbered("four", 2, 8))
	a.refresh(func(c *Candidate) { a.must(c.DropSession(numbered("four", 2, 8).sessionID("four-s0"), 0)) })
	if !a.pin().MergeDue() {
		t.Fatal("more than a quarter of deletions is due")
	}
	a.merge(MergePolicy{})
	a.verify()
	g := a.pin()
	for _, s := range g.Manifest().Segments {
		if s.Docs != s.Live {
			t.Fatalf("segment %+v", s)
		}
	}
	if got := a.all(g); len(got) != 10 {
		t.Fatalf("events %q", got)
	}
}

// Erasing leaves no byte of what was deleted in the new generation, and the older ones go as soon as nobody reads them.
func TestErase(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	const secret = "xyzzysecretplugh"
	s := numbered("one", 2, 3)
	s.sessions[1].title = "title of " + secret
	for i := range s.sessions[1].events {
		s.sessions[1].events[i].text = fmt.Sprintf("%s %d", secret, i)
		s.sessions[1].events[i].files = []string{"/home/" + secret}
	}
	s.sessions[1].events[2].copyOf = "a/1"
	a.publish(numbered("two", 1, 3), s)
	reader := a.pin()
	if found := grep(t, a.Dir(), secret); len(found) < 2 { // records and small keys
		t.Fatalf("the test cannot see what it looks for, only in %v", found)
	}
	c, err := a.Begin(context.Background(), BeginOptions{})
	a.must(err)
	a.must(c.DropSession(s.sessionID("one-s1"), 0))
	p, err := c.Publish(context.Background(), PublishOptions{Erase: true})
	a.must(err)
	a.verify()
	pointer, err := a.Pointer()
	a.must(err)
	if pointer.Previous != nil {
		t.Fatal("the previous generation is kept")
	}
	if found := grep(t, a.generationPath(p.Directory), secret); len(found) > 0 {
		t.Fatalf("still in %v", found)
	}
	if len(a.all(reader)) != 9 {
		t.Fatal("the reader lost its generation")
	}
	a.must(reader.Close())
	a.publish(numbered("three", 1, 1))
	if found := grep(t, a.Dir(), secret); len(found) > 0 {
		t.Fatalf("still in %v", found)
	}
	if got := a.all(a.pin()); len(got) != 7 {
		t.Fatalf("events %q", got)
	}
}

// grep returns the files below dir that contain text as it is. Test data is too short to be compressed beyond recognition.
func grep(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	for path := range files(t, dir) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) || strings.Contains(filepath.Base(path), text) {
			found = append(found, path)
		}
	}
	return found
}

func TestSizeTiers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes int64
		tier  int
	}{{0, 0}, {smallestTier - 1, 0}, {smallestTier, 1}, {7 * smallestTier, 1}, {8 * smallestTier, 2}, {63 * smallestTier, 2}, {64 * smallestTier, 3}} {
		if got := sizeTier(c.bytes); got != c.tier {
			t.Errorf("%d bytes: tier %d, want %d", c.bytes, got, c.tier)
		}
	}
}
