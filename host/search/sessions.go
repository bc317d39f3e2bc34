package search

import (
	"context"
	"sync"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
)

// sessions remembers the sessions of candidates, which are read once. It is safe for concurrent use.
type sessions struct {
	ctx context.Context
	gen *core.Generation

	mu    sync.Mutex
	known map[uint32]*record.Session
}

func (s *sessions) lookup(ordinal uint32) *record.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[ordinal]
}

// get returns the session of an ordinal.
func (s *sessions) get(ordinal uint32) (*record.Session, error) {
	if known := s.lookup(ordinal); known != nil {
		return known, nil
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	stored, err := s.gen.Session(ordinal)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[uint32]*record.Session{}
	}
	s.known[ordinal] = stored
	return stored, nil
}

// load reads the sessions of several ordinals side by side.
func (s *sessions) load(ordinals []uint32) error {
	var missing []uint32
	for _, o := range ordinals {
		if s.lookup(o) == nil {
			missing = append(missing, o)
		}
	}
	return inParallel(len(missing), func(_ *struct{}, i int) error {
		_, err := s.get(missing[i])
		return err
	})
}
