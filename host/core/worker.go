package core

import (
	"context"
	"errors"
	"sync"

	"github.com/agenthistory/ctx/host/lexical"
	"golang.org/x/sync/semaphore"
)

// workers run batches, as many at a time as there are sinks. Batches of one source run one after the other in their order, on any sink,
// so that a source needs no locks and the first of two equal events always wins; batches of different sources run at the same time.
type workers struct {
	c       *Candidate
	ctx     context.Context
	room    *semaphore.Weighted // bytes of batches that have not run
	batches sync.WaitGroup

	mu      sync.Mutex
	closed  bool    // no batch is taken any more
	dropped bool    // and those that wait do not run
	events  uint64  // of the generation so far
	made    []*sink // all sinks, made when there is none to be had: a small refresh uses one only, and writes one segment

	sinks   chan *sink // those that nobody uses; whoever waits longest gets the next one
	newSink func() *sink
}

const (
	// queueLimit is how many bytes of batches may wait. A batch is the memory of one message of a provider.
	queueLimit = 16 << 20
	// leastBatch is what a batch counts at least.
	leastBatch = 16 << 10
)

func newWorkers(ctx context.Context, c *Candidate) *workers {
	w := &workers{c: c, ctx: ctx, room: semaphore.NewWeighted(queueLimit), sinks: make(chan *sink, c.opt.Workers)}
	if c.base != nil {
		w.events = c.base.manifest.Stats.Events
	}
	builder := builderMemory(c.opt.MaxMemory-c.runs.limit-queueLimit, c.opt.Workers)
	pool := lexical.NewPool(1)
	w.newSink = func() *sink { return newSink(c, pool, builder) }
	return w
}

// builderMemory shares memory between n builders and one flush, which borrows up to 2.5 times the memory of its builder.
func builderMemory(total int64, n int) int { return int(max(total, 16<<20)) * 2 / (2*n + 5) }

// add queues a batch of a source. It waits while too much is queued.
func (w *workers) add(s *SourceWriter, bytes int, batch func(*sink) error) error {
	weight := int64(min(max(bytes, leastBatch), queueLimit))
	if err := w.room.Acquire(w.ctx, weight); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.trouble(s, w.closed); err != nil {
		w.room.Release(weight)
		return err
	}
	before, done := s.last, make(chan struct{})
	s.last = done
	w.batches.Go(func() {
		defer close(done)
		defer w.room.Release(weight)
		if before != nil {
			<-before
		}
		w.run(s, batch)
	})
	return nil
}

// trouble tells why no batch can be added or run.
func (w *workers) trouble(s *SourceWriter, ended bool) error {
	switch {
	case ended:
		return errEnded
	case s.err != nil:
		return s.err
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return w.c.failure()
}

// run runs a batch, unless there is trouble, and closes the segment when it is full.
func (w *workers) run(s *SourceWriter, batch func(*sink) error) {
	w.mu.Lock()
	err := w.trouble(s, w.dropped)
	w.mu.Unlock()
	if err != nil {
		return
	}
	k := w.sink()
	before := s.events
	err = batch(k)
	w.mu.Lock()
	w.events += s.events - before
	target := uint32(segmentDocs)
	if w.events >= largeArchive {
		target = segmentDocsLarge
	}
	w.mu.Unlock()
	if w.c.opt.segmentDocs > 0 {
		target = w.c.opt.segmentDocs
	}
	if err == nil && k.full(target) {
		err = w.c.fail(k.flush())
	}
	w.sinks <- k
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// wait returns when the batches of a source have run, or the running one when drop says why the waiting ones need not.
func (w *workers) wait(s *SourceWriter, drop error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.err == nil {
		s.err = drop
	}
	if last := s.last; last != nil {
		w.mu.Unlock()
		<-last
		w.mu.Lock()
	}
	if s.err != nil {
		return s.err
	}
	return errors.Join(w.c.failure(), w.ctx.Err())
}

// sink returns a sink that nobody uses.
func (w *workers) sink() *sink {
	select {
	case k := <-w.sinks:
		return k
	default:
	}
	w.mu.Lock()
	if len(w.made) == cap(w.sinks) {
		w.mu.Unlock()
		return <-w.sinks
	}
	defer w.mu.Unlock()
	w.made = append(w.made, w.newSink())
	return w.made[len(w.made)-1]
}

// finish ends the workers after their last batch and completes the open segments.
func (w *workers) finish() error {
	w.end(false)
	for _, k := range w.made {
		if err := inOrder(k.flush, k.entries.flush); err != nil {
			return w.c.fail(err)
		}
	}
	return errors.Join(w.c.failure(), w.ctx.Err())
}

// abandon ends the workers and drops what they built.
func (w *workers) abandon() {
	w.end(true)
	for _, k := range w.made {
		k.abandon()
	}
	w.made = nil
}

func (w *workers) end(drop bool) {
	w.mu.Lock()
	w.closed, w.dropped = true, w.dropped || drop
	w.mu.Unlock()
	w.batches.Wait()
}
