package sources

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/internal/nullable"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// maxCandidates bounds the places of one provider.
const maxCandidates = 256

// candidate is a place that won its slot, before anybody looked whether it can be used.
type candidate struct {
	path   string
	format string
	role   string
	kind   historyv1.PathKind
	probe  *historyv1.Probe
	// beside marks a place that only counts while it exists: no row tells of its absence.
	beside bool
	// unsupported marks a place that only its provider knows how to refuse.
	unsupported bool
	seal        seal
}

// selection is the outcome of the declared locations of one provider.
type selection struct {
	candidates []candidate
	issues     []Issue
}

func (s *selection) refuse(provider, code, message string) { s.refuseAt(provider, code, message, "") }

// refuseAt adds an issue unless the same code and message stands there already: one broken variable concerns every location
// that uses it, and is told once.
func (s *selection) refuseAt(provider, code, message, path string) {
	if slices.ContainsFunc(s.issues, func(i Issue) bool { return i.Code == code && i.Message == message }) {
		return
	}
	s.issues = append(s.issues, Issue{Provider: provider, Path: nullable.Text(path), Code: code, Message: message})
}

// locator applies the location rules of one description to one environment.
type locator struct {
	provider string
	env      config.Environment
	out      selection
	tabled   map[*historyv1.Location]tabled
}

// locate returns the winning automatic places of a description. An override that is set wins over the defaults even when it
// turns out to be unusable; a default that is proven missing gives way to a former place; places beside the default join it.
func locate(d *historyv1.DescribeResponse, env config.Environment) selection {
	l := locator{provider: d.GetId(), env: env}
	if d.GetNoKnownLocation() {
		l.out.refuse(l.provider, InsufficientEvidence, "no automatic location is established for this provider; name its path with ctx import --path or ctx sources add")
		return l.out
	}
	usable := slices.DeleteFunc(slices.Clone(d.GetLocations()), func(loc *historyv1.Location) bool { return !onPlatform(loc, env.Platform) })
	if len(usable) == 0 && len(d.GetLocations()) > 0 {
		l.out.refuse(l.provider, Unreconstructible, "no default location is established on this platform; name the path with ctx import --path or ctx sources add")
	}
	l.all(usable)
	return l.out
}

// all goes through the slots of the locations, in the order of their first ones.
func (l *locator) all(locations []*historyv1.Location) {
	var slots []string
	bySlot := map[string][]*historyv1.Location{}
	for _, loc := range locations {
		slot := cmp.Or(loc.GetSlot(), loc.GetRole())
		if _, ok := bySlot[slot]; !ok {
			slots = append(slots, slot)
		}
		bySlot[slot] = append(bySlot[slot], loc)
	}
	for _, slot := range slots {
		l.slot(bySlot[slot])
	}
	l.out.bound(l.provider)
}

// bound keeps the first candidates.
func (s *selection) bound(provider string) {
	if len(s.candidates) > maxCandidates {
		s.candidates = s.candidates[:maxCandidates]
		s.refuse(provider, Unreconstructible, "there are more than 256 locations; only the first ones are used")
	}
}

func onPlatform(loc *historyv1.Location, p config.Platform) bool {
	if len(loc.GetPlatforms()) == 0 {
		return true
	}
	return slices.Contains(loc.GetPlatforms(), platforms[p])
}

var platforms = map[config.Platform]historyv1.Platform{
	config.Linux: historyv1.Platform_PLATFORM_LINUX, config.MacOS: historyv1.Platform_PLATFORM_MACOS,
	config.Windows: historyv1.Platform_PLATFORM_WINDOWS, config.OtherUnix: historyv1.Platform_PLATFORM_OTHER_UNIX,
}

func (l *locator) slot(locations []*historyv1.Location) {
	for _, loc := range locations {
		if loc.GetMode() != historyv1.Location_MODE_OVERRIDE {
			continue
		}
		if value, set := l.value(loc); set {
			l.override(loc, value)
			return
		}
	}
	chosen, ok := l.first(locations, historyv1.Location_MODE_DEFAULT, func(candidate) bool { return true })
	if !ok || provenMissing(chosen.path) {
		former, found := l.first(locations, historyv1.Location_MODE_LEGACY, func(c candidate) bool { return !provenMissing(c.path) })
		if found {
			chosen, ok = former, true
		}
	}
	if ok {
		l.out.candidates = append(l.out.candidates, chosen)
	}
	for _, loc := range locations {
		if loc.GetMode() != historyv1.Location_MODE_BESIDE {
			continue
		}
		if c, based := l.based(loc); based {
			c.beside = true
			l.out.candidates = append(l.out.candidates, c)
		}
	}
}

// first returns the first location of a mode whose base is known and that is wanted.
func (l *locator) first(locations []*historyv1.Location, mode historyv1.Location_Mode, wanted func(candidate) bool) (candidate, bool) {
	for _, loc := range locations {
		if loc.GetMode() != mode {
			continue
		}
		if c, ok := l.based(loc); ok && wanted(c) {
			return c, true
		}
	}
	return candidate{}, false
}

// value returns the variable of an override. An empty variable counts as unset unless the description says otherwise.
func (l *locator) value(loc *historyv1.Location) (string, bool) {
	v, ok := l.env.Provider(loc.GetEnv())
	switch {
	case !ok:
		return "", false
	case v == "":
		return v, loc.GetEmptyIsSet()
	case loc.GetBlankIsUnset() && strings.TrimSpace(v) == "":
		return "", false
	}
	return v, true
}

