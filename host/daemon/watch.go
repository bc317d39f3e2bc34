package daemon

import (
	"errors"
	"hash/maphash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"

	"github.com/agenthistory/ctx/host/sources"
)

// queueLength bounds the changes that wait for the daemon. When it is full, changes were lost and everything is looked at.
const queueLength = 256

// maxWatches bounds what one watcher may hold. Where a watch costs an open file for every entry of a directory, that is what counts.
func maxWatches() int {
	if perEntry() {
		return 2048
	}
	return 16384
}

func perEntry() bool { return runtime.GOOS != "linux" && runtime.GOOS != "windows" }

// change is what a watcher tells.
type change struct {
	provider string // below whose routes something changed
	file     string // what; "" = more than the content of one file
	replan   bool   // a route appeared or disappeared: look at the routes again
	missed   bool   // changes may have been lost: look at everything
	root     bool   // something changed in the data root itself
}

// interest is why a directory is watched.
type interest struct {
	provider string
	tree     bool            // a directory of a route that is a tree: everything counts
	names    map[string]bool // else only these entries: a route that is a file, or the next part of one that is not there yet
	awaited  bool            // the names are awaited: their coming changes the routes
	root     bool            // the data root
}

// watcher turns changes below the routes into marks.
type watcher struct {
	changes chan change
	fs      *fsnotify.Watcher // nil: this machine gives none
	failure string            // why not

	mu    sync.Mutex
	dirs  map[string][]interest
	cost  int
	limit int

	lost atomic.Bool // changes were lost
}

func newWatcher(limit int) *watcher {
	w := &watcher{changes: make(chan change, queueLength), dirs: map[string][]interest{}, limit: limit}
	var err error
	if w.fs, err = fsnotify.NewWatcher(); err != nil {
		w.fs, w.failure = nil, "the system has no more watchers to give"
		return w
	}
	events := make(chan fsnotify.Event, 4*queueLength)
	go w.listen(w.fs, events)
	go w.sort(events)
	return w
}

func (w *watcher) close() {
	if w.fs != nil {
		w.fs.Close()
	}
}

// polled is a route that is looked at from time to time.
type polled struct {
	Polled
	print uint64
}

// watch replaces what is watched: the routes, and the data root. It returns the routes that have to be polled.
func (w *watcher) watch(routes []sources.Route, dataRoot string) []*polled {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.dirs
	w.dirs, w.cost = map[string][]interest{}, 0
	for dir := range old {
		if w.fs != nil && !w.directory(dir) { // it may have another name now, under which it could not be watched as long as this watch is there
			_ = w.fs.Remove(dir)
		}
	}
	_ = w.add(dataRoot, interest{root: true})
	var poll []*polled
	for _, r := range routes {
		if r.Status == sources.Unsupported {
			continue
		}
		if why := w.route(r); why != "" {
			poll = append(poll, &polled{Polled: Polled{Provider: r.Provider, Path: r.Path, Reason: why}})
		}
	}
	if w.fs != nil {
		for dir := range old {
			if w.dirs[dir] == nil {
				_ = w.fs.Remove(dir) // it may be gone, and its watch with it
			}
		}
	}
	return poll
}

// route watches one route and returns why it cannot be watched, or "".
func (w *watcher) route(r sources.Route) string {
	info, err := os.Stat(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.await(r)
	case err != nil:
		return "it cannot be looked at"
	case info.IsDir():
		before, cost := maps.Clone(w.dirs), w.cost
		if why := w.tree(r.Path, r.Provider); why != "" {
			// Half a route is no use, and the others need the room.
			for dir := range w.dirs {
				if before[dir] == nil {
					_ = w.fs.Remove(dir)
				}
			}
			w.dirs, w.cost = before, cost
			return why
		}
		return w.await(r) // its own disappearance
	}
	base := filepath.Base(r.Path)
	return w.add(filepath.Dir(r.Path), interest{provider: r.Provider, names: map[string]bool{base: true, base + "-wal": true, base + "-journal": true}})
}

// await watches the nearest directory that exists for the next part of a path.
func (w *watcher) await(r sources.Route) string {
	child := r.Path
	for {
		dir := filepath.Dir(child)
		if dir == child {
			return ""
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return w.add(dir, interest{provider: r.Provider, names: map[string]bool{filepath.Base(child): true}, awaited: true})
		}
		child = dir
	}
}

// tree watches a directory and all below it, links not followed.
func (w *watcher) tree(root, provider string) (why string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // unreadable parts are reported by the inventory
		}
		if why = w.add(path, interest{provider: provider, tree: true}); why != "" {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && why == "" {
		why = "it cannot be looked at"
	}
	return why
}

