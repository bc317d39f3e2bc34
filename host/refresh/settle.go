package refresh

import (
	"context"
	"os"
	"slices"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

func (r *run) dropsGone() bool { return r.req.Config.Retention == config.RetentionDrop }

// settle does what needs no reading: sources that moved, came back or are gone.
func (r *run) settle(p *plan) error {
	gone := r.absent()
	gone, err := r.confirm(gone)
	if err != nil {
		return err
	}
	routes := r.publishedRoutes()
	r.tally.routes = routes
	gone = append(gone, r.longAbsent(routes)...)
	if r.rebuild {
		if err := r.carry(); err != nil {
			return err
		}
	}
	if err := r.resight(); err != nil {
		return err
	}
	for _, i := range slices.Concat(p.touched, p.revived) {
		if err := r.seenAgain(i); err != nil {
			return err
		}
	}
	r.tally.unchanged = p.same
	for _, c := range gone {
		if err := r.lose(c); err != nil {
			return err
		}
	}
	return r.stopped()
}

// seenAgain keeps the new sighting of an unchanged source. If it counted as gone it is present again.
func (r *run) seenAgain(i *item) error {
	c, err := r.writing()
	if err != nil {
		return err
	}
	if i.cert.State == core.Gone {
		if err := c.SetState(i.source, core.Present); err != nil {
			return err
		}
		i.cert.State = core.Present
		r.tally.changed++
	}
	return c.Touch(i.source, i.sighting())
}

// lose marks a source as gone, or deletes it when the user wants that.
func (r *run) lose(cert *known) error {
	c, err := r.writing()
	if err != nil {
		return err
	}
	if cert.State == core.Present {
		r.tally.gone++
	}
	r.tally.changed++
	if home := r.home(&cert.Certificate); home != "" && missing(home) {
		r.tally.lost = append(r.tally.lost, home)
	}
	if r.dropsGone() {
		r.tally.removed++
		cert.dropped = true
		return c.Drop(cert.Source)
	}
	cert.State = core.Gone
	return c.SetState(cert.Source, core.Gone)
}

// confirm lists the routes of absent sources once more, just before the publication: only what is lacking twice is gone. A source
// that vanished while it was read is absent in the same way.
func (r *run) confirm(absent []*known) ([]*known, error) {
	doubtful := map[*provider]bool{}
	for _, c := range absent {
		if owner := r.owner(c.Provider); owner != nil {
			doubtful[owner] = true
		}
	}
	vanished := map[record.Digest]*scan{}
	for _, s := range r.tally.scans {
		if s.failure != nil && s.failure.Class == classVanished {
			doubtful[s.provider] = true
			vanished[s.source] = s
		}
	}
	if len(doubtful) == 0 {
		return nil, nil
	}
	again := map[record.Digest]bool{}
	listed := map[string]bool{}
	for owner := range doubtful {
		items, end, err := r.inventory(owner, nil)
		if err != nil {
			if r.ctx.Err() != nil {
				return nil, r.stopped()
			}
			r.log("provider %s: second inventory: %v", owner.id, err)
			continue
		}
		for _, i := range items {
			again[i.source] = true
		}
		for _, s := range owner.routes {
			if s.index >= 0 && end.GetRoutes()[s.index].GetState() == historyv1.RouteEnd_STATE_COMPLETE {
				listed[s.ID] = true
			}
		}
	}
	gone := slices.DeleteFunc(absent, func(c *known) bool { return again[c.Source] || !listed[r.routeOf(c)] })
	for source, s := range vanished {
		if again[source] || !listed[s.route.ID] {
			continue
		}
		// It is gone, which is no failure.
		s.failure, s.same, s.lost = nil, false, true
		if s.item.cert != nil && listed[r.routeOf(s.item.cert)] && s.item.cert.State == core.Present {
			gone = append(gone, s.item.cert)
		}
	}
	return gone, nil
}

func (r *run) owner(id string) *provider {
	if n := slices.IndexFunc(r.providers, func(p *provider) bool { return p.id == id }); n >= 0 {
		return r.providers[n]
	}
	return nil
}

// longAbsent returns the sources of automatic routes that were proven absent often enough.
func (r *run) longAbsent(routes []core.Route) []*known {
	often := map[string]bool{}
	for _, b := range routes {
		often[b.Identity] = b.Absent >= absencesUntilGone
	}
	return r.lacking(func(s *route) bool {
		return often[s.ID] && !r.owner(s.Provider).limited && s.absent() && missing(s.Path)
	})
}

// carry copies what a rebuild did not read from the old generation: sources that are gone, retained or failing. What a damaged
// generation does not give back is told as a failure.
func (r *run) carry() error {
	c, err := r.writing()
	if err != nil {
		return err
	}
	old := c.Old()
	if old == nil {
		return nil
	}
	for _, cert := range r.stored {
		if cert.reread {
			continue
		}
		err := c.Carry(r.ctx, old, cert.Source, func(s *record.Session) bool {
			_, forgotten := r.forgotten.Has(s.Provider, s.Kind, s.Key)
			return forgotten
		})
		if err == nil {
			continue
		}
		if r.ctx.Err() != nil || fault.Code(err) != fault.IndexCorruption && !ofSource(err) {
			return err
		}
		r.log("provider %s: source %s cannot be carried over: %v", cert.Provider, cert.Source, err)
		cert.dropped = true
		r.tally.standing = append(r.tally.standing, &failure{provider: cert.Provider, ReceiptError: ReceiptError{
			Source: cert.Source.String(), Path: r.home(&cert.Certificate), Class: classInternal,
			Detail: "its records in the damaged index cannot be read, and its file is not there to be read again",
		}})
	}
	return nil
}

// publish makes the candidate the active generation. Without a candidate there is nothing to publish, unless the selection itself
// changed or nothing was ever published.
func (r *run) publish() (core.Publication, error) {
	digest, roots := r.roots()
	if !r.mustWrite(digest, roots) {
		id := generationID(r.base)
		return core.Publication{Disposition: reused, Generation: id, Previous: id}, nil
	}
	c, err := r.writing()
	if err != nil {
		return core.Publication{}, err
	}
	c.SetTombstones(r.forgotten.Digest())
	c.SetRoutes(r.tally.routes)
	if r.scope.exhaustive() {
		c.SetRoots(digest, roots)
	}
	published, err := c.Publish(r.ctx, core.PublishOptions{
		Stage: func(stage string, _, _ int64) {
			if name, ok := stageNames[stage]; ok {
				r.meter.enter(name)
			}
		},
		Recheck: r.recheck,
	})
	if err != nil {
		return core.Publication{}, err
	}
	r.mu.Lock()
	r.candidate = nil
	r.mu.Unlock()
	r.tally.published = true
	sources.Keep(r.req.Config, r.req.Executable, r.described) // the data root is there now
	return published, nil
}

// reused is the disposition of a run that published nothing.
const reused = "reused"

// stageNames maps the stages of the store to those of the progress stream.
var stageNames = map[string]string{
	"merging": StageMerging, "syncing": StageSyncing, "physical verification": StagePhysical, "logical verification": StageLogical,
	"activation": StageActivate,
}

// recheck looks once more, just before the pointer moves: the routes that count as absent still are, what is gone did not come back,
// and no file that was read vanished or shrank. One that only grew is certified as far as it was read. In the last attempt such a
// file is published as it was read, and the next run sees the difference.
func (r *run) recheck(ctx context.Context) error {
	for _, s := range r.routes {
		if s.absent() && !missing(s.Path) {
			return errMoved
		}
	}
	for _, home := range r.tally.lost {
		if !missing(home) {
			return errMoved
		}
	}
	for _, s := range r.tally.scans {
		if s.stored == nil || s.length < 0 {
			continue
		}
		if info, err := os.Lstat(s.path()); err == nil && info.Size() >= s.length {
			continue
		}
		if !r.last {
			return errMoved
		}
		r.log("provider %s: source %s changed after it was read", s.provider.id, s.source)
	}
	return context.Cause(ctx)
}

// mustWrite reports whether there is anything to publish.
func (r *run) mustWrite(digest string, roots []core.Root) bool {
	r.mu.Lock()
	begun := r.candidate != nil
	r.mu.Unlock()
	if begun {
		return true
	}
	if r.base == nil {
		// An empty generation says that nothing is there to import; a run in which everything failed does not know that.
		return len(r.failures()) == 0
	}
	if !slices.Equal(r.tally.routes, r.base.Routes()) {
		return true
	}
	m := r.base.Manifest()
	return r.scope.exhaustive() && (digest != m.Config || !slices.Equal(roots, m.Roots))
}
