package core

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/host/lexical"
)

// workers run batches. Batches of one source run one after the other in their order, on any worker, so that a source needs no locks
// and the first of two equal events always wins; batches of different sources run at the same time.
type workers struct {
	c      *Candidate
	ctx    context.Context
	stop   func() bool // ends the watch of ctx
	limit  int         // bytes that may be queued
	done   sync.WaitGroup
	target uint32 // documents a segment

	mu     sync.Mutex
	change *sync.Cond      // anything below changed
	ready  []*SourceWriter // with a batch to run, none twice
	queued int             // bytes of all batches not yet run
	busy   int             // batches running
	closed bool
	idle   []*sink // last in, first out: a small refresh uses one sink only, and writes one segment
	events uint64
}

// queueLimit is how many bytes of batches may wait. A batch is the memory of one message of a provider.
const queueLimit = 16 << 20

type batch struct {
	bytes int
	run   func(*sink) error
}

func newWorkers(ctx context.Context, c *Candidate) *workers {
	w := &workers{c: c, ctx: ctx, limit: queueLimit, target: segmentDocs}
	w.change = sync.NewCond(&w.mu)
	w.stop = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.change.Broadcast()
	})
	if c.base != nil {
		w.events = c.base.manifest.Stats.Events
	}
	w.aim()
	n := c.opt.Workers
	builder := builderMemory(c.opt.MaxMemory-c.runs.limit-queueLimit, n)
	pool := lexical.NewPool(1)
	for range n {
		w.idle = append(w.idle, newSink(c, pool, builder))
		w.done.Add(1)
		go w.loop()
	}
	return w
}

// builderMemory shares memory between n builders and one flush, which borrows up to 2.5 times the memory of its builder.
func builderMemory(total int64, n int) int { return int(max(total, 16<<20)) * 2 / (2*n + 5) }

// aim sets the size of the next segments.
func (w *workers) aim() {
	switch {
	case w.c.opt.segmentDocs > 0:
		w.target = w.c.opt.segmentDocs
	case w.events >= largeArchive:
		w.target = segmentDocsLarge
	}
}

// add queues a batch of a source. It waits while too much is queued.
func (w *workers) add(s *SourceWriter, b batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.queued > 0 && w.queued+b.bytes > w.limit {
		if err := w.trouble(s); err != nil {
			return err
		}
		w.change.Wait()
	}
	if err := w.trouble(s); err != nil {
		return err
	}
	w.queued += b.bytes
	s.queue = append(s.queue, b)
	if len(s.queue) == 1 && !s.running {
		w.ready = append(w.ready, s)
	}
	w.change.Broadcast()
	return nil
}

// trouble tells why no batch can be added.
func (w *workers) trouble(s *SourceWriter) error {
	switch {
	case w.closed:
		return errEnded
	case s.err != nil:
		return s.err
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return w.c.failure()
}

// wait returns when the batches of a source have run.
func (w *workers) wait(s *SourceWriter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(s.queue) > 0 || s.running {
		w.change.Wait()
	}
	if s.err != nil {
		return s.err
	}
	return errors.Join(w.c.failure(), w.ctx.Err())
}

func (w *workers) loop() {
	defer w.done.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.ready) == 0 && !w.closed {
			w.change.Wait()
		}
		if len(w.ready) == 0 {
			return
		}
		s := w.ready[0]
		w.ready = slices.Delete(w.ready, 0, 1)
		b := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1) // not s.queue[1:], whose array would keep every batch of the source in memory
		s.running = true
		sink := w.idle[len(w.idle)-1]
		w.idle = w.idle[:len(w.idle)-1]
		skip := s.err != nil || w.closed || w.ctx.Err() != nil || w.c.failure() != nil
		before := s.events
		target := w.target

		w.mu.Unlock()
		var err error
		if !skip {
			err = w.run(sink, b, target)
		}
		w.mu.Lock()

		if s.err == nil {
			s.err = err
		}
		w.events += s.events - before
		w.aim()
		w.queued -= b.bytes
		w.idle = append(w.idle, sink)
		s.running = false
		if len(s.queue) > 0 {
			w.ready = append(w.ready, s)
		}
		w.change.Broadcast()
	}
}

// run runs a batch and closes the segment when it is full.
func (w *workers) run(k *sink, b batch, target uint32) error {
	if err := b.run(k); err != nil {
		return err
	}
	if !k.full(target) {
		return nil
	}
	return w.c.fail(k.flush())
}

// finish ends the workers after their last batch and completes the open segments.
func (w *workers) finish() error {
	w.end(false)
	for _, k := range w.idle {
		if err := w.c.fail(k.flush()); err != nil {
			return err
		}
		if err := w.c.fail(k.entries.flush()); err != nil {
			return err
		}
	}
	return errors.Join(w.c.failure(), w.ctx.Err())
}

// abandon ends the workers and drops what they built.
func (w *workers) abandon() {
	w.end(true)
	for _, k := range w.idle {
		k.abandon()
	}
	w.idle = nil
}

func (w *workers) end(drop bool) {
	w.mu.Lock()
	w.closed = w.closed || drop
	for len(w.ready) > 0 || len(w.idle) < w.c.opt.Workers {
		w.change.Wait()
	}
	w.closed = true
	w.change.Broadcast()
	w.mu.Unlock()
	w.done.Wait()
	w.stop()
}
