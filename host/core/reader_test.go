package core

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/fault"
)

// A pinned reader keeps its generation through any number of publications; afterwards it is collected.
func TestReaderDuringPublications(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	first := a.publish(numbered("one", 1, 3))
	g, err := a.Pin(context.Background())
	a.must(err)
	for _, n := range []int{4, 5, 6} {
		a.publish(numbered("one", 1, n))
	}
	if got := a.all(g); len(got) != 3 {
		t.Fatalf("the pinned generation has %d events", len(got))
	}
	held, err := a.PinID(context.Background(), first.Generation)
	a.must(err)
	if got := a.all(held); len(got) != 3 {
		t.Fatalf("the held generation has %d events", len(got))
	}
	a.must(held.Close())
	previous, err := a.PinPrevious(context.Background())
	a.must(err)
	if got := a.all(previous); len(got) != 5 {
		t.Fatalf("the previous generation has %d events", len(got))
	}
	again, err := a.PinID(context.Background(), previous.ID())
	a.must(err)
	a.must(again.Close())
	a.must(previous.Close())
	a.must(g.Close())
	a.must(g.Close())
	syscall.ForkLock.RLock() // a process that another test starts just now holds our locks until it runs
	syscall.ForkLock.RUnlock()
	a.publish(numbered("one", 1, 7))
	if _, err := a.PinID(context.Background(), first.Generation); fault.Code(err) != CodeGenerationNotRetained {
		t.Fatalf("pin of a generation that is gone: %v", err)
	}
	if left := leftovers(t, a.Store, ""); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// The sources are counted by what saw them last, whether that is in a certificate or beside the generation.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	one, two, three := numbered("one", 1, 3), numbered("two", 1, 3), numbered("three", 1, 3)
	a.publish(one, two)
	sight := func(s source, route string) {
		a.refresh(func(c *Candidate) { a.must(c.Touch(s.id(), Sighting{Route: route})) })
	}
	expect := func(want ...Delivery) {
		t.Helper()
		if got := a.pin().Deliveries(); !slices.Equal(got, want) {
			t.Fatalf("delivered by %v, want %v", got, want)
		}
		a.verify()
	}
	expect(Delivery{testProvider, "r", 2})
	sight(one, "q")
	sight(two, "s")
	sight(one, "s")
	expect(Delivery{testProvider, "s", 2})
	a.publish(two, three) // two is read again where it was at first, and is as it was
	expect(Delivery{testProvider, "r", 2}, Delivery{testProvider, "s", 1})
	a.refresh(func(c *Candidate) { a.must(c.Drop(one.id())) })
	expect(Delivery{testProvider, "r", 2})
	a.refresh(func(c *Candidate) {
		a.must(c.Touch(three.id(), Sighting{Route: "t"}))
		a.must(c.SetState(three.id(), Gone))
	})
	expect(Delivery{testProvider, "r", 1}, Delivery{testProvider, "t", 1})
}

// Readers never write: not into a data root they may not write to, and not beside it.
func TestReadOnlyDataRoot(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("file modes say nothing there")
	}
	a := newArchive(t)
	a.publish(numbered("one", 1, 5))
	before := files(t, a.Dir())
	g := a.pin()
	if got := a.all(g); len(got) != 5 {
		t.Fatalf("%d events", len(got))
	}
	a.must(g.Close())
	if after := files(t, a.Dir()); len(after) != len(before) {
		t.Fatal("a reader made files")
	}
	a.must(filepath.Walk(a.Dir(), func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.IsDir() {
			return os.Chmod(path, 0o500)
		}
		return os.Chmod(path, 0o400)
	}))
	t.Cleanup(func() {
		filepath.Walk(a.Dir(), func(path string, _ os.FileInfo, _ error) error { return os.Chmod(path, 0o700) })
	})
	g = a.pin()
	if got := a.all(g); len(got) != 5 {
		t.Fatalf("%d events", len(got))
	}
	if os.Getuid() != 0 { // root may write anywhere
		if _, err := a.Begin(context.Background(), BeginOptions{}); fault.Code(err) != fault.ResourceUnavailable {
			t.Fatalf("a writer on a read-only data root: %v", err)
		}
	}
}

