package claude

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// listed renders the sources of an inventory.
func listed(inv *inventory) []string {
	var out []string
	for i := range inv.found {
		s := inv.found[i].source()
		out = append(out, fmt.Sprintf("%d %s = %s", s.Route, s.Locator, s.ProviderSessionID))
	}
	return out
}

func (tr *tree) setTime(locator string, seconds int64) {
	tr.t.Helper()
	at := time.Unix(seconds, 0)
	if err := os.Chtimes(filepath.Join(tr.root, filepath.FromSlash(locator)), at, at); err != nil {
		tr.t.Fatal(err)
	}
}

func TestFileClasses(t *testing.T) {
	tr := newTree(t)
	task := user("1", "x") + "\n"
	for _, locator := range []string{
		"-w/S1.jsonl", "-w/S1.orphaned-9.jsonl", "-w/S2.jsonl.superseded-1", "-w/sessions-index.json", "-w/memory/notes.jsonl",
		"-w/agent-flat.jsonl", "-w/agent-.jsonl",
		"-w/S1/subagents/agent-a.jsonl", "-w/S1/subagents/journal.jsonl", "-w/S1/subagents/agent-.jsonl", "-w/S1/subagents/agent-d.t.jsonl",
		"-w/S1/subagents/deep/er/agent-b.jsonl", "-w/S1/subagents/workflows/wf_1/agent-c.jsonl",
		"-w/S1/subagents/workflows/wf_1/journal.jsonl", "-w/S1/subagents/workflows/wf_1/x/agent-e.jsonl",
		"-w/S1/subagents/workflows/agent-f.jsonl",
		"-w/S1/workflows/wf_1.jsonl", "-w/S1/tool-results/t.jsonl", "-w/S1/other/agent-z.jsonl", "-w/S1/x.jsonl", "top.jsonl",
	} {
		tr.write(locator, task)
	}
	tr.write("-w/agent-noid.jsonl", `{"type":"user","uuid":"1","message":{"content":"x"}}`+"\n")
	tr.write("-w/agent-late.jsonl", "\n{torn\n"+`{"type":"mode","sessionId":5}`+"\n"+`{"torn `+task)
	tr.write("-w/agent-unfinished.jsonl", user("1", "x"))
	compareLines(t, "sources", listed(tr.list(tr.route())), []string{
		"0 -w/S1.jsonl = S1",
		"0 -w/S1/subagents/agent-a.jsonl = S1/subagents/agent-a",
		"0 -w/S1/subagents/deep/er/agent-b.jsonl = S1/subagents/agent-b",
		"0 -w/S1/subagents/workflows/agent-f.jsonl = S1/subagents/agent-f",
		"0 -w/S1/subagents/workflows/wf_1/agent-c.jsonl = S1/subagents/workflows/wf_1/agent-c",
		"0 -w/S1/subagents/workflows/wf_1/x/agent-e.jsonl = S1/subagents/agent-e",
		"0 -w/agent-.jsonl = agent-",
		"0 -w/agent-flat.jsonl = S1/subagents/agent-flat",
		"0 -w/agent-late.jsonl = S1/subagents/agent-late",
		"0 -w/agent-noid.jsonl = agent-noid",
	})
}

