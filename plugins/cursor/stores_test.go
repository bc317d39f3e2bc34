package cursor

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

// TestState holds the cases of the editor's state.
func TestState(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.state(map[string]any{
		"composerData:S": `{"_v":10,"composerId":"S","name":" The  title ","createdAt":1767323045000,"lastUpdatedAt":1767323099000,"modelConfig":{"modelName":"default"},
			"fullConversationHeadersOnly":[{"bubbleId":"b1","type":1},{"bubbleId":"b2","type":2},{"bubbleId":"b4"},{"bubbleId":"gone"},{"bubbleId":"null"},{"bubbleId":"bad"}],
			"latestConversationSummary":{"summary":{"summary":"so far"}},"text":"draft"}`,
		"bubbleId:S:b1": `{"type":1,"text":"q","createdAt":"2026-01-02T03:04:05.000Z","context":{"fileSelections":[{"uri":{"fsPath":"/w/sel"}}]}}`,
		"bubbleId:S:b2": `{"type":2,"toolFormerData":{"name":"run_terminal_cmd","toolCallId":"t","params":"{\"command\":\"ls\"}","status":"completed","result":"{\"output\":\"a\"}"},"timingInfo":{"clientStartTime":12,"clientRpcSendTime":1767323050000}}`,
		"bubbleId:S:b3": `{"type":1,"text":"orphan"}`,
		"bubbleId:S:b4": `{"type":"ai","text":"fine","thinking":{"text":"private"},"modelInfo":{"modelName":"m-1"},"relevantFiles":["/w/rel"],"codeBlocks":[{"uri":{"path":"/w/code"}}],
			"toolFormerData":{"name":"edit","rawArgs":"not json","status":"loading"},"errorDetails":{"message":"quota"}}`,
		"bubbleId:S:null": nil,
		"bubbleId:S:bad":  "no json",
		"composerData:D":  `{"composerId":"D","text":"draft","fullConversationHeadersOnly":[]}`,
		"composerData:N":  nil,
		"composerData:B":  `broken`,
	})
	r := h.scan("S", nil)
	want := []string{
		`0:0 message/user @2026-01-02T03:04:05Z "q" file="/w/sel"`,
		`1:0 tool_call/assistant @2026-01-02T03:04:10Z "{\"command\":\"ls\"}" call(t run_terminal_cmd {"command":"ls"}) command="ls"`,
		`1:1 tool_output/tool @2026-01-02T03:04:10Z "{\"output\":\"a\"}" result(t completed body)`,
		`2:0 message/assistant "fine" file="/w/code" file="/w/rel"`,
		`2:1 tool_call/assistant "\"not json\""`,
		`2:2 notice/system "quota"`,
		`6:0 summary/system "so far"`,
	}
	if !slices.Equal(r.events, want) || len(r.rejections) != 1 || len(r.notes) != 1 || r.notes[0].Code != "partial_session" {
		t.Errorf("events\n got %q\nwant %q\n%q %+v", r.events, want, r.rejections, r.notes)
	}
	if got := ids(h.list); !slices.Equal(got, []string{"S from state"}) || h.list.States[3] != sdkplugin.RouteIncomplete {
		t.Errorf("%q", got)
	}
	m := r.metadata()
	if m.Title != "The title" || m.Model != "m-1" || m.ApproximateTimes || m.StartedAt.Millis != 1767323045000 {
		t.Errorf("%+v", m)
	}
	if key := sdkplugin.Composite(bubbleNamespace, sdkplugin.Utf8("S"), sdkplugin.Utf8("b2"), sdkplugin.U64(1)); r.keys[2] != string(key) {
		t.Errorf("%x", r.keys[2])
	}
}

