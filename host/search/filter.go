package search

import (
	"math"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// part is one filter, named as relaxations name it. It takes documents out of a set, at a cost that follows their number.
type part struct {
	name   string
	narrow func(*lexical.Set)
}

// filter is the AND of its parts, over discovery-eligible documents.
type filter struct {
	parts   []part                        // the last one leaves least
	sources func() (*sourceFilter, error) // certificates, if it takes any, are read when somebody asks
	chosen  func(*core.Certificate) bool  // the sources; nil: every one
	unknown *lexical.Set                  // documents of unknown workspace, with a workspace filter
	all     *lexical.Set                  // what the query is matched against; nil until needed when there are no parts
}

// plain tells whether there is nothing to filter by.
func (f *filter) plain() bool { return len(f.parts) == 0 }

// documents returns the documents that the query is matched against. Read only.
func (r *run) documents() *lexical.Set {
	if r.filter.all == nil {
		r.filter.all = r.without("")
	}
	return r.filter.all
}

// without returns the documents that pass every part but one, as a set of its own.
func (r *run) without(name string) *lexical.Set {
	set := r.gen.Lexical().Live()
	for _, p := range slices.Backward(r.filter.parts) {
		if p.name != name {
			p.narrow(set)
		}
	}
	return set.KeepEligible()
}

func (r *run) buildFilter() (*filter, error) {
	f := &filter{}
	r.filter = f
	for _, add := range []func(*filter) error{r.addSources, r.addIdentity, r.addEvent, r.addPlace, r.addSessions} {
		if err := add(f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *filter) add(name string, narrow func(*lexical.Set)) {
	f.parts = append(f.parts, part{name, narrow})
}

func (f *filter) inside(name string, set *lexical.Set) {
	f.add(name, func(s *lexical.Set) { s.And(set) })
}

func (f *filter) outside(name string, set *lexical.Set) {
	f.add(name, func(s *lexical.Set) { s.AndNot(set) })
}

// by keeps the documents whose value in a column passes.
func (f *filter) by(name string, column lexical.Column, keep func(v uint32) bool) {
	f.add(name, func(s *lexical.Set) { s.Keep(column, keep) })
}

func (r *run) addEvent(f *filter) error {
	if r.scope != record.ScopeAll {
		weights := record.Weights(r.scope)
		f.by("content_scope", lexical.ByType, func(v uint32) bool { return weights[v] > 0 })
	}
	if name := r.filters.EventType; name != "" { // all that can be asked for have codes
		f.by("event_type", lexical.ByType, func(v uint32) bool { return v == uint32(record.TypeCode(name)) })
	}
	if r.filters.PrimaryOnly {
		f.by("primary_only", lexical.ByScope, func(v uint32) bool { return v == uint32(record.ScopePrimary) })
	}
	if r.filters.Since != "" {
		f.add("since", func(s *lexical.Set) { s.KeepBetween(r.since, math.MaxInt64) })
	}
	return nil
}

func (r *run) addPlace(f *filter) error {
	if value := r.filters.Workspace; value != "" {
		w, err := selection.InWorkspace(r.gen, value)
		if err != nil {
			return err
		}
		f.inside("workspace", w.Matches)
		f.unknown = w.Unknown
	}
	if value := r.filters.File; value != "" {
		set, err := selection.File(r.gen.Lexical(), value)
		if err != nil {
			return err
		}
		f.inside("file", set)
	}
	return nil
}

// addSessions applies the chosen session, the excluded ones and the caller's own.
func (r *run) addSessions(f *filter) error {
	reader := r.gen.Lexical()
	if r.req.Session != "" {
		s, err := r.view.FindSession(r.ctx, history.SessionSelector{ID: r.req.Session})
		if err != nil {
			return err
		}
		r.filters.Session = s.ID.String()
		f.inside("session", reader.InSessions([]uint32{s.Ordinal}))
		return nil
	}
	var excluded []uint32
	for _, id := range r.req.Exclude {
		s, err := r.view.FindSession(r.ctx, history.SessionSelector{ID: id})
		if err != nil {
			return err
		}
		r.filters.Exclude = append(r.filters.Exclude, s.ID.String())
		excluded = append(excluded, s.Ordinal)
	}
	if len(excluded) > 0 {
		f.outside("exclude_session", reader.InSessions(excluded))
	}
	if r.req.IncludeCurrent {
		return nil
	}
	provider, id, ok := caller(r.req.Environment)
	if !ok {
		return nil
	}
	own, err := callerSessions(r.gen, provider, id)
	if err == nil && len(own) > 0 {
		f.outside("current_session", reader.InSessions(own))
	}
	return err
}

// sourceFilter is what the source filters together leave.
type sourceFilter struct {
	selection.Sources
	exact bool              // nothing or only the provider decides, so a source that is not indexed can be judged too
	byID  map[string]uint32 // else: ordinals of the indexed sources, for the refresh receipt
}

// chooseSources keeps the sources that pass, by their certificates.
func (r *run) chooseSources(f *filter, keep func(*core.Certificate) bool) {
	f.chosen = keep
	f.sources = sync.OnceValues(func() (s *sourceFilter, err error) {
		s = &sourceFilter{byID: map[string]uint32{}}
		s.Sources, err = selection.SelectSources(r.gen, func(c *core.Certificate) bool {
			s.byID[c.Source.String()] = c.Ordinal
			return keep(c)
		})
		return s, err
	})
}

// addSources applies the filters that choose whole sources.
func (r *run) addSources(f *filter) error {
	fl := &r.filters
	named := len(fl.SourceRoots)+len(fl.SourceGroups) > 0
	f.sources = func() (*sourceFilter, error) {
		return &sourceFilter{Sources: selection.CountSources(r.gen, fl.Provider), exact: true}, nil
	}
	if fl.Provider != "" {
		f.chosen = func(c *core.Certificate) bool { return c.Provider == fl.Provider }
		f.by("provider", lexical.ByProvider, r.ofProvider(fl.Provider))
	}
	if fl.SourceFormat == "" && !named {
		return nil
	}
	var routes map[string]bool
	if named {
		var err error
		if routes, err = r.namedRoutes(); err != nil {
			return err
		}
	}
	byFormat, byRoute := &selection.Ordinals{}, &selection.Ordinals{}
	judge := func(passed *selection.Ordinals, c *core.Certificate, keep bool) bool {
		if keep {
			passed.Add(c.Ordinal)
		}
		return keep
	}
	r.chooseSources(f, func(c *core.Certificate) bool {
		ok := fl.Provider == "" || c.Provider == fl.Provider
		ok = (fl.SourceFormat == "" || judge(byFormat, c, c.Format == fl.SourceFormat)) && ok
		return (!named || judge(byRoute, c, routes[c.Route])) && ok
	})
	found, err := f.sources()
	if err != nil {
		return err
	}
	f.chosen = func(c *core.Certificate) bool { return found.Members.Has(c.Ordinal) }
	if fl.SourceFormat != "" {
		f.by("source_format", lexical.BySource, byFormat.Has)
	}
	if named {
		f.by("source_selection", lexical.BySource, byRoute.Has)
	}
	return nil
}

// ofProvider tells whether a number in the columns means the provider.
func (r *run) ofProvider(id string) func(v uint32) bool {
	names := r.gen.Manifest().Providers
	return func(v uint32) bool { return int(v) < len(names) && names[v] == id }
}

// namedRoutes resolves roots and groups against the pinned generation, never against the present configuration. All of them form one
// OR set. An unknown name fails the whole request and is not repeated.
func (r *run) namedRoutes() (map[string]bool, error) {
	m := r.gen.Manifest()
	names := map[string]bool{}
	for _, one := range []struct {
		what  string
		given []string
		of    func(core.Root) string
	}{
		{"root", r.filters.SourceRoots, func(root core.Root) string { return root.Name }},
		{"group", r.filters.SourceGroups, func(root core.Root) string { return root.Group }},
	} {
		for _, given := range one.given {
			known := false
			for _, root := range m.Roots {
				if one.of(root) == given && !root.Removed {
					known, names[root.Name] = true, true
				}
			}
			if !known {
				return nil, fault.New(fault.InvalidRequest, "a source %s is not known to the index", one.what).WithHint("ctx sources")
			}
		}
	}
	routes := map[string]bool{}
	for _, route := range m.Routes {
		if route.Root != "" && names[route.Root] {
			routes[route.Identity] = true
		}
	}
	return routes, nil
}

// addIdentity applies the filters on custom identities. They imply provider custom.
func (r *run) addIdentity(f *filter) error {
	var narrowed *lexical.Set
	key, id, _ := selection.SplitHistorySource(r.filters.HistorySource)
	for _, one := range []struct{ name, key, id string }{
		{"history_source", key, id}, {"provider_key", r.filters.ProviderKey, ""}, {"source_id", "", r.filters.SourceID},
	} {
		if one.key == "" && one.id == "" {
			continue
		}
		set, err := selection.CustomIdentity(r.ctx, r.gen, one.key, one.id)
		if err != nil {
			return err
		}
		f.inside(one.name, set)
		if narrowed == nil {
			narrowed = set.Clone()
		} else {
			narrowed.And(set)
		}
	}
	if narrowed != nil {
		r.narrowSources(f, narrowed)
	}
	return nil
}

// narrowSources keeps the sources that hold one of the documents.
func (r *run) narrowSources(f *filter, docs *lexical.Set) {
	var holders selection.Ordinals
	reader := r.gen.Lexical()
	docs.Each(func(d lexical.Doc) bool {
		if row, ok := reader.Row(d); ok {
			holders.Add(row.Source)
		}
		return true
	})
	before := f.chosen
	r.chooseSources(f, func(c *core.Certificate) bool {
		return holders.Has(c.Ordinal) && (before == nil || before(c))
	})
}