func TestForms(t *testing.T) {
	task := user("1", "x") + "\n"
	write := func(tr *tree, below string) {
		for _, locator := range []string{"S1.jsonl", "S1/subagents/agent-a.jsonl", "S1/subagents/workflows/wf/agent-c.jsonl"} {
			tr.write(below+locator, task)
		}
	}
	want := func(below string) []string {
		return []string{
			"0 " + below + "S1.jsonl = S1",
			"0 " + below + "S1/subagents/agent-a.jsonl = S1/subagents/agent-a",
			"0 " + below + "S1/subagents/workflows/wf/agent-c.jsonl = S1/subagents/workflows/wf/agent-c",
		}
	}
	for _, c := range []struct{ name, below, slug string }{
		{"container", "-w/", "-w"}, {"project directory", "", "projects"}, {"home", "projects/-w/", "-w"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree(t)
			write(tr, c.below)
			if c.below != "" {
				tr.write("history.jsonl", task)
				tr.write("stray/one/two/three/four.jsonl", task)
			}
			inv := tr.list(tr.route())
			compareLines(t, "sources", listed(inv), want(c.below))
			for i := range inv.found {
				if slug := slugOf(tr.root, inv.found[i].locator); slug != c.slug {
					t.Errorf("%s has slug %q, want %q", inv.found[i].locator, slug, c.slug)
				}
			}
		})
	}
	t.Run("agents without their main session", func(t *testing.T) {
		tr := newTree(t)
		tr.write("S1/subagents/agent-a.jsonl", task)
		compareLines(t, "sources", listed(tr.list(tr.route())), []string{"0 S1/subagents/agent-a.jsonl = S1/subagents/agent-a"})
		tr = newTree(t)
		tr.write("-w/S1/subagents/agent-a.jsonl", task)
		compareLines(t, "sources", listed(tr.list(tr.route())), []string{"0 -w/S1/subagents/agent-a.jsonl = S1/subagents/agent-a"})
	})
	t.Run("one file", func(t *testing.T) {
		tr := newTree(t)
		write(tr, "-w/")
		tr.write("-w/agent-flat.jsonl", task)
		tr.write("-w/S1/subagents/agent-a.meta.json", `{"agentType":"outside the route"}`)
		for locator, id := range map[string]string{
			"-w/S1.jsonl": "S1", "-w/S1/subagents/agent-a.jsonl": "S1/subagents/agent-a", "-w/agent-flat.jsonl": "S1/subagents/agent-flat",
			"-w/S1/subagents/workflows/wf/agent-c.jsonl": "S1/subagents/workflows/wf/agent-c",
		} {
			route := tr.route()
			route.Path = filepath.Join(tr.root, locator)
			inv := tr.list(route)
			compareLines(t, "sources", listed(inv), []string{"0  = " + id})
			req := sdkplugin.ScanRequest{Route: route, Source: inv.found[0].source(), Mode: sdkplugin.ModeFull}
			got := tr.scan(req)
			if len(got.events) != 1 || got.meta().AgentName != "" || got.meta().WorkspaceLabel != "-w" {
				t.Errorf("%s: %d events, metadata %+v", locator, len(got.events), got.meta())
			}
		}
		route := tr.route()
		tr.write("notes.txt", "x")
		route.Path = filepath.Join(tr.root, "notes.txt")
		if inv := tr.list(route); len(inv.found) != 0 || inv.Diagnostics[0].Code != "not_a_transcript" {
			t.Errorf("a text file gives %q, %+v", listed(inv), inv.Diagnostics)
		}
	})
}

