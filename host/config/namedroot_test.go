package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
)

// desk is a data root with a config file and a place to name.
type desk struct {
	t           *testing.T
	data, place string
}

func newDesk(t *testing.T, text string) *desk {
	t.Helper()
	data, place := world(t)
	d := &desk{t, data, place}
	if text != "" {
		d.write(text)
	}
	return d
}

func (d *desk) write(text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.data, FileName), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) text() string {
	text, err := os.ReadFile(filepath.Join(d.data, FileName))
	if err != nil {
		return ""
	}
	return string(text)
}

func (d *desk) config() *Config {
	d.t.Helper()
	c, err := Load(d.data, testEnvironment("/h"))
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// dir makes a directory beside the place.
func (d *desk) dir(name string) string {
	d.t.Helper()
	path := filepath.Join(filepath.Dir(d.place), name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *desk) add(r Root, replace bool) (Root, bool) {
	d.t.Helper()
	added, changed, err := d.config().AddRoot(r, replace)
	if err != nil {
		d.t.Fatal(err)
	}
	return added, changed
}

func TestAddKeepsTheRestByteForByte(t *testing.T) {
	t.Parallel()
	const before = "# mine\n[indexing]\nmode = \"manual\" # why\n\n[sources]\nautomatic = true"
	d := newDesk(t, before)
	if _, changed := d.add(Root{Name: "work", Provider: "claude-code", Path: d.place, Group: "g"}, false); !changed {
		t.Error("no change")
	}
	want := before + fmt.Sprintf("\n\n[sources.roots.work]\nprovider = \"claude\"\npath = %q\ngroup = \"g\"\n", d.place)
	if d.text() != want {
		t.Fatalf("got\n%s\nwant\n%s", d.text(), want)
	}
	if _, changed := d.add(Root{Name: "work", Provider: "claude", Path: d.place + "/.", Group: "g"}, false); changed || d.text() != want {
		t.Error("the same settings are a change")
	}
	other := d.dir("other")
	for _, r := range []Root{
		{Name: "work", Provider: "claude", Path: other, Group: "g"},
		{Name: "work", Provider: "claude", Path: d.place},
	} {
		if _, _, err := d.config().AddRoot(r, false); fault.Code(err) != fault.InvalidRequest || !strings.Contains(fault.From(err).Hint, "--replace") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, _, err := d.config().AddRoot(Root{Name: "work", Provider: "pi", Path: other}, true); fault.Code(err) != fault.InvalidRequest {
		t.Errorf("another provider: %v", err)
	}
	d.write(strings.Replace(want, "group = ", "# the office\ngroup = ", 1) + "# end\n")
	if r, changed := d.add(Root{Name: "work", Provider: "claude", Path: other}, true); !changed || r.Group != "" || r.Path != other {
		t.Errorf("replace: %+v, %v", r, changed)
	}
	want = before + fmt.Sprintf("\n\n[sources.roots.work]\nprovider = \"claude\"\npath = %q\n# the office\n# end\n", other)
	if d.text() != want {
		t.Errorf("got\n%s\nwant\n%s", d.text(), want)
	}
	if _, err := d.config().RemoveRoot("none"); fault.Code(err) != fault.NotFound || d.text() != want {
		t.Errorf("an absent name: %v", err)
	}
	if r, err := d.config().RemoveRoot("work"); err != nil || r.Path != other || d.text() != before+"\n# the office\n# end\n" {
		t.Errorf("remove: %+v, %v\n%s", r, err, d.text())
	}
}

func TestRootsInOtherSpellings(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{
		"[sources.roots]\nwork = { provider = 'pi', path = 'PLACE' } # here\nrest = { provider = 'mux', path = 'PLACE' }\n",
		"[sources]\nroots.work.provider = \"pi\"\nroots.work.path = 'PLACE'\nroots.rest = { provider = 'mux', path = 'PLACE' }\n",
		"sources.roots.work.provider = \"pi\"\nsources.roots.work.path = 'PLACE'\nsources.roots.rest = { provider = 'mux', path = 'PLACE' }\n",
	} {
		d := newDesk(t, "")
		d.write(strings.ReplaceAll(spelling, "PLACE", d.place))
		d.add(Root{Name: "work", Provider: "pi", Path: d.place, Group: "g"}, true)
		if c := d.config(); len(c.Roots) != 2 || c.Roots[1].Group != "g" || c.Roots[0].Provider != "mux" {
			t.Errorf("%s\nbecame\n%s", spelling, d.text())
		}
		if _, err := d.config().RemoveRoot("work"); err != nil || len(d.config().Roots) != 1 {
			t.Errorf("%s: remove: %v\n%s", spelling, err, d.text())
		}
	}
	d := newDesk(t, "sources = { automatic = false }\n")
	if _, _, err := d.config().AddRoot(Root{Name: "a", Provider: "pi", Path: d.place}, false); fault.Code(err) != fault.InvalidRequest {
		t.Errorf("an inline table above: %v", err)
	}
}

func TestRefusedAddsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	link := filepath.Join(filepath.Dir(d.place), "link")
	if err := os.Symlink(d.place, link); err != nil {
		t.Skip("links cannot be made here")
	}
	database := filepath.Join(d.dir("db"), "x.db")
	if err := os.WriteFile(database, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.data); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]Root{
		"name":               {Name: "bad name", Provider: "pi", Path: d.place},
		"long name":          {Name: strings.Repeat("x", 65), Provider: "pi", Path: d.place},
		"group":              {Name: "a", Provider: "pi", Path: d.place, Group: "a b"},
		"provider":           {Name: "a", Provider: "Pi", Path: d.place},
		"no capability":      {Name: "a", Provider: "shelley", Path: database},
		"absent":             {Name: "a", Provider: "pi", Path: d.place + "x"},
		"a file":             {Name: "a", Provider: "pi", Path: database},
		"a directory":        {Name: "a", Provider: "zed", Path: d.place},
		"around the data":    {Name: "a", Provider: "pi", Path: filepath.Dir(d.place)},
		"kind":               {Name: "a", Provider: "pi", Path: d.place, Kind: "legacy-persistence"},
		"no kind":            {Name: "a", Provider: "openhands", Path: d.place},
		"relative, unknown ": {Name: "a", Provider: "pi", Path: "nowhere"},
	} {
		if _, changed, err := d.config().AddRoot(r, false); err == nil || changed {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := os.Lstat(d.data); !os.IsNotExist(err) {
		t.Errorf("the data root was made: %v", err)
	}
	// A link is written as what it leads to, and the place then has a name already.
	if r, _ := d.add(Root{Name: "a", Provider: "pi", Path: link}, false); r.Path != d.place {
		t.Errorf("link: %+v", r)
	}
	before := d.text()
	if _, _, err := d.config().AddRoot(Root{Name: "b", Provider: "pi", Path: d.place}, false); fault.Code(err) != fault.InvalidRequest || d.text() != before {
		t.Errorf("the same place twice: %v", err)
	}
	hard := filepath.Join(filepath.Dir(database), "y.db")
	if err := os.Link(database, hard); err != nil {
		t.Skip("hard links cannot be made here")
	}
	d.add(Root{Name: "z1", Provider: "zed", Path: database}, false)
	if _, _, err := d.config().AddRoot(Root{Name: "z2", Provider: "zed", Path: hard}, false); fault.Code(err) != fault.InvalidRequest {
		t.Errorf("a hard link to the same database: %v", err)
	}
	d.add(Root{Name: "w", Provider: "warp", Path: hard}, false) // of another provider
}

func TestTheOnlyRootCanBeRemoved(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	d.add(Root{Name: "a", Provider: "pi", Path: d.place}, false)
	if _, err := d.config().RemoveRoot("a"); err != nil || d.text() != "" {
		t.Errorf("%q, %v", d.text(), err)
	}
}

func TestConfigLinkStaysALink(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	real := filepath.Join(d.dir("dotfiles"), "ctx.toml")
	if err := os.WriteFile(real, []byte("# kept elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(d.data, FileName)); err != nil {
		t.Skip("links cannot be made here")
	}
	d.add(Root{Name: "a", Provider: "pi", Path: d.place}, false)
	if info, err := os.Lstat(filepath.Join(d.data, FileName)); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	if text, err := os.ReadFile(real); err != nil || !strings.Contains(string(text), "[sources.roots.a]") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "# kept\n")
	var wait sync.WaitGroup
	for i := range 8 {
		c, place := d.config(), d.dir(fmt.Sprint("at", i))
		wait.Go(func() {
			if _, _, err := c.AddRoot(Root{Name: fmt.Sprint("r", i), Provider: "pi", Path: place}, false); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if c := d.config(); len(c.Roots) != 8 || !strings.HasPrefix(d.text(), "# kept\n") {
		t.Errorf("%d roots in\n%s", len(c.Roots), d.text())
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	data, place := world(t)
	root := fmt.Sprintf("provider = \"pi\"\npath = %q\n", place)
	for _, c := range []struct {
		text string
		line int
	}{
		{"# one\n[sources\n", 2},
		{"\n[indexing]\nmode = \"sometimes\"\n", 3},
		{"[sources]\nautomatic = 1\n", 2},
		{"[sources]\nautomatic = true\nmanual = 1\n", 3},
		{"[sources.roots.a]\n" + root + "scope = 1\n", 4},
		{"[sources.roots.a]\n" + root + "[sources.roots.b]\n" + root, 6},
		{"[sources.roots.a]\npath = \"/x\"\n", 2},
		{"[sources.roots.a]\nprovider = \"pi\"\n", 1},
		{"[sources.roots]\na = { provider = \"nobody\", path = \"/x\" }\n", 2},
		{"[sources.roots.bad.name]\n" + root, 1},
		{"[sources.roots.a]\nprovider = \"pi\"\n\n\npath = \"relative\"\n", 5},
	} {
		_, err := Parse(data, []byte(c.text), testEnvironment("/h"))
		if fault.Code(err) != fault.ConfigMalformed || !strings.Contains(err.Error(), fmt.Sprintf("(line %d)", c.line)) {
			t.Errorf("%s: %v, want line %d", c.text, err, c.line)
		}
	}
}

func TestInstalledPlugins(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	decided := Installed{
		Name: "notes", Trusted: true, SHA256: "00", Environment: []string{"NOTES_HOME"},
		Provider: Provider{ID: "notes_app", CLIName: "notes-app", Aliases: []string{"notes"}, RootIs: Directory},
	}
	if err := EditInstalled(d.data, decided); err != nil {
		t.Fatal(err)
	}
	d.add(Root{Name: "n", Provider: "notes", Path: d.place}, false)
	c, err := Load(d.data, testEnvironment("/h", "NOTES_HOME", "/n", "OTHER_HOME", "/o"))
	if err != nil || c.Roots[0].Provider != "notes_app" {
		t.Fatalf("%+v, %v", c, err)
	}
	if v, _ := c.Environment.Provider("NOTES_HOME"); v != "/n" {
		t.Errorf("the variable of a trusted plugin is %q", v)
	}
	if _, ok := c.Environment.Provider("OTHER_HOME"); ok {
		t.Error("a variable that nobody asked for is known")
	}
	decided.Trusted = false
	if err := EditInstalled(d.data, decided); err != nil {
		t.Fatal(err)
	}
	c, err = Load(d.data, testEnvironment("/h", "NOTES_HOME", "/n"))
	if err != nil || len(c.Installed) != 1 || len(c.Roots) != 1 {
		t.Fatalf("after the trust was taken back: %+v, %v", c, err)
	}
	if _, ok := c.Environment.Provider("NOTES_HOME"); ok {
		t.Error("the variable of an untrusted plugin is known")
	}
}

// FuzzNamedRoot puts a root into any text and takes it out again: the root must be there and gone, and every line of comment stays.
func FuzzNamedRoot(f *testing.F) {
	for _, text := range []string{
		"", "# a\r\n[sources]\r\nautomatic = true\r\n", "[sources.roots]\nr = { provider = \"pi\", path = \"/x\" }\n# b",
		"[sources.roots.r]\n# c\nprovider = \"mux\" # d\npath = '''/y'''\n\n[indexing]\nmode = \"auto\"", "sources.roots.r.path = \"/z\"\n",
		"[[x]]\n[\"sources\".roots]\n\"r\".group = \"g\"\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := decodeFile([]byte(text)); err != nil {
			return
		}
		comments := func(text string) (all []string) {
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
					all = append(all, line)
				}
			}
			return all
		}
		put, err := putRoot([]byte(text), Root{Name: "r", Provider: "pi", Path: "/new\x7f\"", Group: "g"})
		if err != nil {
			return
		}
		s, err := decodeFile(put)
		if err != nil {
			return // refused by the caller: for example an array of tables in the way
		}
		i := slices.IndexFunc(s.roots, func(r writtenRoot) bool { return r.name == "r" })
		if i < 0 || s.roots[i].path != "/new\x7f\"" || s.roots[i].group != "g" {
			t.Fatalf("%q became %q", text, put)
		}
		rest, err := dropTable(put, rootKey("r"))
		if err != nil {
			t.Fatalf("%q cannot be removed from %q: %v", "r", put, err)
		}
		if s, err := decodeFile(rest); err != nil || slices.ContainsFunc(s.roots, func(r writtenRoot) bool { return r.name == "r" }) {
			t.Fatalf("%q became %q: %v", put, rest, err)
		}
		if !strings.Contains(text, "'''") && !strings.Contains(text, `"""`) && !slices.Equal(comments(text), comments(string(rest))) {
			t.Fatalf("comments of %q are not those of %q", text, rest)
		}
	})
}