func TestDataRootThatCannotBe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(path, "core"), Options{}).Begin(context.Background(), BeginOptions{}); fault.Code(err) != fault.ResourceUnavailable {
		t.Fatalf("a store below a file: %v", err)
	}
}

// Damaged observations cost a look at the sources, nothing else; the doctor reports them.
func TestDamagedObservations(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	s := numbered("one", 1, 5)
	a.publish(s)
	a.refresh(func(c *Candidate) { a.must(c.Touch(s.id(), Sighting{Locator: "moved"})) })
	p, err := a.Pointer()
	a.must(err)
	a.must(os.WriteFile(a.observationPath(p.Active.Directory), []byte("x"), fileMode))
	cert, err := a.pin().Certificate(s.id())
	a.must(err)
	if cert.Locator != "one.jsonl" {
		t.Fatalf("sighting %+v", cert.Sighting)
	}
	if r, err := a.Verify(context.Background(), false, nil); err != nil || r.OK() {
		t.Fatalf("the doctor finds nothing (%v)", err)
	}
	a.refresh(func(c *Candidate) { a.must(c.Touch(s.id(), Sighting{Locator: "moved"})) })
	a.verify()
}

func TestDamagedAuthority(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 5))
	p, err := a.Pointer()
	a.must(err)
	manifest := filepath.Join(a.generationPath(p.Active.Directory), manifestFile)
	damages := map[string]func(b []byte) []byte{
		"truncated":     func(b []byte) []byte { return b[:len(b)/2] },
		"empty":         func([]byte) []byte { return nil },
		"not canonical": func(b []byte) []byte { return append(b, '\n') },
		"spaced":        func(b []byte) []byte { return bytes.Replace(b, []byte(`:`), []byte(`: `), 1) },
		"unknown":       func(b []byte) []byte { return append([]byte(`{"x":1,`), b[1:]...) },
		"flipped":       func(b []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 4; return b },
		"garbage":       func([]byte) []byte { return []byte("hello") },
	}
	for _, path := range []string{a.pointerPath(), manifest} {
		content, err := os.ReadFile(path)
		a.must(err)
		for name, damage := range damages {
			a.must(os.WriteFile(path, damage(content), fileMode))
			if _, err := a.Pin(context.Background()); fault.Code(err) != fault.PublicationAuthorityInvalid {
				t.Errorf("%s %s: %v", name, filepath.Base(path), err)
			} else if f := fault.From(err); f.Retryable == nil || *f.Retryable || f.Hint == "" {
				t.Errorf("%s %s: fault %+v", name, filepath.Base(path), f)
			}
			if _, err := a.Begin(context.Background(), BeginOptions{}); err == nil {
				t.Errorf("%s %s: a writer went on", name, filepath.Base(path))
			}
			if r, err := a.Verify(context.Background(), false, nil); err != nil || r.OK() {
				t.Errorf("%s %s: verification found nothing (%v)", name, filepath.Base(path), err)
			}
		}
		a.must(os.WriteFile(path, content, fileMode))
	}
	a.verify()
	a.must(os.Remove(manifest))
	if _, err := a.Pin(context.Background()); fault.Code(err) != fault.PublicationAuthorityInvalid {
		t.Errorf("missing manifest: %v", err)
	}
}

func TestMissingAndResizedFiles(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 5))
	g := a.pin()
	dir := a.generationPath(g.Published().Directory)
	for _, f := range g.Manifest().Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		content, err := os.ReadFile(path)
		a.must(err)
		a.must(os.Remove(path))
		if _, err := a.Pin(context.Background()); fault.Code(err) != fault.IndexCorruption {
			t.Errorf("without %s: %v", f.Name, err)
		}
		a.must(os.WriteFile(path, append(content, 'x'), fileMode))
		if _, err := a.Pin(context.Background()); fault.Code(err) != fault.IndexCorruption {
			t.Errorf("with a longer %s: %v", f.Name, err)
		}
		a.must(os.WriteFile(path, content, fileMode))
	}
	a.verify()
}