// TestOlderStates: bubbles inside the head, and subagents.
func TestOlderStates(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.state(map[string]any{
		"composerData:old":   `{"conversation":[{"bubbleId":"x","type":1,"text":"inline"},{"type":2,"rawText":"raw"}],"subComposerIds":["kid"]}`,
		"composerData:map":   `{"fullConversationHeadersOnly":[{"bubbleId":"m","type":2}],"conversationMap":{"m":{"type":2,"text":"mapped"}}}`,
		"composerData:kid":   `{"conversation":[{"bubbleId":"y","type":"user","text":"task"}],"subComposerIds":["grand"]}`,
		"composerData:grand": `{"conversation":[{"bubbleId":"z","type":"user","text":"deeper"}]}`,
	})
	for id, want := range map[string][]string{
		"old": {`0:0 message/user "inline"`, `1:0 message/assistant "raw"`}, "map": {`0:0 message/assistant "mapped"`}, "kid": {`0:0 message/user "task"`},
	} {
		if r := h.scan(id, nil); !slices.Equal(r.events, want) {
			t.Errorf("%s: %q", id, r.events)
		}
	}
	for id, up := range map[string][2]sessionID{"kid": {"old", "old"}, "grand": {"kid", "old"}} {
		s := h.scan(id, nil).sessions[0]
		if s.Parent == nil || !bytes.Equal(s.Parent.Key, up[0].ref(false).Key) || !bytes.Equal(s.Root.Key, up[1].ref(false).Key) ||
			s.Relationship != sdkplugin.RelationshipDelegated || s.Scope != sdkplugin.ScopeSubagent {
			t.Errorf("%s: %+v", id, s)
		}
	}
}

// TestOddStates: what states hold that no list should.
func TestOddStates(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.state(map[string]any{
		"composerData:S": `{"fullConversationHeadersOnly":[{"bubbleId":"a"},{"bubbleId":"b"},{"bubbleId":"a"},{"bubbleId":"latestConversationSummary"}],
			"latestConversationSummary":{"summary":{"summary":"so far"}}}`,
		"bubbleId:S:a":                         `{"type":1,"text":"<timestamp>Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)</timestamp>\n<user_query>once</user_query>"}`,
		"bubbleId:S:b":                         `{"type":2,"toolFormerData":{"name":"n","toolCallId":"c","params":"torn {","rawArgs":"{\"command\":\"ls\"}","status":"completed","result":""}}`,
		"bubbleId:S:latestConversationSummary": `{"type":1,"text":"of the same name"}`,
		"composerData:I":                       `{"conversation":[{"bubbleId":"#1","type":1,"text":"named"},{"type":1,"text":"unnamed"}]}`,
	})
	want := []string{
		`0:0 message/user "<timestamp>Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)</timestamp>\n<user_query>once</user_query>"`,
		`1:0 tool_call/assistant "{\"command\":\"ls\"}" call(c n {"command":"ls"}) command="ls"`,
		`1:1 tool_output/tool "" result(c completed )`,
		`4:0 summary/system "so far"`,
	}
	if r := h.scan("S", nil); !slices.Equal(r.events, want) {
		t.Errorf("events\n got %q\nwant %q", r.events, want)
	}
	if r := h.scan("I", nil); !slices.Equal(r.events, []string{`0:0 message/user "named"`}) {
		t.Errorf("%q", r.events)
	}
	// A list that does not say whose its bubbles are still counts.
	h.write(transcriptOf("S"), said("assistant", `{"type":"text","text":"\"user\""}`)+"\n")
	if got := ids(h.look()); !slices.Contains(got, "S from state") {
		t.Errorf("%q", got)
	}
}

