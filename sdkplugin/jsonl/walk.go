package jsonl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Bounds of a session tree; a tree beyond them is refused as a whole.
const (
	MaxDirectories = 32768
	MaxDepth       = 64
	MaxFiles       = 131072
	MaxEntries     = 262144
)

// Walk describes a walk over a session tree.
type Walk struct {
	Route string
	// Match tells whether a regular file is wanted, by its locator ('/' separated, relative to Route). Required. It is called
	// by several goroutines.
	Match func(locator string) bool
	// Descend tells whether to enter a directory; nil enters all. It is called by several goroutines.
	Descend func(locator string) bool
	// The bounds default to those of the package.
	MaxDirectories, MaxDepth, MaxFiles, MaxEntries int
	Work                                           *Work
}

// Entry is one matching file.
type Entry struct {
	Locator     string
	Observation Observation
}

// Problem is a part of the tree that could not be looked at.
type Problem struct {
	Locator string
	Failure *Failure
}

// Tree is the result of a walk. It is a complete inventory if Problems is empty.
type Tree struct {
	Entries        []Entry // ascending by the bytes of the locator
	Directories    uint64  // directories that were read, the route included
	Seen           uint64  // names that were seen in them
	SkippedLinks   uint64  // symbolic links and reparse points, never followed
	SkippedSpecial uint64  // pipes, sockets and devices
	SkippedNames   uint64  // names that are not UTF-8 or make a locator longer than MaxLocator
	Problems       []Problem
}

// Run walks the tree. A route that is missing or is no directory, a bound that is exceeded (both *Failure) and a cancelled
// context are errors. Files and directories that disappear during the walk are left out.
func (w Walk) Run(ctx context.Context) (*Tree, error) {
	w.MaxDirectories, w.MaxDepth = cmp.Or(w.MaxDirectories, MaxDirectories), cmp.Or(w.MaxDepth, MaxDepth)
	w.Work = w.Work.counted()
	w.MaxFiles, w.MaxEntries = cmp.Or(w.MaxFiles, MaxFiles), cmp.Or(w.MaxEntries, MaxEntries)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	run := walker{Walk: w, ctx: ctx, stop: stop, extra: make(chan struct{}, min(runtime.GOMAXPROCS(0), 8)-1)}
	run.fail(run.root())
	run.started.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortFunc(run.tree.Entries, func(a, b Entry) int { return strings.Compare(a.Locator, b.Locator) })
	slices.SortFunc(run.tree.Problems, func(a, b Problem) int { return strings.Compare(a.Locator, b.Locator) })
	return &run.tree, nil
}

// walker is a walk under way. The system's part is root and directory. Looking at a file is one system call, so that a walk
// gains from every processor: a subdirectory goes to a goroutine of its own while there is a place in extra.
type walker struct {
	Walk
	ctx     context.Context
	stop    context.CancelCauseFunc
	extra   chan struct{}
	started sync.WaitGroup
	mutex   sync.Mutex
	tree    Tree
}

// fail ends the walk with its first error.
func (w *walker) fail(err error) {
	if err != nil {
		w.stop(err)
	}
}

// spread runs a part of the walk beside the others if there is room, else at once.
func (w *walker) spread(part func() error) error {
	select {
	case w.extra <- struct{}{}:
		w.started.Go(func() {
			w.fail(part())
			<-w.extra
		})
		return nil
	default:
		return part()
	}
}

// enter accounts for a directory that is about to be read.
func (w *walker) enter(depth int) error {
	if depth > w.MaxDepth {
		return beyond("directories nested deeper than %d", w.MaxDepth)
	}
	w.Work.DirectoriesRead.Add(1)
	return w.merge(Tree{Directories: 1})
}

// merge adds what was found in a part of a directory.
func (w *walker) merge(part Tree) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	t := &w.tree
	t.Entries = append(t.Entries, part.Entries...)
	t.Problems = append(t.Problems, part.Problems...)
	t.Directories += part.Directories
	t.Seen += part.Seen
	t.SkippedLinks += part.SkippedLinks
	t.SkippedSpecial += part.SkippedSpecial
	t.SkippedNames += part.SkippedNames
	switch {
	case t.Directories > uint64(w.MaxDirectories):
		return beyond("more than %d directories", w.MaxDirectories)
	case len(t.Entries) > w.MaxFiles:
		return beyond("more than %d transcript files", w.MaxFiles)
	case t.Seen > uint64(w.MaxEntries):
		return beyond("more than %d entries", w.MaxEntries)
	}
	return nil
}

// locate accounts for an entry and returns its locator; ok is false for a name that no locator can hold.
func (t *Tree) locate(prefix, name string) (locator string, ok bool) {
	t.Seen++
	if !validName(name) || len(prefix)+len(name) > MaxLocator {
		t.SkippedNames++
		return "", false
	}
	return prefix + name, true
}

// trouble notes what could not be looked at. Links and special files only count; what is simply gone is no trouble.
func (t *Tree) trouble(locator string, err error) {
	switch f := classify(err); {
	case errors.Is(err, errLink):
		t.SkippedLinks++
	case errors.Is(err, errSpecial):
		t.SkippedSpecial++
	case f.Class != Vanished:
		t.Problems = append(t.Problems, Problem{Locator: locator, Failure: f})
	}
}

func beyond(format string, args ...any) error {
	return &Failure{Class: Unreadable, Reason: fmt.Sprintf(format, args...)}
}

// Heads reads the first bytes of many files of one route, at most limit of each, and hands them to each with the place of the
// file in entries. Files of one directory should stand together, as a walk leaves them: their directory is opened once. each is
// called by several goroutines at a time, its bytes are valid until it returns; a file that cannot be read is passed over.
func Heads(ctx context.Context, route string, entries []Entry, limit int, work *Work, each func(place int, head []byte)) error {
	const least = 64 // entries that are worth a goroutine
	work = work.counted()
	parts := min(runtime.GOMAXPROCS(0), 1+len(entries)/least)
	var readers sync.WaitGroup
	for part := range parts {
		from, to := part*len(entries)/parts, (part+1)*len(entries)/parts
		readers.Go(func() {
			r := headReader{route: route}
			defer r.close()
			buf := make([]byte, limit)
			for place := from; place < to && ctx.Err() == nil; place++ {
				if n, err := r.read(entries[place].Locator, buf); err == nil {
					work.FilesOpened.Add(1)
					work.BytesRead.Add(uint64(n))
					each(place, buf[:n])
				}
			}
		})
	}
	readers.Wait()
	return ctx.Err()
}
