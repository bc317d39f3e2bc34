package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/fault"
)

// The very first publication fails at every step, and for every reason: it never claims to be active when it is not.
func TestFirstPublicationFailsAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, step := range steps() {
		for _, broken := range []error{syscall.ENOSPC, os.ErrPermission} {
			var met atomic.Bool
			a := newArchiveWith(t, Options{Step: func(name string) error {
				if name == step && !met.Swap(true) {
					return broken
				}
				return nil
			}})
			err := a.tryRefresh(context.Background(), PublishOptions{}, "new")
			p, perr := a.Pointer()
			a.must(perr)
			switch {
			case !met.Load():
				if err != nil || whichState(a) != "new" {
					t.Errorf("%s was not met: %v", step, err)
				}
			case step == StepPointerSync:
				if p.Active == nil || whichState(a) != "new" || !errors.Is(err, broken) || !strings.Contains(err.Error(), "active") {
					t.Errorf("%s: %+v, %v", step, p, err)
				}
			default:
				want := map[error]string{syscall.ENOSPC: "disk is full", os.ErrPermission: "cannot be written"}[broken]
				if p.Active != nil || !errors.Is(err, broken) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %+v, %v", step, p, err)
				}
			}
			if left := leftovers(t, a.Store, ""); len(left) > 0 {
				t.Errorf("%s: left behind: %v", step, left)
			}
			met.Store(true)
			a.refresh(func(c *Candidate) { moveTo(a, c, "new") })
			if whichState(a) != "new" {
				t.Errorf("%s: the next refresh fails", step)
			}
		}
	}
}

// truncate cuts the files of the active generation that match; copies are cut, not the files that older generations share.
func (a *archive) truncate(pattern string) {
	a.t.Helper()
	p, err := a.Pointer()
	a.must(err)
	found, err := filepath.Glob(filepath.Join(a.generationPath(p.Active.Directory), pattern))
	a.must(err)
	if len(found) == 0 {
		a.t.Fatalf("nothing matches %s", pattern)
	}
	for _, path := range found {
		b, err := os.ReadFile(path)
		a.must(err)
		a.must(os.Remove(path))
		a.must(os.WriteFile(path, b[:len(b)/2], fileMode))
	}
}

func TestPinFallsBackToThePreviousGeneration(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	first := a.publish(numbered("one", 1, 4))
	a.publish(numbered("one", 1, 5))
	if g := a.pin(); g.Fallback() != nil {
		t.Fatalf("fallback of a sound generation: %v", g.Fallback())
	}
	a.truncate("text/*.seg")
	g := a.pin()
	if g.ID() != first.Generation || fault.Code(g.Fallback()) != fault.IndexCorruption || len(a.all(g)) != 4 {
		t.Fatalf("pinned %s, fallback %v", g.ID(), g.Fallback())
	}
	if hint := fault.From(g.Fallback()).Hint; !strings.Contains(hint, "ctx import --all") {
		t.Fatalf("hint %q", hint)
	}
	if r, err := a.Verify(context.Background(), false, nil); err != nil || r.OK() {
		t.Fatalf("verification looks elsewhere: %+v, %v", r, err)
	}
	if _, err := a.Begin(context.Background(), BeginOptions{}); fault.Code(err) != fault.IndexCorruption {
		t.Fatalf("a writer starts from a damaged generation: %v", err)
	}
}

// A rebuild carries over what can still be read, whatever is damaged.
func TestRebuildOfADamagedIndex(t *testing.T) {
	t.Parallel()
	damages := map[string]func(a *archive){
		"pointer":  func(a *archive) { a.must(os.WriteFile(a.pointerPath(), []byte("{"), fileMode)) },
		"manifest": func(a *archive) { a.truncate(manifestFile) },
		"text":     func(a *archive) { a.truncate("text/*.seg") },
		"tables":   func(a *archive) { a.truncate("records/*.sst") },
		"store":    func(a *archive) { a.truncate("records/MANIFEST-*") },
		"pointer and manifest": func(a *archive) {
			a.truncate(manifestFile)
			a.must(os.WriteFile(a.pointerPath(), nil, fileMode))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			gone := numbered("gone", 1, 6)
			gone.state = Gone
			a.publish(numbered("one", 1, 4), gone)
			a.publish(numbered("one", 1, 5))
			damage(a)
			before, err := os.ReadDir(filepath.Join(a.Dir(), generationsDir))
			a.must(err)
			c, err := a.Begin(context.Background(), BeginOptions{Rebuild: true})
			a.must(err)
			if c.Old() == nil {
				t.Fatal("nothing to carry over from")
			}
			if now, err := os.ReadDir(filepath.Join(a.Dir(), generationsDir)); err != nil || len(now) != len(before)+1 {
				t.Fatalf("%d directories before the rebuild is published, before it %d (%v)", len(now), len(before), err)
			}
			a.replace(c, numbered("one", 1, 5))
			a.must(c.Carry(context.Background(), c.Old(), gone.id(), nil))
			_, err = c.Publish(context.Background(), PublishOptions{})
			a.must(err)
			a.verify()
			if n := a.pin().Manifest().Stats; n.Events != 11 || n.GoneSources != 1 {
				t.Fatalf("statistics %+v", n)
			}
			if g, err := a.PinPrevious(context.Background()); g != nil || err != nil {
				t.Fatalf("the damaged generation is kept: %v", err)
			}
			if left := leftovers(t, a.Store, ""); len(left) > 0 {
				t.Fatalf("left behind: %v", left)
			}
		})
	}
}

