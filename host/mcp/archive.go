package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/history"
)

// idleAfter is how long a generation is kept open that nobody reads: an open one cannot be removed from the disk.
const idleAfter = time.Minute

// archive keeps the active generation open between calls. A call asks the pointer whether it is still the active one, which costs one
// small read; what was replaced is closed when its last reader is done. It is safe for concurrent use.
type archive struct {
	store *core.Store
	idle  time.Duration // idleAfter, shorter in tests

	mu      sync.Mutex
	current *pinned
	timer   *time.Timer
	closed  bool
}

// pinned is an open generation, with the retained one before it once somebody asked for that.
type pinned struct {
	gen     *core.Generation
	seen    core.Published // what the pointer named when gen was opened
	readers int
	old     bool // to be closed after the last reader

	mu       sync.Mutex
	previous *core.Generation
	asked    bool
}

// acquire returns the active generation. The caller gives it back with release.
func (a *archive) acquire(ctx context.Context) (*pinned, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, err := a.store.Pointer()
	if err != nil {
		return nil, err
	}
	if p := a.current; p != nil && now.Active != nil && p.seen == *now.Active {
		p.readers++
		return p, nil
	}
	a.retire()
	gen, err := a.store.Pin(ctx)
	if err != nil {
		return nil, err
	}
	p := &pinned{gen: gen, readers: 1}
	if now.Active != nil {
		p.seen = *now.Active
	}
	a.current = p
	return p, nil
}

// release ends a use.
func (a *archive) release(p *pinned) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.readers--
	switch {
	case p.readers > 0:
	case p.old || a.closed:
		p.close()
	case a.timer == nil:
		a.timer = time.AfterFunc(a.idle, a.expire)
	default:
		a.timer.Reset(a.idle)
	}
}

// expire lets an unused generation go.
func (a *archive) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.current; p != nil && p.readers == 0 {
		a.retire()
	}
}

// retire gives the current generation up.
func (a *archive) retire() {
	p := a.current
	if p == nil {
		return
	}
	a.current, p.old = nil, true
	if p.readers == 0 {
		p.close()
	}
}

// close gives everything up; what is still read is closed by its last reader.
func (a *archive) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.retire()
}

func (p *pinned) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.previous.Close() // nothing was written: there is nothing to lose
	_ = p.gen.Close()
	p.previous, p.asked = nil, true
}

// view reads from the generation.
func (p *pinned) view(store *core.Store) *history.View {
	return history.Lent(p.gen, func(ctx context.Context) (*core.Generation, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.asked {
			return p.previous, nil
		}
		previous, err := store.PinPrevious(ctx)
		if err == nil {
			p.previous, p.asked = previous, true
		}
		return previous, err
	})
}
