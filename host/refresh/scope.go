package refresh

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// scope is what a request covers.
type scope struct {
	provider string              // id; "" = every provider
	explicit *sources.Route      // --path
	touched  map[string][]string // of the request
	// discovered is nil for an explicit path: precedence plays no part in it.
	discovered *sources.Discovery
}

// covers reports whether a provider belongs to the scope.
func (s *scope) covers(provider string) bool {
	_, touched := s.touched[provider]
	return (s.provider == "" || s.provider == provider) && (touched || s.touched == nil)
}

// whole reports whether every provider belongs to the scope.
func (s *scope) whole() bool { return s.exhaustive() && s.provider == "" && s.touched == nil }

// exhaustive reports whether the scope decides about selected routes, not only about one path.
func (s *scope) exhaustive() bool { return s.explicit == nil }

// provider is one provider of a run with its routes.
type provider struct {
	id, name    string
	description *historyv1.DescribeResponse
	routes      []*route
	plugin      Plugin
	failure     *failure // of the provider as a whole
	dead        bool     // its process stopped by itself
	crashes     int      // how often that cost sources
	restarts    int
	changed     []*historyv1.Source // what it is asked about, nil: everything
	limited     bool                // only that was looked at
	looked      string              // at what a limited run looked, and why at more
	items       []*item
	formats     map[string]*format
}

// route is a route of a run.
type route struct {
	sources.Route
	lineage *record.Digest // of a root that keeps its sources apart
	index   int            // in the inventory request, -1 = not asked for
	state   historyv1.RouteEnd_State
	// problems of the inventory with a part of the route, at most 64 of a provider
	problems []*historyv1.Diagnostic
}

// format is what certificates need to know of a source format. Several formats may have one leaf, which their sources carry.
type format struct {
	leaf     string
	variant  string
	version  uint32
	revision string
}

// discover decides which routes the run covers.
func (r *run) discover() error {
	running, err := r.describe()
	routes := []sources.Route(nil)
	if err == nil {
		routes, err = r.choose()
	}
	for _, d := range r.described {
		p := &provider{id: d.Name, name: d.Name, description: d.Description, plugin: running[d.Name]}
		if d.Description != nil {
			p.id, p.formats = d.Description.GetId(), formatsOf(d.Description)
		}
		r.providers = append(r.providers, p)
		if !r.scope.covers(p.id) {
			continue
		}
		if d.Err != nil {
			p.failed("the provider did not start; see the log and ctx doctor")
			r.log("provider %s: %v", p.id, d.Err)
		}
		if found := r.scope.discovered; found != nil && slices.Contains(found.Unresolved, p.id) {
			p.failed("the provider could not find its places; see the log and ctx sources")
			p.description = nil // nothing is known about its routes
		}
		for _, s := range routes {
			if s.Provider == p.id {
				r.routes[s.ID] = &route{Route: s, index: -1}
				p.routes = append(p.routes, r.routes[s.ID])
			}
		}
	}
	return err
}

// describe gets the descriptions of all providers. A provider that had to be started for it goes on running and is used for the
// inventory too.
func (r *run) describe() (running map[string]Plugin, err error) {
	running = map[string]Plugin{}
	var mu sync.Mutex
	ask := func(ctx context.Context, name string) (*historyv1.DescribeResponse, error) {
		p, err := r.req.Plugins.Start(ctx, name)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		running[name] = p
		mu.Unlock()
		if d := p.Descriptor(); d != nil {
			return d, nil
		}
		return nil, errors.New("no description")
	}
	r.described = sources.Describe(r.ctx, r.req.Config, r.req.Executable, r.req.Plugins.Names(), ask)
	return running, context.Cause(r.ctx)
}

// choose fills the scope and returns its routes.
func (r *run) choose() ([]sources.Route, error) {
	req := r.req
	r.scope.touched = req.Touched
	if req.Provider != "" {
		d, err := sources.DescriptionOf(req.Config, r.described, req.Provider)
		if err != nil {
			return nil, err
		}
		r.scope.provider = d.GetId()
	}
	if req.Path != "" {
		if req.Provider == "" {
			return nil, fault.New(fault.InvalidRequest, "a path needs the provider whose history it holds").WithHint("Name the provider too")
		}
		found, err := sources.ExplicitRoute(req.Config, r.described, req.Provider, req.Path)
		if err != nil {
			return nil, err
		}
		r.scope.explicit = &found
	}
	d, err := sources.Discover(r.ctx, sources.Input{
		Config: req.Config, Descriptions: r.described, Provider: r.scope.provider, Resolve: req.Resolve,
	})
	if err != nil {
		return nil, err
	}
	if r.scope.explicit != nil {
		// A path that is selected anyway is read under its selected route, so that it does not change hands.
		for i := range d.Routes {
			if s := d.Routes[i]; s.Path == r.scope.explicit.Path && s.Format == r.scope.explicit.Format {
				r.scope.explicit = &s
			}
		}
		return []sources.Route{*r.scope.explicit}, nil
	}
	r.scope.discovered = d
	if r.scope.provider != "" {
		if err := nothingToImport(d); err != nil {
			return nil, err
		}
	}
	return d.Routes, nil
}

// nothingToImport tells why a named provider has no route at all, with advice.
func nothingToImport(d *sources.Discovery) error {
	for _, route := range d.Routes {
		if route.Status != sources.Unsupported {
			return nil
		}
	}
	for _, row := range d.Rows {
		if row.Status == sources.Unsupported && row.UnsupportedReason != "" {
			return fault.New(fault.SourceUnavailable, "%s: %s", row.Provider, row.UnsupportedReason).WithHint("%s", advice(d.Issues))
		}
	}
	if len(d.Issues) > 0 {
		return fault.New(fault.SourceUnavailable, "%s: %s", d.Issues[0].Provider, d.Issues[0].Message).WithHint("%s", advice(d.Issues))
	}
	return nil
}

func advice(issues []sources.Issue) string {
	if len(issues) > 0 && issues[0].Code == sources.ConfiguredRootClash {
		return "Remove or replace one of the roots (ctx sources remove, ctx sources add --replace), or set sources.automatic = false"
	}
	return "Name the place with ctx import --path or ctx sources add"
}

func formatsOf(d *historyv1.DescribeResponse) map[string]*format {
	formats := map[string]*format{}
	for _, f := range d.GetFormats() {
		known := &format{leaf: f.GetLeaf(), variant: f.GetSchemaVariant(), version: f.GetIdentityVersion(), revision: f.GetParserRevision()}
		if known.revision == "" {
			known.revision = d.GetParserRevision()
		}
		if known.leaf == "" {
			known.leaf = f.GetName()
		}
		formats[f.GetName()] = known
		if formats[known.leaf] == nil {
			formats[known.leaf] = known
		}
	}
	return formats
}
