package daemon

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/sources"
)

const generous = time.Minute

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// watching starts a watcher over routes of a fresh directory.
func watching(t *testing.T, limit int, routes func(dir string) []sources.Route) (w *watcher, dir string, poll []*polled) {
	t.Helper()
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w = newWatcher(limit)
	t.Cleanup(w.close)
	if w.fs == nil {
		t.Skip("this machine has no watchers to give")
	}
	return w, dir, w.watch(routes(dir), mkdir(t, dir, "data"))
}

// until waits for a change; others before it are passed over.
func (w *watcher) until(t *testing.T, what string, want change) {
	t.Helper()
	for timeout := time.After(generous); ; {
		select {
		case c := <-w.changes:
			if c == want {
				return
			}
		case <-timeout:
			t.Fatalf("%s: no %+v", what, want)
		}
	}
}

// silent checks that nothing was told: the change that is made last comes first.
func (w *watcher) silent(t *testing.T, what string, last func(), want change) {
	t.Helper()
	last()
	select {
	case c := <-w.changes:
		if c != want {
			t.Fatalf("%s: %+v was told", what, c)
		}
	case <-time.After(generous):
		t.Fatalf("%s: nothing was told at all", what)
	}
}

func TestWatchTree(t *testing.T) {
	w, dir, poll := watching(t, 100, func(dir string) []sources.Route {
		mkdir(t, dir, "projects", "old")
		return []sources.Route{{Provider: "claude", Path: filepath.Join(dir, "projects"), Status: sources.Available}}
	})
	if len(poll) > 0 {
		t.Fatalf("polled: %+v", poll[0])
	}
	root := filepath.Join(dir, "projects")
	old := filepath.Join(root, "old", "a.jsonl")
	write(t, old, "x")
	w.until(t, "a file in an old directory", change{provider: "claude", file: old})
	if err := os.Rename(old, old+".bak"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "a file that is called differently", change{provider: "claude"})
	deep := mkdir(t, root, "new")
	w.until(t, "a new directory", change{provider: "claude"})
	for deadline := time.Now().Add(generous); w.count() < 4 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	for len(w.changes) > 0 {
		<-w.changes
	}
	write(t, filepath.Join(deep, "b.jsonl"), "x")
	w.until(t, "a file in it", change{provider: "claude", file: filepath.Join(deep, "b.jsonl")})
	if err := os.Rename(root, filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the route disappears", change{provider: "claude", replan: true})
	w.watch([]sources.Route{{Provider: "claude", Path: root, Status: sources.Missing}}, filepath.Join(dir, "data"))
	for len(w.changes) > 0 {
		<-w.changes
	}
	w.silent(t, "a directory that moved away", func() {
		write(t, filepath.Join(dir, "away", "old", "a.jsonl"), "y")
		mkdir(t, root)
	}, change{provider: "claude", replan: true})
}

// A directory that gets another name takes all below it along.
func TestWatchRename(t *testing.T) {
	routes := func(dir string) []sources.Route {
		mkdir(t, dir, "home", "projects", "old", "deep")
		return []sources.Route{{Provider: "claude", Path: filepath.Join(dir, "home", "projects"), Status: sources.Available}}
	}
	w, dir, _ := watching(t, 100, routes)
	root := filepath.Join(dir, "home", "projects")
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(filepath.Join(root, "old"), filepath.Join(root, "new"))
	for deadline := time.Now().Add(generous); !w.sees(filepath.Join(root, "new", "deep")) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if w.sees(filepath.Join(root, "old", "deep")) {
		t.Error("a place is watched that is not there")
	}
	rename(filepath.Join(root, "new"), filepath.Join(root, "old"))
	file := filepath.Join(root, "old", "deep", "a")
	for range 2 {
		w.watch(routes(dir), filepath.Join(dir, "data"))
		for len(w.changes) > 0 {
			<-w.changes
		}
		write(t, file, "x")
		w.until(t, "a file below", change{provider: "claude", file: file})
	}
	rename(filepath.Join(dir, "home"), filepath.Join(dir, "kept"))
	w.until(t, "what holds the route goes", change{provider: "claude", replan: true})
	w.watch([]sources.Route{{Provider: "claude", Path: root, Status: sources.Missing}}, filepath.Join(dir, "data"))
	rename(filepath.Join(dir, "kept"), filepath.Join(dir, "home"))
	w.until(t, "it comes back", change{provider: "claude", replan: true})
}

func TestWatchFile(t *testing.T) {
	w, dir, _ := watching(t, 100, func(dir string) []sources.Route {
		write(t, filepath.Join(dir, "state.db"), "x")
		return []sources.Route{{Provider: "cursor", Path: filepath.Join(dir, "state.db"), Status: sources.Available}}
	})
	w.silent(t, "a neighbour", func() {
		write(t, filepath.Join(dir, "other.db"), "x")
		write(t, filepath.Join(dir, "state.db-shm"), "x")
		write(t, filepath.Join(dir, "state.db-wal"), "x")
	}, change{provider: "cursor", file: filepath.Join(dir, "state.db-wal")})
}

func TestWatchAwaited(t *testing.T) {
	w, dir, _ := watching(t, 100, func(dir string) []sources.Route {
		return []sources.Route{{Provider: "codex", Path: filepath.Join(dir, ".codex", "sessions"), Status: sources.Missing}}
	})
	w.silent(t, "something else in the home", func() {
		mkdir(t, dir, "elsewhere")
		mkdir(t, dir, ".codex")
	}, change{provider: "codex", replan: true})
}

func TestWatchDataRoot(t *testing.T) {
	w, dir, _ := watching(t, 100, func(string) []sources.Route { return nil })
	w.silent(t, "a usage count", func() {
		write(t, filepath.Join(dir, "data", "usage.sqlite"), "x")
		write(t, filepath.Join(dir, "data", "config.toml"), "x")
	}, change{root: true})
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the data root goes", change{root: true})
}

func TestWatchLimit(t *testing.T) {
	w, dir, poll := watching(t, 4, func(dir string) []sources.Route {
		for i := range 6 {
			mkdir(t, dir, "projects", strconv.Itoa(i))
		}
		return []sources.Route{{Provider: "claude", Path: filepath.Join(dir, "projects"), Status: sources.Available}}
	})
	if len(poll) != 1 || poll[0].Reason != "it has too many directories to watch" || w.count() != 1 {
		t.Fatalf("%d watched, polled %+v", w.count(), poll)
	}
	before := fingerprint(poll[0].Path)
	write(t, filepath.Join(dir, "projects", "5", "x"), "x")
	if fingerprint(poll[0].Path) == before {
		t.Error("a new file does not change the fingerprint")
	}
}

// What does not fit into the queue is told as one look at everything.
func TestWatchOverflow(t *testing.T) {
	w, dir, _ := watching(t, 100, func(dir string) []sources.Route {
		mkdir(t, dir, "projects")
		return []sources.Route{{Provider: "claude", Path: filepath.Join(dir, "projects"), Status: sources.Available}}
	})
	deadline := time.Now().Add(generous)
	for i := 0; !w.lost.Load() && time.Now().Before(deadline); i++ {
		write(t, filepath.Join(dir, "projects", strconv.Itoa(i)), "x")
	}
	if len(w.changes) != queueLength || !w.overflowed() || w.overflowed() {
		t.Errorf("%d changes wait", len(w.changes))
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	dir := mkdir(t, t.TempDir(), "d")
	file := filepath.Join(dir, "f")
	seen := map[uint64]string{0: "nothing"}
	look := func(what, path string) {
		t.Helper()
		sum := fingerprint(path)
		if sum != fingerprint(path) || seen[sum] != "" {
			t.Errorf("%s looks like %s", what, seen[sum])
		}
		seen[sum] = what
	}
	look("an empty directory", dir)
	write(t, file, "1")
	look("one file", dir)
	look("the file alone", file)
	write(t, file, "2")
	look("a longer file", dir)
	if err := os.Chtimes(file, time.Time{}, time.Unix(5, 0)); err != nil {
		t.Fatal(err)
	}
	look("another time", dir)
	write(t, file+"-wal", "3")
	look("a log beside the file", file)
	if err := os.Rename(file, filepath.Join(dir, "g")); err != nil {
		t.Fatal(err)
	}
	look("another name", dir)
}
