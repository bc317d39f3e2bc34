package sources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/pluginhost"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// install writes a plugin whose program is a file that is never run. more replaces members of the manifest.
func (w *world) install(name, more string) (program string) {
	w.t.Helper()
	dir := w.dir(filepath.Join(w.data, "plugins", name))
	program = filepath.Join(dir, "program")
	manifest := fmt.Sprintf(`{"schema_version":1,"name":%q,"version":"1","executable":"program","protocol":1%s}`, name, more)
	for file, text := range map[string]string{program: "code", filepath.Join(dir, providerManifest): manifest} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
	return program
}

func (w *world) plugin(name string) Plugin {
	w.t.Helper()
	for _, p := range Plugins(w.config()) {
		if p.Name == name {
			return p
		}
	}
	w.t.Fatalf("no plugin %s", name)
	return Plugin{}
}

func notes() *historyv1.DescribeResponse {
	return &historyv1.DescribeResponse{
		Id: "notes", CliName: "notes", Formats: []*historyv1.Format{{Name: "notes_tree"}},
		Environment: []string{"NOTES_HOME", "NOTES_API_KEY", "NOTES_TOKEN", "A_SECRET", "MY_PASSWORD_FILE", "CTX_DATA_ROOT"},
		Root:        &historyv1.RootCapability{PathKind: directory, Children: []*historyv1.RootChild{{Format: "notes_tree", Role: "r"}}},
	}
}

