package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

const (
	directory = historyv1.PathKind_PATH_KIND_DIRECTORY
	file      = historyv1.PathKind_PATH_KIND_FILE
	home      = historyv1.Base_BASE_HOME
	override  = historyv1.Location_MODE_OVERRIDE
	beside    = historyv1.Location_MODE_BESIDE
	legacy    = historyv1.Location_MODE_LEGACY
)

var jsonlProbe = &historyv1.Probe{Globs: []string{"*/**/*.jsonl"}}

// claude has coexisting roots, a variable that may hold a list, and a place beside the default.
func claude() *historyv1.DescribeResponse {
	loc := func(l *historyv1.Location) *historyv1.Location {
		l.Format, l.Role, l.PathKind, l.Probe = "claude_projects_jsonl_tree", "claude-projects", directory, jsonlProbe
		return l
	}
	return &historyv1.DescribeResponse{
		Id: "claude", CliName: "claude", DisplayName: "Claude Code",
		Formats: []*historyv1.Format{{Name: "claude_projects_jsonl_tree", Leaf: "claude_projects_jsonl"}},
		Root: &historyv1.RootCapability{PathKind: directory, Expander: "claude_home_v1", Children: []*historyv1.RootChild{
			{Suffix: "projects", Format: "claude_projects_jsonl_tree", Role: "claude-projects", PathKind: directory},
		}},
		Locations: []*historyv1.Location{
			loc(&historyv1.Location{Env: "CLAUDE_CONFIG_DIR", EnvList: true, Suffix: "projects", Mode: override}),
			loc(&historyv1.Location{Base: home, Suffix: ".claude/projects"}),
			loc(&historyv1.Location{Base: home, Suffix: ".config/claude/projects", Mode: beside}),
		},
		ExactPaths: []*historyv1.PathRule{
			{NameGlob: ".claude", PathKind: directory, Suffix: "projects", Format: "claude_projects_jsonl_tree", Role: "claude-projects"},
			{NameGlob: "*", PathKind: directory, Format: "claude_projects_jsonl_tree", Role: "claude-projects"},
			{NameGlob: "*.jsonl", PathKind: file, Format: "claude_projects_jsonl_tree", Role: "claude-projects"},
		},
	}
}

// codex has several children of one home, one of them a file, and a home that must exist.
func codex() *historyv1.DescribeResponse {
	d := &historyv1.DescribeResponse{
		Id: "codex", CliName: "codex",
		Formats: []*historyv1.Format{
			{Name: "tree"}, {Name: "prompts", ImportSupport: historyv1.ImportSupport_IMPORT_SUPPORT_EXPLICIT},
		},
		Root: &historyv1.RootCapability{PathKind: directory},
	}
	for _, c := range []struct {
		suffix, format string
		kind           historyv1.PathKind
	}{{"sessions", "tree", directory}, {"archived_sessions", "tree", directory}, {"history.jsonl", "prompts", file}} {
		d.Root.Children = append(d.Root.Children, &historyv1.RootChild{Suffix: c.suffix, Format: c.format, Role: c.suffix, PathKind: c.kind})
		d.Locations = append(d.Locations,
			&historyv1.Location{Env: "CODEX_HOME", Suffix: c.suffix, Format: c.format, Role: c.suffix, Mode: override, PathKind: c.kind,
				Relative: historyv1.Location_RELATIVE_CWD, MustExist: true},
			&historyv1.Location{Base: home, Suffix: ".codex/" + c.suffix, Format: c.format, Role: c.suffix, PathKind: c.kind},
		)
	}
	return d
}

// kilo has a former place and a variable that can say that nothing is on disk.
func kilo() *historyv1.DescribeResponse {
	return &historyv1.DescribeResponse{
		Id: "kilo", CliName: "kilo", Formats: []*historyv1.Format{{Name: "kilo_sqlite"}},
		Locations: []*historyv1.Location{
			{Env: "KILO_DB", Format: "kilo_sqlite", Role: "kilo-database", Mode: override, PathKind: file, NoDiskValues: []string{":memory:"},
				Relative: historyv1.Location_RELATIVE_BASE, Base: historyv1.Base_BASE_DATA},
			{Base: historyv1.Base_BASE_DATA, Suffix: "kilo/kilo.db", Format: "kilo_sqlite", Role: "kilo-database", PathKind: file},
			{Base: historyv1.Base_BASE_DATA, Suffix: "kilo/opencode.db", Format: "kilo_sqlite", Role: "kilo-database", PathKind: file, Mode: legacy},
		},
	}
}