// TestCLIStore holds the cases of the CLI store.
func TestCLIStore(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	meta := hex.EncodeToString([]byte(`{"agentId":"S","name":"N","createdAt":1767323045000,"lastUsedModel":"m-2","workspacePath":"/w/app","blobEncryptionKey":"planted-secret"}`))
	h.cli(cliDir+"S/store.db", meta,
		blob(1, `{"role":"user","content":[{"type":"text","text":"<user_info>\nWorkspace Path: /elsewhere\n</user_info>"},{"type":"text","text":"<user_query>one</user_query>"}]}`),
		blob(2, `{"role":"assistant","createdAt":1767323050000,"content":[{"type":"reasoning","text":"private"},{"type":"tool-call","toolCallId":"c","toolName":"Shell","args":{"command":"ls","working_directory":"/w"}}],"providerOptions":{"cursor":{"modelName":"m-1"}}}`),
		blob(3, `{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"Shell","result":"out","isError":true},{"type":"tool-result","toolCallId":"d","experimental_content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},{"type":"tool-result","toolCallId":"e","result":{"b":1,"a":2}}]}`),
		blob(4, `{"role":"assistant","content":"after the summary"}`),
		blob(5, "\xff\xfeencrypted"),
		blob(6, `{"role":"system","content":"prompt"}`),
		blob(7, `{"content":"no role"}`),
		blob(0xa0, root(6, 1, 2, 3, 5)), blob(0xa1, root(1, 4, 9, 7)))
	r := h.scan("S", nil)
	want := []string{
		`1:0 notice/system "<user_info>\nWorkspace Path: /elsewhere\n</user_info>"`,
		`1:1 message/user "<user_query>one</user_query>"`,
		`2:1 tool_call/assistant @2026-01-02T03:04:10Z "{\"command\":\"ls\",\"working_directory\":\"/w\"}" call(c Shell {"command":"ls","working_directory":"/w"}) command="ls" workdir="/w"`,
		`3:0 tool_output/tool "out" result(c error body)`,
		`3:1 tool_output/tool "x\ny" result(d  body)`,
		`3:2 tool_output/tool "{\"a\":2,\"b\":1}" result(e  body)`,
		`5:0 message/assistant "after the summary"`,
	}
	if !slices.Equal(r.events, want) || len(r.rejections) != 1 || len(r.notes) != 1 || r.notes[0].Code != "partial_session" {
		t.Errorf("events\n got %q\nwant %q\n%q %+v", r.events, want, r.rejections, r.notes)
	}
	if key := sdkplugin.Composite(blobNamespace, sdkplugin.Utf8(blobID(2)+"#1")); r.keys[2] != string(key) {
		t.Errorf("%q", r.keys[2])
	}
	m := r.metadata()
	if m.Title != "N" || m.CWD != "/w/app" || m.Model != "m-1" || !slices.Equal(m.Models, []string{"m-1"}) {
		t.Errorf("%+v", m)
	}
	h.write(cliDir+"S/meta.json", `{"title":"T","cwd":"/w/other","updatedAtMs":1767323099000}`)
	if m := h.scan("S", nil).metadata(); m.Title != "T" || m.CWD != "/w/other" {
		t.Errorf("%+v", m)
	}
}

// TestOneStoreEach: which store a session is taken from, and that the others still describe it.
func TestOneStoreEach(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	meta := hex.EncodeToString([]byte(`{"name":"from the store","lastUsedModel":"m","workspacePath":"/w"}`))
	message := blob(1, `{"role":"user","content":"in the store"}`)
	for _, id := range []string{"A", "AB", "AC2", "AC3"} {
		h.write(transcriptOf(id), user("one")+"\n"+user("<rules>context</rules>")+"\n"+user("two")+"\n")
	}
	h.cli(cliDir+"AB/store.db", meta, message, blob(2, root(1)))
	h.cli(cliDir+"BC/store.db", meta, message, blob(2, root(1)))
	h.cli("cursor/acp-sessions/B/store.db", meta, message, blob(2, root(1)))
	h.chat("AC2", "1", "2")
	h.chat("AC3", "1", "2", "3", "<rules>context</rules>")
	h.chat("BC", "1")
	h.chat("C", "1")
	want := []string{"A from transcript", "AB from transcript", "AC2 from transcript", "BC from store", "B from store", "AC3 from state", "C from state"}
	if got := ids(h.look()); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	if m := h.scan("AB", nil).metadata(); m.Title != "from the store" || m.CWD != "/w" || m.Model != "m" {
		t.Errorf("%+v", m)
	}
	if m := h.scan("AC3", nil).metadata(); m.WorkspaceLabel != "home-dev-app" {
		t.Errorf("%+v", m)
	}
	if m := h.scan("AC2", nil).metadata(); m.Title != "head of AC2" {
		t.Errorf("%+v", m)
	}

	before := h.source("AB")
	h.remove("cursor/projects/home-dev-app/agent-transcripts/AB")
	after := h.source("AB")
	if string(before.Anchor) != string(after.Anchor) || after.Format != storeFormat {
		t.Errorf("%+v then %+v", before, after)
	}
	h.remove("cursor/chats")
	h.remove(stateFile)
	h.remove("cursor/projects/home-dev-app/agent-transcripts/A")
	list := h.look()
	if got := ids(list); slices.Contains(got, "A from transcript") || slices.Contains(got, "BC from store") {
		t.Errorf("%q", got)
	}
	if list.States[0] != sdkplugin.RouteComplete || list.States[1] != sdkplugin.RouteMissing {
		t.Errorf("%v", list.States)
	}
}

