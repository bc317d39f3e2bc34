package refresh

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/retention"
	"github.com/agenthistory/ctx/host/sources"
)

// CodeCancelled is the code of a run that was stopped from outside.
const CodeCancelled = "cancelled"

// errMoved ends an attempt whose ground moved: another writer published, or a place that counted as absent is back. The run
// starts again from the new state.
var errMoved = errors.New("the state of the index or of a source changed during the run")

// maxAttempts bounds how often a run starts again.
const maxAttempts = 3

// Run brings the index up to date. Failures of sources are part of the report; a failure of ctx itself (storage, index,
// configuration, a busy writer) is a fault and gives no report. A cancelled context leaves the last good generation and gives
// a fault with code cancelled.
func Run(ctx context.Context, req Request) (*Report, error) {
	if req.Trigger == "" {
		req.Trigger = "import"
	}
	defer withinBudget()()
	m := newMeter(&req)
	var report *Report
	var err error
	merge := false
	for n := range maxAttempts {
		m.restart()
		report, merge, err = attempt(ctx, &req, m, n == maxAttempts-1)
		if !errors.Is(err, errMoved) {
			break
		}
	}
	if report != nil {
		report.MergeDue = merge
	}
	if merge && !req.MergeLater {
		m.enter(StageMerging)
		if _, mergeErr := req.Store.Merge(ctx, core.MergePolicy{Log: req.Log}); mergeErr != nil && req.Log != nil {
			req.Log("merging segments: %v", fault.From(mergeErr).Detail()) // the next run does it
		}
	}
	m.finish(err != nil)
	switch {
	case err == nil:
		return report, nil
	case ctx.Err() != nil:
		return nil, fault.Wrap(context.Cause(ctx), CodeCancelled, "the refresh was stopped; the index is as it was").WithRetry(true)
	case errors.Is(err, errMoved):
		return nil, fault.Wrap(err, fault.Busy, "another refresh is at work").WithHint("try again").WithRetry(true)
	}
	return nil, fault.From(err)
}

// known is a stored source.
type known struct {
	core.Certificate
	at      *item // where an inventory of this run has it, nil = nowhere
	dropped bool  // deleted by this run
	reread  bool  // stored anew by this run
}

// run is one attempt.
type run struct {
	req     *Request
	meter   *meter
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timings Timings

	scope     scope
	described []sources.Described
	base      *core.Generation // nil: nothing published yet, or it cannot be read by this version
	last      bool             // no further attempt follows
	partial   bool             // only some certificates of the base are loaded
	rebuild   bool             // the published generation cannot be used and is made anew
	certs     map[record.Digest]*known
	stored    []*known // the same by source
	providers []*provider
	routes    map[string]*route // of all providers, by id
	renamed   map[string]string // former id of a route that is called differently now -> present id
	forgotten *retention.Forgotten
	fresh     map[record.Digest]*item // listed sources that are not stored, each at the place that counts
	receipt   *Receipt                // of the run before, nil = unknown
	lasting   map[string]ReceiptError // its lasting failures by source; made when first needed
	numbers   map[uint64]bool         // of all sources, stored or listed; made when first needed

	mu        sync.Mutex
	candidate *core.Candidate
	fatal     error // of the store: ends the run
	finishing sync.WaitGroup
	tally     tally
}

func attempt(ctx context.Context, req *Request, m *meter, last bool) (report *Report, merge bool, err error) {
	r := &run{req: req, meter: m, last: last, certs: map[record.Digest]*known{}, routes: map[string]*route{}}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.close()
	started := time.Now()
	if r.receipt, err = LastReceipt(req.Config); err != nil {
		r.log("%v", fault.From(err).Detail())
	}
	if err := r.discover(); err != nil {
		return nil, false, err
	}
	r.timings.Discovery = lap(&started)
	if err := r.observe(); err != nil {
		return nil, false, err
	}
	// Read after the generation was pinned: it is written before a generation that agrees with it.
	if r.forgotten, err = retention.LoadForgotten(req.Config.DataRoot); err != nil {
		return nil, false, err
	}
	if r.base != nil {
		if moved, err := r.forgotten.Apply(r.ctx, req.Store, r.base); err != nil || moved {
			return nil, false, cmp.Or(err, errMoved)
		}
	}
	r.timings.Inventory = lap(&started)
	plan := r.plan()
	widen(plan.bytes)
	if err := r.scan(plan); err != nil {
		return nil, false, err
	}
	r.timings.Scan = lap(&started)
	if err := r.settle(plan); err != nil {
		return nil, false, err
	}
	published, err := r.publish()
	if err != nil {
		return nil, false, err
	}
	r.remember(published.Generation)
	r.timings.Publish = lap(&started)
	report, err = r.report(published)
	return report, r.tally.mergeDue, err
}