type world struct {
	t          *testing.T
	home, data string
	vars       map[string]string
	toml       string
	described  []Described
}

func newWorld(t *testing.T, descriptions ...*historyv1.DescribeResponse) *world {
	t.Helper()
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(dir, "home"), data: filepath.Join(dir, "data"), vars: map[string]string{}}
	for _, d := range descriptions {
		w.described = append(w.described, Described{Name: d.GetId(), Description: d})
	}
	w.dir(w.home)
	w.dir(w.data)
	return w
}

func (w *world) dir(path string) string {
	w.t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// write makes a file below the home.
func (w *world) write(rel string) string {
	w.t.Helper()
	path := filepath.Join(w.home, rel)
	w.dir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) link(target, rel string) {
	w.t.Helper()
	path := filepath.Join(w.home, rel)
	w.dir(filepath.Dir(path))
	if err := os.Symlink(target, path); err != nil {
		w.t.Skip("links cannot be made here")
	}
}

func (w *world) root(name, provider, path, group string) {
	w.toml += fmt.Sprintf("[sources.roots.%s]\nprovider = %q\npath = %q\n", name, provider, path)
	if group != "" {
		w.toml += fmt.Sprintf("group = %q\n", group)
	}
}

func (w *world) config() *config.Config {
	w.t.Helper()
	env := config.NewEnvironment(config.Linux, w.home, w.home, os.Geteuid(), func(name string) (string, bool) {
		v, ok := w.vars[name]
		return v, ok
	})
	c, err := config.Parse(w.data, []byte(w.toml), env)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) discover() *Discovery {
	w.t.Helper()
	d, err := Discover(context.Background(), Input{Config: w.config(), Descriptions: w.described})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// expect compares the rows ("path below the home: status") and the codes of the issues.
func (w *world) expect(rows []string, codes ...string) *Discovery {
	w.t.Helper()
	d := w.discover()
	var got, gotCodes []string
	for _, r := range d.Rows {
		rel, err := filepath.Rel(w.home, r.Path)
		if err != nil {
			rel = r.Path
		}
		got = append(got, filepath.ToSlash(rel)+": "+string(r.Status))
	}
	for _, i := range d.Issues {
		gotCodes = append(gotCodes, i.Code)
		if strings.Contains(i.Message, w.home) {
			w.t.Errorf("a message holds a path: %q", i.Message)
		}
	}
	if !slices.Equal(got, rows) || !slices.Equal(gotCodes, codes) {
		w.t.Errorf("rows %q, issues %q; want %q, %q", got, gotCodes, rows, codes)
	}
	return d
}

func TestDefaultAndBeside(t *testing.T) {
	w := newWorld(t, claude())
	w.expect([]string{".claude/projects: missing"})
	w.dir(filepath.Join(w.home, ".claude/projects"))
	w.expect([]string{".claude/projects: empty"})
	w.write(".claude/projects/p/s.jsonl")
	d := w.expect([]string{".claude/projects: available"})
	if len(d.Routes) != 2 || d.Routes[1].Status != Missing {
		t.Errorf("the absent place beside the default has no route: %+v", d.Routes)
	}
	w.write(".config/claude/projects/p/s.jsonl")
	w.expect([]string{".claude/projects: available", ".config/claude/projects: available"})
}

func TestBesideThatIsTheDefault(t *testing.T) {
	w := newWorld(t, claude())
	w.write(".claude/projects/p/s.jsonl")
	w.link(filepath.Join(w.home, ".claude"), ".config/claude")
	w.expect([]string{".claude/projects: available"})
}

func TestEnvironmentList(t *testing.T) {
	for _, c := range []struct {
		name, value string
		rows        []string
		codes       []string
	}{
		{"one directory", "H/a", []string{"a/projects: available"}, nil},
		{"name with a comma", "H/x,y", []string{"x,y/projects: available"}, nil},
		{"list", "H/a , H/b,rel,H/none", []string{"a/projects: available", "b/projects: missing"}, nil},
		{"twice the same", "H/a,H/a/", []string{"a/projects: available"}, nil},
		{"absent", "H/none", []string{"none/projects: missing"}, nil},
		{"all absent", "H/none,H/nil", []string{"none/projects: missing", "nil/projects: missing"}, nil},
		{"relative", "relative/place", nil, []string{Unreconstructible}},
		{"only commas", ",,", nil, []string{Unreconstructible}},
		{"empty counts as unset", "", []string{".claude/projects: available"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, claude())
			w.write(".claude/projects/p/s.jsonl")
			w.write("a/projects/p/s.jsonl")
			w.write("x,y/projects/p/s.jsonl")
			w.dir(filepath.Join(w.home, "b"))
			w.vars["CLAUDE_CONFIG_DIR"] = strings.ReplaceAll(c.value, "H/", w.home+"/")
			w.expect(c.rows, c.codes...)
		})
	}
}

func TestOverrideThatMustExist(t *testing.T) {
	w := newWorld(t, codex())
	w.write(".codex/sessions/x.jsonl")
	w.expect([]string{".codex/sessions: available", ".codex/archived_sessions: missing", ".codex/history.jsonl: missing"})
	w.write("other/sessions/x.jsonl")
	w.vars["CODEX_HOME"] = "other" // relative to the working directory, which is the home here
	w.expect([]string{"other/sessions: available", "other/archived_sessions: missing", "other/history.jsonl: missing"})
	w.vars["CODEX_HOME"] = w.write("plain-file")
	w.expect(nil, Unreconstructible) // told once, not once a location
}

func TestFormerPlaceAndNoDisk(t *testing.T) {
	w := newWorld(t, kilo())
	w.expect([]string{".local/share/kilo/kilo.db: missing"})
	w.write(".local/share/kilo/opencode.db")
	w.expect([]string{".local/share/kilo/opencode.db: available"})
	w.write(".local/share/kilo/kilo.db")
	w.expect([]string{".local/share/kilo/kilo.db: available"})
	w.vars["KILO_DB"] = ":memory:"
	w.expect(nil, NoDiskHistory)
	w.vars["KILO_DB"] = "named.db"
	w.expect([]string{".local/share/named.db: missing"})
}

func TestUnknownHomeAndNoLocation(t *testing.T) {
	w := newWorld(t, claude(), &historyv1.DescribeResponse{Id: "acme", NoKnownLocation: true})
	c := w.config()
	c.Environment = config.NewEnvironment(config.Linux, "", "", 0, func(string) (string, bool) { return "", false })
	d, err := Discover(context.Background(), Input{Config: c, Descriptions: w.described})
	if err != nil || len(d.Rows) != 0 || len(d.Issues) != 1 || d.Issues[0].Code != InsufficientEvidence || d.Issues[0].Provider != "acme" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestLinkedRoots(t *testing.T) {
	w := newWorld(t, claude())
	real := filepath.Dir(filepath.Dir(filepath.Dir(w.write("real/projects/p/s.jsonl"))))
	w.link(real, ".claude")
	w.expect([]string{"real/projects: available"})
	if os.Geteuid() != 0 {
		return // giving a directory to somebody else needs root
	}
	if err := os.Chown(filepath.Join(real, "projects"), 54321, -1); err != nil {
		t.Fatal(err)
	}
	w.expect(nil, Unreconstructible)
}

func TestUnsafePlaces(t *testing.T) {
	w := newWorld(t, claude())
	w.vars["CLAUDE_CONFIG_DIR"] = w.dir(filepath.Join(w.data, "inside"))
	w.dir(filepath.Join(w.data, "inside/projects"))
	w.expect(nil, Unreconstructible)
	w.vars["CLAUDE_CONFIG_DIR"] = w.dir(filepath.Join(w.home, "c"))
	w.write("c/projects")
	w.expect(nil, Unreconstructible)
	if kind, err := fileSystem("/proc"); err == nil && kind == fsKernel {
		if got := examine("/proc/self/fd", directory, true, w.config()); got.status != Unsupported {
			t.Errorf("/proc: %+v", got)
		}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 12 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "s.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		globs          []string
		depth, entries uint32
		want           Status
	}{
		{[]string{"**/*.jsonl"}, 0, 0, Available},
		{[]string{"*/*/s.jsonl"}, 0, 0, Available},
		{[]string{"*.jsonl"}, 0, 0, Empty},
		{[]string{"**/*.jsonl"}, 2, 0, Empty},
		{[]string{"x/**/*.jsonl", "*/b/?.jsonl"}, 3, 0, Available},
		{[]string{"**/*.jsonl"}, 0, 10, Unknown},
		{[]string{"*.txt"}, 0, 10, Available},
		{nil, 0, 0, Available},
	} {
		if got, reason := probeStatus(dir, &historyv1.Probe{Globs: c.globs, MaxDepth: c.depth, MaxEntries: c.entries}); got != c.want {
			t.Errorf("%q depth %d entries %d: %s (%s), want %s", c.globs, c.depth, c.entries, got, reason, c.want)
		}
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, path string
		match      bool
	}{
		{"**", "a/b", true}, {"**/b", "b", true}, {"**/b", "a/c/b", true}, {"**/b", "a/b/c", false}, {"a/**/b", "a/b", true},
		{"a/**", "a", true}, {"*/**/x", "a/x", true}, {"*/**/x", "x", false}, {"?", "ab", false}, {"[", "[", false},
		{strings.Repeat("**/", 40) + "x", strings.Repeat("y/", 60) + "z", false},
	} {
		if got := matches(strings.Split(c.glob, "/"), strings.Split(c.path, "/")); got != c.match {
			t.Errorf("%s on %s: %v", c.glob, c.path, got)
		}
	}
	if leadsTo([]string{"a", "*"}, []string{"b"}) || !leadsTo([]string{"a", "*"}, []string{"a"}) || leadsTo([]string{"a"}, []string{"a"}) {
		t.Error("leadsTo")
	}
}

func TestConfiguredRoots(t *testing.T) {
	w := newWorld(t, claude(), codex())
	w.write(".claude/projects/p/s.jsonl")
	extra := filepath.Dir(filepath.Dir(filepath.Dir(w.write("extra/projects/p/s.jsonl"))))
	w.root("main", "claude", filepath.Join(w.home, ".claude"), "g")
	w.root("extra", "claude", extra, "")
	w.root("far", "pi", filepath.Join(w.home, "nowhere"), "")
	w.root("near", "mux", extra, "")
	d := w.expect([]string{
		".codex/sessions: missing", ".codex/archived_sessions: missing", ".codex/history.jsonl: missing",
		"nowhere: missing", ".claude/projects: available", "extra/projects: available", "extra: unsupported",
	})
	var kinds []string
	for _, r := range d.Rows {
		kind := r.Selection.Kind
		if r.Selection.Root != "" {
			kind += " " + string(r.Selection.Root)
		}
		if r.Selection.Group != "" {
			kind += " " + string(r.Selection.Group)
		}
		kinds = append(kinds, kind)
	}
	want := []string{"automatic", "automatic", "automatic", "configured far", "configured main g", "configured extra", "configured near"}
	if !slices.Equal(kinds, want) {
		t.Errorf("selections %q, want %q", kinds, want)
	}
	for _, r := range d.Routes {
		if r.Root != nil && r.Additional != (r.Root.Name == "extra") {
			t.Errorf("root %s: additional %v", r.Root.Name, r.Additional)
		}
	}
	if l := d.Listing(false); l.HiddenMissingSources != 0 || len(l.Sources) != 7 {
		t.Errorf("listing hides %d of 7 rows", l.HiddenMissingSources)
	}
}

func TestAutomaticOff(t *testing.T) {
	w := newWorld(t, claude())
	w.write(".claude/projects/p/s.jsonl")
	w.toml = "[sources]\nautomatic = false\n"
	if d := w.expect(nil); d.AutomaticDiscovery || len(d.Routes) != 0 {
		t.Errorf("%+v", d)
	}
	// The would-be winner keeps its identity under a name.
	w.root("main", "claude", filepath.Join(w.home, ".claude"), "")
	if d := w.expect([]string{".claude/projects: available"}); d.Routes[0].Additional || d.Routes[0].Authority != Configured {
		t.Errorf("%+v", d.Routes)
	}
}

func TestConflicts(t *testing.T) {
	w := newWorld(t, claude())
	w.write(".claude/projects/p/s.jsonl")
	w.write(".claude/projects/nested/projects/q/s.jsonl")
	outer := w.dir(filepath.Join(w.home, "outer"))
	inner := w.dir(filepath.Join(outer, "inner"))
	w.root("a", "pi", outer, "")
	w.root("b", "pi", inner, "")
	w.root("c", "claude", filepath.Join(w.home, ".claude/projects/nested"), "")
	d := w.expect([]string{
		"outer: unsupported", "outer/inner: unsupported", ".claude/projects: available", ".claude/projects/nested/projects: unsupported",
	}, ConfiguredRootClash, ConfiguredRootClash)
	for i, want := range []string{
		`"conflict_kind":"configured_configured","configured_roots":[{"name":"a","path":"OUTER"},{"name":"b","path":"OUTER/inner"}]`,
		`"conflict_kind":"automatic_configured","configured_roots":[{"name":"c"`,
	} {
		text, err := json.Marshal(d.Issues[i])
		if err != nil || !strings.Contains(string(text), strings.ReplaceAll(want, "OUTER", outer)) {
			t.Errorf("issue %d: %s, %v", i, text, err)
		}
	}
}

func TestMissingRootsComeFirst(t *testing.T) {
	w := newWorld(t, claude())
	w.vars["CLAUDE_CONFIG_DIR"] = "relative"
	for i := range 64 {
		w.root(fmt.Sprintf("r%02d", i), "openclaw", fmt.Sprintf("%s/none%d", w.home, i), "g")
	}
	l := w.discover().Listing(true)
	if len(l.Issues) != 64 || !l.IssuesTruncated {
		t.Fatalf("%d issues, truncated %v", len(l.Issues), l.IssuesTruncated)
	}
	for i, issue := range l.Issues {
		if issue.Code != ConfiguredRootMissing || issue.Lost.Root.Name != fmt.Sprintf("r%02d", i) {
			t.Fatalf("issue %d: %+v", i, issue)
		}
	}
	text, err := json.Marshal(l.Issues[0])
	if err != nil || !strings.Contains(string(text), `"configured_root":{"name":"r00","path":`) || strings.Contains(string(text), "conflict") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestFailedDescription(t *testing.T) {
	w := newWorld(t, claude())
	w.described = append(w.described, Described{Name: "codex", Err: context.DeadlineExceeded})
	d := w.expect([]string{".claude/projects: missing"}, Unreconstructible)
	if d.Issues[0].Provider != "codex" || strings.Contains(d.Issues[0].Message, "deadline") {
		t.Errorf("%+v", d.Issues[0])
	}
}

func TestListingShape(t *testing.T) {
	w := newWorld(t, claude(), kilo())
	l := w.discover().Listing(false)
	if l.HiddenMissingSources != 1 || len(l.Sources) != 1 || l.Scope != "default" {
		t.Errorf("default listing: %+v", l)
	}
	text, err := json.Marshal(w.discover().Listing(true))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema_version":1,"scope":"all","automatic_discovery":true,"hidden_missing_sources":0,"sources":[` +
		`{"provider":"claude","path":"HOME/.claude/projects","exists":false,"source_format":"claude_projects_jsonl_tree","status":"missing",` +
		`"status_reason":null,"import_support":"native","native_import":true,"importable":false,"unsupported_reason":null,` +
		`"selection":{"kind":"automatic","root":null,"group":null}},` +
		`{"provider":"kilo","path":"HOME/.local/share/kilo/kilo.db","exists":false,"source_format":"kilo_sqlite","status":"missing",` +
		`"status_reason":null,"import_support":"native","native_import":true,"importable":false,"unsupported_reason":null,` +
		`"selection":{"kind":"automatic","root":null,"group":null}}],"issues":[],"issues_truncated":false}`
	if got := strings.ReplaceAll(string(text), w.home, "HOME"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// The table knows codex before claude; the order of the descriptions does not matter.
	slices.Reverse(w.described)
	if again, err := json.Marshal(w.discover().Listing(true)); err != nil || string(again) != string(text) {
		t.Errorf("the order of descriptions changes the listing: %s, %v", again, err)
	}
}

func TestLongMessage(t *testing.T) {
	t.Parallel()
	i := Issue{Message: strings.Repeat("x", 511) + "é and more"}
	if i.cut(); len(i.Message) != 511 || !i.MessageTruncated {
		t.Errorf("%d bytes, truncated %v", len(i.Message), i.MessageTruncated)
	}
}

func TestExplicit(t *testing.T) {
	w := newWorld(t, claude())
	leaf := w.write("old/.claude/projects/p/s.jsonl")
	container := filepath.Dir(filepath.Dir(leaf))
	for _, c := range []struct{ given, want string }{
		{filepath.Dir(container), container},
		{"old/.claude", container},
		{container, container},
		{filepath.Dir(leaf), filepath.Dir(leaf)},
		{leaf, leaf},
	} {
		r, err := ExplicitRoute(w.config(), w.described, "claude-code", c.given)
		if err != nil || r.Path != c.want || r.Authority != Named || r.Provider != "claude" || len(r.ID) != 64 {
			t.Errorf("%s: %+v, %v", c.given, r, err)
		}
	}
	for _, c := range []struct{ provider, path, code string }{
		{"claude", "nowhere", fault.SourceUnavailable},
		{"nonsense", ".", fault.InvalidRequest},
		{"pi", ".", fault.InvalidRequest},
		{"claude", "", fault.InvalidRequest},
		{"claude", w.write("a.txt"), fault.InvalidRequest},
		{"claude", w.data, fault.SourceUnavailable},
		{"claude", filepath.Dir(w.data), fault.SourceUnavailable},
	} {
		if _, err := ExplicitRoute(w.config(), w.described, c.provider, c.path); fault.Code(err) != c.code {
			t.Errorf("%s %s: %v", c.provider, c.path, err)
		}
	}
}

func TestDescriptionsAreKept(t *testing.T) {
	w := newWorld(t)
	program := w.write("program")
	asked := 0
	ask := func(context.Context, string) (*historyv1.DescribeResponse, error) {
		asked++
		return claude(), nil
	}
	names := []string{"claude"}
	for range 2 {
		d := Describe(context.Background(), w.config(), program, names, ask)
		if len(d) != 1 || d[0].Description.GetId() != "claude" || d[0].Err != nil {
			t.Fatalf("%+v", d)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if err := os.WriteFile(program, []byte("another build"), 0o700); err != nil {
		t.Fatal(err)
	}
	Describe(context.Background(), w.config(), program, names, ask)
	if asked != 2 {
		t.Errorf("a new build was asked %d times in all", asked)
	}
	if err := os.WriteFile(filepath.Join(w.data, "plugins/descriptors.json"), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	Describe(context.Background(), w.config(), program, names, ask)
	if asked != 3 {
		t.Errorf("after damage asked %d times in all", asked)
	}
	// Without a data root nothing is made.
	if err := os.RemoveAll(w.data); err != nil {
		t.Fatal(err)
	}
	Describe(context.Background(), w.config(), program, names, ask)
	if _, err := os.Stat(w.data); !os.IsNotExist(err) {
		t.Errorf("the data root was made: %v", err)
	}
}

func TestPluginManifests(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{"broken": "{broken", "two words": "{}", "unnamed": `{"name":"a","sources":[{"path":"/x"}]}`, "sound": `{"name":"acme","display_name":"Acme","version":"1.2"}`} {
		dir := w.dir(filepath.Join(w.data, "plugins", name))
		if err := os.WriteFile(filepath.Join(dir, historyManifest), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rows := w.discover().Plugins
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows[2:] {
		if row.Status != "invalid" || row.Plugin != "" || row.Error != badName {
			t.Errorf("%+v", row)
		}
	}
	text, err := json.Marshal(rows[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"provider":"custom","kind":"history_source_plugin","plugin":null,"plugin_display_name":null,"plugin_version":null,` +
		`"history_source":null,"plugin_source":null,"history_source_id":null,"display_name":null,"provider_key":null,"source_id":null,` +
		`"source_format":null,"path":null,"manifest_path":"DATA/plugins/broken/ctx-history-plugin.json","enabled":false,"refresh":null,` +
		`"status":"invalid","import_support":"history_source_plugin","native_import":false,"importable":false,"import_mode":null,` +
		`"provider_source_authority":null,"unsupported_reason":"the manifest is not valid JSON of the expected form",` +
		`"error":"the manifest is not valid JSON of the expected form"}`
	if got := strings.ReplaceAll(string(text), w.data, "DATA"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if rows[1].Status != "unsupported" || rows[1].Plugin != "acme" || rows[1].Importable {
		t.Errorf("%+v", rows[1])
	}
}

func TestConfiguredUnsafePathIsRowAndIssue(t *testing.T) {
	w := newWorld(t, claude())
	w.write("bad/projects") // a file where the history tree belongs
	w.write("good/projects/p/s.jsonl")
	w.root("bad", "claude", filepath.Join(w.home, "bad"), "g")
	w.root("good", "claude", filepath.Join(w.home, "good"), "")
	d := w.expect([]string{".claude/projects: missing", "bad/projects: unsupported", "good/projects: available"}, Unreconstructible)
	if d.Rows[1].UnsupportedReason == "" || string(d.Issues[0].Path) != filepath.Join(w.home, "bad") {
		t.Errorf("%+v, %+v", d.Rows[1], d.Issues[0])
	}
}
