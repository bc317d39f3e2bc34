package core

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// collect removes what no longer counts: generations that are neither published nor held by a reader, leftovers of crashed writers,
// leases and observations without a generation. Only the holder of the writer lock may call it.
func (s *Store) collect(p Pointer) error {
	if err := s.step(StepCollect); err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, g := range []*Published{p.Active, p.Previous} {
		if g != nil {
			keep[g.Directory] = true
		}
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
	for _, dir := range []string{leasesDir, observationsDir} {
		if err := removeOthers(filepath.Join(s.dir, dir), keep); err != nil {
			return err
		}
	}
	return removeIfThere(s.pointerPath() + ".tmp")
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

func removeOthers(dir string, keep map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if keep[strings.TrimSuffix(e.Name(), ".tmp")] && !strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		err = errors.Join(err, removeIfThere(filepath.Join(dir, e.Name())))
	}
	return err
}

func removeIfThere(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