func (l *locator) override(loc *historyv1.Location, value string) {
	if slices.Contains(loc.GetNoDiskValues(), value) || slices.Contains(loc.GetNoDiskValues(), "*") {
		l.out.refuse(l.provider, NoDiskHistory, loc.GetEnv()+" says that no history is kept on disk")
		return
	}
	if loc.GetEnvList() {
		l.list(loc, value)
		return
	}
	path, ok := l.absolute(loc, value)
	if !ok {
		l.out.refuse(l.provider, Unreconstructible, loc.GetEnv()+" does not hold an exact absolute path; set it to one")
		return
	}
	if loc.GetMustExist() && !isKind(path, valueKind(loc)) {
		l.out.refuse(l.provider, Unreconstructible, loc.GetEnv()+" does not name an existing "+kindName(valueKind(loc)))
		return
	}
	l.add(loc, path)
}

// list takes a value that is one existing directory, or else a comma list of coexisting absolute roots.
func (l *locator) list(loc *historyv1.Location, value string) {
	if usable(value) && isKind(value, historyv1.PathKind_PATH_KIND_DIRECTORY) {
		l.add(loc, value)
		return
	}
	var named, existing []string
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if !usable(part) || slices.Contains(named, filepath.Clean(part)) {
			continue
		}
		named = append(named, filepath.Clean(part))
		if !provenMissing(part) {
			existing = append(existing, filepath.Clean(part))
		}
	}
	if len(named) == 0 {
		l.out.refuse(l.provider, Unreconstructible, loc.GetEnv()+" does not hold an exact absolute path; set it to one")
		return
	}
	if len(existing) > 0 {
		named = existing
	}
	for _, path := range named {
		l.add(loc, path)
	}
}

func (l *locator) absolute(loc *historyv1.Location, value string) (string, bool) {
	if usable(value) {
		return filepath.Clean(value), true
	}
	if value == "" || filepath.IsAbs(value) || filepath.VolumeName(value) != "" {
		return "", false
	}
	base := ""
	switch loc.GetRelative() {
	case historyv1.Location_RELATIVE_CWD:
		base = l.env.WorkDir
	case historyv1.Location_RELATIVE_BASE:
		base = l.base(loc.GetBase())
	}
	if base == "" {
		return "", false
	}
	return filepath.Join(base, value), true
}

// based returns the place of a location without a variable; ok is false while its base directory is not known.
func (l *locator) based(loc *historyv1.Location) (candidate, bool) {
	base := cmp.Or(l.tabled[loc].dir, l.base(loc.GetBase()))
	if loc.GetEnv() != "" {
		v, set := l.value(loc)
		if !set || !usable(v) {
			return candidate{}, false
		}
		base = v
	}
	if base == "" {
		return candidate{}, false
	}
	return l.candidate(loc, base)
}

func (l *locator) add(loc *historyv1.Location, base string) {
	if c, ok := l.candidate(loc, base); ok {
		l.out.candidates = append(l.out.candidates, c)
	}
}

func (l *locator) candidate(loc *historyv1.Location, base string) (candidate, bool) {
	path, ok := below(base, loc.GetSuffix())
	if !ok {
		l.out.refuse(l.provider, Unreconstructible, "a declared location is not a usable path")
		return candidate{}, false
	}
	return candidate{path: path, format: loc.GetFormat(), role: loc.GetRole(), kind: loc.GetPathKind(), probe: loc.GetProbe(),
		seal: l.tabled[loc].seal}, true
}

func (l *locator) base(b historyv1.Base) string {
	return baseOf(l.env, strings.ToLower(strings.TrimPrefix(b.String(), "BASE_")), "")
}

// below appends a declared suffix to a directory. A suffix that leads out of it, and a path beyond the length limit, are refused.
func below(base, suffix string) (string, bool) {
	path := filepath.Clean(base)
	if suffix != "" {
		local := filepath.FromSlash(suffix)
		if !filepath.IsLocal(local) {
			return "", false
		}
		path = filepath.Join(path, local)
	}
	return path, config.ValidRootPath(path)
}

// usable reports whether a value is an absolute path of an ordinary form.
func usable(path string) bool {
	return filepath.IsAbs(path) && config.ValidRootPath(filepath.Clean(path))
}

// provenMissing reports whether a path certainly does not exist. A path that cannot be looked at is not proven missing.
func provenMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || isNotDirectory(err)
}

// valueKind is what the variable of a location names: the directory that the suffix is appended to, or the place itself.
func valueKind(loc *historyv1.Location) historyv1.PathKind {
	if loc.GetSuffix() != "" {
		return historyv1.PathKind_PATH_KIND_DIRECTORY
	}
	return loc.GetPathKind()
}

func isKind(path string, kind historyv1.PathKind) bool {
	info, err := os.Stat(path)
	return err == nil && kindMatches(info, kind)
}

func kindMatches(info fs.FileInfo, kind historyv1.PathKind) bool {
	switch kind {
	case historyv1.PathKind_PATH_KIND_DIRECTORY:
		return info.IsDir()
	case historyv1.PathKind_PATH_KIND_FILE:
		return info.Mode().IsRegular()
	}
	return info.IsDir() || info.Mode().IsRegular()
}

func kindName(kind historyv1.PathKind) string {
	if kind == historyv1.PathKind_PATH_KIND_UNSPECIFIED {
		return "file or directory"
	}
	return strings.ToLower(strings.TrimPrefix(kind.String(), "PATH_KIND_"))
}