// add watches a directory for one more reason.
func (w *watcher) add(dir string, i interest) string {
	if w.fs == nil {
		return w.failure
	}
	reasons := w.dirs[dir]
	for _, r := range reasons {
		if r.provider == i.provider && r.tree == i.tree && i.tree {
			return ""
		}
	}
	if len(reasons) == 0 {
		cost := 1
		if perEntry() {
			if entries, err := os.ReadDir(dir); err == nil {
				cost += len(entries)
			}
		}
		if w.cost+cost > w.limit {
			return "it has too many directories to watch"
		}
		if err := w.fs.Add(dir); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return ""
			}
			return "the system refuses to watch it"
		}
		w.cost += cost
	}
	w.dirs[dir] = append(reasons, i)
	return ""
}

// listen takes events from the system at once, whatever else goes on: where adding a watch needs the same thread that delivers
// events, waiting here would lock both up.
func (w *watcher) listen(from *fsnotify.Watcher, to chan<- fsnotify.Event) {
	defer close(to)
	pass := func(e fsnotify.Event) {
		select {
		case to <- e:
		default:
			w.lost.Store(true)
		}
	}
	for {
		select {
		case e, ok := <-from.Events:
			if !ok {
				return
			}
			if e.Op != fsnotify.Chmod {
				pass(e)
			}
		case _, ok := <-from.Errors:
			if !ok {
				return
			}
			// The queue of the system was full, or a directory became unreadable: unclear, so look at everything.
			w.lost.Store(true)
			pass(fsnotify.Event{})
		}
	}
}

func (w *watcher) sort(events <-chan fsnotify.Event) {
	for e := range events {
		w.event(e)
	}
}

func (w *watcher) event(e fsnotify.Event) {
	if w.lost.Load() {
		w.tell(change{missed: true})
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	dir, name := filepath.Dir(e.Name), filepath.Base(e.Name)
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.left(e)
	}
	var told []change
	for _, i := range w.dirs[dir] {
		c := change{provider: i.provider, file: e.Name}
		if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
			c.file = ""
		}
		switch {
		case i.root:
			if name != "config.toml" && name != "daemon" {
				continue
			}
			c = change{root: true}
		case i.tree:
			if e.Has(fsnotify.Create) && w.directory(e.Name) {
				c.file = "" // it may hold files already
				if why := w.tree(e.Name, i.provider); why != "" {
					c.replan = true // the limit is reached: the route is polled from now on
				}
			}
		case !i.names[name]:
			continue
		case i.awaited:
			if !e.Has(fsnotify.Create) && !e.Has(fsnotify.Remove) && !e.Has(fsnotify.Rename) {
				continue
			}
			c.replan, c.file = true, ""
		}
		if !slices.Contains(told, c) {
			told = append(told, c)
			w.tell(c)
		}
	}
}

// left takes in that a directory is not there any more. The system has dropped its watch already, or would follow it to its new name,
// together with all below.
func (w *watcher) left(e fsnotify.Event) {
	reasons, watched := w.dirs[e.Name]
	if !watched {
		return
	}
	for _, i := range reasons {
		switch {
		case i.root:
			w.tell(change{root: true})
		case !i.tree: // the parent of a route
			w.tell(change{provider: i.provider, replan: true})
		}
	}
	drop := func(dir string) {
		delete(w.dirs, dir)
		_ = w.fs.Remove(dir)
	}
	drop(e.Name)
	for dir := range w.dirs {
		if e.Has(fsnotify.Rename) && strings.HasPrefix(dir, e.Name+string(filepath.Separator)) {
			drop(dir)
		}
	}
}

func (w *watcher) directory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// tell never blocks: a watcher that waits would lose changes without knowing. What does not fit is told as soon as there is room
// again: the daemon empties the queue before it asks.
func (w *watcher) tell(c change) {
	select {
	case w.changes <- c:
	default:
		w.lost.Store(true)
	}
}

// overflowed reports, once, that changes were lost.
func (w *watcher) overflowed() bool { return w.lost.Swap(false) }

// sees reports whether a directory is watched.
func (w *watcher) sees(dir string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dirs[dir] != nil
}

func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dirs)
}

// seed makes the fingerprints of this process.
var seed = maphash.MakeSeed()

// seen is what a refresh could see of a file.
type seen struct {
	name       string
	time, size int64
}

// fingerprint sums up names, sizes and times below a path. Equal fingerprints mean that nothing changed that a refresh could see.
func fingerprint(path string) uint64 {
	var sum maphash.Hash
	sum.SetSeed(seed)
	add := func(name string, info fs.FileInfo) {
		size := info.Size()
		if info.IsDir() {
			size = 0
		}
		maphash.WriteComparable(&sum, seen{name, info.ModTime().UnixNano(), size})
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if !info.IsDir() {
		for _, suffix := range []string{"", "-wal", "-journal"} {
			if info, err := os.Stat(path + suffix); err == nil {
				add(suffix, info)
			}
		}
		return sum.Sum64()
	}
	_ = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			add(strings.TrimPrefix(at, path), info)
		}
		return nil
	})
	return sum.Sum64()
}
