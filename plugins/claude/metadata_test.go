package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
)

func TestTitles(t *testing.T) {
	custom := func(title string) string {
		return fmt.Sprintf(`{"type":"custom-title","customTitle":%q,"sessionId":"S1"}`, title)
	}
	ai := func(title string) string {
		return fmt.Sprintf(`{"type":"ai-title","aiTitle":%q,"sessionId":"S1"}`, title)
	}
	summary := func(leaf, text string) string {
		return fmt.Sprintf(`{"type":"summary","summary":%q,"leafUuid":%q}`, text, leaf)
	}
	worktree := func(name string) string {
		return fmt.Sprintf(`{"type":"worktree-state","worktreeSession":{"worktreeName":%q,"worktreePath":"/wt"}}`, name)
	}
	command := user("c", "<command-name>/x</command-name><command-args> a  b </command-args>")
	prompt := user("p", "typed first")
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"T41 the user's own wins", []string{ai("Auto"), custom("Mine"), ai("Auto2"), `{"type":"last-prompt","lastPrompt":null}`, prompt}, "Mine"},
		{"the last own one", []string{custom("One"), custom("Two"), custom(" "), prompt}, "Two"},
		{"not the name of a worktree", []string{custom("Mine"), custom("wt-1"), worktree("wt-1"), prompt}, "Mine"},
		{"only names of worktrees", []string{worktree("wt-1"), custom("wt-1"), prompt}, "typed first"},
		{"the last of the model", []string{ai("One"), prompt, ai("Two"), ai("")}, "Two"},
		{"a summary of this session", []string{summary("p", "Sum one"), summary("zz", "Foreign"), prompt}, "Sum one"},
		{"the last summary of this session", []string{prompt, summary("p", "Sum one"), summary("p", "Sum two")}, "Sum two"},
		{"T12 a summary of another session", []string{summary("zz", "Foreign"), prompt}, "typed first"},
		{"T24 a command", []string{command}, "/x a b"},
		{"T24 a prompt is better than a command", []string{command, prompt}, "typed first"},
		{"the first prompt", []string{prompt, user("p2", "typed later")}, "typed first"},
		{"nothing typed", []string{speak("assistant", "m", `"hello"`)}, ""},
		{"cut to 200 characters", []string{user("l", strings.Repeat("ü ", 300))}, strings.TrimSpace(strings.Repeat("ü ", 100))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t)
			tr.write("-w/S1.jsonl", strings.Join(c.lines, "\n")+"\n")
			if got := tr.full(tr.only()).meta().Title; got != c.want {
				t.Errorf("title %q, want %q", got, c.want)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	line := func(typ, uuid, rest string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,%s,"message":{"content":"x","model":"claude-%s"}}`, typ, uuid, rest, uuid)
	}
	tr := newTree(t)
	tr.write("-w/S1.jsonl", strings.Join([]string{
		line("user", "1", `"cwd":"","gitBranch":"HEAD","timestamp":"2026-01-02T03:04:05Z","version":"2.0.1","entrypoint":"cli"`),
		line("assistant", "2", `"cwd":"/w","gitBranch":"main","timestamp":"2020-01-01T00:00:00Z"`),
		line("assistant", "3", `"cwd":"/w/sub","gitBranch":"topic"`),
		line("assistant", "2", `"cwd":"/dup","gitBranch":"dup"`),
		line("assistant", "4", `"gitBranch":"","version":"2.1.0","entrypoint":"sdk-ts"`),
		`{"type":"assistant","uuid":"5","message":{"content":"API Error","model":"<synthetic>"}}`,
		line("assistant", "4b", `"gitBranch":"HEAD"`),
		`{"type":"assistant","uuid":"6","message":{"content":"x","model":"claude-2"}}`,
		`{"type":"mode","timestamp":"2030-01-01T00:00:00Z","cwd":"/not/a/chain"}`,
	}, "\n")+"\n")
	want := sdkplugin.SessionMetadata{
		Title: "x", Model: "claude-2", Models: []string{"claude-2", "claude-3", "claude-4", "claude-4b"}, CWD: "/w",
		Branch: "main", LastBranch: "topic", Version: "2.0.1", LastVersion: "2.1.0", Entrypoint: "cli", LastEntrypoint: "sdk-ts",
		StartedAt: sdkplugin.AtMillis(1577836800000), EndedAt: sdkplugin.AtMillis(1767323045000),
	}
	if got := tr.full(tr.only()).meta(); !reflect.DeepEqual(got, want) {
		t.Errorf("metadata\n got %+v\nwant %+v", got, want)
	}
}

func TestDirectories(t *testing.T) {
	for _, c := range []struct {
		name        string
		lines       []string
		cwd, label  string
		approximate bool
	}{
		{"T53 none", []string{user("1", "x")}, "", "-home-dev-my-app", true},
		{"T53 of a record", []string{`{"type":"user","uuid":"1","cwd":"/srv/other","message":{"content":"x"}}`}, "/srv/other", "", true},
		{"relocated", []string{`{"type":"user","uuid":"1","cwd":"/a","message":{"content":"x"}}`, `{"type":"relocated","relocatedCwd":"/b"}`, `{"type":"relocated","relocatedCwd":"/c"}`}, "/c", "", true},
		{"worktree", []string{user("1", "x"), `{"type":"worktree-state","worktreeSession":{"worktreePath":"/wt"}}`}, "/wt", "", true},
		{"worktree and record", []string{`{"type":"user","uuid":"1","timestamp":1767323045678,"cwd":"/a","message":{"content":"x"}}`, `{"type":"worktree-state","worktreeSession":{"worktreePath":"/wt"}}`}, "/a", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t)
			locator := "-home-dev-my-app/S1.jsonl"
			tr.write(locator, strings.Join(c.lines, "\n")+"\n")
			at := time.UnixMilli(1700000000123)
			if err := os.Chtimes(filepath.Join(tr.root, locator), at, at); err != nil {
				t.Fatal(err)
			}
			meta := tr.full(tr.only()).meta()
			if meta.CWD != c.cwd || meta.WorkspaceLabel != c.label || meta.ApproximateTimes != c.approximate {
				t.Errorf("cwd %q, label %q, approximate %v", meta.CWD, meta.WorkspaceLabel, meta.ApproximateTimes)
			}
			if c.approximate && (meta.StartedAt.Millis != at.UnixMilli() || meta.EndedAt.Millis != at.UnixMilli()) {
				t.Errorf("times %+v, %+v", meta.StartedAt, meta.EndedAt)
			}
		})
	}
}

func TestSidecars(t *testing.T) {
	tr := newTree(t)
	agent := "-w/S1/subagents/agent-ab.jsonl"
	tr.write(agent, user("1", "the task")+"\n")
	before := tr.only()
	first := tr.full(before)
	if first.meta().AgentName != "" || first.meta().Title != "the task" || first.meta().WorkspaceLabel != "-w" {
		t.Errorf("metadata %+v", first.meta())
	}

	meta := "-w/S1/subagents/agent-ab.meta.json"
	tr.write(meta, "{\n \"agentType\": \"Explore\",\n \"description\": \"Find\\nX\", \"parentAgentId\": \"cd\", \"toolUseId\": \"t\"}")
	source := tr.only()
	if string(source.Observation) == string(before.Observation) {
		t.Error("a new sidecar does not change the observation")
	}
	for _, r := range []*recorder{tr.full(source), tr.more(source, first)} {
		if got := r.meta(); got.AgentName != "Explore" || got.Title != "Find X" {
			t.Errorf("metadata %+v", got)
		}
		if got := r.renderSession(); got != "S1/subagents/agent-ab delegated parent=S1/subagents/agent-cd root=S1 subagent" {
			t.Errorf("session %s", got)
		}
		if string(r.ending.Observation) != string(source.Observation) {
			t.Error("the scan ends with another observation than the inventory's")
		}
	}

	for content, parent := range map[string]string{
		`{"parentAgentId":"agent-cd"}`: "S1/subagents/agent-cd",
		`{"parentAgentId":"ab"}`:       "S1", // itself
		`{"parentAgentId":7}`:          "S1",
		`not JSON`:                     "S1",
	} {
		tr.write(meta, content)
		if got := tr.full(tr.only()).renderSession(); got != "S1/subagents/agent-ab delegated parent="+parent+" root=S1 subagent" {
			t.Errorf("%s: session %s", content, got)
		}
	}

	if err := os.Remove(filepath.Join(tr.root, meta)); err != nil {
		t.Fatal(err)
	}
	if got := tr.full(source); string(got.ending.Observation) != string(before.Observation) || got.meta().AgentName != "" {
		t.Errorf("a sidecar that has gone is still told: %+v", got.meta())
	}
}

func TestTitleSidecar(t *testing.T) {
	for content, want := range map[string]string{
		`{"customTitle":" By  sidecar "}`: "By sidecar",
		`{"title":"T"}`:                   "T",
		`"bare"`:                          "bare",
		`{"customTitle":5}`:               "typed",
		`{`:                               "typed",
	} {
		tr := newTree(t)
		tr.write("-w/S1.jsonl", user("1", "typed")+"\n")
		tr.write("-w/S1/custom-title.json", content)
		if got := tr.full(tr.only()).meta().Title; got != want {
			t.Errorf("%s: title %q, want %q", content, got, want)
		}
	}
}
