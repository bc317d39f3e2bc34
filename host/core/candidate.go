package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring"
	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/record"
	"github.com/google/uuid"
)

// BeginOptions configures a candidate.
type BeginOptions struct {
	Log       func(format string, args ...any) // receives what is worth a line in the log; nil = nothing
	MaxMemory int64                            // bound of all buffers, in bytes; 0 = 400 MiB
	Workers   int                              // goroutines that encode and index; 0 = number of CPUs, at most 4
	// Rebuild starts from nothing instead of from the active generation, which stays readable through Candidate.Old, whatever contract
	// it was written under, so that sources which cannot be read again are carried over. When it is damaged, what can be read of
	// the newest generation on disk takes its place.
	Rebuild bool

	segmentDocs uint32 // documents a segment in tests; 0 = by the size of the archive
}

const defaultMemory = 400 << 20

// Candidate is the next generation while it is built, by the one writer there is. It starts as a copy of the active generation (or
// empty) and takes whole sources. Its methods may be called from several goroutines. Publish or Discard ends it; until then nothing
// visible changes.
type Candidate struct {
	store     *Store
	opt       BeginOptions
	lock      *lease
	pointer   Pointer
	directory string // UUID
	path      string
	base, old *Generation
	damaged   bool // of a rebuild: what is published cannot be trusted
	workers   *workers
	runs      *runs

	mu       sync.Mutex
	err      error // first failure of the store itself: nothing can be published any more
	ended    bool
	manifest *Manifest
	busy     map[record.Digest]use
	open     map[*SourceWriter]bool // neither finished nor aborted

	certificates map[record.Digest][]byte            // changed ones, encoded; nil = dropped
	facts        [sums]map[record.Digest]factsChange // of the summed tables
	rows         map[string][]byte                   // other small keys; nil = deleted
	rowBytes     int
	rowTables    []stagedTable // rows that were written early, oldest first
	own          runBuffer     // entries of deletions
	segments     []builtSegment
	dead         map[uint32]*roaring.Bitmap // documents of new segments that were taken back
	deleted      map[uint32]*roaring.Bitmap // documents of base segments that this candidate deletes
	replaced     map[uint32]bool            // base segments that were rewritten and leave
	rewritten    bool                       // a merge: published even though the content is equal
	seen         observations
	tables       uint32 // number of tables of small keys so far
	keyCounts    [runKinds]keyCount
	linked       map[string]bool // files that are links to files of the base
	published    Published
}

// Begin takes the writer lock and starts a candidate. It collects what crashed writers left behind. Faults: writer_busy (another writer,
// after 500 ms), resource_unavailable (the data root cannot be written), and those of Pin except source_unavailable.
func (s *Store) Begin(ctx context.Context, opt BeginOptions) (_ *Candidate, err error) {
	for _, dir := range s.directories() {
		if err := durable.MkdirAll(dir, dirMode); err != nil {
			return nil, writeFailure(err)
		}
	}
	lock, err := s.lockWriter(ctx)
	if err != nil {
		return nil, err
	}
	c := newCandidate(s, opt, lock)
	defer func() {
		if err != nil {
			c.Discard()
		}
	}()
	if err := c.pinBase(ctx); err != nil {
		return nil, err
	}
	if !c.damaged {
		if err := s.collect(c.pointer); err != nil {
			return nil, writeFailure(err)
		}
	}
	if err := c.create(); err != nil {
		return nil, writeFailure(err)
	}
	c.startFromBase()
	c.workers = newWorkers(ctx, c)
	return c, nil
}

func newCandidate(s *Store, opt BeginOptions, lock *lease) *Candidate {
	if opt.MaxMemory <= 0 {
		opt.MaxMemory = defaultMemory
	}
	if opt.Workers <= 0 {
		opt.Workers = min(runtime.NumCPU(), 4)
	}
	if opt.Log == nil {
		opt.Log = func(string, ...any) {}
	}
	return &Candidate{
		store: s, opt: opt, lock: lock,
		busy:         map[record.Digest]use{},
		open:         map[*SourceWriter]bool{},
		certificates: map[record.Digest][]byte{},
		facts:        [sums]map[record.Digest]factsChange{{}, {}},
		rows:         map[string][]byte{},
		dead:         map[uint32]*roaring.Bitmap{},
		deleted:      map[uint32]*roaring.Bitmap{},
		replaced:     map[uint32]bool{},
		seen:         observations{}.merged(observations{}),
		linked:       map[string]bool{},
	}
}

