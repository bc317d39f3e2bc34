package daemon

import (
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/sources"
)

// housekeeping does what the clock asks for.
func (d *daemon) housekeeping(now time.Time) {
	reached := func(at *time.Time) bool {
		if at.IsZero() || now.Before(*at) {
			return false
		}
		*at = time.Time{}
		return true
	}
	if reached(&d.calmAt) && d.idle() {
		d.Memory(true)
	}
	if reached(&d.reclaimAt) {
		d.aside(func() func() {
			left, err := d.Store.Reclaim(d.ctx)
			return func() {
				if err != nil || left > 0 {
					d.reclaimAt = time.Now().Add(5 * reclaimAfter)
				}
			}
		})
	}
	if reached(&d.aroundAt) { // the loop itself sees after every step whether the data root is there
		d.aroundAt = now.Add(d.around)
		missing := d.uninstalled()
		if missing && d.uninstall && d.idle() {
			d.ending = "completed"
		}
		d.uninstall = missing
	}
	if reached(&d.pollAt) {
		d.poll()
	}
	if reached(&d.reconcileAt) {
		d.reconcileAt = now.Add(reconcileEvery + rand.N(reconcileJitter))
		d.look()
		routes := d.routes
		d.aside(func() func() {
			sum := sumOf(routes)
			return func() {
				if sum != d.baseline || d.unsettled {
					d.baseline = sum
					d.schedule.touch(everything, time.Now())
				}
			}
		})
	}
}

// aside does something slow beside the loop, and what follows from it in the loop.
func (d *daemon) aside(slow func() (then func())) {
	d.conns.Go(func() { d.post(slow()) })
}

// poll looks at the routes that cannot be watched.
func (d *daemon) poll() {
	routes := d.polled
	d.aside(func() func() {
		var changed []string
		for _, p := range routes {
			if sum := fingerprint(p.Path); sum != p.print {
				p.print = sum // nobody else looks at it meanwhile: the next poll starts after this one
				changed = append(changed, p.Provider)
			}
		}
		return func() {
			for _, provider := range changed {
				d.schedule.touch(provider, time.Now())
			}
			d.pollLater()
		}
	})
}

func (d *daemon) pollLater() {
	d.pollAt = time.Time{}
	if len(d.polled) > 0 {
		d.pollAt = time.Now().Add(d.Poll)
	}
}

// changed takes what a watcher tells.
func (d *daemon) changed(c change) {
	now := time.Now()
	switch {
	case c.missed:
		d.replan = true
		d.schedule.touch(everything, now)
	case c.root:
		d.reconfigure()
	default:
		d.replan = d.replan || c.replan
		if c.file != "" {
			d.schedule.touch(c.provider, now, c.file)
		} else {
			d.schedule.touch(c.provider, now)
		}
	}
}

// reconfigure reads config.toml again. A file that is not valid changes nothing.
func (d *daemon) reconfigure() {
	if d.place.gone(d.lock) {
		return
	}
	before := d.config
	if !d.load() || sameSettings(before, d.config) {
		return
	}
	if d.config.Indexing.Mode != config.ModeAuto && !d.Force {
		d.ending = "stopped"
		return
	}
	d.replan = true
	d.schedule.touch(everything, time.Now())
}

func (d *daemon) load() bool {
	now := time.Now().UnixMilli()
	d.reload.AttemptAtMS = now
	c, err := config.Load(d.DataRoot, d.Environment)
	if err != nil {
		d.reload.Failed = fault.From(err).Message
		d.log("config.toml is not used: %v", d.reload.Failed)
		return false
	}
	d.config, d.reload.Failed, d.reload.AppliedAtMS = c, "", now
	return true
}

// sameSettings compares what a refresh depends on.
func sameSettings(a, b *config.Config) bool {
	return a.Indexing.Mode == b.Indexing.Mode && a.Automatic == b.Automatic && a.Retention == b.Retention && slices.Equal(a.Roots, b.Roots)
}

// look finds the routes again and watches them. It asks the providers, which may take long: short calls are answered meanwhile.
func (d *daemon) look() {
	d.shown.Store(d.health())
	d.replan = false
	plugins := d.Plugins(d.config)
	described := sources.Describe(d.ctx, d.config, d.Executable, plugins.Names(), plugins.Describe)
	found, err := sources.Discover(d.ctx, sources.Input{Config: d.config, Descriptions: described, Resolve: plugins.Resolve})
	if err != nil {
		return // the daemon ends
	}
	d.routes = found.Routes
	d.polled = d.watcher.watch(d.routes, d.DataRoot)
	for _, p := range d.polled {
		p.print = fingerprint(p.Path)
	}
	d.pollLater()
}

// sumOf is the fingerprint of routes and all below them.
func sumOf(routes []sources.Route) uint64 {
	var total uint64
	for _, r := range routes {
		total = total*31 + fingerprint(r.Path) + maphash.String(seed, r.ID)
	}
	return total
}

// sourceless reports whether no route leads anywhere.
func (d *daemon) sourceless() bool {
	return !slices.ContainsFunc(d.routes, func(r sources.Route) bool { return r.Status != sources.Missing && r.Status != sources.Unsupported })
}

func (d *daemon) startMerge() {
	ctx, cancel := context.WithCancel(d.ctx)
	d.Memory(false)
	m := &merge{cancel: cancel, done: make(chan error, 1)}
	d.merge = m
	go func() {
		defer cancel()
		_, err := d.Store.Merge(ctx, core.MergePolicy{Log: d.log})
		m.done <- err
	}()
}

// merged settles a merge. One that made room comes again when nothing else is due.
func (d *daemon) merged(err error) {
	d.merge = nil
	switch {
	case err == nil:
		d.mergeDue, d.preempts = false, 0
		d.reclaimAt = time.Now().Add(reclaimAfter)
	case errors.Is(err, context.Canceled):
		d.preempts++
	default:
		d.mergeDue = false // after the next publication
		d.log("merging segments: %v", fault.From(err).Detail())
	}
	d.calmAt = time.Now().Add(calmAfter)
}
