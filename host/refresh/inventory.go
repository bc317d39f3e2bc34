package refresh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// maxSources bounds one inventory.
const maxSources = 131_072

// item is one source as the inventory shows it.
type item struct {
	provider *provider
	route    *route
	wire     *historyv1.Source
	source   record.Digest
	format   *format
	cert     *known // nil: not stored yet
}

// path is where the source lies on disk.
func (i *item) path() string { return sourcePath(i.route.Path, i.wire.GetLocator()) }

func sourcePath(route, locator string) string {
	if locator == "" {
		return route
	}
	return filepath.Join(route, filepath.FromSlash(locator))
}

func (i *item) sighting() core.Sighting {
	return core.Sighting{
		Route: i.route.ID, Locator: i.wire.GetLocator(), Observation: i.wire.GetObservation(),
		ModTime: i.wire.GetMtimeNs(), FileID: i.wire.GetFileId(),
	}
}

// observe starts the providers that have something to read, all at once and beside the opening of the active generation, and
// takes their inventories while the certificates are loaded.
func (r *run) observe() error {
	var wait sync.WaitGroup
	var pinned error
	wait.Go(func() { pinned = r.pin() })
	for _, p := range r.providers {
		if p.failure != nil || !p.mustList() || p.plugin != nil {
			continue
		}
		wait.Go(func() {
			plugin, err := r.req.Plugins.Start(r.ctx, p.name)
			if err != nil {
				p.failed("the provider did not start; see the log and ctx doctor")
				r.log("provider %s: %v", p.id, err)
				return
			}
			p.plugin = plugin
		})
	}
	wait.Wait()
	if pinned != nil {
		return pinned
	}
	r.assignRoots()
	r.rename()
	if r.scope.touched != nil {
		return r.observeTouched()
	}
	if r.base != nil {
		wait.Go(func() { pinned = r.load(r.base) })
	}
	for _, p := range r.providers {
		if p.failure == nil && p.mustList() {
			wait.Go(func() { r.takeInventory(p) })
		}
	}
	wait.Wait()
	return cmp.Or(pinned, r.stopped())
}

// mustList reports whether a provider has a route that may hold something.
func (p *provider) mustList() bool {
	return slices.ContainsFunc(p.routes, (*route).readable)
}

// readable reports whether a route is worth asking for: a missing one is proven absent, an unsupported one may not be read.
func (s *route) readable() bool {
	return s.Status != sources.Missing && s.Status != sources.Unsupported
}

func (r *run) takeInventory(p *provider) {
	items, end, err := r.inventory(p, p.changed)
	if err != nil {
		if r.ctx.Err() == nil {
			p.failed("the provider could not list its sources; see the log and ctx doctor")
			r.log("provider %s: inventory: %v", p.id, err)
		}
		return
	}
	p.items, p.limited = items, end.GetLimited()
	for _, d := range end.GetDiagnostics() {
		r.log("provider %s: %s %s: %s", p.id, d.GetCode(), d.GetLocator(), d.GetMessage())
	}
	for _, s := range p.routes {
		if s.index < 0 || p.limited {
			continue
		}
		s.state = end.GetRoutes()[s.index].GetState()
		for _, d := range end.GetDiagnostics() {
			if int(d.GetRoute()) == s.index && d.GetCode() == "unreadable" {
				s.problems = append(s.problems, d)
			}
		}
	}
}

// inventory asks for all readable routes of a provider at once, so that it can give a source of two stores only once. With changed
// files it asks for those alone.
func (r *run) inventory(p *provider, changed []*historyv1.Source) ([]*item, *historyv1.InventoryEnd, error) {
	if p.dead && !r.restart(p) {
		return nil, nil, errors.New("the provider stopped too often")
	}
	req := &historyv1.InventoryRequest{MaxSources: maxSources, Changed: changed}
	var asked []*route
	for _, s := range p.routes {
		if s.readable() {
			s.index = len(asked)
			asked = append(asked, s)
			req.Routes = append(req.Routes, s.wire())
		}
	}
	var items []*item
	end, err := p.plugin.Inventory(r.ctx, req, func(w *historyv1.Source) error {
		i, err := p.admit(w, asked)
		items = append(items, i)
		return err
	})
	if err == nil {
		err = context.Cause(r.ctx)
	}
	return items, end, err
}

func (s *route) wire() *historyv1.Route {
	w := &historyv1.Route{Id: s.ID, Path: s.Path, Format: s.Format, Role: s.Role, Explicit: s.Authority == sources.Named}
	catalog := record.NamedRootLineage(s.Provider, "")
	if s.lineage != nil {
		catalog = *s.lineage
	}
	w.Lineage = catalog[:]
	if s.Root != nil {
		w.Label = s.Root.Name
	}
	return w
}

// admit derives the id of a source and checks what its form, which was checked where it arrived, does not tell.
func (p *provider) admit(w *historyv1.Source, asked []*route) (*item, error) {
	i := &item{provider: p, wire: w, route: asked[w.GetRoute()], format: p.formats[w.GetFormat()]}
	switch {
	case i.format == nil:
		return nil, errors.New("a source of a format that the provider did not describe")
	case w.GetSize() > math.MaxInt64:
		return nil, fmt.Errorf("a source of %d bytes", w.GetSize())
	}
	w.Format = i.format.leaf
	anchor := w.GetAnchor()
	if err := record.ValidAnchor(anchor); err != nil {
		return nil, err
	}
	if i.route.lineage != nil {
		anchor = record.WithLineage(anchor, *i.route.lineage)
	}
	i.source = record.SourceID(p.id, anchor)
	return i, nil
}