// TestObservations: a source changes when its own store does, or its description; not with its neighbours.
func TestObservations(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(transcriptOf("A"), user("x")+"\n")
	h.chat("C", "1")
	h.chat("E", "1")
	h.cli(cliDir+"B/store.db", "{}", blob(1, root(2)))
	tokens := func() map[string]string {
		all := map[string]string{}
		list := h.look()
		for _, f := range list.list {
			all[string(f.id)] = string(list.observation(f))
		}
		return all
	}
	changed := func(what func(), want ...string) {
		t.Helper()
		before := tokens()
		what()
		var got []string
		for id, token := range tokens() {
			if before[id] != token {
				got = append(got, id)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("changed %q, want %q", got, want)
		}
	}
	changed(func() {})
	changed(func() { h.chat("E", "1", "2") }, "E")
	changed(func() { h.state(map[string]any{"somethingElse": "x"}) })
	changed(func() { h.add(transcriptOf("A"), user("y")+"\n") }, "A")
	changed(func() { h.write(cliDir+"B/meta.json", `{"title":"T"}`) }, "B")
	changed(func() { h.chat("A", "1") }, "A")
	changed(func() { h.database(cliDir+"B/store.db", blob(2, `{"role":"user","content":"more"}`)) }, "B")
}

// TestWorkspaces: where the directory of a session of the editor comes from.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.chat("mapped", "1")
	h.chat("listed", "1")
	h.chat("nowhere", "1")
	h.write("User/workspaceStorage/w1/workspace.json", `{"folder":"file:///w/my%20app/"}`)
	h.write("User/workspaceStorage/w2/workspace.json", `{"workspace":"vscode-remote://ssh-remote%2Bhost/srv/x/y.code-workspace"}`)
	h.write("elsewhere/workspace.json", `{"folder":"file:///linked"}`)
	if err := os.Symlink(h.path("elsewhere"), h.path("User/workspaceStorage/w3")); err == nil {
		h.chat("linked", "1")
		h.database("elsewhere/state.vscdb", "CREATE TABLE ItemTable(key TEXT UNIQUE, value BLOB)",
			`INSERT INTO ItemTable VALUES('composer.composerData','{"allComposers":[{"composerId":"linked"}]}')`)
		if m := h.scan("linked", nil).metadata(); m.CWD != "" {
			t.Errorf("through a link: %q", m.CWD)
		}
	}
	h.database("User/workspaceStorage/w1/state.vscdb", "CREATE TABLE ItemTable(key TEXT UNIQUE, value BLOB)",
		`INSERT INTO ItemTable VALUES('composer.composerData','{"allComposers":[{"composerId":"mapped"}]}'),('cursorAuth/accessToken','planted-secret')`)
	h.database(stateFile, "CREATE TABLE composerHeaders(composerId TEXT PRIMARY KEY, workspaceId TEXT, value TEXT)",
		`INSERT INTO composerHeaders VALUES('listed','w2','{"name":"listed head"}')`)
	for id, want := range map[string]string{"mapped": "/w/my app", "listed": "/srv/x", "nowhere": ""} {
		if m := h.scan(id, nil).metadata(); m.CWD != want {
			t.Errorf("%s: %q, want %q", id, m.CWD, want)
		}
	}
	for uri, want := range map[string]string{"file:///c%3A/Users/x": "c:/Users/x", "http://x/y": "", "%": "", "file:///": "/"} {
		if got := pathOfURI(uri); got != want {
			t.Errorf("%s: %q, want %q", uri, got, want)
		}
	}
}

