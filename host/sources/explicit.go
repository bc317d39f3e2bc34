package sources

import (
	"path"
	"path/filepath"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// ExplicitRoute returns the route of a path that the user named for one provider (--path). Precedence plays no part, but the path
// passes the same checks as any other: links at its root are resolved once, the place must be usable and apart from the data
// root, and it must have a form that the provider declares. Faults have code invalid_request or source_unavailable.
func ExplicitRoute(c *config.Config, described []Described, provider, name string) (Route, error) {
	d, err := DescriptionOf(c, described, provider)
	if err != nil {
		return Route{}, err
	}
	given := c.Environment.Absolute(name)
	if !config.ValidRootPath(given) {
		return Route{}, fault.New(fault.InvalidRequest, "the path has a form that is not accepted").WithHint("Name an absolute path of at most 16 KiB")
	}
	at := examine(given, historyv1.PathKind_PATH_KIND_UNSPECIFIED, false, c)
	if err := at.fault(); err != nil {
		return Route{}, err
	}
	for _, rule := range d.GetExactPaths() {
		if ok, err := path.Match(rule.GetNameGlob(), filepath.Base(given)); err != nil || !ok || !isKind(at.path, rule.GetPathKind()) {
			continue
		}
		if suffix := rule.GetSuffix(); suffix != "" {
			child, ok := below(at.path, suffix)
			if !ok {
				continue
			}
			if in := examine(child, historyv1.PathKind_PATH_KIND_UNSPECIFIED, false, c); in.status != Missing {
				if err := in.fault(); err != nil {
					return Route{}, err
				}
				at = in
			}
		}
		r := Route{
			Provider: d.GetId(), Format: rule.GetFormat(), Role: rule.GetRole(), Path: at.path, Authority: Named, Status: Available,
		}
		r.ID = routeID(r, r.Path)
		return r, nil
	}
	return Route{}, fault.New(fault.InvalidRequest, "the path is not a history that %s can read", d.GetDisplayName()).
		WithHint("ctx sources --provider %s", d.GetCliName())
}

// DescriptionOf returns the description of a delivered provider by any public spelling. Faults: invalid_request when the
// provider is not known or not delivered, source_unavailable when it did not describe itself.
func DescriptionOf(c *config.Config, described []Described, provider string) (*historyv1.DescribeResponse, error) {
	id := provider
	known, isKnown := c.ProviderNamed(provider)
	if isKnown {
		id = known.ID
	}
	for _, d := range described {
		switch {
		case d.Description != nil && d.Description.GetId() == id:
			return d.Description, nil
		case d.Description == nil && d.id(c) == id:
			return nil, fault.Wrap(d.Err, fault.SourceUnavailable, "the provider %s did not start", id).WithHint("ctx doctor")
		}
	}
	if isKnown {
		return nil, fault.New(fault.InvalidRequest, "histories of %s cannot be imported by this program", known.CLIName).WithHint("ctx sources --all")
	}
	return nil, fault.New(fault.InvalidRequest, "unknown provider").WithHint("ctx sources --all")
}

// fault turns a place that cannot be read into the error of an explicit request.
func (p place) fault() error {
	switch p.status {
	case Missing:
		return fault.New(fault.SourceUnavailable, "the path does not exist").WithHint("Name an existing file or directory")
	case Unsupported, Unknown:
		return fault.New(fault.SourceUnavailable, "the path cannot be used: %s", p.reason).WithHint("Name another path")
	}
	return nil
}
