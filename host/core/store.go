package core

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
)

// Options configures a Store. The zero value is ready for use.
type Options struct {
	// Step is called before every step that changes the disk, with the name of the step; an error stops the operation there. It is
	// the seam for crash and fault tests and costs nothing when nil.
	Step func(name string) error
	// Write is called before every write of file content with its length in bytes; an error fails the write. It counts the cost of a
	// refresh and stands for a full disk in tests.
	Write func(bytes int) error
	// Fallback is told when Pin answers from the previous generation, with the damage of the active one; nil = nobody listens.
	Fallback func(damage error)
	// Cache is how many bytes of record blocks a pinned generation keeps in memory, for processes that answer many times; 0 is 8 MiB.
	Cache int64

	noLinks bool // in tests: as on a file system without hard links
}

// Store is the record and index store of one data root. It holds no file open; use is safe from several goroutines and processes.
type Store struct {
	dir string
	opt Options
}

// Open returns the store kept in dir (<data root>/core). It touches nothing on disk; the first Begin creates the directory.
func Open(dir string, opt Options) *Store {
	return &Store{dir: filepath.Clean(dir), opt: opt}
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// The places below the store directory. Directories are created 0700, files 0600: history is private.
const (
	pointerFile     = "active.json"
	writerLockFile  = "writer.lock"
	leasesDir       = "leases"
	generationsDir  = "generations"
	observationsDir = "observations"

	manifestFile = "manifest.json"
	textDir      = "text"
	recordsDir   = "records"
	stagingDir   = "staging" // of a candidate only: tables before they are ingested, spilled runs

	dirMode  = 0o700
	fileMode = 0o600
)

func (s *Store) pointerPath() string            { return filepath.Join(s.dir, pointerFile) }
func (s *Store) generationPath(d string) string { return filepath.Join(s.dir, generationsDir, d) }
func (s *Store) leasePath(d string) string      { return filepath.Join(s.dir, leasesDir, d) }
func (s *Store) observationPath(d string) string {
	return filepath.Join(s.dir, observationsDir, d)
}

// directories are what a writer needs to exist.
func (s *Store) directories() []string {
	return []string{
		s.dir,
		filepath.Join(s.dir, leasesDir),
		filepath.Join(s.dir, generationsDir),
		filepath.Join(s.dir, observationsDir),
	}
}

// Steps of a writer in their order, as given to Options.Step. Some occur several times (one table after the other), some only in
// incremental builds.
const (
	StepCreate        = "candidate.create"
	StepSegment       = "segment.write"
	StepTables        = "tables.write"
	StepClone         = "records.clone"
	StepIngest        = "records.ingest"
	StepSnapshot      = "snapshot.write"
	StepManifest      = "manifest.write"
	StepSync          = "candidate.sync"
	StepLease         = "lease.create"
	StepObserve       = "observations.write"
	StepPointerWrite  = "pointer.write"
	StepPointerRename = "pointer.rename"
	StepPointerSync   = "pointer.sync"
	StepCollect       = "collect"
)

func (s *Store) step(name string) error {
	if s.opt.Step == nil {
		return nil
	}
	return s.opt.Step(name)
}

// mayWrite announces a write to Options.Write.
func (s *Store) mayWrite(n int) error {
	if s.opt.Write == nil {
		return nil
	}
	return s.opt.Write(n)
}

// Revisions of everything that decides what a stored byte means. A change of any of them makes existing generations unusable for
// queries: the sources are read again, and the records of sources that are gone are carried over.
const (
	recordRevision        = 3 // Core record
	normalizationRevision = 1
	policyRevision        = 4
	activityRevision      = 1
	tokenizerRevision     = 2
	segmentRevision       = 4 // postings, columns and snapshot files
	storeRevision         = 4 // keys and values of the record store, manifest
)

// Contract returns the fingerprint of the revisions above, 64 lower-case hex digits.
func Contract() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "ctx.index-contract.v1\x00record %d\nnormalization %d\npolicy %d\nactivity %d\ntokenizer %d\nsegment %d\nstore %d\n",
		recordRevision, normalizationRevision, policyRevision, activityRevision, tokenizerRevision, segmentRevision, storeRevision))
	return hex.EncodeToString(sum[:])
}
