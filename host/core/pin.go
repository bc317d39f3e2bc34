package core

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthistory/ctx/host/fault"
)

// A reader reads the pointer, takes the lease, and looks at the pointer again: only if its generation is still published then, the
// collector cannot have taken the directory in between. Otherwise it starts over, pinTries times.
const (
	pinTries = 5
	pinPause = 2 * time.Millisecond
)

func active(p Pointer) *Published   { return p.Active }
func previous(p Pointer) *Published { return p.Previous }

// Pin pins the active generation. When its files are damaged and the previous generation still opens, that one is pinned instead, and
// its Fallback tells why. Faults: source_unavailable (nothing published yet), publication_authority_invalid (damaged pointer or
// manifest), index_incompatible (written under another contract), index_corruption, generation_changed (retryable).
func (s *Store) Pin(ctx context.Context) (*Generation, error) {
	g, err := s.pin(ctx, active, openWhole)
	if fault.Code(err) == fault.IndexCorruption {
		if g, _ := s.pin(ctx, previous, openWhole); g != nil {
			g.fallback = err
			if s.opt.Fallback != nil {
				s.opt.Fallback(err)
			}
			return g, nil
		}
	}
	if err == nil && g == nil {
		err = noGeneration()
	}
	return g, err
}

// PinPrevious pins the generation before the active one. It returns nil, nil when there is none, or none that this version can read:
// it only helps to resolve ids, which must not fail because of it.
func (s *Store) PinPrevious(ctx context.Context) (*Generation, error) {
	g, err := s.pin(ctx, previous, openWhole)
	if isIncompatible(err) || fault.Code(err) == fault.IndexCorruption {
		return nil, nil
	}
	return g, err
}

// PinID pins a retained generation by its id: the active one, the previous one, or an older one that a reader still holds. Fault
// generation_not_retained.
func (s *Store) PinID(ctx context.Context, id string) (*Generation, error) {
	g, err := s.pin(ctx, func(p Pointer) *Published {
		for _, g := range p.published() {
			if g.Generation == id {
				return &g
			}
		}
		return nil
	}, openWhole)
	if err != nil || g != nil {
		return g, err
	}
	if g, err = s.pinHeld(id); err == nil && g == nil {
		err = notRetained(id)
	}
	return g, err
}

// pin pins the generation that choose takes from the pointer; nil, nil when it takes none.
func (s *Store) pin(ctx context.Context, choose func(Pointer) *Published, how access) (*Generation, error) {
	for try := range pinTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if try > 0 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pinPause):
			}
		}
		p, err := s.Pointer()
		if err != nil {
			return nil, err
		}
		chosen := choose(p)
		if chosen == nil {
			return nil, nil
		}
		g, err := s.pinPublished(*chosen, choose, how)
		if err != nil || g != nil {
			return g, err
		}
	}
	return nil, generationChanged()
}

// pinPublished returns nil, nil when the pointer moved on meanwhile.
func (s *Store) pinPublished(p Published, choose func(Pointer) *Published, how access) (*Generation, error) {
	l, err := s.takeLease(p.Directory, false)
	if err != nil {
		return nil, err
	}
	now, err := s.Pointer()
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	still := choose(now)
	if still == nil || still.Directory != p.Directory {
		return nil, l.release()
	}
	if l == nil {
		return nil, s.missingLease(p.Directory)
	}
	return s.openGeneration(p, l, how)
}

// missingLease tells apart a lease that is locked by a collector for a moment (nil: try again) and one that somebody removed.
func (s *Store) missingLease(directory string) error {
	if _, err := os.Stat(s.leasePath(directory)); errors.Is(err, fs.ErrNotExist) {
		return damagedAuthority(err, "lease")
	}
	return nil
}

// pinHeld looks for an older generation with the id whose directory is still there.
func (s *Store) pinHeld(id string) (*Generation, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, leasesDir))
	if err != nil {
		return nil, nil // nothing was ever published here
	}
	for _, e := range entries {
		l, err := s.takeLease(e.Name(), false)
		if err != nil || l == nil {
			continue
		}
		held := Published{Directory: e.Name()}
		if m, err := s.readManifest(held); err == nil && m.Generation == id {
			return s.openGeneration(held, l, openWhole)
		}
		if err := l.release(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
