package sources

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// agentTable is where every agent that this program knows of keeps its history, in the public order of providers. It is read only to
// list sources: an agent whose provider is delivered describes itself.
//
//go:embed agents.json
var agentTable []byte

// agent is one row of the table. The agents of package config come first, those that are delivered without places; an extra one is
// shown only where it has a history.
type agent struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Extra    bool      `json:"extra"`
	Nowhere  bool      `json:"nowhere"` // no automatic location is established on any platform
	Format   string    `json:"format"`
	Role     string    `json:"role"`
	Probe    []string  `json:"probe"`
	At       []spot    `json:"at"`
	Settings []setting `json:"settings"`
}

// spot is one declared place: a location of the provider protocol, and the few things beyond it that depend on the machine. Its path
// may hold {alternatives} and '*', which stand for what exists and coexist with the default.
type spot struct {
	*historyv1.Location          // env, slot, format, role, blank_is_unset, empty_is_set, no_disk_values
	Base                string   `json:"base"` // a name of bases
	Path                string   `json:"path"`
	On                  []string `json:"on"` // platforms; empty = all
	Mode                string   `json:"mode"`
	File                *bool    `json:"file"`
	Relative            bool     `json:"relative"` // a relative value counts from the working directory
	Probe               []string `json:"probe"`
	// Conditions: a variable has one of some values (NAME=a,b), a path below the base exists, a path below the home exists or not.
	When     string `json:"when"`
	WhenFile string `json:"when_file"`
	Needs    string `json:"needs"`
	Unless   string `json:"unless"`
	// Sealed histories are encrypted; of a sqlite place that is told by the head of the file.
	Sealed bool `json:"sealed"`
	SQLite bool `json:"sqlite"`
}

// setting is a variable, or a file that may hold a key, by which the agent's user moved its history. What it says is not interpreted:
// it hides the usual places, or, with keeps, says that there may be more.
type setting struct {
	Env   string   `json:"env"`
	Base  string   `json:"base"`
	Path  string   `json:"path"`
	On    []string `json:"on"`
	Key   string   `json:"key"`
	Full  bool     `json:"full"` // an empty file counts too
	Keeps bool     `json:"keeps"`
}

// Bounds of what is looked at for one agent.
const (
	maxSettingsBytes = 1 << 20
	maxListing       = 1024 // entries of one directory
	maxMatches       = 128
	maxAncestors     = 64
)

var agents = sync.OnceValue(func() []agent {
	var list []agent
	if err := json.Unmarshal(agentTable, &list); err != nil {
		panic(err) // part of the program
	}
	for _, a := range list {
		for i := range a.At {
			a.At[i].Location = cmp.Or(a.At[i].Location, new(historyv1.Location))
		}
	}
	return list
})

// Agent returns the id of an agent of the table, for names that no provider has; custom stands for the history plugins.
func Agent(spelling string) (id string, ok bool) {
	if spelling == pluginProvider {
		return spelling, true
	}
	for _, a := range agents() {
		if a.ID == spelling || strings.ReplaceAll(a.ID, "_", "-") == spelling {
			return a.ID, true
		}
	}
	return "", false
}

// tabled is what a location of the table has beyond the protocol.
type tabled struct {
	dir  string // its base
	seal seal
}

// seal says whether a history may be encrypted.
type seal uint8

const (
	open seal = iota
	sealed
	sealedUnlessSQLite
)

// locate returns the places of an agent without a provider.
func (a *agent) locate(env config.Environment) selection {
	l := locator{provider: a.ID, env: env, tabled: map[*historyv1.Location]tabled{}}
	if a.Nowhere {
		l.out.refuse(a.ID, InsufficientEvidence, "no automatic location is established for this agent")
		return l.out
	}
	moved, more := a.moved(env)
	var locations []*historyv1.Location
	for i := range a.At {
		s := &a.At[i]
		if !applies(s.On, env.Platform) || !s.holds(env) || moved && s.Base != "" {
			continue
		}
		locations = append(locations, a.locations(s, &l)...)
	}
	if len(locations) == 0 && !moved && !a.Extra && env.Platform == config.OtherUnix {
		l.out.refuse(a.ID, Unreconstructible, "no default location is established on this platform")
	}
	l.all(locations)
	if moved && len(l.out.candidates) == 0 && len(l.out.issues) == 0 {
		l.out.refuse(a.ID, Unreconstructible, "settings of the agent may name another place than the usual one")
	}
	if more {
		l.out.refuse(a.ID, Unreconstructible, "settings of the agent may name further places, which are not looked for")
	}
	return l.out
}

