package search

import (
	"cmp"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/internal/selection"
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
	receipt          *refresh.Receipt // nil: not known
	retained         int              // of all sources, without source filters and with a receipt
}

// Keys of what a long-lived process counts once a generation.
type (
	extentKey   struct{} // wholeExtent
	retainedKey struct{} // retained sources of the whole archive
)

// measure starts to count what the query is matched against and returns a function that waits for the counts. Without filters the
// columns of the whole archive are read, which a second processor does while candidates are fetched.
func (r *run) measure() func() (extent, error) {
	if !r.filter.plain() {
		return sync.OnceValues(func() (extent, error) {
			docs := r.documents()
			e := extent{events: docs.Count(), sessions: sessionsOf(r.gen.Lexical(), docs)}
			err := r.addReceipt(&e)
			return e, err
		})
	}
	type counts struct {
		extent
		err error
	}
	counted := make(chan counts, 1)
	go func() {
		e, err := core.Kept(r.gen, extentKey{}, func() (extent, error) { return wholeExtent(r.gen.Lexical()), nil })
		if err == nil {
			err = r.addReceipt(&e)
		}
		counted <- counts{e, err}
	}()
	return sync.OnceValues(func() (extent, error) {
		c := <-counted
		return c.extent, c.err
	})
}

// addReceipt reads the receipt, and counts the retained sources when that is of use.
func (r *run) addReceipt(e *extent) (err error) {
	e.receipt = r.service.receipt()
	if e.receipt != nil && r.filter.sources == nil {
		e.retained, err = core.Kept(r.gen, retainedKey{}, func() (int, error) {
			all, err := selection.SelectSources(r.gen, func(*core.Certificate) bool { return true })
			return all.Retained, err
		})
	}
	return err
}

// tally counts distinct sessions. Documents of one session lie together, so most of them cost one comparison.
type tally struct {
	seen  selection.Ordinals
	count int
	last  int64 // -1 before the first
}

func (t *tally) add(session uint32) {
	if int64(session) == t.last {
		return
	}
	t.last = int64(session)
	if !t.seen.Has(session) {
		t.seen.Add(session)
		t.count++
	}
}

func wholeExtent(reader *lexical.Reader) extent {
	t, events := tally{last: -1}, 0
	for i := range reader.Segments() {
		c, dead := reader.Columns(i), reader.Deleted(i)
		if dead != nil && dead.IsEmpty() {
			dead = nil
		}
		for doc := range c.Docs() {
			if c.Eligible(doc) && (dead == nil || !dead.Contains(doc)) {
				events++
				t.add(c.Session(doc))
			}
		}
	}
	return extent{events: events, sessions: t.count}
}

// sessionsOf counts the distinct sessions of a set.
func sessionsOf(reader *lexical.Reader, set *lexical.Set) int {
	t := tally{last: -1}
	var columns *lexical.Columns
	var segment uint32
	set.Each(func(d lexical.Doc) bool {
		if columns == nil || d.Segment != segment {
			i, ok := reader.Index(d.Segment)
			if !ok {
				return true
			}
			columns, segment = reader.Columns(i), d.Segment
		}
		t.add(columns.Session(d.Doc))
		return true
	})
	return t.count
}

func (r *run) countSources(c *Coverage, e extent) {
	s := r.filter.sources
	if s == nil {
		c.Sources = int(r.gen.Manifest().Stats.Sources)
		if e.receipt != nil {
			stale, failed := int(e.receipt.Stale)+e.retained, int(e.receipt.Failed)
			c.SourcesStale, c.SourcesFailed = &stale, &failed
		}
		return
	}
	c.Sources, c.SourcesUnselected = s.Selected, s.All-s.Selected
	if e.receipt != nil {
		c.SourcesStale, c.SourcesFailed = s.judge(e.receipt, r.filters.Provider)
	}
}

// judge counts stale and failed sources among the chosen ones; nil where the receipt does not tell.
func (s *sourceFilter) judge(receipt *refresh.Receipt, provider string) (stale, failed *int) {
	if s.exact {
		p := receipt.Providers[provider]
		old, bad := s.Retained+int(p.Stale), int(p.Failed)
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
	set, err := r.matchesWithin(r.without("workspace"))
	if err != nil {
		return 0, err
	}
	if set, err = r.withoutCollapsed(set.And(r.filter.unknown)); err != nil {
		return 0, err
	}
	return sessionsOf(r.gen.Lexical(), set), nil
}

// relaxations names every filter that, dropped alone, gives matches. They are counted in the index; no source is opened.
func (r *run) relaxations() (Relaxations, error) {
	list := Relaxations{}
	for _, p := range r.filter.parts {
		if p.name == "file" && r.fileOnly {
			continue // it is the query here
		}
		set, err := r.matchesWithin(r.without(p.name))
		if err != nil {
			return nil, err
		}
		if set.Count() == 0 {
			continue
		}
		if set, err = r.withoutCollapsed(set); err != nil {
			return nil, err
		}
		list = append(list, Relaxation{Drop: p.name, WouldMatch: set.Count()})
	}
	slices.SortFunc(list, func(a, b Relaxation) int {
		return cmp.Or(cmp.Compare(b.WouldMatch, a.WouldMatch), cmp.Compare(a.Drop, b.Drop))
	})
	return list, nil
}
