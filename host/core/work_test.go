package core

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/agenthistory/ctx/host/record"
)

// wide publishes an archive with as many segments as millions of events have, and as many sources as a busy machine.
func wide(a *archive, sources, events int, segmentDocs uint32) {
	a.t.Helper()
	c, err := a.Begin(context.Background(), BeginOptions{segmentDocs: segmentDocs})
	a.must(err)
	for i := range sources {
		s := numbered(fmt.Sprintf("source-%04d", i), 1, events)
		s.frontier = "f"
		a.replace(c, s)
	}
	_, err = c.Publish(context.Background(), PublishOptions{})
	a.must(err)
}

func words(r *rand.Rand, bytes int) string {
	var b strings.Builder
	for b.Len() < bytes {
		fmt.Fprintf(&b, "w%x ", r.Uint32N(1<<20))
	}
	return b.String()
}

// An append to an archive of 70 segments writes at most 64 KiB and 8 times the appended bytes, and reads no old segment.
func TestBytesOfAnAppend(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	a := newArchiveWith(t, Options{Write: func(n int) error { written.Add(int64(n)); return nil }})
	wide(a, 350, 6, 30)
	g := a.pin()
	if n := len(g.Manifest().Segments); n < 70 {
		t.Fatalf("only %d segments", n)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ events, bytes int }{{1, 1000}, {200, 1000}} {
		whole := numbered("source-0007", 1, 6)
		added := source{name: "source-0007", sessions: []session{{name: "source-0007-s0", title: "title 0"}}}
		for i := range c.events {
			added.sessions[0].events = append(added.sessions[0].events,
				event{key: fmt.Sprintf("new %d %d", c.events, i), sequence: uint64(100 + i), time: 1_700_001_000_000 + int64(i), text: words(r, c.bytes)})
		}
		whole.sessions[0].events = append(whole.sessions[0].events, added.sessions[0].events...)
		whole.frontier = "g"
		cert := whole.certificate()
		cert.CertifiedBytes += 1 << 20
		cert.Counts = Counts{Complete: 1000 + uint64(c.events), Retained: 1000 + uint64(c.events)}
		written.Store(0)
		a.refresh(func(cand *Candidate) {
			w, err := cand.Append(added.spec())
			a.must(err)
			a.must(added.feed(w))
			a.must(w.Finish(cert, []byte("g")))
		})
		limit := int64(64<<10 + 8*c.events*c.bytes)
		if n := written.Load(); n > limit {
			t.Errorf("appending %d events of %d bytes wrote %d bytes, more than %d", c.events, c.bytes, n, limit)
		} else {
			t.Logf("appending %d events of %d bytes wrote %d bytes", c.events, c.bytes, n)
		}
	}
	a.verify()
}

// A refresh that finds nothing new writes nothing.
func TestBytesOfNothing(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	a := newArchiveWith(t, Options{Write: func(n int) error { written.Add(int64(n)); return nil }})
	a.publish(numbered("one", 1, 10))
	before := files(t, a.Dir())
	written.Store(0)
	if p := a.refresh(func(*Candidate) {}); p.Disposition != DispositionReused {
		t.Fatalf("publication %+v", p)
	}
	if n := written.Load(); n != 0 {
		t.Fatalf("%d bytes written", n)
	}
	after := files(t, a.Dir())
	for path, was := range before {
		if after[path] != was {
			t.Errorf("%s changed", path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
}

// Segments and tables are shared between generations, not copied.
func TestIncrementalBuildLinks(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 10))
	old := a.pin()
	a.publish(numbered("two", 1, 10))
	g := a.pin()
	shared := 0
	for _, f := range g.Manifest().Files {
		x, err := os.Stat(filepath.Join(a.generationPath(old.Published().Directory), filepath.FromSlash(f.Name)))
		if err != nil {
			continue
		}
		y, err := os.Stat(filepath.Join(a.generationPath(g.Published().Directory), filepath.FromSlash(f.Name)))
		a.must(err)
		if os.SameFile(x, y) {
			shared++
		}
	}
	if shared < 4 { // postings, columns, records, keys
		t.Fatalf("only %d files are shared", shared)
	}
}

// Without hard links the files are copied, and checked like new ones.
func TestFileSystemWithoutLinks(t *testing.T) {
	t.Parallel()
	a := newArchiveWith(t, Options{noLinks: true})
	a.publish(numbered("one", 2, 10))
	old := a.pin()
	a.publish(numbered("two", 1, 10), numbered("one", 1, 9))
	a.verify()
	if got := len(a.all(a.pin())); got != 19 {
		t.Fatalf("%d events", got)
	}
	if got := len(a.all(old)); got != 20 {
		t.Fatalf("%d events in the older generation", got)
	}
	for path := range files(t, a.generationPath(a.pin().Published().Directory)) {
		name, err := filepath.Rel(a.generationPath(a.pin().Published().Directory), path)
		a.must(err)
		x, err := os.Stat(path)
		a.must(err)
		if y, err := os.Stat(filepath.Join(a.generationPath(old.Published().Directory), name)); err == nil && os.SameFile(x, y) {
			t.Errorf("%s is a link", name)
		}
	}
}

// Secondary keys go to disk when they are many; the result is the same.
func TestSpilledRuns(t *testing.T) {
	t.Parallel()
	build := func(memory int64) (string, *archive) {
		a := newArchive(t)
		c, err := a.Begin(context.Background(), BeginOptions{segmentDocs: 50})
		a.must(err)
		c.runs.limit = memory
		r := rand.New(rand.NewPCG(5, 6))
		for i := range 4 {
			s := tangled(fmt.Sprintf("s%d", i), r, 40)
			w, err := c.Replace(s.spec())
			a.must(err)
			a.must(s.feed(w))
			for _, k := range c.workers.made {
				a.must(k.entries.flush())
			}
			a.must(w.Finish(s.certificate(), nil))
		}
		spilled := c.runs.spills[runEvent].file != nil
		if spilled != (memory == 0) {
			t.Errorf("with %d bytes of memory: spilled %v", memory, spilled)
		}
		p, err := c.Publish(context.Background(), PublishOptions{})
		a.must(err)
		a.verify()
		return p.Generation, a
	}
	x, a := build(0)
	y, b := build(1 << 30)
	if x != y {
		t.Fatal("other ids")
	}
	if got, want := a.all(a.pin()), b.all(b.pin()); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Fatal("other events")
	}
}

// What a batch held is free as soon as it has run, although its source is still open: the memory of an import does not grow with it.
func TestBatchesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.refresh(func(c *Candidate) {
		s := numbered("one", 1, 3)
		w, err := c.Replace(s.spec())
		a.must(err)
		var held []weak.Pointer[[1 << 20]byte]
		for range 8 {
			message := new([1 << 20]byte)
			held = append(held, weak.Make(message))
			a.must(w.AddBatch(len(message), func(func(*record.Event) error) error { message[0]++; return nil }))
		}
		a.must(w.Wait())
		for i, message := range held {
			deadline := time.Now().Add(time.Minute)
			for message.Value() != nil && time.Now().Before(deadline) {
				runtime.GC()
			}
			if message.Value() != nil {
				t.Errorf("batch %d is still in memory", i)
			}
		}
		a.must(s.feed(w))
		a.must(w.Finish(s.certificate(), nil))
	})
}
