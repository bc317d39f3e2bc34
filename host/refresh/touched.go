package refresh

import (
	"errors"
	"hash/maphash"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/retention"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// A limited run looks only at the files that changed. Whatever a file alone does not tell has the provider list everything: a source
// that is new and known from elsewhere, one that is back, a place that has come or gone, failures that nobody remembers one by one.

// Known is what one process remembers of the last generation, so that a limited run need not read all certificates. The zero value
// knows nothing; it may be used by one run at a time.
type Known struct {
	generation string
	seed       maphash.Seed
	places     map[uint64]record.Digest // hash of a place -> source that was last seen there
	awaited    map[uint64]bool          // numbers of the sources that would displace stored sessions
}

// place is where a source lies.
type place struct{ route, locator string }

func (k *Known) add(p place, source record.Digest, yields []uint64) {
	k.places[maphash.Comparable(k.seed, p)] = source
	for _, n := range yields {
		k.awaited[n] = true
	}
}

// learn takes in the certificates that a run has loaded.
func (k *Known) learn(g *core.Generation, stored []*known) {
	*k = Known{generation: g.ID(), seed: maphash.MakeSeed(), places: make(map[uint64]record.Digest, len(stored)), awaited: map[uint64]bool{}}
	for _, c := range stored {
		k.add(place{c.Route, c.Locator}, c.Source, c.Yields)
	}
}

// remember keeps up with what a limited run published.
func (r *run) remember(generation string) {
	k := r.req.Known
	if k == nil || r.scope.touched == nil {
		return
	}
	if !r.limited() {
		*k = Known{}
		return
	}
	k.generation = generation
	for _, s := range r.tally.scans {
		if s.stored != nil {
			k.add(place{s.route.ID, s.wire.GetLocator()}, s.source, s.stored.Yields)
		}
	}
}

// limited reports whether no provider of a limited run had to list everything.
func (r *run) limited() bool {
	return !slices.ContainsFunc(r.providers, func(p *provider) bool { return r.scope.covers(p.id) && !p.limited })
}

// observeTouched takes the inventories of a limited run. The certificates are loaded only when something has to be compared with all
// of them.
func (r *run) observeTouched() error {
	if r.req.Known == nil {
		r.req.Known = new(Known)
	}
	k := r.req.Known
	if r.partial = r.base != nil && k.generation == r.base.ID(); !r.partial && r.base != nil {
		if err := r.load(r.base); err != nil {
			return err
		}
		k.learn(r.base, r.stored)
	}
	var wait sync.WaitGroup
	for _, p := range r.providers {
		if p.failure != nil || !p.mustList() {
			continue
		}
		var why string
		var err error
		if p.changed, why, err = r.changes(p); err != nil {
			return err
		}
		if p.looked = "changed files"; why != "" {
			p.changed, p.looked = nil, "everything: "+why
		}
		wait.Go(func() { r.takeInventory(p) })
	}
	wait.Wait()
	for _, p := range r.providers {
		if p.limited {
			why, err := r.narrow(p)
			if err != nil {
				return err
			}
			if why == "" {
				continue
			}
			p.changed, p.looked = nil, "everything: "+why
			r.takeInventory(p)
		} else if p.changed != nil && p.failure == nil {
			p.looked = "everything: the changed files alone do not tell"
		}
	}
	if r.partial && !r.limited() {
		r.partial = false
		return errors.Join(r.load(r.base), r.stopped())
	}
	return r.stopped()
}

// find returns the certificate of a source, nil when it is not stored.
func (r *run) find(source record.Digest) (*known, error) {
	if c := r.certs[source]; c != nil || !r.partial {
		return c, nil
	}
	c, err := r.base.Certificate(source)
	if err != nil || c == nil {
		return nil, err
	}
	k := &known{Certificate: *c}
	r.certs[source], r.stored = k, append(r.stored, k)
	return k, nil
}

// changes returns what to ask a provider about, or why it has to list everything.
func (r *run) changes(p *provider) (changed []*historyv1.Source, why string, err error) {
	files := r.scope.touched[p.id]
	switch {
	case len(files) == 0 || r.base == nil || r.receipt == nil:
		return nil, "more changed than the content of files", nil
	case len(r.renamed) > 0:
		return nil, "places are called differently now", nil
	}
	before, told := r.receipt.Providers[p.id]
	if failures := before.remembered(); !told || uint64(len(failures)) < before.Failed || failures[p.id].Source != "" {
		return nil, "what failed before is not known source by source", nil
	}
	asked := slices.DeleteFunc(slices.Clone(p.routes), func(s *route) bool { return !s.readable() })
	for _, file := range files {
		inside := false
		for n, s := range asked {
			locator, ok := below(s.Path, file)
			if !ok {
				continue
			}
			inside = true
			wire := &historyv1.Source{Route: uint32(n), Locator: locator}
			changed = append(changed, wire)
			c, err := r.at(place{s.ID, locator})
			if err != nil || c == nil {
				if err != nil {
					return nil, "", err
				}
				continue
			}
			if c.State != core.Present {
				return nil, "a source is back", nil
			}
			wire.Anchor, wire.Format, wire.Observation = c.Anchor, c.Format, c.Observation
			wire.Size, wire.MtimeNs, wire.FileId = c.CertifiedBytes, c.ModTime, c.FileID
			if s.lineage != nil {
				wire.Anchor = record.WithoutLineage(c.Anchor, *s.lineage)
			}
		}
		if !inside {
			return nil, "a file beside the places changed", nil
		}
	}
	return changed, "", nil
}

// at returns the source that was last seen at a place, nil when there was none.
func (r *run) at(p place) (*known, error) {
	source, ok := r.req.Known.places[maphash.Comparable(r.req.Known.seed, p)]
	if !ok {
		return nil, nil
	}
	c, err := r.find(source)
	if c != nil && (place{c.Route, c.Locator}) != p {
		c = nil
	}
	return c, err
}

// below returns the locator of a file below a route.
func below(route, file string) (locator string, ok bool) {
	if file == route {
		return "", true
	}
	rest, ok := strings.CutPrefix(file, route+string(filepath.Separator))
	return filepath.ToSlash(rest), ok
}

// remembered are the failures of a receipt by source.
func (t *ProviderReceipt) remembered() map[string]ReceiptError {
	out := map[string]ReceiptError{}
	for _, f := range slices.Concat(t.Failures, t.Lasting) { // lasting ones know more
		out[f.Source] = f
	}
	return out
}

// narrow takes the answer of a provider that looked at the changed files only, or tells why that is not enough.
func (r *run) narrow(p *provider) (why string, err error) {
	looked := map[string]bool{}
	for _, i := range p.items {
		looked[i.source.String()] = true
		known, err := r.find(i.source)
		switch {
		case err != nil:
			return "", err
		case known == nil && r.req.Known.awaited[retention.Number(i.source)], known != nil && len(known.Yields) > 0:
			return "a session may give way to another one", nil
		case known != nil && (place{known.Route, known.Locator}) != place{i.route.ID, i.wire.GetLocator()}:
			return "a session lies in two places", nil
		}
	}
	before := r.receipt.Providers[p.id]
	for source, f := range before.remembered() {
		if !looked[source] {
			r.tally.standing = append(r.tally.standing, &failure{f, p.id, true})
		}
	}
	return "", nil
}