// Every flipped byte of every file is found by the deep check.
func TestDeepVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	template := newArchive(t)
	template.publish(numbered("one", 2, 6))
	p, err := template.Pointer()
	template.must(err)
	names := template.pin().Manifest().Files
	for _, f := range names {
		if f.Bytes == 0 {
			continue
		}
		a := &archive{t: t, Store: Open(copyTree(t, template.Dir()), Options{})}
		path := filepath.Join(a.generationPath(p.Active.Directory), filepath.FromSlash(f.Name))
		content, err := os.ReadFile(path)
		a.must(err)
		content[len(content)/3] ^= 0x40
		a.must(os.WriteFile(path, content, fileMode))
		r, err := a.Verify(context.Background(), true, nil)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if r.OK() {
			t.Errorf("%s: nothing found", f.Name)
		}
	}
	a := &archive{t: t, Store: Open(copyTree(t, template.Dir()), Options{})}
	a.must(os.WriteFile(filepath.Join(a.generationPath(p.Active.Directory), "stray"), nil, fileMode))
	if r, err := a.Verify(context.Background(), false, nil); err != nil || r.OK() {
		t.Errorf("a stray file is not found (%v)", err)
	}
}

func TestContractMismatch(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	gone := numbered("gone", 2, 5)
	gone.state, gone.frontier = Gone, "f"
	gone.sessions[0].events[2].excluded = true
	a.publish(gone, numbered("one", 1, 4))
	rewriteManifest(a, func(m *Manifest) { m.Contract = strings.Repeat("ab", 32) })

	_, err := a.Pin(context.Background())
	if fault.Code(err) != fault.IndexIncompatible || fault.From(err).Hint == "" {
		t.Fatalf("pin: %v", err)
	}
	if err := foreignManifest([]byte(`{"schema_version":2,"new":[]}`), io.ErrUnexpectedEOF); fault.Code(err) != fault.IndexIncompatible {
		t.Fatalf("a manifest of a later version: %v", err)
	}
	if _, err := a.Begin(context.Background(), BeginOptions{}); fault.Code(err) != fault.IndexIncompatible {
		t.Fatalf("begin: %v", err)
	}
	c, err := a.Begin(context.Background(), BeginOptions{Rebuild: true})
	a.must(err)
	if c.Base() != nil || c.Old() == nil {
		t.Fatal("a rebuild starts from nothing, with the old generation at hand")
	}
	a.replace(c, numbered("one", 1, 6))
	a.must(c.Carry(context.Background(), c.Old(), gone.id(), nil))
	if err := c.Carry(context.Background(), c.Old(), numbered("two", 1, 1).id(), nil); fault.Code(err) != fault.NotFound {
		t.Errorf("carrying an unknown source: %v", err)
	}
	_, err = c.Publish(context.Background(), PublishOptions{})
	a.must(err)
	a.verify()
	g := a.pin()
	if n := g.Manifest().Stats; n.Events != 16 || n.Searchable != 15 || n.GoneSources != 1 || n.Frontiers != 1 {
		t.Fatalf("statistics %+v", n)
	}
	if _, ok, err := g.EventDoc(gone.eventID("gone-s1", "3")); !ok || err != nil {
		t.Fatalf("a carried event is not found: %v", err)
	}
	if previous, err := a.PinPrevious(context.Background()); previous != nil || err != nil {
		t.Fatalf("the incompatible generation can be pinned: %v", err)
	}
	// The same content read from scratch has the same id.
	b := newArchive(t)
	if p := b.publish(gone, numbered("one", 1, 6)); p.Generation != g.ID() {
		t.Fatal("carried content has another id")
	}
}