// pinBase pins what the candidate starts from.
func (c *Candidate) pinBase(ctx context.Context) error {
	p, err := c.store.Pointer()
	if err != nil && !c.opt.Rebuild {
		return err
	}
	c.pointer, c.damaged = p, err != nil
	for _, g := range p.published() {
		if err := c.store.makeLease(g.Directory); err != nil { // usually there; somebody may have removed it
			return writeFailure(err)
		}
	}
	if c.opt.Rebuild {
		return c.pinOld(ctx)
	}
	c.base, err = c.store.pin(ctx, active, openWhole)
	return err
}

// pinOld pins what a rebuild may carry over from: the active generation or, when it is damaged, the newest one of which the most can
// be read. Until the rebuild is published, nothing of a damaged archive is collected.
func (c *Candidate) pinOld(ctx context.Context) (err error) {
	if !c.damaged {
		if c.old, err = c.store.pin(ctx, active, openWhole); isIncompatible(err) {
			c.old, err = c.store.pin(ctx, active, openRecords)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	c.damaged = true
	found := c.pointer.published()
	entries, err := os.ReadDir(filepath.Join(c.store.dir, generationsDir))
	for _, e := range slices.Backward(entries) { // names sort by time
		found = append(found, Published{Directory: e.Name()})
	}
	for _, how := range []access{openRecords, openRemains} {
		for _, p := range found {
			if c.old = c.store.pinRemains(p, how); c.old != nil {
				c.opt.Log("the index is damaged: records are carried over from %s", p.Directory)
				return nil
			}
		}
	}
	c.opt.Log("the index is damaged: nothing can be carried over")
	return writeFailure(err)
}

// pinRemains pins a generation of a damaged archive if its manifest and all its certificates can be trusted; nil otherwise.
func (s *Store) pinRemains(p Published, how access) *Generation {
	if _, err := os.Stat(filepath.Join(s.generationPath(p.Directory), manifestFile)); err != nil || s.makeLease(p.Directory) != nil {
		return nil
	}
	l, err := s.takeLease(p.Directory, false)
	if err != nil || l == nil {
		return nil
	}
	g, err := s.openGeneration(p, l, how)
	if err != nil {
		return nil
	}
	m := g.manifest
	if m.Contract == Contract() && m.identity() != m.Generation || g.Certificates(func(*Certificate) error { return nil }) != nil {
		g.Close() // only read
		return nil
	}
	return g
}

// create makes the directories of the candidate.
func (c *Candidate) create() error {
	if err := c.store.step(StepCreate); err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	c.directory = id.String()
	c.path = c.store.generationPath(c.directory)
	for _, dir := range []string{"", textDir, recordsDir, stagingDir} {
		if err := os.Mkdir(filepath.Join(c.path, dir), dirMode); err != nil {
			return err
		}
	}
	c.runs = &runs{store: c.store, dir: filepath.Join(c.path, stagingDir), limit: min(64<<20, c.opt.MaxMemory/4)}
	c.own.runs = c.runs
	return nil
}

// startFromBase copies the facts of the base into the manifest of the candidate.
func (c *Candidate) startFromBase() {
	m := &Manifest{Contract: Contract()}
	if c.base != nil {
		b := c.base.manifest
		m.Stats, m.Next = b.Stats, b.Next
		m.Providers = slices.Clone(b.Providers)
		m.Tombstones, m.Config = b.Tombstones, b.Config
		m.Certificates, m.Sessions = b.Certificates, b.Sessions
		m.Routes, m.Roots = c.base.Routes(), slices.Clone(b.Roots)
		m.Deliveries = slices.Clone(c.base.Deliveries())
	} else if c.old != nil {
		// What was decided once stays decided.
		m.Tombstones, m.Roots = c.old.manifest.Tombstones, slices.Clone(c.old.manifest.Roots)
	}
	c.manifest = m
}

// Base returns the generation that the candidate starts from, nil when it starts empty. It is closed with the candidate.
func (c *Candidate) Base() *Generation { return c.base }

// Old returns, in a rebuild, the generation that is being replaced, nil when there is none. Only its sessions, sources and events by
// document can be read, not its text index; it is meant for Carry.
func (c *Candidate) Old() *Generation { return c.old }

// fail remembers the first failure of the store and returns the one remembered.
func (c *Candidate) fail(err error) error {
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = writeFailure(err)
	}
	return c.err
}

func (c *Candidate) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// use says what a candidate did with a source; it does not mix whole sources with single sessions.
type use uint8

const (
	unused  use = iota
	writing     // a SourceWriter is open or finished, or the source was dropped
	pruned      // sessions were dropped
)

// free tells whether a source can be used in a way. Called with the lock held.
func (c *Candidate) free(source record.Digest, how use) error {
	if u := c.busy[source]; u != unused && (u != pruned || how != pruned) {
		return fmt.Errorf("source %s is already changed by this candidate", source)
	}
	return c.usable()
}

var errEnded = errors.New("the candidate has ended")

// usable is called with the lock held.
func (c *Candidate) usable() error {
	if c.err == nil && c.ended {
		return errEnded
	}
	return c.err
}

// SetRoutes replaces the routes. A change of absence counts alone makes no new generation.
func (c *Candidate) SetRoutes(routes []Route) {
	routes = slices.Clone(routes)
	for i := range routes {
		r := &routes[i]
		toValid(&r.Identity, &r.Provider, &r.Format, &r.Authority, &r.Role, &r.Root, &r.Path)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.manifest.Routes = routes
}

// SetRoots replaces the named roots and the digest of the configuration they come from.
func (c *Candidate) SetRoots(config string, roots []Root) {
	roots = slices.Clone(roots)
	for i := range roots {
		r := &roots[i]
		toValid(&r.Provider, &r.Name, &r.Group, &r.Path, &r.Identity, &r.Origin)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.manifest.Config, c.manifest.Roots = config, roots
}

// toValid makes valid UTF-8 of texts, which may be paths: JSON would change them when it is read back.
func toValid(texts ...*string) {
	for _, s := range texts {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
}

// SetTombstones sets the digest of the list of forgotten sessions, "" for an empty list.
func (c *Candidate) SetTombstones(digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.manifest.Tombstones = digest
}

// SetState marks a stored source as present or gone.
func (c *Candidate) SetState(source record.Digest, state State) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cert, err := c.stored(source)
	if err == nil {
		next := *cert
		next.State = state
		c.setCertificate(cert, &next)
	}
	return err
}

// Touch keeps a new sighting of a stored source whose content did not change. It makes no new generation.
func (c *Candidate) Touch(source record.Digest, s Sighting) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cert, err := c.stored(source)
	if err == nil && !cert.Sighting.equal(&s) {
		c.sight(cert, s)
	}
	return err
}

// sight is called with the lock held. cert is what the candidate has.
func (c *Candidate) sight(cert *Certificate, s Sighting) {
	c.manifest.Deliveries.count(cert.Provider, cert.Route, -1)
	c.manifest.Deliveries.count(cert.Provider, s.Route, 1)
	c.seen.sightings[cert.Source] = s
}

// stored is called with the lock held.
func (c *Candidate) stored(source record.Digest) (*Certificate, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	cert, err := c.certificate(source)
	if err == nil && cert == nil {
		err = unknown("source", source)
	}
	return cert, err
}

// Discard gives the candidate up: its files are removed, its locks released. It does nothing after Publish.
func (c *Candidate) Discard() {
	c.mu.Lock()
	ended := c.ended
	c.ended = true
	c.mu.Unlock()
	if ended {
		return
	}
	if c.workers != nil {
		c.workers.abandon()
	}
	if err := errors.Join(c.abandonWriters(), c.release(true)); err != nil {
		c.opt.Log("discarding a candidate: %v", err)
	}
}

// abandonWriters takes back what unfinished sources stored. No batch may be running.
func (c *Candidate) abandonWriters() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for w := range c.open {
		w.ended.Store(true)
		w.takeBack()
		err = errors.Join(err, w.close())
	}
	return err
}

// release closes everything. With remove set, the directory goes too; if that fails the next writer collects it.
func (c *Candidate) release(remove bool) error {
	var err error
	if c.runs != nil {
		err = c.runs.close()
	}
	if remove && c.path != "" {
		err = errors.Join(err, os.RemoveAll(c.path), removeIfThere(c.store.leasePath(c.directory)))
	}
	err = errors.Join(err, c.base.Close(), c.old.Close(), c.lock.release())
	if err != nil {
		err = fmt.Errorf("releasing the candidate: %w", err)
	}
	return err
}