// moved reports whether settings may have moved the history, or added places to it.
func (a *agent) moved(env config.Environment) (moved, more bool) {
	for _, s := range a.Settings {
		if !applies(s.On, env.Platform) || !s.holds(env) {
			continue
		}
		moved, more = moved || !s.Keeps, more || s.Keeps
	}
	return moved, more
}

func (s *setting) holds(env config.Environment) bool {
	if s.Env != "" {
		value, _ := env.Provider(s.Env)
		return strings.TrimSpace(value) != "" && strings.Contains(value, s.Key)
	}
	dir := baseOf(env, s.Base, s.Path)
	if dir == "" {
		return false
	}
	for _, found := range expand(dir, s.Path) {
		if s.found(filepath.Join(dir, filepath.FromSlash(found))) {
			return true
		}
	}
	return false
}

func (s *setting) found(file string) bool {
	info, err := os.Stat(file)
	if err != nil || info.IsDir() {
		return false
	}
	if s.Key == "" || info.Size() > maxSettingsBytes {
		return true
	}
	text, err := readBounded(file, maxSettingsBytes)
	return err != nil || s.Full && len(bytes.TrimSpace(text)) == 0 || bytes.Contains(text, []byte(s.Key))
}

func openOrdinary(file string) (*os.File, error) {
	// Looked at first: to open a pipe is to wait for its writer.
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errors.New("no ordinary file"))
	}
	return os.Open(file)
}

