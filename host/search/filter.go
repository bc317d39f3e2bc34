package search

import (
	"math"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// part is one filter, named as relaxations name it.
type part struct {
	name string
	set  *lexical.Set
}

// filter is the AND of its parts, over discovery-eligible documents.
type filter struct {
	parts   []part
	sources *sourceFilter // nil: every source
	unknown *lexical.Set  // documents of unknown workspace, with a workspace filter
	all     *lexical.Set  // what the query is matched against; nil until needed when there are no parts
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

// without returns the documents that pass every part but one, as a set of its own. Few documents left by the parts cost little.
func (r *run) without(name string) *lexical.Set {
	var set *lexical.Set
	for _, p := range r.filter.parts {
		switch {
		case p.name == name:
		case set == nil:
			set = p.set.Clone()
		default:
			set.And(p.set)
		}
	}
	if set == nil {
		return r.gen.Lexical().Eligible()
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

func (f *filter) add(name string, set *lexical.Set) { f.parts = append(f.parts, part{name, set}) }

func (r *run) addEvent(f *filter) error {
	reader := r.gen.Lexical()
	if r.scope != record.ScopeAll {
		weights := record.Weights(r.scope)
		f.add("content_scope", reader.Where(func(c *lexical.Columns, doc uint32) bool { return weights[c.Type(doc)] > 0 }))
	}
	if name := r.filters.EventType; name != "" {
		set, err := selection.EventType(reader, name)
		if err != nil {
			return err
		}
		f.add("event_type", set)
	}
	if r.filters.PrimaryOnly {
		f.add("primary_only", selection.Scope(reader, record.ScopePrimary))
	}
	if r.filters.Since != "" {
		f.add("since", reader.Between(r.since, math.MaxInt64))
	}
	return nil
}

func (r *run) addPlace(f *filter) error {
	if value := r.filters.Workspace; value != "" {
		w, err := selection.InWorkspace(r.gen, value)
		if err != nil {
			return err
		}
		f.add("workspace", w.Matches)
		f.unknown = w.Unknown
	}
	if value := r.filters.File; value != "" {
		set, err := selection.File(r.gen.Lexical(), value)
		if err != nil {
			return err
		}
		f.add("file", set)
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
		f.add("session", reader.InSessions([]uint32{s.Ordinal}))
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
		f.add("exclude_session", outside(reader, excluded))
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
		f.add("current_session", outside(reader, own))
	}
	return err
}

func outside(reader *lexical.Reader, sessions []uint32) *lexical.Set {
	return reader.Live().AndNot(reader.InSessions(sessions))
}

// sourceFilter is what the source filters together leave.
type sourceFilter struct {
	selection.Sources
	byID  map[string]uint32 // ordinals of the indexed sources, for the refresh receipt
	exact bool              // only the provider decides, so a source that is not indexed can be judged too
}

// chooseSources keeps the sources that pass.
func (r *run) chooseSources(f *filter, exact bool, keep func(*core.Certificate) bool) (err error) {
	s := &sourceFilter{byID: map[string]uint32{}, exact: exact}
	s.Sources, err = selection.SelectSources(r.gen, func(c *core.Certificate) bool {
		s.byID[c.Source.String()] = c.Ordinal
		return keep(c)
	})
	f.sources = s
	return err
}

// addSources applies the filters that choose whole sources.
func (r *run) addSources(f *filter) error {
	fl := &r.filters
	named := len(fl.SourceRoots)+len(fl.SourceGroups) > 0
	if fl.Provider == "" && fl.SourceFormat == "" && !named {
		return nil
	}
	var routes map[string]bool
	if named {
		var err error
		if routes, err = r.namedRoutes(); err != nil {
			return err
		}
	}
	kept := map[string]*selection.Ordinals{}
	judge := func(name string, c *core.Certificate, keep bool) bool {
		if kept[name] == nil {
			kept[name] = &selection.Ordinals{}
		}
		if keep {
			kept[name].Add(c.Ordinal)
		}
		return keep
	}
	err := r.chooseSources(f, fl.SourceFormat == "" && !named, func(c *core.Certificate) bool {
		ok := true
		if fl.Provider != "" {
			ok = judge("provider", c, c.Provider == fl.Provider) && ok
		}
		if fl.SourceFormat != "" {
			ok = judge("source_format", c, c.Format == fl.SourceFormat) && ok
		}
		if named {
			ok = judge("source_selection", c, routes[c.Route]) && ok
		}
		return ok
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"provider", "source_format", "source_selection"} {
		if members := kept[name]; members != nil {
			one := selection.Sources{Members: *members}
			f.add(name, one.Documents(r.gen.Lexical()))
		}
	}
	return nil
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
				return nil, invalid("a source %s is not known to the index", one.what)
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
		f.add(one.name, set)
		if narrowed == nil {
			narrowed = set.Clone()
		} else {
			narrowed.And(set)
		}
	}
	if narrowed != nil {
		return r.narrowSources(f, narrowed)
	}
	return nil
}

// narrowSources keeps the sources that hold one of the documents.
func (r *run) narrowSources(f *filter, docs *lexical.Set) error {
	var holders selection.Ordinals
	reader := r.gen.Lexical()
	docs.Each(func(d lexical.Doc) bool {
		if row, ok := reader.Row(d); ok {
			holders.Add(row.Source)
		}
		return true
	})
	before := f.sources
	return r.chooseSources(f, false, func(c *core.Certificate) bool {
		return holders.Has(c.Ordinal) && (before == nil || before.Members.Has(c.Ordinal))
	})
}
