package refresh

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// How the ids below a named root relate to those of the automatic root. Decided at the first publication of the root and kept.
const (
	identityReleased = "released" // the root is the automatic one with a name: ids without a lineage
	identityNamed    = "named_v1" // an additional root: its lineage enters the ids
)

// absencesUntilGone is how often in a row an automatic route has to be proven absent before its sources count as gone.
const absencesUntilGone = 3

// manifest returns the manifest that decisions are kept in, nil when nothing was published yet.
func (r *run) manifest() *core.Manifest {
	if g := r.former(); g != nil {
		return g.Manifest()
	}
	return nil
}

// assignRoots gives every route the lineage of its named root.
func (r *run) assignRoots() {
	for _, s := range r.routes {
		if s.Root != nil && r.identity(*s.Root) == identityNamed {
			lineage := record.NamedRootLineage(s.Provider, s.Root.Name)
			s.lineage = &lineage
		}
	}
}

// published returns a named root as it was published, nil when it never was.
func (r *run) published(provider, name string) *core.Root {
	if m := r.manifest(); m != nil {
		for i, known := range m.Roots {
			if known.Provider == provider && known.Name == name {
				return &m.Roots[i]
			}
		}
	}
	return nil
}

// identity returns the identity of a named root: as it was published, else released for the automatic winner.
func (r *run) identity(root config.Root) string {
	if known := r.published(root.Provider, root.Name); known != nil {
		return known.Identity
	}
	for _, s := range r.routes {
		if s.Root != nil && s.Root.Name == root.Name && !s.Additional {
			return identityReleased
		}
	}
	return identityNamed
}

// roots returns the named roots as they will be published: those of the scope as configured now, the others as they were. A released
// root that left its automatic place is remembered when its name is removed: nothing else would tell its identity if it came back.
func (r *run) roots() (digest string, roots []core.Root) {
	m := r.manifest()
	if !r.scope.exhaustive() {
		if m == nil {
			return "", nil
		}
		return m.Config, m.Roots
	}
	if m != nil {
		digest = m.Config
		for _, root := range m.Roots {
			switch {
			case !r.scope.covers(root.Provider):
				roots = append(roots, root)
			case root.Identity == identityReleased && root.Path != root.Origin && !r.configured(root):
				root.Group, root.Removed = "", true
				roots = append(roots, root)
			}
		}
	}
	for _, root := range r.req.Config.Roots {
		if r.scope.covers(root.Provider) {
			roots = append(roots, r.root(root))
		}
	}
	slices.SortFunc(roots, func(a, b core.Root) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name))
	})
	if r.scope.whole() {
		digest = configDigest(r.req.Config)
	}
	return digest, roots
}

func (r *run) configured(root core.Root) bool {
	return slices.ContainsFunc(r.req.Config.Roots, func(c config.Root) bool { return c.Provider == root.Provider && c.Name == root.Name })
}

func (r *run) root(root config.Root) core.Root {
	out := core.Root{Provider: root.Provider, Name: root.Name, Group: root.Group, Path: root.Path, Identity: r.identity(root)}
	if known := r.published(root.Provider, root.Name); known != nil {
		out.Origin = known.Origin
	} else if out.Identity == identityReleased {
		out.Origin = root.Path
	}
	return out
}

// configDigest identifies the source configuration: SHA-256 over the domain, the automatic switch and the roots as JSON by name.
func configDigest(c *config.Config) string {
	type root struct {
		Name     string `json:"name"`
		Provider string `json:"provider"`
		Path     string `json:"path"`
		Group    string `json:"group,omitempty"`
		Kind     string `json:"kind,omitempty"`
	}
	roots := make([]root, len(c.Roots))
	for i, r := range c.Roots {
		roots[i] = root{r.Name, r.Provider, r.Path, r.Group, r.Kind}
	}
	text, err := json.Marshal(roots)
	if err != nil {
		panic(err) // strings only
	}
	automatic := byte(0)
	if c.Automatic {
		automatic = 1
	}
	sum := sha256.Sum256(append(append([]byte("ctx-provider-source-config-v1\x00"), automatic), text...))
	return hex.EncodeToString(sum[:])
}

