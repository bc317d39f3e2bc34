package sdkplugin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// complete fills in what an author may leave out.
func (d *DescribeResponse) complete() {
	if d.CLIName == "" {
		d.CLIName = strings.ReplaceAll(d.ID, "_", "-")
	}
	if d.DisplayName == "" {
		d.DisplayName = d.CLIName
	}
	for i := range d.Formats {
		f := &d.Formats[i]
		if f.Leaf == "" {
			f.Leaf = f.Name
		}
		if f.IdentityVersion == 0 {
			f.IdentityVersion = 1
		}
		if f.ParserRevision == "" {
			f.ParserRevision = d.ParserRevision
		}
	}
	for i := range d.Locations {
		if d.Locations[i].Slot == "" {
			d.Locations[i].Slot = d.Locations[i].Role
		}
	}
	if d.Root != nil && d.Root.Expander == "" {
		d.Root.Expander = "exact_source"
	}
}

// Validate reports what is wrong or missing, all of it.
func (d *DescribeResponse) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if d.ID == "" || len(d.ID) > MaxProviderID || strings.Trim(d.ID, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		bad("id %q: want 1 to %d lower case letters, digits and '_'", d.ID, MaxProviderID)
	}
	if d.ParserRevision == "" {
		bad("no parser revision")
	}
	formats := map[string]bool{}
	for _, f := range d.Formats {
		if formats[f.Name] {
			bad("format %q twice", f.Name)
		}
		formats[f.Name] = true
		for what, s := range map[string]string{"format": f.Name, "leaf": f.Leaf, "schema variant": f.SchemaVariant} {
			if err := validLabel(what, s); err != nil {
				bad("format %q: %w", f.Name, err)
			}
		}
	}
	if len(d.Formats) == 0 {
		bad("no format")
	}
	for i, l := range d.Locations {
		if err := l.valid(formats); err != nil {
			bad("location %d: %w", i, err)
		}
	}
	if d.Root != nil {
		for _, c := range d.Root.Children {
			if !formats[c.Format] || c.Role == "" {
				bad("root child %q: unknown format or no role", c.Suffix)
			}
		}
		if d.Root.Kind == PathAny {
			bad("a root is a directory or a file")
		}
	}
	if d.CurrentSession != nil && d.CurrentSession.SessionEnv == "" {
		bad("current session without a variable")
	}
	if d.Resume != nil && len(d.Resume.Argv) == 0 {
		bad("empty resume command")
	}
	if d.NoKnownLocation == (len(d.Locations) > 0) && d.NoKnownLocation {
		bad("locations are declared and there is no known location")
	}
	return errors.Join(errs...)
}

func (l *Location) valid(formats map[string]bool) error {
	switch {
	case !formats[l.Format]:
		return fmt.Errorf("unknown format %q", l.Format)
	case l.Role == "":
		return errors.New("no role")
	case l.Env == "" && l.Base == NoBase:
		return errors.New("neither variable nor base")
	case l.Mode == OverrideLocation && l.Env == "":
		return errors.New("an override needs a variable")
	case l.Relative == FromBase && l.Base == NoBase:
		return errors.New("relative to no base")
	case strings.HasPrefix(l.Suffix, "/") || validLocator(strings.TrimSuffix(l.Suffix, "/")) != nil:
		return fmt.Errorf("suffix %q", l.Suffix)
	}
	return nil
}

