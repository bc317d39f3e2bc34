package search

import (
	"cmp"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/refresh"
)

// coverage tells what was really searched. What is not known is left out, never counted as 0.
func (r *run) coverage(empty bool) (Coverage, error) {
	var c Coverage
	extent, err := r.extent()
	if err != nil {
		return c, err
	}
	c.Events, c.Sessions = extent.events, extent.sessions
	r.countSources(&c, extent)
	if r.filters.Workspace != "" {
		n, err := r.unknownWorkspace()
		if err != nil {
			return c, err
		}
		c.UnknownWorkspace = &n
	}
	if empty {
		relaxations, err := r.relaxations()
		if err != nil {
			return c, err
		}
		c.Relaxations = &relaxations
	}
	return c, nil
}

// extent is how much was searched, and what the last refresh said about it.
type extent struct {
	events, sessions int
	sources          *sourceFilter
	receipt          *refresh.Receipt // nil: not known
}

// measure starts to count what the query is matched against, which a second processor does while candidates are fetched. It returns
// a function that waits for the counts.
func (r *run) measure() func() (extent, error) {
	var docs *lexical.Set
	if !r.filter.plain() {
		docs = r.documents()
	}
	counted := sync.OnceValues(func() (e extent, err error) {
		if docs != nil {
			e.events, e.sessions = docs.Count(), docs.Sessions()
		} else {
			e.events, e.sessions = r.gen.Lexical().Eligible()
		}
		e.sources, err = r.filter.sources()
		e.receipt = r.service.receipt()
		return e, err
	})
	go func() { _, _ = counted() }()
	return counted
}

func (r *run) countSources(c *Coverage, e extent) {
	s := e.sources
	c.Sources, c.SourcesUnselected = s.Selected, s.All-s.Selected
	if e.receipt != nil {
		c.SourcesStale, c.SourcesFailed = s.judge(e.receipt, r.filters.Provider)
	}
}

// judge counts stale and failed sources among the chosen ones; nil where the receipt does not tell.
func (s *sourceFilter) judge(receipt *refresh.Receipt, provider string) (stale, failed *int) {
	if s.exact {
		late, bad := receipt.Stale, int(receipt.Failed)
		if provider != "" {
			p := receipt.Providers[provider]
			late, bad = p.Stale, int(p.Failed)
		}
		old := s.Retained + int(late)
		return &old, &bad
	}
	old, bad, certain := s.Retained, 0, true
	for id, p := range receipt.Providers {
		if provider != "" && id != provider {
			continue
		}
		if p.Failed > uint64(len(p.Failures)) {
			return nil, nil // not all of them are named
		}
		for _, f := range p.Failures {
			ordinal, indexed := s.byID[f.Source]
			switch {
			case !indexed:
				certain = false // nobody can tell whether it would pass the filters
			case s.Members.Has(ordinal):
				old++ // its records are those of an earlier refresh
				bad++
			}
		}
	}
	if !certain {
		return &old, nil
	}
	return &old, &bad
}

// unknownWorkspace counts the sessions that match everything else and are left out only because nobody knows where they ran.
func (r *run) unknownWorkspace() (int, error) {
	if r.filter.unknown == nil {
		return 0, nil
	}
	set, err := r.results(r.without("workspace").And(r.filter.unknown))
	if err != nil {
		return 0, err
	}
	return set.Sessions(), nil
}

// relaxations names every filter that, dropped alone, gives matches. They are counted in the index; no source is opened.
func (r *run) relaxations() (Relaxations, error) {
	list := Relaxations{}
	for _, p := range r.filter.parts {
		if p.name == "file" && r.fileOnly {
			continue // it is the query here
		}
		n, err := r.wouldMatch(r.without(p.name))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			list = append(list, Relaxation{Drop: p.name, WouldMatch: n})
		}
	}
	slices.SortFunc(list, func(a, b Relaxation) int {
		return cmp.Or(cmp.Compare(b.WouldMatch, a.WouldMatch), cmp.Compare(a.Drop, b.Drop))
	})
	return list, nil
}

// wouldMatch counts what the query finds in a set. Operators that were given up because nothing passed are tried again, in their order:
// without the filter something may.
func (r *run) wouldMatch(within *lexical.Set) (int, error) {
	if len(r.relaxed) == 0 {
		return r.countResults(within)
	}
	said, relaxed := r.said, r.relaxed
	defer func() { r.said, r.relaxed, r.matched, r.anyTerm = said, relaxed, nil, nil }()
	for allowed := allOperators; ; allowed = r.said.allowed {
		if err := r.understand(allowed); err != nil {
			return 0, err
		}
		if n, err := r.countResults(within); err != nil || n > 0 || !r.relax() {
			return n, err
		}
	}
}

func (r *run) countResults(within *lexical.Set) (int, error) {
	set, err := r.results(within)
	if err != nil {
		return 0, err
	}
	return set.Count(), nil
}
