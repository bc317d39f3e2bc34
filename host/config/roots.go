package config

import (
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of named roots.
const (
	MaxRoots     = 64
	MaxNameBytes = 64
	MaxPathBytes = 16 << 10 // encoded: UTF-8 on Unix, UTF-16 on Windows
	kindCurrent  = "current-conversations"
	kindLegacy   = "legacy-persistence"
	openHandsID  = "openhands"
)

// ValidName reports whether s can name a root or a group: 1 to 64 of A-Z, a-z, 0-9, '-' and '_'.
func ValidName(s string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return s != "" && len(s) <= MaxNameBytes && strings.Trim(s, allowed) == ""
}

// validateRoots checks all roots, rule after rule, so that the first broken rule is the same whatever the order of the file.
func (c *Config) validateRoots(written []writtenRoot) ([]Root, error) {
	if len(written) > MaxRoots {
		return nil, malformed("there are more than 64 roots", rootKey(written[MaxRoots].name)...)
	}
	for _, rule := range rootRules {
		for i := range written {
			w := &written[i]
			if p, _ := c.ProviderNamed(w.provider); rule.broken(w, p) {
				return nil, malformed(rule.text, rootKey(w.name, rule.key)...)
			}
		}
	}
	roots := make([]Root, len(written))
	for i, w := range written {
		p, _ := c.ProviderNamed(w.provider)
		roots[i] = Root{Name: w.name, Provider: p.ID, Path: w.path, Written: w.path, Group: w.group, Kind: w.kind}
		if resolved, err := Resolve(w.path); err == nil {
			roots[i].Path, roots[i].Exists = resolved, true
		}
	}
	if err := checkDistinct(roots); err != nil {
		return nil, err
	}
	for _, r := range roots {
		if Overlaps(r.Path, c.DataRoot) || Overlaps(r.Written, c.DataRoot) {
			return nil, malformed("a root lies above, below or on the data root of ctx", rootKey(r.Name, "path")...)
		}
	}
	return roots, nil
}

// rootKey is the key of a root in the file, or of a value of it.
func rootKey(name string, value ...string) []string {
	return append([]string{"sources", "roots", name}, value...)
}

// rootRules stand in their order. The provider is nil when it is missing or not known, which later rules need not fear.
var rootRules = []struct {
	key    string
	broken func(w *writtenRoot, p *Provider) bool
	text   string
}{
	{
		"group", func(w *writtenRoot, _ *Provider) bool { return !ValidName(w.name) || w.hasGroup && !ValidName(w.group) },
		"names of roots and groups are 1 to 64 letters, digits, '-' or '_'",
	},
	{
		"provider", func(w *writtenRoot, p *Provider) bool { return w.hasProvider && p == nil },
		"a root names a provider that is not known",
	},
	{
		"provider", func(w *writtenRoot, p *Provider) bool { return p != nil && p.RootIs == NoNamedRoot },
		"a root names a provider that takes no configured root",
	},
	{
		"path", func(w *writtenRoot, _ *Provider) bool { return w.hasPath && !ValidRootPath(w.path) },
		"the path of a root is absolute and normalized, without '.' and '..', at most 16 KiB",
	},
	{
		"path", func(w *writtenRoot, _ *Provider) bool { return !w.hasProvider || !w.hasPath },
		"a root needs a provider and a path",
	},
	{
		"kind", func(w *writtenRoot, p *Provider) bool { return p.ID != openHandsID && w.hasKind },
		"only an OpenHands root has a kind",
	},
	{
		"kind", func(w *writtenRoot, p *Provider) bool {
			return p.ID == openHandsID && w.kind != kindCurrent && w.kind != kindLegacy
		},
		"the kind of an OpenHands root is current-conversations or legacy-persistence",
	},
}

// checkDistinct refuses two roots of one provider that are one object on disk, and OpenHands roots of different kinds one
// inside the other.
func checkDistinct(roots []Root) error {
	for i, a := range roots {
		for _, b := range roots[i+1:] {
			if a.Provider != b.Provider {
				continue
			}
			if a.Path == b.Path || SameObject(a.Path, b.Path) {
				return malformed("two roots of one provider are the same place", rootKey(b.Name, "path")...)
			}
			if a.Kind != b.Kind && Overlaps(a.Path, b.Path) {
				return malformed("an OpenHands root of one kind lies inside one of the other kind", rootKey(b.Name, "path")...)
			}
		}
	}
	return nil
}

// ValidRootPath reports whether a path can stand in the config file: absolute, normalized UTF-8 without NUL, within the length
// limit. On Windows it starts with a drive letter: network, device and verbatim forms are refused.
func ValidRootPath(path string) bool {
	windows, size := runtime.GOOS == "windows", len(path)
	if windows {
		size = 2 * len(utf16.Encode([]rune(path)))
	}
	return utf8.ValidString(path) && !strings.ContainsRune(path, 0) && size <= MaxPathBytes && filepath.IsAbs(path) &&
		filepath.Clean(path) == path && (!windows || len(filepath.VolumeName(path)) == 2)
}
