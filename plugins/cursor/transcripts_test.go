package cursor

import (
	"context"
	"encoding/json"
	"errors"
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

// TestPlaces holds the cases of the layout.
func TestPlaces(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	line := user("hello") + "\n"
	dir := "cursor/projects/P/agent-transcripts/"
	h.write(dir+"N/N.jsonl", line)           // nested
	h.write(dir+"F.jsonl", line)             // flat
	h.write(dir+"N/subagents/U.jsonl", line) // subagent
	h.write(dir+"N/T.jsonl", line)           // another name than its directory
	h.write(dir+"X/X.txt", "user:\nold\n")   // older
	h.write(dir+"Y.txt", "user:\nold\n")     // older and flat
	h.write(dir+"N.txt", "user:\nold\n")     // has lines too
	h.write("cursor/projects/P/mcps/M.jsonl", line)
	h.write("cursor/projects/P/agent-tools/T.txt", "x")
	h.write(dir+"N/deep/er/Z.jsonl", line)
	want := []string{"F from transcript", "N from transcript", "N/subagents/U from transcript", "X from transcript", "Y from transcript"}
	list := h.look()
	if got := ids(list); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(list.Diagnostics) != 1 || list.Diagnostics[0].Code != "stray_transcript" || list.States[0] != sdkplugin.RouteComplete {
		t.Errorf("%+v", list.Diagnostics)
	}
	if flat, nested := h.scan("F", nil), h.scan("N", nil); !slices.Equal(flat.keys, nested.keys) {
		t.Error("the place is part of an id")
	}
	if s := h.scan("N/subagents/U", nil).sessions[0]; string(s.Parent.Key) != string(sessionID("N").ref(true).Key) ||
		s.Scope != sdkplugin.ScopeSubagent || s.Relationship != sdkplugin.RelationshipDelegated || s.ProviderSessionID != "N/subagents/U" {
		t.Errorf("%+v", s)
	}

	// Exact paths lead to the same sessions.
	for path, want := range map[string]int{
		"cursor": 5, "cursor/projects/P": 5, "cursor/projects/P/agent-transcripts": 5, dir + "N": 2, dir + "N/N.jsonl": 1,
		dir + "N/subagents/U.jsonl": 1, dir + "Y.txt": 1, "cursor/projects/P/agent-tools/T.txt": 1, "none": 0,
	} {
		list, err := h.p.look(t.Context(), []sdkplugin.Route{{Path: filepath.Join(h.dir, filepath.FromSlash(path)), Format: transcriptFormat}})
		if err != nil || len(list.list) != want {
			t.Errorf("%s: %q, %v", path, ids(list), err)
		}
	}
}

// TestTwoProjects: one session under two projects.
func TestTwoProjects(t *testing.T) {
	t.Parallel()
	p, q := "cursor/projects/P/agent-transcripts/S/S.jsonl", "cursor/projects/Q/agent-transcripts/S/S.jsonl"
	for _, c := range []struct {
		p, q  string
		newer string // the later one
		taken string
		notes int
	}{
		{user("a") + "\n", user("a") + "\n", "", "P", 0},
		{user("a") + "\n", user("a") + "\n" + user("b") + "\n", "Q", "Q", 0},
		{user("a") + "\n" + user("b") + "\n", user("a") + "\n", "Q", "Q", 0},
		{user("a") + "\n", user("b") + "\n", "Q", "Q", 1},
	} {
		h := newHome(t)
		h.write(p, c.p)
		h.write(q, c.q)
		at := time.Unix(1782302400, 0)
		for name, path := range map[string]string{"P": p, "Q": q} {
			if name == c.newer {
				at = at.Add(time.Minute)
			}
			if err := os.Chtimes(h.path(path), at, at); err != nil {
				t.Fatal(err)
			}
			at = time.Unix(1782302400, 0)
		}
		list := h.look()
		if len(list.list) != 1 || !strings.HasPrefix(list.list[0].locator, c.taken) || len(list.Diagnostics) != c.notes {
			t.Errorf("%+v: %+v, %+v", c, list.list, list.Diagnostics)
		}
	}
}

// TestOneFileTwice: a file that two routes lead to is one session and no trouble.
func TestOneFileTwice(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(transcriptOf("S"), user("x")+"\n")
	h.cli(cliDir+"B/store.db", "{}", blob(2, root(1)))
	routes := h.routes()
	for _, name := range []string{transcriptOf("S"), cliDir + "B/store.db"} {
		routes = append(routes, sdkplugin.Route{Path: h.path(name)})
	}
	if list, err := h.p.look(t.Context(), routes); err != nil || len(list.list) != 2 || len(list.Diagnostics) != 0 {
		t.Errorf("%q, %+v, %v", ids(list), list.Diagnostics, err)
	}
}

// TestLongNames: names that no event can carry cost their event nothing else.
func TestLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", sdkplugin.MaxString+1)
	h := newHome(t)
	h.write(transcriptOf("A"), said("assistant", fmt.Sprintf(`{"type":"tool_use","id":"c","name":%q}`, long))+"\n"+
		said("assistant", fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"n","path":%q,"url":%q}`, long, long, long))+"\n"+
		said("assistant", fmt.Sprintf(`{"type":"tool_use","id":"c","name":"n","protocol":"mcp","server":%q,"tool":"t"}`, long))+"\n"+
		fmt.Sprintf(`{"role":%q,"message":{"content":"x"}}`, long[:60000])+"\n")
	h.state(map[string]any{
		"composerData:C": `{"conversation":[{"bubbleId":"` + long + `","type":1,"text":"lost"},{"bubbleId":"b","type":2,"toolFormerData":{"name":"` + long + `","toolCallId":"c","status":"completed"}}]}`,
	})
	if r := h.scan("A", nil); len(r.events) != 4 || len(r.rejections) != 0 {
		t.Errorf("%d events, %q", len(r.events), r.rejections)
	}
	h.cli(cliDir+"B/store.db", `{"name":"`+long+`","workspacePath":"/`+long+`","lastUsedModel":"`+long+`"}`,
		blob(1, `{"role":"user","content":"x"}`), blob(2, root(1)))
	h.write(cliDir+"B/meta.json", `{"cwd":"/`+long+`"}`)
	if m := h.scan("B", nil).metadata(); m.CWD+m.Model != "" || len([]rune(m.Title)) > 200 {
		t.Errorf("%d bytes of path, %d of model, %d of title", len(m.CWD), len(m.Model), len(m.Title))
	}
	if r := h.scan("C", nil); len(r.events) != 2 || len(r.rejections) != 1 {
		t.Errorf("%d events, %q", len(r.events), r.rejections)
	}
}

// TestScannerMemory: what one large value needed is not kept for the next session.
func TestScannerMemory(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.chat("C", strings.Repeat("x", keptBytes))
	h.write(transcriptOf("A"), user(strings.Repeat("x", keptBytes))+"\n")
	for _, id := range []string{"A", "C"} {
		source := h.source(id)
		s := &scanner{}
		req := sdkplugin.ScanRequest{Routes: h.list.routes, Route: h.list.routes[source.Route], Source: source, Mode: sdkplugin.ModeFull}
		if err := s.scan(t.Context(), h.list, &req, &recorder{}); err != nil || !s.Grown && !s.rows.grown {
			t.Errorf("%s: the memory is kept, %v", id, err)
		}
	}
}

// TestLinksAndPipes: links below a root are not followed; the pipe of a worker does not stop a walk.
func TestLinksAndPipes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(transcriptOf("S"), user("x")+"\n")
	h.write("elsewhere/agent-transcripts/L/L.jsonl", user("x")+"\n")
	if err := os.Symlink(h.path("elsewhere"), h.path("cursor/projects/link")); err != nil {
		t.Skip(err)
	}
	makePipe(t, h.path("cursor/projects/home-dev-app/agent-transcripts/S/worker.jsonl"))
	list := h.look()
	if got := ids(list); !slices.Equal(got, []string{"S from transcript"}) || list.SkippedLinks != 1 || list.States[0] != sdkplugin.RouteComplete {
		t.Errorf("%q, %d links, %v", got, list.SkippedLinks, list.States)
	}
}

// eventful is a file with everything that an append must remember.
var eventful = strings.Join([]string{
	user("<user_info>\nWorkspace Path: /home/dev/app\n</user_info>"),
	user("<timestamp>Saturday, September 26, 2026 10:00 AM</timestamp>\n<user_query>\nthe title\n</user_query>"),
	said("assistant", `{"type":"tool_use","name":"Shell","input":{"command":"ls","working_directory":"/home/dev/app/sub"}}`),
	"not json",
	user("again"), user("again"),
	`{"timestamp":"2026-06-24T12:00:00Z","role":"user","message":{"content":"again"}}`,
	"",
	user("again"),
	`{"type":"turn_ended","status":"success"}`,
}, "\n") + "\n"

// TestAppendEqualsFull cuts one file at every byte; with and without room for the state in the frontier.
func TestAppendEqualsFull(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for cut := range len(eventful) + 1 {
		h.write(transcriptOf("S"), eventful[:cut])
		before := h.scan("S", nil)
		h.add(transcriptOf("S"), eventful[cut:])
		full := h.scan("S", nil)
		appended := h.scan("S", before)
		if err := sameEnd(full, before, appended); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		before.ending.Frontier = stateless(t, before.ending.Frontier)
		if err := sameEnd(full, before, h.scan("S", before)); err != nil {
			t.Fatalf("cut at %d without state: %v", cut, err)
		}
	}
}

// TestManyPrints: a transcript that says more different things than a frontier can hold is still read on.
func TestManyPrints(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var b strings.Builder
	for i := range maxPrints + 1 {
		b.WriteString(user(fmt.Sprint(i)) + "\n")
	}
	h.write(transcriptOf("S"), b.String())
	before := h.scan("S", nil)
	if n := len(before.ending.Frontier); n > 256 {
		t.Errorf("frontier of %d bytes", n)
	}
	h.add(transcriptOf("S"), user("7")+"\n")
	if err := sameEnd(h.scan("S", nil), before, h.scan("S", before)); err != nil {
		t.Error(err)
	}
}

func sameEnd(full, before, appended *recorder) error {
	events := slices.Concat(before.events, appended.events)
	keys := slices.Concat(before.keys, appended.keys)
	switch {
	case appended.mode != sdkplugin.ModeAppend:
		return fmt.Errorf("mode %d", appended.mode)
	case !slices.Equal(events, full.events) || !slices.Equal(keys, full.keys):
		return fmt.Errorf("events\n got %q\nwant %q", events, full.events)
	case before.retained+appended.retained != full.retained || before.ignored+appended.ignored != full.ignored:
		return errors.New("other counts")
	case !reflect.DeepEqual(full.ending, appended.ending):
		return fmt.Errorf("ending\n got %+v\nwant %+v", appended.ending, full.ending)
	}
	return nil
}

// TestRewritten: a file whose certified part is another one is read anew, and equal lines have the numbers that they now have.
func TestRewritten(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	line := user("hello") + "\n"
	h.write(transcriptOf("S"), line+line)
	two := h.scan("S", nil)
	h.add(transcriptOf("S"), line)
	if r := h.scan("S", two); r.mode != sdkplugin.ModeAppend || len(r.keys) != 1 || slices.Contains(two.keys, r.keys[0]) {
		t.Errorf("mode %d, %d events", r.mode, len(r.keys))
	}
	three := h.scan("S", nil)
	h.write(transcriptOf("S"), line+line)
	if r := h.scan("S", three); r.mode != sdkplugin.ModeFull || !slices.Equal(r.keys, two.keys) {
		t.Errorf("mode %d, %d events", r.mode, len(r.keys))
	}
	h.write(transcriptOf("S"), user("other")+"\n"+line+line)
	if r := h.scan("S", two); r.mode != sdkplugin.ModeFull || len(r.events) != 3 {
		t.Errorf("mode %d, %d events", r.mode, len(r.keys))
	}
	h.write(transcriptOf("S"), "")
	if r := h.scan("S", nil); len(r.events) != 0 || len(r.ending.Metadata) != 0 {
		t.Errorf("%q", r.events)
	}
}

// TestWorkOfAppend: the certified part is read for its digest and parsed by nobody.
func TestWorkOfAppend(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.p.work = &jsonl.Work{}
	h.write(transcriptOf("S"), strings.Repeat(user("same")+"\n", 2000))
	before := h.scan("S", nil)
	h.add(transcriptOf("S"), strings.Repeat(user("new")+"\n", 10))
	source := h.source("S")
	opened, read := h.p.work.FilesOpened.Load(), h.p.work.BytesRead.Load()
	s, r := &scanner{}, &recorder{}
	req := sdkplugin.ScanRequest{
		Routes: h.list.routes, Route: h.list.routes[0], Source: source, Mode: sdkplugin.ModeAppend, Frontier: before.ending.Frontier,
		CertifiedBytes: before.ending.CertifiedBytes, ContentDigest: before.ending.ContentDigest[:],
	}
	if err := s.scan(t.Context(), h.list, &req, r); err != nil {
		t.Fatal(err)
	}
	if s.Parsed != 10 || len(r.events) != 10 || h.p.work.FilesOpened.Load() != opened+1 || h.p.work.BytesRead.Load()-read != source.Size {
		t.Errorf("parsed %d, %d events, opened %d, read %d of %d", s.Parsed, len(r.events), h.p.work.FilesOpened.Load()-opened,
			h.p.work.BytesRead.Load()-read, source.Size)
	}
}

// TestPlainText holds the cases of the older transcripts.
func TestPlainText(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("cursor/projects/P/agent-transcripts/S.txt", strings.Join([]string{
		"ignored before the first speaker",
		"user:", "<user_query>", "fix it", "</user_query>", "",
		"assistant:", "[Thinking] hm", "  private", "", "I look.",
		"[Tool call] Read", "  path=/w/a", "  note=two", "  lines",
		"[Tool result] Read", "  content", "", "  more",
		"Done.", "A:", "[Tool call] Shell", `  {"command":"ls"}`, "[Tool call] ApplyPatch", "  *** Begin Patch", "user:", "thanks",
	}, "\r\n"))
	want := []string{
		`1:0 message/user "<user_query>\nfix it\n</user_query>"`,
		`10:0 message/assistant "I look."`,
		`11:0 tool_call/assistant "{\"input\":{\"note\":\"two\\nlines\",\"path\":\"/w/a\"},\"name\":\"Read\",\"type\":\"tool_use\"}" file="/w/a"`,
		`15:0 tool_output/tool "content\n\nmore"`,
		`19:0 message/assistant "Done."`,
		`21:0 tool_call/assistant "{\"input\":{\"command\":\"ls\"},\"name\":\"Shell\",\"type\":\"tool_use\"}" command="ls"`,
		`23:0 tool_call/assistant "{\"input\":\"*** Begin Patch\",\"name\":\"ApplyPatch\",\"type\":\"tool_use\"}"`,
		`25:0 message/user "thanks"`,
	}
	r := h.scan("S", nil)
	if !slices.Equal(r.events, want) {
		t.Errorf("events\n got %q\nwant %q", r.events, want)
	}
	if r.metadata().Title != "fix it" || len(r.ending.Frontier) != 0 {
		t.Errorf("%+v", r.ending)
	}
	h.write("cursor/projects/P/agent-transcripts/L.txt", "user:\n"+strings.Repeat("x", maxPlain))
	if r := h.scan("L", nil); len(r.events) != 0 || len(r.rejections) != 1 {
		t.Errorf("%d events, %q", len(r.events), r.rejections)
	}
}

// TestMetadata: titles, directories and times.
func TestMetadata(t *testing.T) {
	t.Parallel()
	shell := func(dir string) string {
		return said("assistant", fmt.Sprintf(`{"type":"tool_use","name":"Shell","input":{"command":"x","working_directory":%q}}`, dir))
	}
	for _, c := range []struct {
		slug, lines, title, cwd, label string
	}{
		{"home-dev-app", user("<user_query>\nSecond <user_query>nested</user_query> inside\n</user_query>"), "Second nested inside", "", "home-dev-app"},
		{"home-dev-app", user("<user_info>x</user_info>") + "\n" + user("plain  \n prompt"), "plain prompt", "", "home-dev-app"},
		{"home-dev-app", shell("/home/dev/app/sub") + "\n" + shell("/tmp") + "\n" + shell("/home/dev/app/sub"), "", "/home/dev/app", ""},
		{"other", shell("/tmp"), "", "/tmp", ""},
		{"home-dev-app", user("<user_info>\nWorkspace Path: /home/dev/app\n</user_info>"), "", "/home/dev/app", ""},
		{"c-Users-a-x-y", shell(`C:\Users\a\x-y\z`), "", `C:\Users\a\x-y`, ""},
		{"empty-window", user("x"), "x", "", ""},
		{"1767323045000", user("x"), "x", "", ""},
	} {
		h := newHome(t)
		h.write("cursor/projects/"+c.slug+"/agent-transcripts/S/S.jsonl", c.lines+"\n")
		m := h.scan("S", nil).metadata()
		if m.Title != c.title || m.CWD != c.cwd || m.WorkspaceLabel != c.label || !m.ApproximateTimes || m.Model != "" {
			t.Errorf("%s: %+v", c.lines, m)
		}
	}
}

func TestTagTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)":      "2026-07-28T10:06:00Z",
		"Tuesday, Jul 28, 2026, 12:06 PM (UTC+5:30)":   "2026-07-28T06:36:00Z",
		"Tuesday, July 28, 2026, 12:06 AM (UTC-03:00)": "2026-07-28T03:06:00Z",
		"Jul 28, 2026, 12:06 PM UTC":                   "2026-07-28T12:06:00Z",
		"2026-07-28T12:06:00Z":                         "2026-07-28T12:06:00Z",
		"Saturday, September 26, 2026 10:00 AM":        "local",
		"some day":                                     "none", "Jul 28, 2026, 12:06 PM (UTC+77)": "none", "": "none",
	} {
		got := "none"
		if tag, ok := tagTimeOf([]byte("<timestamp>" + text + "</timestamp>")); ok && tag.zoned {
			got = tag.at.UTC().Format(time.RFC3339)
		} else if ok {
			got = "local"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(transcriptOf("A"), strings.Repeat(user("x")+"\n", 2000))
	prompts := make([]string, 200)
	for i := range prompts {
		prompts[i] = fmt.Sprint("p", i)
	}
	h.chat("C", prompts...)
	for _, id := range []string{"A", "C"} {
		source := h.source(id)
		ctx, cancel := context.WithCancel(t.Context())
		req := sdkplugin.ScanRequest{Routes: h.list.routes, Route: h.list.routes[source.Route], Source: source, Mode: sdkplugin.ModeFull}
		r := &recorder{stop: cancel}
		if err := (&scanner{}).scan(ctx, h.list, &req, r); !errors.Is(err, context.Canceled) || len(r.events) > 1000 {
			t.Errorf("%s: %d events, %v", id, len(r.events), err)
		}
	}
}

// stateless is a frontier that had no room for the state.
func stateless(t testing.TB, frontier []byte) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(frontier, &members); err != nil {
		t.Fatalf("frontier %s: %v", frontier, err)
	}
	delete(members, "State")
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