// With only one generation, of which one table of records is gone, the sources in other tables are carried over.
func TestRebuildFromRemains(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	c, err := a.Begin(context.Background(), BeginOptions{segmentDocs: 10, Workers: 1})
	a.must(err)
	for _, name := range []string{"one", "two"} {
		a.replace(c, numbered(name, 1, 10))
	}
	_, err = c.Publish(context.Background(), PublishOptions{})
	a.must(err)
	g := a.pin()
	one, _, err := g.EventDoc(numbered("one", 1, 1).eventID("one-s0", "3"))
	a.must(err)
	cut := ""
	tables, err := g.records.SSTables()
	a.must(err)
	for _, level := range tables {
		for _, table := range level {
			if k := table.Smallest.UserKey; k[0] == keyRecord && docOf(k).Segment == one.Segment {
				cut = fmt.Sprintf("records/%s.sst", table.BackingSSTNum)
			}
		}
	}
	a.must(g.Close())
	a.truncate(cut)
	c, err = a.Begin(context.Background(), BeginOptions{Rebuild: true})
	a.must(err)
	if err := c.Carry(context.Background(), c.Old(), numbered("one", 1, 1).id(), nil); fault.Code(err) != fault.IndexCorruption {
		t.Fatalf("carrying what is lost: %v", err)
	}
	a.must(c.Carry(context.Background(), c.Old(), numbered("two", 1, 1).id(), nil))
	_, err = c.Publish(context.Background(), PublishOptions{})
	a.must(err)
	a.verify()
	if got := a.all(a.pin()); len(got) != 10 {
		t.Fatalf("events %q", got)
	}
}

// Append frontiers and times taken from files are no content.
func TestWhatIsNoContent(t *testing.T) {
	t.Parallel()
	s := numbered("one", 1, 3)
	build := func(frontier string, modified int64, approximate bool) (*archive, Publication) {
		a := newArchive(t)
		s.frontier = frontier
		return a, a.refresh(func(c *Candidate) { a.timed(c, s, modified, approximate) })
	}
	a, first := build("", 1000, true)
	if _, p := build("here", 2000, true); p.Generation != first.Generation {
		t.Error("the id depends on frontiers or file times")
	}
	if _, p := build("", 2000, false); p.Generation == first.Generation {
		t.Error("the id does not depend on session times")
	}
	s.frontier = ""
	if p := a.refresh(func(c *Candidate) { a.timed(c, s, 3000, true) }); p.Disposition != DispositionReused {
		t.Errorf("a touched file makes a generation: %+v", p)
	}
}

func (a *archive) timed(c *Candidate, s source, ms int64, approximate bool) {
	a.t.Helper()
	w, err := c.Replace(s.spec())
	a.must(err)
	a.must(s.feed(w))
	r := s.record(s.sessions[0])
	r.Meta.StartedAt, r.Meta.EndedAt, r.Meta.ApproximateTimes = &ms, &ms, approximate
	_, err = w.Session(r)
	a.must(err)
	a.must(w.Finish(s.certificate(), []byte(s.frontier)))
}

// What is fatal for the record store, in any goroutine, is an error of the candidate.
func TestFatalErrorOfTheRecordStore(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(r *candidateRecords) error{
		"caller": func(r *candidateRecords) error { r.Fatalf("broken %d", 1); return nil },
		"background": func(r *candidateRecords) error {
			go r.Fatalf("broken %d", 1)
			select {} // as a compaction that never ends
		},
	} {
		r := &candidateRecords{fs: newCandidateFS(newArchive(t).Store), fatal: make(chan error, 1)}
		var fatal fatalError
		if err := r.call(func() error { return f(r) }); !errors.As(err, &fatal) || !strings.Contains(err.Error(), "broken 1") {
			t.Errorf("%s: %v", name, err)
		}
		if r.fs.failure() == nil {
			t.Errorf("%s: later writes are not stopped", name)
		}
	}
}

func TestPinWaitsNoLongerThanItsCaller(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 1))
	p, err := a.Pointer()
	a.must(err)
	l, err := a.takeLease(p.Active.Directory, true)
	a.must(err)
	defer l.release()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		time.Sleep(pinPause / 2)
		cancel()
	}()
	if _, err := a.Pin(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("pin: %v", err)
	}
}

// Many one-line appends: a merge is due at 16 small segments, and whenever it comes it leaves few segments, few tables and the same id.
func TestMergeAfterManyAppends(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	const appends = 120
	whole := numbered("one", 1, 1)
	a.publish(whole)
	for i := 1; i <= appends; i++ {
		whole.sessions[0].events = span("one.0", 0, i+1)
		added := source{name: "one", sessions: []session{{name: "one-s0", title: "title 0", events: span("one.0", i, i+1)}}}
		a.refresh(func(c *Candidate) { a.appendTo(c, added, whole) })
		if g := a.pin(); g.MergeDue() != (i+1 >= mergeFanIn) {
			t.Fatalf("%d segments, due %v", len(g.Manifest().Segments), g.MergeDue())
		} else {
			a.must(g.Close())
		}
	}
	before := a.pin()
	want := a.all(before)
	p := a.merge(MergePolicy{})
	if p.Disposition != DispositionPublished || p.Generation != before.ID() {
		t.Fatalf("publication %+v", p)
	}
	g := a.pin()
	if n, tables := len(g.Manifest().Segments), g.records.Metrics().Levels[0].TablesCount; n > 2 || tables >= levelZeroTables || g.MergeDue() {
		t.Fatalf("%d segments, %d tables over each other", n, tables)
	}
	if got := a.all(g); !slices.Equal(got, want) || len(got) != appends+1 {
		t.Fatalf("%d events, before %d", len(got), len(want))
	}
	a.verify()
}
