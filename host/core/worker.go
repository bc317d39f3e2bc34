package core

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/host/lexical"
)

// workers run batches, as many at a time as there are sinks. Batches of one source run one after the other in their order, on any sink,
// so that a source needs no locks and the first of two equal events always wins; batches of different sources run at the same time.
type workers struct {
	c      *Candidate
	ctx    context.Context
	stop   func() bool // ends the watch of ctx
	limit  int         // bytes that may be queued
	target uint32      // documents a segment

	mu      sync.Mutex
	change  *sync.Cond // anything below changed
	queued  int        // bytes of all batches not yet run
	running int        // sources with batches to run
	closed  bool
	events  uint64
	made    []*sink // all sinks, made when there is none to be had: a small refresh uses one only, and writes one segment

	sinks   chan *sink // those that nobody uses; whoever waits longest gets the next one
	newSink func() *sink
}

// queueLimit is how many bytes of batches may wait. A batch is the memory of one message of a provider.
const queueLimit = 16 << 20

type batch struct {
	bytes int
	run   func(*sink) error
}

func newWorkers(ctx context.Context, c *Candidate) *workers {
	w := &workers{c: c, ctx: ctx, limit: queueLimit, target: segmentDocs, sinks: make(chan *sink, c.opt.Workers)}
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
	builder := builderMemory(c.opt.MaxMemory-c.runs.limit-queueLimit, c.opt.Workers)
	pool := lexical.NewPool(1)
	w.newSink = func() *sink { return newSink(c, pool, builder) }
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
	if !s.running {
		s.running = true
		w.running++
		go w.drain(s)
	}
	return nil
}

// trouble tells why no batch can be added or run.
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

// wait returns when the batches of a source have run, or the running one when drop says why the waiting ones need not.
func (w *workers) wait(s *SourceWriter, drop error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.err == nil {
		s.err = drop
	}
	for s.running {
		w.change.Wait()
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

// drain runs the batches of a source until none is left. It gives its sink back after every one, to the source that waits for it.
func (w *workers) drain(s *SourceWriter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(s.queue) > 0 {
		b := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1) // not s.queue[1:], whose array would keep every batch of the source in memory
		skip := w.trouble(s) != nil
		before, target := s.events, w.target

		w.mu.Unlock()
		var err error
		if !skip {
			sink := w.sink()
			err = w.run(sink, b, target)
			w.sinks <- sink
		}
		w.mu.Lock()

		if s.err == nil {
			s.err = err
		}
		w.events += s.events - before
		w.aim()
		w.queued -= b.bytes
		w.change.Broadcast()
	}
	s.running = false
	w.running--
	w.change.Broadcast()
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
	for _, k := range w.made {
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
	for _, k := range w.made {
		k.abandon()
	}
	w.made = nil
}

func (w *workers) end(drop bool) {
	w.mu.Lock()
	w.closed = w.closed || drop
	for w.running > 0 {
		w.change.Wait()
	}
	w.closed = true
	w.change.Broadcast()
	w.mu.Unlock()
	w.stop()
}
