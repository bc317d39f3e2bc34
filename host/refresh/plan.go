package refresh

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/retention"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// plan is what a run has to do.
type plan struct {
	scans   map[*provider][]*scan // what to read, biggest first
	touched []*item               // unchanged, but seen at another place or under another route
	revived []*item               // unchanged and back on disk
	same    uint64                // unchanged sources
	files   uint64
	bytes   uint64 // to read
}

// plan compares the inventories with the certificates.
func (r *run) plan() *plan {
	p := &plan{scans: map[*provider][]*scan{}}
	fresh := map[record.Digest]*item{}
	r.fresh = fresh
	for _, provider := range r.providers {
		for _, i := range provider.items {
			if i.cert = r.certs[i.source]; i.cert != nil {
				if i.cert.at == nil || i.before(i.cert.at) {
					i.cert.at = i
				}
			} else if other := fresh[i.source]; other == nil || i.before(other) {
				fresh[i.source] = i
			}
		}
	}
	for _, provider := range r.providers {
		for _, i := range provider.items {
			if i.cert != nil && i.cert.at == i || i.cert == nil && fresh[i.source] == i {
				r.decide(p, i)
			}
		}
	}
	for _, scans := range p.scans {
		// A big source at the end would be read alone.
		slices.SortStableFunc(scans, func(a, b *scan) int { return cmp.Compare(b.todo, a.todo) })
	}
	var histories []string
	for _, provider := range r.providers {
		if len(p.scans[provider]) > 0 {
			histories = append(histories, provider.id)
		}
	}
	r.meter.plan(p.files, p.bytes, histories)
	return p
}

// before reports whether this place of a source counts more than another one: the newer file, then the longer, then path order.
func (i *item) before(o *item) bool {
	if c := cmp.Compare(i.wire.GetMtimeNs(), o.wire.GetMtimeNs()); c != 0 {
		return c > 0
	}
	if c := cmp.Compare(i.wire.GetSize(), o.wire.GetSize()); c != 0 {
		return c > 0
	}
	return i.path() < o.path()
}

// decide chooses between nothing, a new sighting, an append and a full read of one source.
func (r *run) decide(p *plan, i *item) {
	full := &scan{item: i, asked: historyv1.Mode_MODE_FULL, todo: i.wire.GetSize()}
	c := i.cert
	switch {
	case c == nil || r.forgotten.Lifted(c.Forgotten): // what comes back comes from the first place that has it
		r.read(p, full)
		return
	case (!r.req.Reset || r.scope.exhaustive()) && r.elsewhere(i):
		p.same++
		return
	case r.rebuild || r.req.Reset || !i.readAs(&c.Certificate) || r.outdated(&c.Certificate):
		r.read(p, full)
		return
	}
	if bytes.Equal(c.Observation, i.wire.GetObservation()) {
		p.same++
		switch s := i.sighting(); {
		case c.State == core.Gone:
			p.revived = append(p.revived, i)
		case s.Route != c.Route || s.Locator != c.Locator || s.ModTime != c.ModTime || s.FileID != c.FileID:
			p.touched = append(p.touched, i)
		}
		return
	}
	if c.HasFrontier && i.wire.GetSize() >= c.CertifiedBytes {
		full.asked, full.todo = historyv1.Mode_MODE_APPEND, i.wire.GetSize()-c.CertifiedBytes
	}
	r.read(p, full)
}

// read plans the reading of a source, unless it would only fail again.
func (r *run) read(p *plan, s *scan) {
	if f := r.standingFailure(s.item); f != nil {
		r.tally.standing = append(r.tally.standing, f)
		return
	}
	p.scans[s.provider] = append(p.scans[s.provider], s)
	p.files++
	p.bytes += s.todo
}

// readAs reports whether a certificate was made by the parser that would read the source now. Anything else is a replacement.
func (i *item) readAs(c *core.Certificate) bool {
	return c.ParserRevision == i.format.revision && c.Format == i.wire.GetFormat() && c.Variant == i.format.variant &&
		c.IdentityVersion == i.format.version
}

// outdated reports whether what is stored of a source has to give way to a better one.
func (r *run) outdated(c *core.Certificate) bool {
	if len(c.Yields) > 0 && r.numbers == nil {
		r.numbers = map[uint64]bool{}
		for source := range r.certs {
			r.numbers[retention.Number(source)] = true
		}
		for source := range r.fresh {
			r.numbers[retention.Number(source)] = true
		}
	}
	return slices.ContainsFunc(c.Yields, func(n uint64) bool { return r.numbers[n] })
}

// elsewhere reports whether the stored records come from another file that this run does not list, that counts more and is still
// there: an old copy never replaces newer history, neither under an explicit path nor under a selected route while the newer one
// came from an explicit path. The same file seen through an explicit path stays with the route that selects it.
func (r *run) elsewhere(i *item) bool {
	if i.cert.State != core.Present || i.cert.Route == i.route.ID || r.routes[i.cert.Route] != nil {
		return false
	}
	home := r.home(&i.cert.Certificate)
	if home == "" {
		return false
	}
	if home == i.path() {
		return !r.scope.exhaustive() && i.readAs(&i.cert.Certificate) && bytes.Equal(i.cert.Observation, i.wire.GetObservation())
	}
	info, err := os.Lstat(home)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	newer := cmp.Or(cmp.Compare(info.ModTime().UnixNano(), i.wire.GetMtimeNs()), cmp.Compare(info.Size(), int64(i.wire.GetSize())))
	return newer > 0 || newer == 0 && !r.scope.exhaustive()
}

// home returns where a stored source lay when it was last seen, "" when its route is not known any more.
func (r *run) home(c *core.Certificate) string {
	if g := r.former(); g != nil {
		for _, s := range g.Manifest().Routes {
			if s.Identity == c.Route {
				return sourcePath(s.Path, c.Locator)
			}
		}
	}
	return ""
}

// absent lists the stored sources that the run proves to be gone: a complete inventory of their route lacks them, and no other
// route has them.
func (r *run) absent() []*known {
	return r.lacking(func(s *route) bool { return s.state == historyv1.RouteEnd_STATE_COMPLETE })
}

// lacking lists the stored sources, of the routes that prove it, that no inventory has, by source.
func (r *run) lacking(proves func(*route) bool) (out []*known) {
	proven := map[string]bool{}
	for id, s := range r.routes {
		proven[id] = proves(s)
	}
	for _, c := range r.stored {
		if c.at == nil && proven[r.routeOf(c)] && (c.State == core.Present || r.dropsGone()) {
			out = append(out, c)
		}
	}
	return out
}

// missing reports whether a path certainly does not exist now.
func missing(place string) bool {
	_, err := os.Lstat(place)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	// A link that leads nowhere is an absent place too.
	_, err = filepath.EvalSymlinks(place)
	return errors.Is(err, fs.ErrNotExist)
}