// TestSecrets plants logins in every store and looks for them in all that comes out.
func TestSecrets(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	meta := hex.EncodeToString([]byte(`{"name":"N","blobEncryptionKey":"planted-secret"}`))
	h.cli(cliDir+"B/store.db", meta, blob(1, `{"role":"user","content":"x"}`), blob(2, root(1)),
		"INSERT INTO meta VALUES('token','planted-secret')", "INSERT INTO blobs VALUES('token',X'706c616e7465642d736563726574')")
	h.chat("C", "1")
	h.write(transcriptOf("B2"), user("x")+"\n")
	h.cli("cursor/chats/x/B2/store.db", meta, blob(2, root(1)))
	h.database("User/workspaceStorage/w/state.vscdb", "CREATE TABLE ItemTable(key TEXT UNIQUE, value BLOB)",
		"INSERT INTO ItemTable VALUES('cursorAuth/accessToken','planted-secret'),('composer.composerData','{}')")
	h.write("User/workspaceStorage/w/workspace.json", `{"folder":"file:///w"}`)
	var out strings.Builder
	for _, f := range h.look().list {
		source := h.list.source(f)
		r, err := h.try(context.Background(), source, nil)
		fmt.Fprintf(&out, "%s %s %+v %q %q %+v %v\n", source.Locator, source.Observation, r, r.events, r.keys, r.ending, err)
	}
	fmt.Fprintf(&out, "%+v", h.list.Diagnostics)
	for _, secret := range []string{"planted-secret", hex.EncodeToString([]byte("planted-secret"))} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q came out", secret)
		}
	}
	if !strings.Contains(out.String(), "N") {
		t.Error("nothing came out at all")
	}
}

// TestDamagedDatabases: one bad database harms nobody else.
func TestDamagedDatabases(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(transcriptOf("A"), user("x")+"\n")
	h.write(cliDir+"A/store.db", strings.Repeat("no database ", 100))
	h.write(cliDir+"B/store.db", strings.Repeat("no database ", 100))
	h.write(stateFile, strings.Repeat("no database ", 100))
	list := h.look()
	if got := ids(list); !slices.Equal(got, []string{"A from transcript", "B from store"}) || list.States[3] != sdkplugin.RouteIncomplete {
		t.Errorf("%q %v", got, list.States)
	}
	if r := h.scan("A", nil); len(r.events) != 1 || len(r.notes) != 1 || r.notes[0].Code != "companion_unread" {
		t.Errorf("%q %+v", r.events, r.notes)
	}
	var failure *sdkplugin.Failure
	if _, err := h.try(context.Background(), h.source("B"), nil); !errors.As(err, &failure) || failure.Class != sdkplugin.MalformedSource {
		t.Error(err)
	}
	h.remove(stateFile)
	h.database(stateFile, "CREATE TABLE other(x)")
	if list := h.look(); list.States[3] != sdkplugin.RouteComplete {
		t.Errorf("%v", list.States)
	}
}

// TestUntouched: nothing beside the histories changes.
func TestUntouched(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.cli(cliDir+"B/store.db", "{}", blob(1, `{"role":"user","content":"x"}`), blob(2, root(1)))
	h.chat("C", "1")
	h.database(stateFile, "PRAGMA journal_mode=WAL")
	tree := func() string {
		var b strings.Builder
		err := filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			fmt.Fprintln(&b, path, info.Size(), info.ModTime(), info.Mode())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	before := tree()
	for _, id := range []string{"B", "C"} {
		if r := h.scan(id, nil); len(r.events) != 1 {
			t.Errorf("%s: %q", id, r.events)
		}
	}
	if after := tree(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func TestRootList(t *testing.T) {
	t.Parallel()
	one := root(1)
	for data, want := range map[string]int{
		one: 1, one + root(2): 2, one + "\x40\x07" + root(2): 2, "": 0, "{}": 0, one + "\x0a\x01x": 0, one[:20]: 0,
		"\x12\x20" + one[2:] + one: 1, "\x0a\x05hello": 0, "\xff\xff\xff": 0,
	} {
		if got := rootList([]byte(data)); len(got) != want {
			t.Errorf("%x: %d ids, want %d", data, len(got), want)
		}
	}
}