// lap returns the microseconds since *from and moves it to now.
func lap(from *time.Time) int64 {
	now := time.Now()
	d := now.Sub(*from)
	*from = now
	return d.Microseconds()
}

// close ends everything an attempt holds. A candidate that was not published is thrown away.
func (r *run) close() {
	r.cancel(nil)
	r.finishing.Wait()
	r.mu.Lock()
	if r.candidate != nil {
		r.candidate.Discard()
		r.candidate = nil
	}
	r.mu.Unlock()
	if r.base != nil {
		r.base.Close()
	}
	var wait sync.WaitGroup
	for _, p := range r.providers {
		if p.plugin != nil {
			wait.Go(p.plugin.Close)
		}
	}
	wait.Wait()
}

func (r *run) log(format string, args ...any) {
	if r.req.Log != nil {
		r.req.Log(format, args...)
	}
}

// fail ends the run with an error of the store or of ctx itself. The first one counts.
func (r *run) fail(err error) {
	r.mu.Lock()
	if r.fatal == nil {
		r.fatal = err
	}
	r.mu.Unlock()
	r.cancel(err)
}

// stopped returns why the run cannot go on.
func (r *run) stopped() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fatal != nil {
		return r.fatal
	}
	return context.Cause(r.ctx)
}

// writing returns the candidate and begins it at the first call, so that a run without anything to store never asks for the
// writer lock. The candidate has to start from the generation that the plan was made for.
func (r *run) writing() (*core.Candidate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.candidate != nil {
		return r.candidate, nil
	}
	c, err := r.req.Store.Begin(r.ctx, core.BeginOptions{
		Log: r.req.Log, MaxMemory: storeMemory, Workers: r.req.Workers, Rebuild: r.rebuild,
	})
	if err != nil {
		return nil, err
	}
	if !r.rebuild && generationID(c.Base()) != generationID(r.base) {
		c.Discard()
		return nil, errMoved
	}
	r.candidate = c
	return c, nil
}

func generationID(g *core.Generation) string {
	if g == nil {
		return ""
	}
	return g.ID()
}

// pin takes hold of the active generation and copies its certificates.
func (r *run) pin() error {
	g, err := r.req.Store.Pin(r.ctx)
	if err == nil && g.Fallback() != nil { // an older generation answers searches, but nothing can be built on it
		err = errors.Join(g.Fallback(), g.Close())
	}
	switch fault.Code(err) {
	case "":
		r.base = g
		return nil
	case fault.SourceUnavailable:
		return nil
	case fault.IndexIncompatible:
	case fault.IndexCorruption, fault.PublicationAuthorityInvalid:
		if !r.scope.whole() {
			return err // only a run over everything can make everything anew
		}
		r.log("the index is damaged and is made anew: %v", fault.From(err).Detail())
	default:
		return err
	}
	r.rebuild = true
	c, err := r.writing()
	if err != nil || c.Old() == nil {
		return err
	}
	if err := r.load(c.Old()); err != nil {
		r.log("not every certificate of the old generation can be read: %v", fault.From(err).Detail())
	}
	return nil
}

// load copies the certificates. Map and backing array are made in one piece: with 10,000 sources, growing them would cost more
// than the rest of a run without news.
func (r *run) load(g *core.Generation) error {
	n := g.Manifest().Stats.Sources
	r.certs, r.stored = make(map[record.Digest]*known, n), make([]*known, 0, n)
	kept := make([]known, 0, n)
	return g.Certificates(func(c *core.Certificate) error {
		if len(kept) == cap(kept) { // more than the manifest says
			kept = make([]known, 0, 64)
		}
		kept = append(kept, known{Certificate: *c})
		k := &kept[len(kept)-1]
		k.Rejections = slices.Clone(c.Rejections)
		r.certs[c.Source] = k
		r.stored = append(r.stored, k)
		return nil
	})
}

// former is the generation whose records can be carried over: the base, or in a rebuild the old one.
func (r *run) former() *core.Generation {
	if r.rebuild {
		if c, err := r.writing(); err == nil {
			return c.Old()
		}
		return nil
	}
	return r.base
}