// rewriteManifest changes the manifest of the active generation as another version of ctx might have written it.
func rewriteManifest(a *archive, change func(*Manifest)) {
	a.t.Helper()
	g := a.pin()
	m := *g.Manifest()
	change(&m)
	path := filepath.Join(a.generationPath(g.Published().Directory), manifestFile)
	a.must(os.WriteFile(path, m.encode(), fileMode))
	f, err := hashFile(path)
	a.must(err)
	p, err := a.Pointer()
	a.must(err)
	p.Active.Manifest = hex.EncodeToString(f.Digest[:])
	a.must(a.writePointer(p))
}

func TestRebuildWithADamagedPointer(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 4))
	a.must(os.WriteFile(a.pointerPath(), []byte("{"), fileMode))
	c, err := a.Begin(context.Background(), BeginOptions{Rebuild: true})
	a.must(err)
	if entries, err := os.ReadDir(filepath.Join(a.Dir(), generationsDir)); err != nil || len(entries) != 2 {
		t.Fatalf("%d directories before the rebuild is published (%v)", len(entries), err)
	}
	a.replace(c, numbered("one", 1, 5))
	_, err = c.Publish(context.Background(), PublishOptions{})
	a.must(err)
	a.verify()
	if left := leftovers(t, a.Store, ""); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// The active generation changes again and again while a reader opens: after some tries it gives up with a fault that says so.
func TestGenerationRace(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 1))
	// A collector holds the lease of what the pointer names, which only a reader with an old pointer meets.
	p, err := a.Pointer()
	a.must(err)
	l, err := a.takeLease(p.Active.Directory, true)
	a.must(err)
	_, err = a.Pin(context.Background())
	f := fault.From(err)
	if f == nil || f.Code != fault.GenerationChanged || f.Fields["failure_kind"] != "active_generation_race" || f.Retryable == nil || !*f.Retryable {
		t.Fatalf("fault %+v", f)
	}
	a.must(l.release())
	a.must(a.pin().Close())
	a.must(os.Remove(a.leasePath(p.Active.Directory)))
	if _, err := a.Pin(context.Background()); fault.Code(err) != fault.PublicationAuthorityInvalid {
		t.Fatalf("pin without a lease file: %v", err)
	}
	// The next writer makes it again.
	a.publish(numbered("two", 1, 1))
	a.verify()
}

// Readers come and go while a writer publishes: each sees exactly one state.
func TestReadersAndWriter(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(numbered("one", 1, 1))
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			last := 0
			for {
				select {
				case <-stop:
					return
				default:
				}
				g, err := a.Pin(context.Background())
				if fault.Code(err) == fault.GenerationChanged {
					continue
				}
				if err != nil {
					t.Errorf("pin: %s", describe(err))
					return
				}
				n := 0
				it := g.Range(nil, nil, false)
				for it.Next() {
					n++
				}
				if it.Err() != nil || n < last || uint64(n) != g.Manifest().Stats.Events {
					t.Errorf("%d events after %d, manifest %d: %v", n, last, g.Manifest().Stats.Events, it.Err())
				}
				last = n
				it.Close()
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for n := 2; n < 12; n++ {
		a.publish(numbered("one", 1, n))
	}
	close(stop)
	wait.Wait()
	a.verify()
}

func TestTwoWriters(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	c, err := a.Begin(context.Background(), BeginOptions{})
	a.must(err)
	start := time.Now()
	_, err = a.Begin(context.Background(), BeginOptions{})
	f := fault.From(err)
	if f == nil || f.Code != fault.Busy || f.Message != "another refresh is running" || f.Retryable == nil || !*f.Retryable {
		t.Fatalf("fault %+v", f)
	}
	if waited := time.Since(start); waited < writerWait {
		t.Fatalf("gave up after %v", waited)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Begin(ctx, BeginOptions{}); err == nil {
		t.Fatal("a cancelled writer came in")
	}
	go func() {
		time.Sleep(20 * time.Millisecond)
		c.Discard()
	}()
	a.publish(numbered("one", 1, 1)) // waits for the first to end
	if left := leftovers(t, a.Store, ""); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}