func (d *DescribeResponse) wire() *historyv1.DescribeResponse {
	out := &historyv1.DescribeResponse{
		Id: d.ID, CliName: d.CLIName, Aliases: d.Aliases, DisplayName: d.DisplayName, Version: d.Version, SdkVersion: Version,
		ParserRevision: d.ParserRevision, Environment: d.Environment, NoKnownLocation: d.NoKnownLocation,
		Limits: &historyv1.Limits{
			MaxRecordBytes: d.Limits.RecordBytes, MaxSources: d.Limits.Sources, MaxDirectories: d.Limits.Directories,
			MaxDepth: d.Limits.Depth, ParallelSources: d.Limits.ParallelSources, MemoryBytes: d.Limits.MemoryBytes,
		},
	}
	for _, f := range d.Formats {
		out.Formats = append(out.Formats, &historyv1.Format{
			Name: f.Name, Leaf: f.Leaf, SchemaVariant: f.SchemaVariant, IdentityVersion: f.IdentityVersion,
			ParserRevision: f.ParserRevision, Family: historyv1.Family(f.Family), ImportSupport: historyv1.ImportSupport(f.Import),
		})
	}
	for i := range d.Locations {
		out.Locations = append(out.Locations, d.Locations[i].wire())
	}
	for _, r := range d.ExactPaths {
		out.ExactPaths = append(out.ExactPaths, &historyv1.PathRule{
			NameGlob: r.NameGlob, PathKind: historyv1.PathKind(r.Kind), Suffix: r.Suffix, Format: r.Format, Role: r.Role,
		})
	}
	if r := d.Root; r != nil {
		out.Root = &historyv1.RootCapability{PathKind: historyv1.PathKind(r.Kind), Expander: r.Expander, Kinds: r.Kinds}
		for _, c := range r.Children {
			out.Root.Children = append(out.Root.Children, &historyv1.RootChild{
				Suffix: c.Suffix, Format: c.Format, Role: c.Role, PathKind: historyv1.PathKind(c.Path), Kind: c.Kind,
			})
		}
	}
	if c := d.CurrentSession; c != nil {
		out.CurrentSession = &historyv1.CurrentSession{SessionEnv: c.SessionEnv, AllOf: envWire(c.AllOf), AnyOf: envWire(c.AnyOf)}
	}
	if r := d.Resume; r != nil {
		out.Resume = &historyv1.ResumeCommand{Argv: r.Argv, InCwd: r.InCWD, PrimaryOnly: r.PrimaryOnly}
	}
	return out
}

func (l *Location) wire() *historyv1.Location {
	out := &historyv1.Location{
		Env: l.Env, EnvList: l.EnvList, Base: historyv1.Base(l.Base), Suffix: l.Suffix, Format: l.Format, Role: l.Role,
		Mode: historyv1.Location_Mode(l.Mode), Probe: l.Probe.wire(), Slot: l.Slot, Relative: historyv1.Location_Relative(l.Relative),
		BlankIsUnset: l.BlankIsUnset, EmptyIsSet: l.EmptyIsSet, MustExist: l.MustExist, NoDiskValues: l.NoDiskValues,
		PathKind: historyv1.PathKind(l.Path),
	}
	for _, p := range l.Platform {
		out.Platforms = append(out.Platforms, historyv1.Platform(p))
	}
	return out
}

func (p *Probe) wire() *historyv1.Probe {
	if p == nil {
		return nil
	}
	return &historyv1.Probe{Globs: p.Globs, MaxDepth: p.MaxDepth, MaxEntries: p.MaxEntries}
}

func envWire(matches []EnvMatch) []*historyv1.EnvMatch {
	var out []*historyv1.EnvMatch
	for _, m := range matches {
		out = append(out, &historyv1.EnvMatch{Name: m.Name, Values: m.Values})
	}
	return out
}

func (r *ResolveResponse) wire() *historyv1.ResolveResponse {
	out := &historyv1.ResolveResponse{}
	for _, c := range r.Candidates {
		out.Candidates = append(out.Candidates, &historyv1.Candidate{
			Path: c.Path, Format: c.Format, Role: c.Role, PathKind: historyv1.PathKind(c.Kind), Probe: c.Probe.wire(), Unsupported: c.Unsupported,
		})
	}
	for _, i := range r.Issues {
		out.Issues = append(out.Issues, &historyv1.Issue{Path: i.Path, Code: i.Code, Message: clip(i.Message)})
	}
	return out
}