func TestTrustIsAPin(t *testing.T) {
	w := newWorld(t)
	program := w.install("notes", "")
	p := w.plugin("notes")
	pin, err := p.Pin()
	if err != nil || p.Trust != Untrusted || p.SHA256 != "" {
		t.Fatalf("%+v, %v", p, err)
	}
	decided, refused, err := p.Accept(w.config(), pin, notes(), []string{"claude"})
	if err != nil || !slices.Equal(decided.Environment, []string{"NOTES_HOME"}) || len(refused) != 5 {
		t.Fatalf("%+v, refused %q, %v", decided, refused, err)
	}
	if decided.Provider.RootIs != config.Directory || decided.Provider.Children[0].Role != "r" {
		t.Errorf("%+v", decided.Provider)
	}
	if err := config.EditInstalled(w.data, decided); err != nil {
		t.Fatal(err)
	}
	if p := w.plugin("notes"); p.Trust != Trusted || p.SHA256 != pin {
		t.Errorf("%+v", p)
	}
	w.install("notes", `,"args":["--other"]`)
	if p := w.plugin("notes"); p.Trust != Changed {
		t.Errorf("another manifest: %s", p.Trust)
	}
	w.install("notes", "")
	if p := w.plugin("notes"); p.Trust != Trusted {
		t.Errorf("the manifest that was trusted: %s", p.Trust)
	}
	if err := os.WriteFile(program, []byte("evil"), 0o700); err != nil {
		t.Fatal(err)
	}
	if p := w.plugin("notes"); p.Trust != Changed {
		t.Errorf("another program: %s", p.Trust)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if p := w.plugin("notes"); p.Trust != Changed {
		t.Errorf("no program: %s", p.Trust)
	}
}

func TestPluginsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for name, more := range map[string]string{
		"version": `,"protocol":2`, "schema": `,"schema_version":2`, "outside": `,"executable":"../x"`, "broken": "{",
	} {
		w.install(name, more)
		if p := w.plugin(name); p.Trust != Invalid || p.Reason == "" {
			t.Errorf("%s: %+v", name, p)
		}
		p := w.plugin(name)
		if _, err := p.Pin(); fault.Code(err) != fault.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.install("other", `,"sha256":"00"`)
	if p := w.plugin("other"); true {
		if _, err := p.Pin(); fault.Code(err) != fault.InvalidRequest {
			t.Errorf("another program than the manifest demands: %v", err)
		}
	}
	w.install("twin", `,"name":"other"`)
	if p := Plugins(w.config()); p[len(p)-2].Name != "other" || p[len(p)-2].Trust == Trusted || p[len(p)-2].Reason == "" {
		t.Errorf("twins: %+v", p)
	}
	w.install("notes", "")
	p := w.plugin("notes")
	for name, change := range map[string]func(*historyv1.DescribeResponse){
		"a delivered id":    func(d *historyv1.DescribeResponse) { d.Id = "claude" },
		"an alias of pi":    func(d *historyv1.DescribeResponse) { d.Aliases = []string{"pi"} },
		"the name of a cli": func(d *historyv1.DescribeResponse) { d.CliName = "grok-build" },
	} {
		d := notes()
		change(d)
		if _, _, err := p.Accept(w.config(), "00", d, []string{"claude"}); fault.Code(err) != fault.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	known := notes()
	known.Id, known.CliName = "pi", "pi"
	if _, _, err := p.Accept(w.config(), "00", known, []string{"claude"}); err != nil {
		t.Errorf("a known agent that nobody delivers: %v", err)
	}
}

func TestPluginRowsOfProviders(t *testing.T) {
	w := newWorld(t)
	w.install("notes", "")
	w.install("bad", `,"protocol":9`)
	d := w.discover()
	if len(d.Plugins) != 2 {
		t.Fatalf("%+v", d.Plugins)
	}
	bad, fresh := d.Plugins[0], d.Plugins[1]
	if bad.Status != "invalid" || bad.Error == "" || bad.Enabled || fresh.Status != "unsupported" || fresh.Enabled || fresh.Plugin != "notes" {
		t.Errorf("%+v\n%+v", bad, fresh)
	}
}

func TestHistoryManifestRows(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(filepath.Join(w.home, "acme"))
	text := `{"name":"acme","version":"1","sources":[{"id":"a","provider_key":"k","source_id":"s","source_format":"f","path":"/x"},{"id":"b"}]}`
	if err := os.WriteFile(filepath.Join(dir, historyManifest), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.vars["CTX_HISTORY_PLUGIN_PATH"] = dir
	rows := w.discover().Plugins
	if len(rows) != 2 || rows[0].PluginSource != "acme/a" || rows[0].HistorySource != "k/s" || rows[0].Importable || rows[1].HistorySource != "" {
		t.Errorf("%+v", rows)
	}
}

// seeking is a provider that resolves.
func seeking() *historyv1.DescribeResponse {
	d := claude()
	d.Resolves, d.Environment = true, []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME"}
	return d
}

func TestResolve(t *testing.T) {
	w := newWorld(t, seeking())
	w.write(".claude/projects/p/s.jsonl")
	found := filepath.Dir(filepath.Dir(w.write("found/p/s.jsonl")))
	w.vars["CODEX_HOME"], w.vars["GROK_HOME"] = "/c", "/g"
	answer := &historyv1.ResolveResponse{
		Candidates: []*historyv1.Candidate{
			{Path: found, Format: "claude_projects_jsonl_tree", Role: "r", Probe: jsonlProbe},
			{Path: found, Format: "claude_projects_jsonl_tree", Role: "again"},
			{Path: w.dir(filepath.Join(w.home, "no")), Format: "claude_projects_jsonl_tree", Unsupported: true},
			{Path: found, Format: "nobody declared this"},
			{Path: w.data, Format: "claude_projects_jsonl_tree"},
		},
		Issues: []*historyv1.Issue{{Code: NoDiskHistory, Message: "in the cloud"}, {Code: "new", Message: "at " + found, Path: "relative"}},
	}
	var asked *historyv1.ResolveRequest
	d, err := Discover(context.Background(), Input{Config: w.config(), Descriptions: w.described,
		Resolve: func(_ context.Context, name string, req *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error) {
			asked = req
			return answer, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked.Environment) != 1 || asked.Environment["CODEX_HOME"] != "/c" || asked.Home != w.home {
		t.Errorf("a resolver saw %+v", asked)
	}
	var rows, codes []string
	for _, r := range d.Rows {
		rows = append(rows, filepath.Base(r.Path)+" "+string(r.Status))
	}
	for _, i := range d.Issues {
		codes = append(codes, i.Code)
		if i.Code != NoDiskHistory && strings.Contains(i.Message, w.home) || i.Path != "" && !filepath.IsAbs(string(i.Path)) {
			t.Errorf("%+v", i)
		}
	}
	// The empty directory that the provider refuses itself is empty, whatever else it is.
	if want := []string{"projects available", "found available", "no empty"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if want := []string{Unreconstructible, NoDiskHistory, Unreconstructible, Unreconstructible}; !slices.Equal(codes, want) {
		t.Errorf("issues %q, want %q", codes, want)
	}
}

func TestResolversThatFail(t *testing.T) {
	crashed := func() error {
		return fault.New("provider_failed", "crashed").With("provider_failure", pluginhost.Crashed)
	}
	for _, c := range []struct {
		name  string
		err   error
		asked int32
	}{
		{"a crash is asked again, once", crashed(), 2},
		{"a slow one is not", fault.New("provider_failed", "slow"), 1},
		{"nor an error without a class", errors.New("anything"), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, seeking(), kilo())
			w.write(".claude/projects/p/s.jsonl")
			var asked atomic.Int32
			d, err := Discover(context.Background(), Input{Config: w.config(), Descriptions: w.described,
				Resolve: func(context.Context, string, *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error) {
					asked.Add(1)
					return nil, c.err
				}})
			if err != nil || asked.Load() != c.asked || len(d.Issues) != 1 || d.Issues[0].Code != Unreconstructible || d.Issues[0].Provider != "claude" {
				t.Errorf("asked %d times, %+v, %v", asked.Load(), d.Issues, err)
			}
			if len(d.Rows) != 1 || d.Rows[0].Provider != "kilo" || !slices.Equal(d.Unresolved, []string{"claude"}) {
				t.Errorf("rows %+v, unresolved %q", d.Rows, d.Unresolved)
			}
		})
	}
}

func TestTwoProvidersOfOneID(t *testing.T) {
	w := newWorld(t)
	ask := func(context.Context, string) (*historyv1.DescribeResponse, error) { return claude(), nil }
	d := Describe(context.Background(), w.config(), w.write("program"), []string{"claude", "mimic"}, ask)
	if d[0].Description == nil || d[1].Description != nil || d[1].Err == nil {
		t.Errorf("%+v", d)
	}
}

func TestProbeEndsAtTheFirstMatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 40 {
		sub := filepath.Join(dir, fmt.Sprintf("p%02d", i))
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		for k := range 50 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("s%d.jsonl", k)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := newProbe(jsonlProbe)
	if err := w.directory(dir, nil); !errors.Is(err, errFound) || maxProbeEntries-w.left > 41 {
		t.Errorf("%v after %d of 2,040 entries", err, maxProbeEntries-w.left)
	}
}