func TestRouteStates(t *testing.T) {
	tr := newTree(t)
	missing := tr.route()
	missing.Path = filepath.Join(tr.root, "none")
	inv := tr.list(missing, tr.route())
	if want := []sdkplugin.RouteState{sdkplugin.RouteMissing, sdkplugin.RouteComplete}; !slices.Equal(inv.States, want) {
		t.Errorf("states %v, want %v", inv.States, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.p.list(ctx, []sdkplugin.Route{tr.route()}); err == nil {
		t.Error("a cancelled inventory succeeds")
	}
}

func TestDuplicates(t *testing.T) {
	a, b := user("1", "a")+"\n", user("1", "longer")+"\n"
	for _, c := range []struct {
		name  string
		files map[string]int64 // locator to time; "-b/" files have longer content
		want  []string
		told  string // locator of the diagnostic
	}{
		{"the newest", map[string]int64{"-a/S1.jsonl": 2000, "-b/S1.jsonl": 1000}, []string{"0 -a/S1.jsonl = S1"}, "-b/S1.jsonl"},
		{"the newest, later path", map[string]int64{"-a/S1.jsonl": 1000, "-b/S1.jsonl": 2000}, []string{"0 -b/S1.jsonl = S1"}, "-a/S1.jsonl"},
		{"then the longest", map[string]int64{"-a/S1.jsonl": 1000, "-b/S1.jsonl": 1000}, []string{"0 -b/S1.jsonl = S1"}, "-a/S1.jsonl"},
		{"then the first path", map[string]int64{"-a/S1.jsonl": 1000, "-c/S1.jsonl": 1000}, []string{"0 -a/S1.jsonl = S1"}, "-c/S1.jsonl"},
		{"flat and nested agent", map[string]int64{"-a/agent-x.jsonl": 1000, "-a/S1/subagents/agent-x.jsonl": 2000},
			[]string{"0 -a/S1/subagents/agent-x.jsonl = S1/subagents/agent-x"}, "-a/agent-x.jsonl"},
		{"agents of one name in one session", map[string]int64{
			"-a/S1/subagents/agent-x.jsonl": 1000, "-a/S1/subagents/p/agent-x.jsonl": 1000, "-a/S1/subagents/q/p/agent-x.jsonl": 1000,
			"-a/S1/subagents/workflows/p/agent-x.jsonl": 1000,
		}, []string{
			"0 -a/S1/subagents/agent-x.jsonl = S1/subagents/agent-x",
			"0 -a/S1/subagents/p/agent-x.jsonl = S1/subagents/agent-x/p",
			"0 -a/S1/subagents/q/p/agent-x.jsonl = S1/subagents/agent-x/q/p",
			"0 -a/S1/subagents/workflows/p/agent-x.jsonl = S1/subagents/workflows/p/agent-x",
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t)
			for locator, at := range c.files {
				content := a
				if strings.HasPrefix(locator, "-b/") {
					content = b
				}
				tr.write(locator, content)
				tr.setTime(locator, at)
			}
			inv := tr.list(tr.route())
			compareLines(t, "sources", listed(inv), c.want)
			var told string
			for _, d := range inv.Diagnostics {
				told += d.Locator
			}
			if told != c.told {
				t.Errorf("diagnostics %+v", inv.Diagnostics)
			}
		})
	}
}

func TestDuplicatesOfRoutes(t *testing.T) {
	one, two := newTree(t), newTree(t)
	for i, tr := range []*tree{one, two} {
		tr.write("-w/S1.jsonl", line1+"\n")
		tr.setTime("-w/S1.jsonl", int64(1000+i))
		tr.write(fmt.Sprintf("-w/only%d.jsonl", i), line1+"\n")
	}
	compareLines(t, "automatic roots", listed(one.list(one.route(), two.route())),
		[]string{"0 -w/only0.jsonl = only0", "1 -w/S1.jsonl = S1", "1 -w/only1.jsonl = only1"})
	named := two.route()
	named.Label = "work"
	compareLines(t, "named root", listed(one.list(one.route(), named)),
		[]string{"0 -w/S1.jsonl = S1", "0 -w/only0.jsonl = only0", "1 -w/S1.jsonl = S1", "1 -w/only1.jsonl = only1"})
}

// TestWorkOfInventory: main sessions and nested agents are not opened, and directories without transcripts not entered.
func TestWorkOfInventory(t *testing.T) {
	tr := newTree(t)
	for i := range 50 {
		tr.write(fmt.Sprintf("-p%d/S%d.jsonl", i%5, i), line1+"\n")
		tr.write(fmt.Sprintf("-p%d/S%d/subagents/agent-x.jsonl", i%5, i), line1+"\n")
		tr.write(fmt.Sprintf("-p%d/S%d/tool-results/deep/t.txt", i%5, i), "x")
		tr.write(fmt.Sprintf("-p%d/S%d/file/deeper/t.txt", i%5, i), "x")
	}
	tr.list(tr.route())
	if n := tr.work.FilesOpened.Load(); n != 0 {
		t.Errorf("%d files opened", n)
	}
	// The route, 5 projects, and for each session its own directory and subagents.
	if n := tr.work.DirectoriesRead.Load(); n != 1+5+50*2 {
		t.Errorf("%d directories read", n)
	}
	if n := tr.work.FilesObserved.Load(); n != 100 {
		t.Errorf("%d files observed", n)
	}
}

func TestObservations(t *testing.T) {
	o := observed{transcript: jsonl.Observation{Size: 1, MtimeNS: -2, Device: 3, FileID: 4}}
	alone := o.token()
	o.hasSidecar = true
	empty := o.token()
	o.sidecar.Size = 5
	if changed := o.token(); slices.Equal(alone, empty) || slices.Equal(empty, changed) || slices.Equal(alone, changed) {
		t.Errorf("%x, %x and %x are not told apart", alone, empty, changed)
	}
}

// A file that changed is looked at alone and gives what a list would give; where it does not tell enough, everything is listed.
func TestObserve(t *testing.T) {
	tr := newTree(t)
	task := user("1", "x") + "\n"
	for _, locator := range []string{
		"-w/S1.jsonl", "-w/S1/subagents/agent-a.jsonl", "-w/S1/subagents/workflows/wf/agent-c.jsonl", "-w/agent-flat.jsonl",
	} {
		tr.write(locator, task)
	}
	tr.write("-w/S1/subagents/agent-a.meta.json", `{"agentType":"x"}`)
	route := tr.route()
	before := tr.list(route)
	for i := range before.found {
		tr.write(before.found[i].locator, task+task)
	}
	after := tr.list(route)
	p := &provider{}
	look := func(known sdkplugin.Source) (sdkplugin.Source, error) {
		return p.Observe(context.Background(), route, known)
	}
	for i := range before.found {
		known, want := before.found[i].source(), after.found[i].source()
		if got, err := look(known); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v, listed %+v", known.Locator, got, err, want)
		}
		got, err := look(sdkplugin.Source{Locator: known.Locator}) // as if it were new
		if flat := before.found[i].placed.flat; flat != (err != nil) || !flat && !reflect.DeepEqual(got, want) {
			t.Errorf("%s, new: %+v %v", known.Locator, got, err)
		}
	}
	for _, unclear := range []string{"top.jsonl", "-w/S1/subagents/agent-a.meta.json", "-w/nowhere.jsonl", "-w/S1/tool-results/t.jsonl"} {
		if got, err := look(sdkplugin.Source{Locator: unclear}); err == nil {
			t.Errorf("%s: %+v", unclear, got)
		}
	}
	if got, err := look(sdkplugin.Source{Locator: "-w/S1/tool-results/t.txt"}); err != nil || got.Anchor != nil {
		t.Errorf("output of a tool: %+v %v", got, err)
	}
}