func readBounded(file string, limit int64) ([]byte, error) {
	f, err := openOrdinary(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// holds checks the conditions of a spot.
func (s *spot) holds(env config.Environment) bool {
	if name, values, ok := strings.Cut(s.When, "="); ok {
		if value, set := env.Provider(name); !set || !slices.Contains(strings.Split(values, ","), value) {
			return false
		}
	}
	below := func(dir, rel string) bool {
		return dir != "" && !provenMissing(filepath.Join(dir, filepath.FromSlash(rel)))
	}
	return (s.WhenFile == "" || below(baseOf(env, s.Base, ""), s.WhenFile)) &&
		(s.Needs == "" || below(env.Home, s.Needs)) && (s.Unless == "" || !below(env.Home, s.Unless))
}

// locations turns a spot into locations of the protocol: one, or one for every alternative and for every match of a pattern.
func (a *agent) locations(s *spot, l *locator) []*historyv1.Location {
	var out []*historyv1.Location
	known, _ := config.ProviderNamed(a.ID)
	for _, name := range alternatives(s.Base) {
		dir := baseOf(l.env, name, s.Path)
		if dir == "" && s.Env == "" {
			continue
		}
		for _, suffix := range expand(dir, s.Path) {
			loc := proto.CloneOf(s.Location)
			loc.Suffix, loc.Mode, loc.Probe = suffix, a.mode(s), &historyv1.Probe{Globs: s.Probe}
			if s.Relative {
				loc.Relative = historyv1.Location_RELATIVE_CWD
			}
			if s.Probe == nil {
				loc.Probe.Globs = a.Probe
			}
			a.complete(loc, s, known)
			extra := tabled{dir: dir}
			if s.Sealed {
				extra.seal = sealed
			} else if s.SQLite {
				extra.seal = sealedUnlessSQLite
			}
			l.tabled[loc] = extra
			out = append(out, loc)
		}
	}
	return out
}

func (a *agent) mode(s *spot) historyv1.Location_Mode {
	switch {
	case s.Mode == "legacy":
		return historyv1.Location_MODE_LEGACY
	case s.Mode == "beside" || a.Extra:
		return historyv1.Location_MODE_BESIDE
	case s.Env != "" && s.Mode == "":
		return historyv1.Location_MODE_OVERRIDE
	}
	return historyv1.Location_MODE_DEFAULT
}

// complete fills in what the table leaves to the provider of package config.
func (a *agent) complete(loc *historyv1.Location, s *spot, known *config.Provider) {
	usual := config.Child{Format: a.Format, Role: cmp.Or(a.Role, a.ID+"-history")}
	if known != nil {
		usual.Format = known.Formats[0]
		if len(known.Children) > 0 {
			usual = known.Children[0]
		}
	}
	if s.File != nil {
		usual.File = *s.File
	}
	loc.Format, loc.Role, loc.PathKind = cmp.Or(s.Format, usual.Format), cmp.Or(s.Role, usual.Role), kindOf(usual.File)
}

func applies(on []string, p config.Platform) bool {
	name := strings.TrimSuffix(string(p), "_unix")
	return len(on) == 0 || slices.Contains(on, name)
}

// baseOf returns the directory of a base name, "" while it is not known. The base project is the nearest directory at or above
// the working directory, inside its repository, that has the path.
func baseOf(env config.Environment, name, rel string) string {
	dirs := env.Dirs
	switch name {
	case "home":
		return env.Home
	case "config":
		return dirs.Config
	case "data":
		return dirs.Data
	case "state":
		return dirs.State
	case "local_data":
		return dirs.LocalData
	case "roaming":
		return dirs.Roaming
	case "cwd":
		return env.WorkDir
	case "root":
		return filepath.VolumeName(env.Home) + string(filepath.Separator)
	case "xdg_data":
		if v, ok := env.Provider("XDG_DATA_HOME"); ok && usable(v) {
			return v
		}
		if env.Home != "" {
			return filepath.Join(env.Home, ".local", "share")
		}
	case "project":
		return projectWith(env.WorkDir, rel)
	}
	return ""
}

func projectWith(dir, rel string) string {
	for range maxAncestors {
		if dir == "" {
			return ""
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(rel))); err == nil {
			return dir
		}
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		parent := filepath.Dir(dir)
		if err == nil || parent == dir {
			return ""
		}
		dir = parent
	}
	return ""
}

// alternatives expands the first {a,b} of a pattern and, recursively, the rest.
func alternatives(pattern string) []string {
	head, rest, ok := strings.Cut(pattern, "{")
	inner, tail, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{pattern}
	}
	var out []string
	for _, choice := range strings.Split(inner, ",") {
		for _, more := range alternatives(tail) {
			out = append(out, head+choice+more)
		}
	}
	return out
}

// expand returns the paths below a directory that a pattern stands for. A path without '*' and '[' need not exist.
func expand(dir, pattern string) []string {
	var out []string
	for _, p := range alternatives(pattern) {
		if !strings.ContainsAny(p, "*[") {
			out = append(out, p)
			continue
		}
		out = append(out, match(dir, "", strings.Split(p, "/"))...)
	}
	return out[:min(len(out), maxMatches)]
}

func match(dir, rel string, parts []string) []string {
	if len(parts) == 0 {
		return []string{rel}
	}
	if !strings.ContainsAny(parts[0], "*[") {
		return match(dir, path.Join(rel, parts[0]), parts[1:])
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(rel)))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(maxListing)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	slices.Sort(names)
	var out []string
	for _, name := range names {
		if ok, err := path.Match(parts[0], name); err == nil && ok && len(out) < maxMatches {
			out = append(out, match(dir, path.Join(rel, name), parts[1:])...)
		}
	}
	return out
}

// isSealed reports whether a place is encrypted, or for a database whether it does not begin like one.
func (s seal) isSealed(file string) bool {
	if s != sealedUnlessSQLite {
		return s == sealed
	}
	head, err := readBounded(file, 16)
	return err == nil && len(head) == 16 && string(head) != "SQLite format 3\x00"
}
