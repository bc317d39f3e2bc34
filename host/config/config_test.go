package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
)

// testEnvironment is an environment with a home and the given variables (name, value, name, value ...).
func testEnvironment(home string, pairs ...string) Environment {
	vars := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return NewEnvironment(Linux, home, home, os.Geteuid(), func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	})
}

// world is a data root and a directory for roots that does not contain it.
func world(t *testing.T) (dataRoot, place string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dataRoot, place = filepath.Join(dir, "data"), filepath.Join(dir, "place")
	for _, d := range []string{dataRoot, place} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dataRoot, place
}

func TestMissingFileGivesDefaults(t *testing.T) {
	t.Parallel()
	data, _ := world(t)
	c, err := Load(data, testEnvironment("/h"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Exists || !c.Automatic || c.Indexing.Mode != ModeAuto || c.Semantic.On || !c.LocalUsage.On || c.Retention != RetentionKeep {
		t.Errorf("defaults: %+v", c)
	}
	if c.Indexing.Origin != FromDefault || c.Path != filepath.Join(data, "config.toml") {
		t.Errorf("origin %q, path %q", c.Indexing.Origin, c.Path)
	}
}

func TestSettingsAndOverrides(t *testing.T) {
	t.Parallel()
	const file = "[indexing]\nmode = \"manual\"\n[search]\nsemantic = true\n[local_usage]\nenabled = false\n" +
		"[daemon]\nmode = \"source-refresh-only\"\n[retention]\ngone = \"drop\"\n[sources]\nautomatic = false\n" +
		"[analytics]\nenabled = true\n[upgrade]\nauto = \"apply\"\n[other]\nx = 1\n"
	parse := func(text string, pairs ...string) *Config {
		c, err := Parse("/data", []byte(text), testEnvironment("/h", pairs...))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := parse(file)
	if c.Indexing != (Indexing{ModeManual, ModeManual, FromFile}) || c.Semantic != (Switch{true, FromFile, true, false}) ||
		c.LocalUsage != (Switch{false, FromFile, false, false}) || c.Daemon.Scope != DaemonSourceRefresh ||
		c.Retention != RetentionDrop || c.Automatic || !slices.Equal(c.UnknownKeys, []int{1 + strings.Count(file[:strings.Index(file, "[other]")], "\n")}) {
		t.Errorf("file values: %+v", c)
	}
	c = parse(file, "CTX_DAEMON_ENABLED", "true", "CTX_SEARCH_SEMANTIC", "0", "CTX_LOCAL_USAGE_ENABLED", "yes", "CTX_DAEMON_MODE", "full",
		"CTX_DAEMON_AUTOSTART_OFF", "1", "CTX_HISTORY_PLUGIN_PATH", "/a"+string(os.PathListSeparator)+"rel"+string(os.PathListSeparator)+"/b")
	if c.Indexing != (Indexing{ModeAuto, ModeManual, FromEnvironment}) {
		t.Errorf("indexing: %+v", c.Indexing)
	}
	if c.Semantic != (Switch{false, FromEnvironment, true, false}) || c.LocalUsage != (Switch{true, FromEnvironment, false, false}) {
		t.Errorf("switches: %+v %+v", c.Semantic, c.LocalUsage)
	}
	if c.Daemon != (Daemon{DaemonFull, FromEnvironment, true}) || strings.Join(c.PluginPath, " ") != "/a /b" {
		t.Errorf("daemon %+v, plugins %q", c.Daemon, c.PluginPath)
	}
	c = parse("", "CTX_LOCAL_USAGE_ENABLED", "maybe", "CTX_SEARCH_SEMANTIC", "maybe")
	if c.LocalUsage.On || !c.LocalUsage.Invalid || c.LocalUsage.Origin != FromDefault || c.Semantic.On || !c.Semantic.Invalid {
		t.Errorf("unreadable values: %+v %+v", c.LocalUsage, c.Semantic)
	}
	if got := strings.Join(c.InvalidEnvironment, " "); got != "CTX_SEARCH_SEMANTIC CTX_LOCAL_USAGE_ENABLED" {
		t.Errorf("invalid environment: %q", got)
	}
	if c := parse("[daemon]\nenabled = false\n"); c.Indexing.Mode != ModeManual {
		t.Errorf("daemon.enabled = false: %+v", c.Indexing)
	}
}

func TestRejections(t *testing.T) {
	t.Parallel()
	data, place := world(t)
	root := func(name, provider, path, more string) string {
		return fmt.Sprintf("[sources.roots.%s]\nprovider = %q\npath = %q\n%s\n", name, provider, path, more)
	}
	alias := filepath.Join(filepath.Dir(place), "alias")
	if err := os.Symlink(place, alias); err != nil {
		t.Skip("links cannot be made here")
	}
	into := filepath.Join(filepath.Dir(place), "into")
	if err := os.Symlink(data, into); err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(place, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	ok := map[string]string{
		"one root":                    root("ok-1_A", "pi", place, `group = "g"`),
		"alias spelling":              root("ok", "claude-code", place, ""),
		"missing path":                root("ok", "pi", "/no/where", ""),
		"two providers, one place":    root("a", "pi", place, "") + root("b", "mux", place, ""),
		"nested roots (an issue)":     root("a", "pi", place, "") + root("b", "pi", inner, ""),
		"openhands":                   root("a", "openhands", place, `kind = "current-conversations"`),
		"longest name":                root(strings.Repeat("x", 64), "pi", place, ""),
		"other names beside the data": root("a", "pi", data+"x", ""),
	}
	bad := map[string]string{
		"no TOML":               "[sources\n",
		"not UTF-8":             "# \xff\n",
		"unknown key":           root("a", "pi", place, `scope = "all"`),
		"unknown sources key":   "[sources]\nmanual = true\n",
		"default group":         "[search]\ndefault_group = \"g\"\n",
		"wrong type":            "[sources]\nautomatic = \"yes\"\n",
		"roots no table":        "[sources]\nroots = 1\n",
		"root no table":         "[sources.roots]\na = 1\n",
		"mode":                  "[indexing]\nmode = \"sometimes\"\n",
		"retention":             "[retention]\ngone = \"maybe\"\n",
		"unknown provider":      root("a", "Pi", place, ""),
		"no capability":         root("a", "shelley", place, ""),
		"relative":              root("a", "pi", "relative", ""),
		"dotted path":           root("a", "pi", place+"/../place", ""),
		"tilde":                 root("a", "pi", "~/x", ""),
		"trailing slash":        root("a", "pi", place+"/", ""),
		"long path":             root("a", "pi", "/"+strings.Repeat("p", MaxPathBytes), ""),
		"no path":               "[sources.roots.a]\nprovider = \"pi\"\n",
		"no provider":           fmt.Sprintf("[sources.roots.a]\npath = %q\n", place),
		"bad group":             root("a", "pi", place, `group = "a b"`),
		"empty group":           root("a", "pi", place, `group = ""`),
		"dotted name":           root("bad.name", "pi", place, ""),
		"quoted name":           root(`"bad name"`, "pi", place, ""),
		"long name":             root(strings.Repeat("x", 65), "pi", place, ""),
		"kind elsewhere":        root("a", "pi", place, `kind = "legacy-persistence"`),
		"kind missing":          root("a", "openhands", place, ""),
		"kind unknown":          root("a", "openhands", place, `kind = "Legacy-Persistence"`),
		"same place":            root("a", "pi", place, "") + root("b", "pi", place, ""),
		"same place by link":    root("a", "pi", place, "") + root("b", "pi", alias, ""),
		"openhands nested":      root("a", "openhands", place, `kind = "legacy-persistence"`) + root("b", "openhands", inner, `kind = "current-conversations"`),
		"data root":             root("a", "pi", data, ""),
		"above the data root":   root("a", "pi", filepath.Dir(data), ""),
		"below the data root":   root("a", "pi", filepath.Join(data, "core"), ""),
		"data root by link":     root("a", "pi", into, ""),
		"below it by link":      root("a", "pi", filepath.Join(into, "core"), ""),
		"one bad root of two":   root("a", "pi", place, "") + root("b", "nonsense", place, ""),
		"root given twice":      root("a", "pi", place, "") + root("a", "mux", place, ""),
		"provider not a string": fmt.Sprintf("[sources.roots.a]\nprovider = 1\npath = %q\n", place),
	}
	for name, text := range ok {
		if _, err := Parse(data, []byte(text), testEnvironment("/h")); err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
	for name, text := range bad {
		_, err := Parse(data, []byte(text), testEnvironment("/h"))
		if fault.Code(err) != fault.ConfigMalformed {
			t.Errorf("%s: %v", name, err)
			continue
		}
		told := fault.From(err).Detail() + fault.From(err).Hint
		for _, secret := range []string{place, "nonsense", "bad name", data} {
			if strings.Contains(told, secret) {
				t.Errorf("%s: the error repeats the file: %s", name, told)
			}
		}
	}
}

func TestRootLimit(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 65 {
		if i == 64 {
			if _, err := Parse("/data", []byte(text.String()), testEnvironment("/h")); err != nil {
				t.Fatalf("64 roots: %v", err)
			}
		}
		fmt.Fprintf(&text, "[sources.roots.r%d]\nprovider = \"pi\"\npath = \"/none/%d\"\n", i, i)
	}
	if _, err := Parse("/data", []byte(text.String()), testEnvironment("/h")); fault.Code(err) != fault.ConfigMalformed {
		t.Errorf("65 roots: %v", err)
	}
}

func TestLinkIsResolved(t *testing.T) {
	t.Parallel()
	data, place := world(t)
	alias := filepath.Join(filepath.Dir(place), "alias")
	if err := os.Symlink(place, alias); err != nil {
		t.Skip("links cannot be made here")
	}
	text := fmt.Sprintf("[sources.roots.b]\nprovider = \"pi\"\npath = %q\n[sources.roots.a]\nprovider = \"grok\"\npath = \"/none\"\n", alias)
	c, err := Parse(data, []byte(text), testEnvironment("/h"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Root{
		{Name: "a", Provider: "grok_build", Path: "/none", Written: "/none"},
		{Name: "b", Provider: "pi", Path: place, Written: alias, Exists: true},
	}
	for i := range want {
		if c.Roots[i] != want[i] {
			t.Errorf("root %d: %+v, want %+v", i, c.Roots[i], want[i])
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	data, _ := world(t)
	if err := os.Mkdir(filepath.Join(data, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(data, testEnvironment("/h")); fault.Code(err) != fault.ConfigMalformed {
		t.Errorf("a directory in place of the file: %v", err)
	}
}

func TestDataRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, variable, home, want string }{
		{"", "", "/h", "/h/.ctx"},
		{"", "/env", "/h", "/env"},
		{"/flag/", "/env", "/h", "/flag"},
		{"rel", "", "/h", "/h/rel"},
		{"", "", "", ""},
	} {
		env := testEnvironment(c.home, "CTX_DATA_ROOT", c.variable)
		got, err := DataRoot(c.flag, env)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("DataRoot(%q, %q) = %q, %v", c.flag, c.variable, got, err)
		}
	}
}

func TestEnvironmentIsLimited(t *testing.T) {
	t.Parallel()
	if len(ProviderVariables) != 57 {
		t.Errorf("%d provider variables", len(ProviderVariables))
	}
	env := testEnvironment("/h", "CODEX_HOME", "/c", "SECRET_TOKEN", "x", "CTX_DATA_ROOT", "/d", "XDG_CONFIG_HOME", "/xdg", "XDG_STATE_HOME", "rel")
	if v, ok := env.Provider("CODEX_HOME"); v != "/c" || !ok {
		t.Errorf("CODEX_HOME: %q %v", v, ok)
	}
	for _, name := range []string{"SECRET_TOKEN", "CTX_DATA_ROOT", "HOME"} {
		if v, ok := env.Provider(name); ok {
			t.Errorf("%s is visible: %q", name, v)
		}
	}
	if want := (Directories{Config: "/xdg", Data: "/h/.local/share", LocalData: "/h/.local/share", State: "/h/.local/state"}); env.Dirs != want {
		t.Errorf("directories: %+v", env.Dirs)
	}
	if (Environment{}).Dirs != (Directories{}) {
		t.Error("the zero environment knows directories")
	}
}

func TestProviderTable(t *testing.T) {
	t.Parallel()
	if len(Providers) != 41 {
		t.Fatalf("%d providers", len(Providers))
	}
	seen := map[string]string{}
	named := 0
	for _, p := range Providers {
		if p.RootIs != NoNamedRoot {
			named++
		}
		if len(p.Formats) == 0 {
			t.Errorf("%s has no format", p.ID)
		}
		names := map[string]bool{p.ID: true, p.CLIName: true}
		for _, a := range p.Aliases {
			names[a] = true
		}
		for name := range names {
			if other, ok := seen[name]; ok {
				t.Errorf("%q names both %s and %s", name, other, p.ID)
			}
			seen[name] = p.ID
		}
	}
	if named != 39 {
		t.Errorf("%d providers take a named root", named)
	}
	for _, bad := range []string{"Grok-Build", "grokbuild", "grok build", "", "custom"} {
		if _, ok := ProviderNamed(bad); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "[indexing]\nmode=\"auto\"\n", "[sources.roots.a]\nprovider=\"pi\"\npath=\"/x\"\n", "[sources.roots]\na.b=1\n"} {
		f.Add([]byte(seed))
	}
	env := testEnvironment("/h")
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("/data", text, env)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", c, err)
		}
		if err != nil && fault.Code(err) != fault.ConfigMalformed {
			t.Fatalf("code %q", fault.Code(err))
		}
	})
}

func TestUnusableDataRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o000); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string]string{file: "is not a directory", filepath.Join(file, "below"): "is not a directory", closed: "may not be read by you"} {
		if root == closed && os.Geteuid() == 0 || runtime.GOOS == "windows" {
			continue // nothing is closed to root; Windows calls these paths absent
		}
		_, err := Load(root, Environment{})
		f := fault.From(err)
		if f == nil || f.Code != fault.ResourceUnavailable || f.Message != "the data root "+root+" "+want || !strings.Contains(f.Hint, "--data-root") {
			t.Errorf("%s: %v", root, err)
		}
	}
}
