package refresh

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// tally collects what a run did.
type tally struct {
	scans     []*scan
	routes    []core.Route
	unchanged uint64
	changed   uint64 // sources whose state changed without being read
	gone      uint64
	removed   uint64
	published bool       // a new generation is active
	mergeDue  bool       // and has segments to merge
	lost      []string   // places of sources that became gone and are not there
	standing  []*failure // sources that were not read: they fail as before, or a rebuild could not carry them over
}

// failures lists what failed, in the order of providers and places: providers, routes that could not be listed, sources.
func (r *run) failures() []*failure {
	var out []*failure
	for _, p := range r.providers {
		if crash := p.crash(); crash != nil {
			out = append(out, crash)
		}
		if p.failure != nil && r.scope.covers(p.id) {
			p.failure.Carried = r.stores(p.id)
			out = append(out, p.failure)
			continue
		}
		for _, s := range p.routes {
			if f := r.routeFailure(p, s); f != nil {
				out = append(out, f)
			}
		}
	}
	sources := slices.Clone(r.tally.standing)
	for _, s := range r.tally.scans {
		if s.failure != nil {
			sources = append(sources, s.failure)
		}
	}
	slices.SortFunc(sources, func(a, b *failure) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.Path, b.Path))
	})
	return append(out, sources...)
}

func (r *run) stores(provider string) bool {
	return slices.ContainsFunc(r.stored, func(c *known) bool { return c.Provider == provider })
}

func (r *run) routeFailure(p *provider, s *route) *failure {
	f := &failure{provider: s.Provider, ReceiptError: ReceiptError{Source: s.ID, Path: s.Path, Class: classUnreadable}}
	switch {
	case s.Status == sources.Unsupported && s.Authority != sources.Automatic:
		f.Class, f.Detail = classUnsupported, "the place cannot be used; see ctx sources for the reason"
	case s.index < 0 || p.limited:
		return nil
	case s.state == historyv1.RouteEnd_STATE_UNREADABLE:
		f.Detail = "the place cannot be read; give yourself permission to read it and import again"
	case s.state == historyv1.RouteEnd_STATE_INCOMPLETE, s.state == historyv1.RouteEnd_STATE_UNSPECIFIED:
		f.Detail = s.unlisted()
	default:
		return nil
	}
	f.Carried = r.holds(s.ID)
	return f
}

// unlisted says which part of a route could not be listed: the first one that the provider named, and how many more.
func (s *route) unlisted() string {
	first, more := "", 0
	for _, d := range s.problems {
		switch {
		case d.GetLocator() == "":
		case first == "":
			first = fmt.Sprintf("%s could not be listed (%s)", sourcePath(s.Path, d.GetLocator()), oneLine(d.GetMessage()))
		default:
			more++
		}
	}
	switch {
	case first == "" && len(s.problems) > 0:
		first = "the place could not be listed in full (" + oneLine(s.problems[0].GetMessage()) + ")"
	case first == "":
		first = "the place could not be listed in full; the provider gave no reason"
	case more > 0:
		first += fmt.Sprintf(", nor %d others", more)
	}
	return first + "; nothing counts as gone there until it can be read"
}

// counts of one provider or of the whole run.
type counts struct {
	Work
	routes, failedRoutes, sessions, skipped, edges, doubles uint64
}

// count adds up the scans of a provider ("" = of all).
func (r *run) count(provider string) counts {
	var c counts
	for _, s := range r.tally.scans {
		if provider != "" && s.provider.id != provider {
			continue
		}
		c.SourceFiles++
		c.SourceBytes += s.read
		c.skipped += s.skipped
		if s.stored != nil {
			c.ImportedSources++
			c.sessions += s.sessions
			c.ImportedEvents += s.events
			c.edges += s.edges
			c.doubles += s.doubles
		}
		malformed := s.failure != nil && s.failure.Class == classMalformed
		if s.rejected > 0 && !s.lost && !s.same && (s.failure == nil || malformed) {
			c.RejectedRecords += s.rejected
			if s.failure == nil {
				c.RejectedSources++
			}
		}
	}
	for _, f := range r.failures() {
		if provider == "" || f.provider == provider {
			c.FailedSources++
		}
	}
	for _, p := range r.providers {
		if provider != "" && p.id != provider {
			continue
		}
		for _, s := range p.routes {
			c.routes++
			if r.routeFailure(p, s) != nil || p.failure != nil {
				c.failedRoutes++
			}
		}
	}
	return c
}