// publishedRoutes returns the selected routes as they will be published. What lies outside the scope stays as it was, and so do explicit
// paths: they were chosen by the user and go only by a prune.
func (r *run) publishedRoutes() []core.Route {
	var before []core.Route
	if g := r.former(); g != nil {
		before = g.Routes()
	}
	var out []core.Route
	for _, s := range r.routes {
		out = append(out, s.publish(before, r.holds(s.ID), r.owner(s.Provider).limited))
	}
	for _, b := range before {
		if r.routes[b.Identity] != nil {
			continue
		}
		// Nothing is known about the routes of a provider that did not describe itself.
		p := r.owner(b.Provider)
		if !r.scope.exhaustive() || !r.scope.covers(b.Provider) || b.Authority == string(sources.Named) || p != nil && p.description == nil {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b core.Route) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Identity, b.Identity))
	})
	return out
}

// holds reports whether a stored source was last seen under a route.
func (r *run) holds(route string) bool {
	return slices.ContainsFunc(r.stored, func(c *known) bool { return r.routeOf(c) == route })
}

// routeOf is the route of a stored source as it is called now.
func (r *run) routeOf(c *known) string { return cmp.Or(r.renamed[c.Route], c.Route) }

// rename finds the routes that are called differently now and are the same place with the same ids: a place got a name in the
// configuration, or lost it. What is gone from such a place, or fails, belongs to it all the same.
func (r *run) rename() {
	m := r.manifest()
	if m == nil || !r.scope.exhaustive() {
		return
	}
	r.renamed = map[string]string{}
	for _, b := range m.Routes {
		owner := r.owner(b.Provider)
		if owner == nil || b.Authority == string(sources.Named) || r.routes[b.Identity] != nil {
			continue
		}
		var lineage record.Digest
		if root := r.published(b.Provider, b.Root); root != nil && root.Identity == identityNamed {
			lineage = record.NamedRootLineage(b.Provider, b.Root)
		}
		for _, s := range owner.routes {
			if s.Path == b.Path && s.Format == b.Format && (s.lineage == nil && lineage.IsZero() || s.lineage != nil && *s.lineage == lineage) {
				r.renamed[b.Identity] = s.ID
			}
		}
	}
}

// resight moves the stored sources that were not read anew to the present name of their route.
func (r *run) resight() error {
	if len(r.renamed) == 0 {
		return nil
	}
	for _, c := range r.stored {
		s := c.Sighting
		if s.Route = r.routeOf(c); s.Route == c.Route || c.reread || c.dropped {
			continue
		}
		w, err := r.writing()
		if err == nil {
			err = w.Touch(c.Source, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// publish gives the form of a route in the manifest. Absences are counted only where there is something to lose.
func (s *route) publish(before []core.Route, holds, limited bool) core.Route {
	out := core.Route{
		Identity: s.ID, Provider: s.Provider, Format: s.Format, Authority: string(s.Authority), Role: s.Role, Path: s.Path,
	}
	if s.Root != nil {
		out.Root = s.Root.Name
	}
	for _, b := range before {
		if b.Identity == s.ID {
			out.Absent = b.Absent
		}
	}
	switch {
	case limited: // nothing was found out about it
	case s.Authority != sources.Automatic || !holds:
		out.Absent = 0
	case s.absent():
		out.Absent = min(out.Absent+1, absencesUntilGone)
	case s.state == historyv1.RouteEnd_STATE_COMPLETE || s.state == historyv1.RouteEnd_STATE_INCOMPLETE:
		out.Absent = 0
	}
	return out
}

// absent reports whether the place of a route is proven not to be there.
func (s *route) absent() bool {
	return s.Status == sources.Missing || s.state == historyv1.RouteEnd_STATE_MISSING
}
