package core

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
)

// A lease is a locked file. A generation has one lease file, made by its writer before publication: every reader holds a shared
// lock on an open file of its own, the collector needs the exclusive one. So a reader needs no right to write, a dead process lets
// go by itself, and readers leave no litter.
type lease struct{ file *os.File }

// takeLease locks the lease of a generation directory. It returns nil without an error when the lock is not to be had at the moment
// or the lease is gone.
func (s *Store) takeLease(directory string, exclusive bool) (*lease, error) {
	f, err := os.Open(s.leasePath(directory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ok, err := durable.TryLock(f, exclusive)
	if err != nil || !ok {
		return nil, errors.Join(err, f.Close())
	}
	return &lease{file: f}, nil
}

// makeLease creates the lease file of a directory when it is missing.
func (s *Store) makeLease(directory string) error {
	f, err := os.OpenFile(s.leasePath(directory), os.O_CREATE|os.O_RDONLY, fileMode)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l *lease) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}

// There is one writer at a time. A second one waits a little, because most refreshes are short, then gives up.
const writerWait = 500 * time.Millisecond

// lockWriter takes the writer lock. Fault writer_busy after 500 ms.
func (s *Store) lockWriter(ctx context.Context) (*lease, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, writerLockFile), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, writeFailure(err)
	}
	ok, err := durable.Lock(ctx, f, writerWait)
	if !ok && err == nil {
		err = fault.New(fault.Busy, "another refresh is running").WithHint("try again in a moment").WithRetry(true)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lease{file: f}, nil
}

// collect removes what no longer counts: generations that are neither published nor held by a reader, leftovers of crashed writers,
// leases and observations without a generation. Only the holder of the writer lock may call it.
func (s *Store) collect(p Pointer) error {
	if err := s.step(StepCollect); err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, g := range p.published() {
		keep[g.Directory] = true
	}
	directories, err := os.ReadDir(filepath.Join(s.dir, generationsDir))
	if err != nil {
		return err
	}
	for _, d := range directories {
		if keep[d.Name()] {
			continue
		}
		held, err := s.remove(d.Name())
		if err != nil {
			return err
		}
		if held {
			keep[d.Name()] = true
		}
	}
	others := []string{}
	for _, dir := range []string{leasesDir, observationsDir} {
		entries, err := os.ReadDir(filepath.Join(s.dir, dir))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !keep[e.Name()] {
				others = append(others, filepath.Join(s.dir, dir, e.Name()))
			}
		}
	}
	unfinished, err := filepath.Glob(filepath.Join(s.dir, "."+pointerFile+".*"))
	for _, path := range append(others, unfinished...) {
		err = errors.Join(err, removeIfThere(path))
	}
	return err
}

// Reclaim removes generations that are neither published nor held by a reader, and returns how many are still held. It takes the
// writer lock only when there is something to remove.
func (s *Store) Reclaim(ctx context.Context) (held int, err error) {
	left := func() int {
		directories, err := os.ReadDir(filepath.Join(s.dir, generationsDir))
		if err != nil {
			return 0
		}
		return max(0, len(directories)-2) // active and previous
	}
	if left() == 0 {
		return 0, nil
	}
	lock, err := s.lockWriter(ctx)
	if err != nil {
		return 0, err
	}
	p, err := s.Pointer()
	if err == nil {
		err = s.collect(p)
	}
	return left(), errors.Join(err, lock.release())
}

// remove removes a generation directory unless a reader holds it. Its lease stays locked meanwhile, so that no reader comes in.
func (s *Store) remove(directory string) (held bool, err error) {
	l, err := s.takeLease(directory, true)
	if err != nil {
		return false, err
	}
	if l == nil {
		if _, err := os.Stat(s.leasePath(directory)); err == nil {
			return true, nil
		}
	}
	// The manifest goes first: without it nothing can mistake a half-removed directory for a generation.
	path := s.generationPath(directory)
	err = removeIfThere(filepath.Join(path, manifestFile))
	err = errors.Join(err, os.RemoveAll(path))
	return false, errors.Join(err, l.release())
}

func removeIfThere(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
