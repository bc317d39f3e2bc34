package sources

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/internal/nullable"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// expandRoots turns the configured roots of a provider into entries, one for each child. Each child stands alone: a bad one
// hides no healthy one.
func (j job) expandRoots(c *config.Config) ([]entry, []Issue) {
	var entries []entry
	var s selection
	for i := range j.roots {
		root := &j.roots[i]
		children := j.children(root)
		if len(children) == 0 {
			if e, ok := j.unexpanded(root, &s); ok {
				entries = append(entries, e)
			}
			continue
		}
		whole := examine(root.Path, j.rootKind(), true, c)
		for _, child := range children {
			suffix := filepath.FromSlash(child.path)
			child.path = filepath.Join(root.Written, suffix)
			e := entry{candidate: child, root: root, place: examine(filepath.Join(root.Path, suffix), child.kind, true, c)}
			if whole.status == Unsupported || whole.status == Unknown {
				e.place.status, e.place.reason = whole.status, whole.reason
			}
			if e.place.status == Unsupported || e.place.status == Unknown {
				s.refuseAt(j.id, Unreconstructible, "a configured root cannot be used: "+e.place.reason, root.Path)
			}
			entries = append(entries, e)
		}
	}
	return entries, s.issues
}

// rootKind is what the path of a named root of the provider has to be.
func (j job) rootKind() historyv1.PathKind {
	if j.description != nil {
		return j.description.GetRoot().GetPathKind()
	}
	return kindOf(j.known != nil && j.known.RootIs == config.File)
}

func kindOf(file bool) historyv1.PathKind {
	if file {
		return historyv1.PathKind_PATH_KIND_FILE
	}
	return historyv1.PathKind_PATH_KIND_DIRECTORY
}

// children returns the declared children of a root; candidate.path is relative to the root.
func (j job) children(root *config.Root) []candidate {
	var out []candidate
	add := func(kind string, c candidate) {
		if kind == "" || kind == root.Kind {
			out = append(out, c)
		}
	}
	for _, child := range j.description.GetRoot().GetChildren() {
		add(child.GetKind(), candidate{path: child.GetSuffix(), format: child.GetFormat(), role: child.GetRole(), kind: child.GetPathKind(),
			probe: j.probeOf(child.GetFormat(), child.GetRole())})
	}
	if j.description == nil && j.known != nil {
		for _, child := range j.known.Children {
			add(child.Kind, candidate{path: child.Suffix, format: child.Format, role: child.Role, kind: kindOf(child.File)})
		}
	}
	return out
}

// probeOf returns the probe that the automatic location of the same format and role declares.
func (j job) probeOf(format, role string) *historyv1.Probe {
	for _, loc := range j.description.GetLocations() {
		if loc.GetFormat() == format && loc.GetRole() == role && loc.GetProbe() != nil {
			return loc.GetProbe()
		}
	}
	return nil
}

// unexpanded stands for a root that only its provider could expand.
func (j job) unexpanded(root *config.Root, s *selection) (entry, bool) {
	if _, err := os.Stat(root.Path); errors.Is(err, fs.ErrNotExist) {
		s.issues = append(s.issues, Issue{
			Provider: j.id, Path: nullable.Text(root.Path), Code: ConfiguredRootMissing, Message: "a configured root does not exist",
			Lost: &Lost{MissingRoot{NamedPath{root.Name, root.Path}, nullable.Text(root.Group)}},
		})
		return entry{}, false
	}
	format := ""
	if j.known != nil {
		format = j.known.Formats[0]
	}
	return entry{
		candidate: candidate{path: root.Written, format: format}, root: root,
		place: place{path: root.Path, exists: true, status: Unsupported, reason: NoProvider},
	}, true
}

// conflicts finds routes of one provider that lie inside each other without being the same place. The configured ones among
// them are not read, because their sources would be stored twice under different identities.
func (j job) conflicts(automatic, configured []entry, discovery bool) []Issue {
	var issues []Issue
	report := func(kind, message string, path string, roots ...*config.Root) {
		for _, i := range issues {
			if i.Conflict.Kind == kind && sameRoots(i.Conflict.Roots, roots) {
				return
			}
		}
		issue := Issue{Provider: j.id, Path: nullable.Text(path), Code: ConfiguredRootClash, Message: message, Conflict: &Conflict{Kind: kind}}
		for _, r := range roots {
			issue.Conflict.Roots = append(issue.Conflict.Roots, NamedPath{r.Name, r.Path})
		}
		issues = append(issues, issue)
	}
	var named []*entry
	for i := range automatic {
		if automatic[i].root != nil {
			named = append(named, &automatic[i])
		}
	}
	for i := range configured {
		named = append(named, &configured[i])
	}
	for i, a := range named {
		for _, b := range named[i+1:] {
			if a.root != b.root && a.root.Name != b.root.Name && config.Overlaps(a.place.path, b.place.path) {
				a.conflicted, b.conflicted = true, true
				report("configured_configured", "two configured roots of the provider lie inside each other; remove or replace one of them",
					a.root.Path, a.root, b.root)
			}
		}
		for k := range automatic {
			if w := &automatic[k]; discovery && w.root == nil && a.additional && !(w.beside && !w.exists) && config.Overlaps(w.place.path, a.place.path) {
				a.conflicted = true
				report("automatic_configured", "a configured root and an automatic location of the provider lie inside each other; "+
					"replace the root or turn automatic discovery off", a.root.Path, a.root)
			}
		}
	}
	return issues
}

func sameRoots(have []NamedPath, want []*config.Root) bool {
	return slices.EqualFunc(have, want, func(n NamedPath, r *config.Root) bool { return n.Name == r.Name })
}
