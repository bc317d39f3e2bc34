package codex

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

const (
	goodOutput = "Chunk ID: ab12cd\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 5\nOutput:\nbody\n"
	hi         = `1 message/user "hi"`
)

// rolloutCase is one rollout of the thread u1 (u2 for those of a child) and what comes of it.
type rolloutCase struct {
	name     string
	thread   string // default u1
	lines    []string
	want     []string
	rejected []string
	ignored  uint64
	title    string
}

var rolloutCases = []rolloutCase{
	{name: "01 a message and its event copy", lines: []string{meta0(u1), say("user", "hi"), event(`{"type":"user_message","message":"hi"}`)},
		want: []string{hi}, ignored: 2, title: "hi"},
	{name: "02 the same line twice", lines: []string{meta0(u1), say("user", "hi"), say("user", "hi")},
		want: []string{hi, `2 message/user "hi"`}, ignored: 1, title: "hi"},
	{name: "03 an image alone", lines: []string{meta0(u1), `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:,"}]}}`},
		want: []string{`1 message/user`}, ignored: 1},
	{name: "04 an empty text without a time", lines: []string{meta0(u1), `{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}]}}`},
		want: []string{`1 message/assistant "message assistant"`}, ignored: 1},
	{name: "05 roles", lines: []string{meta0(u1), say("developer", "rules"), say("system", "more"), say("robot", "beep"), item(`{"type":"message","content":"x"}`), item(`{"type":"message","role":"user","content":[]}`)},
		want:     []string{`1 message/system "rules"`, `2 message/system "more"`},
		rejected: []string{"line 4: a message of an unknown role", "line 5: a message of an unknown role", "line 6: a message without text and image"}, ignored: 1},
	{name: "06 reasoning", lines: []string{meta0(u1),
		item(`{"type":"reasoning","summary":[],"encrypted_content":"zz"}`),
		item(`{"type":"reasoning","summary":[{"type":"summary_text","text":"s"},{"type":"summary_text","text":"t"}],"content":[{"type":"reasoning_text","text":"private"}]}`),
		item(`{"type":"reasoning","summary_text":"plain"}`), item(`{"type":"reasoning","summary":[]}`)},
		want: []string{"2 summary/assistant \"s\\nt\"", `3 summary/assistant "plain"`}, rejected: []string{"line 5: a reasoning without text"}, ignored: 2},
	{name: "07 compaction", lines: []string{meta0(u1),
		line("compacted", `{"message":"m","replacement_history":[{"type":"message","role":"user","content":"again"}]}`),
		line("compacted", `{"message":"","replacement_history":[]}`), line("compacted", `{"message":7}`), line("compacted", `{"text":"t"}`)},
		want: []string{`1 summary/system "m"`, `4 summary/system "t"`}, rejected: []string{"line 4: a compaction without text"}, ignored: 2},
	{name: "08 a call and its output", lines: []string{meta0(u1), call("c1", "exec_command", `{"cmd":"ls"}`), output("c1", "a")},
		want: []string{
			`1 tool_call/assistant "{\"arguments\":\"{\\\"cmd\\\":\\\"ls\\\"}\",\"call_id\":\"c1\",\"name\":\"exec_command\",\"type\":\"function_call\"}" call=c1 tool=exec_command args="{\"cmd\":\"ls\"}" [command=ls]`,
			`2 command_output/tool "a" call=c1 text=a`}, ignored: 1},
	{name: "09 an output without a call", lines: []string{meta0(u1), output("c9", "a")}, want: []string{`1 tool_output/tool "a" call=c9 text=a`}, ignored: 1},
	{name: "10 an empty output, and structured ones", lines: []string{meta0(u1), item(`{"type":"local_shell_call","call_id":"c1","action":{"type":"exec"}}`), output("c1", ""),
		item(`{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"x"}]}`), item(`{"type":"tool_result","call_id":"c3","result":{"b":1,"a":2}}`)},
		want: []string{
			`1 tool_call/assistant "{\"action\":{\"type\":\"exec\"},\"call_id\":\"c1\",\"type\":\"local_shell_call\"}" call=c1 tool=shell args={"type":"exec"}`,
			`2 command_output/tool "command_output tool" call=c1 text=- whole=""`,
			`3 tool_output/tool "[{\"text\":\"x\",\"type\":\"input_text\"}]" call=c2 text=- whole=[{"text":"x","type":"input_text"}]`,
			`4 tool_output/tool "{\"a\":2,\"b\":1}" call=c3 text=- whole={"a":2,"b":1}`}, ignored: 1},
	{name: "11 two calls with one id", lines: []string{meta0(u1), call("c1", "shell", "x"), call("c1", "shell", "x"), output("c1", "a")},
		want: []string{
			`1 tool_call/assistant "{\"arguments\":\"x\",\"call_id\":\"c1\",\"name\":\"shell\",\"type\":\"function_call\"}" call=c1 tool=shell args="x"`,
			`2 tool_call/assistant "{\"arguments\":\"x\",\"call_id\":\"c1\",\"name\":\"shell\",\"type\":\"function_call\"}" call=c1 tool=shell args="x"`,
			`3 tool_output/tool "a" call=c1 text=a`}, ignored: 1},
	{name: "12 members beside the payload prove nothing", lines: []string{meta0(u1), item(`{"type":"local_shell_call","call_id":"c1","action":1}`),
		strings.Replace(output("c1", goodOutput), `{"timestamp"`, `{"ordinal":3,"timestamp"`, 1)},
		want: []string{
			`1 tool_call/assistant "{\"action\":1,\"call_id\":\"c1\",\"type\":\"local_shell_call\"}" call=c1 tool=shell args=1`,
			`2 command_output/tool "Chunk ID: ab12cd\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 5\nOutput:\nbody\n" call=c1 text=` + goodOutput + ` whole=unavailable`}, ignored: 1},
	{name: "13 the end of an MCP call", lines: []string{meta0(u1),
		event(`{"type":"mcp_tool_call_end","call_id":"m1","invocation":{"server":"ctx","tool":"search","arguments":{"query":"q"}},"duration":{"secs":1,"nanos":5},"result":{"Ok":{"content":[],"isError":false}}}`),
		event(`{"type":"mcp_tool_call_end","call_id":"m2","invocation":{"server":"s","tool":"t","arguments":null},"duration":{"secs":1,"nanos":1000000000},"result":{"Err":"e"}}`),
		event(`{"type":"mcp_tool_call_end","call_id":"m3","invocation":{"server":"","tool":"t"}}`)},
		want: []string{
			`1 tool_output/tool "{\"Ok\":{\"content\":[],\"isError\":false}}" call=m1 tool=search mcp:ctx args={"query":"q"} text=- whole={"Ok":{"content":[],"isError":false}} took=1000000005`,
			`2 tool_output/tool "{\"Err\":\"e\"}" call=m2 tool=t mcp:s args=null text=- whole={"Err":"e"}`,
			`3 tool_output/tool "{\"call_id\":\"m3\",\"invocation\":{\"server\":\"\",\"tool\":\"t\"},\"type\":\"mcp_tool_call_end\"}" call=m3 text=-`}, ignored: 1},
	{name: "14 a joined MCP name is never split", lines: []string{meta0(u1), call("c1", "mcp__ctx__search", "{}"), item(`{"type":"function_call","call_id":"c2","name":"n","protocol":"mcp","server":"s","tool":"t"}`)},
		want: []string{
			`1 tool_call/assistant "{\"arguments\":\"{}\",\"call_id\":\"c1\",\"name\":\"mcp__ctx__search\",\"type\":\"function_call\"}" call=c1 tool=mcp__ctx__search args="{}"`,
			`2 tool_call/assistant "{\"call_id\":\"c2\",\"name\":\"n\",\"protocol\":\"mcp\",\"server\":\"s\",\"tool\":\"t\",\"type\":\"function_call\"}" call=c2 tool=t mcp:s args=-`}, ignored: 1},
	{name: "16 inherited results before the first local turn", thread: u2, lines: []string{meta0(u2, forkOf(u1)), output("c1", "a"), turn(u1, "/w"), output("c2", "b"),
		turn("01900001-0000-7000-8000-0000000000aa", "/w"), output("c3", "c")},
		want: []string{
			`1 tool_output/tool "a" call=c1 text=a copy=` + u1 + `:7f900582-3143-8d93-9847-18facfa95b65:native_call_result_identity`,
			`3 tool_output/tool "b" call=c2 text=b copy=` + u1 + `:` + callOutput("c2") + `:native_call_result_identity`,
			`5 tool_output/tool "c" call=c3 text=c`}, ignored: 3},
	{name: "19 a line that is too long", lines: []string{meta0(u1), say("user", "hi"), strings.Repeat(" ", 16<<20+1), say("user", "hi")},
		want: []string{hi, `3 message/user "hi"`}, rejected: []string{"line 3: line over 16 MiB"}, ignored: 1, title: "hi"},
	{name: "20 an owner line behind the first 32", lines: []string{strings.Repeat(line("world_state", "{}")+"\n", 39) + meta0(u1), say("user", "late")},
		want: []string{`40 message/user "late"`}, ignored: 40, title: "late"},
	{name: "20 a torn first line", lines: []string{meta0(u1)[:70], say("user", "hi")}, want: []string{hi}, rejected: []string{"line 1: damaged at 0"}, title: "hi"},
	{name: "23 the running directory", lines: []string{meta0(u1), say("user", "a"), turn(u1, "/x"), say("user", "b"), line("turn_context", `{"model":"n"}`), say("user", "c")},
		want: []string{`1 message/user "a"`, `3 message/user "b" [session_cwd=/x]`, `5 message/user "c" [session_cwd=/x]`}, rejected: []string{"line 5: a turn_context without a directory"}, ignored: 2, title: "a"},
	{name: "24 what holds nothing", lines: []string{meta0(u1), event(`{"type":"new_thing"}`), item(`{"type":"ghost_snapshot"}`), line("world_state", "{}"), line("of_tomorrow", "{}")}, ignored: 5},
	{name: "25 bad envelopes", lines: []string{meta0(u1), `{"timestamp":5,"type":"response_item","payload":{}}`, `{"timestamp":"yesterday","type":"event_msg","payload":{}}`, `{"type":"response_item"}`, `[]`, `{"a":1}`},
		rejected: []string{"line 2: the timestamp is no RFC 3339 text", "line 3: the timestamp is no RFC 3339 text", "line 5: damaged at TORN", "line 6: no type"}, ignored: 2},
	{name: "26 a bare header", lines: []string{`{"id":"` + u1 + `","timestamp":"` + t0 + `","instructions":null,"git":{"branch":"b"}}`, `{"record_type":"state"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"old"}]}`, `{"role":"user"}`},
		want: []string{`2 message/user "old" [branch=b] untimed`}, rejected: []string{"line 4: no type"}, ignored: 2, title: "old"},
	{name: "27 patches", lines: []string{meta0(u1),
		item(`{"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n+*** Add File: no\n*** End Patch\n*** Add File: no"}`),
		call("c2", "apply_patch", `{"input":"*** Begin Patch\n*** Add File: c.go\n*** End Patch"}`),
		call("c3", "shell", `{"command":["apply_patch","*** Begin Patch\n*** Delete File: d.go\n*** End Patch"],"workdir":"/d"}`),
		call("c4", "shell", `{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: e.go\n*** End Patch\nEOF"]}`),
		call("c5", "exec_command", `{"cmd":"echo '*** Begin Patch'"}`),
		event(`{"type":"patch_apply_end","call_id":"c9","changes":{"f.go":{"update":{"move_path":"g.go"}},"h.go":{"move_path":null}}}`)},
		want: []string{"[file=a.go] [file=b.go]", "[file=c.go]", "[command=apply_patch] [command=*** Begin Patch\n*** Delete File: d.go\n*** End Patch] [tool_workdir=/d] [file=d.go]",
			"[command=bash] [command=-lc] [command=apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: e.go\n*** End Patch\nEOF] [file=e.go]", "[command=echo '*** Begin Patch']", "[file=f.go] [file=g.go] [file=h.go]"}, ignored: 1},
	{name: "29 a call with two ids is linked by the call id", lines: []string{meta0(u1), item(`{"type":"function_call","id":"fc1","call_id":"c1","name":"bash"}`), output("c1", "a")},
		want: []string{`1 tool_call/assistant "{\"call_id\":\"c1\",\"id\":\"fc1\",\"name\":\"bash\",\"type\":\"function_call\"}" call=c1 tool=bash args=-`, `2 command_output/tool "a" call=c1 text=a`}, ignored: 1},
	{name: "31 a doubled call id", lines: []string{meta0(u1), item(`{"type":"local_shell_call","call_id":"c1","action":1}`),
		item(`{"type":"function_call_output","call_id":"c1","call_id":"c7","output":"dup","path":"p"}`), output("c1", "a")},
		want: []string{`1 tool_call/assistant "{\"action\":1,\"call_id\":\"c1\",\"type\":\"local_shell_call\"}" call=c1 tool=shell args=1`,
			`2 tool_output/tool "dup" [file=p]`, `3 command_output/tool "a" call=c1 text=a whole=unavailable`}, ignored: 1},
	{name: "31 a doubled call id before an MCP call", lines: []string{meta0(u1), item(`{"type":"function_call","call_id":"c1","call_id":"c2","name":"n"}`),
		event(`{"type":"mcp_tool_call_end","call_id":"m1","invocation":{"server":"ctx","tool":"search","arguments":{}},"result":{"Ok":1}}`)},
		want: []string{`1 tool_call/assistant "{\"call_id\":\"c2\",\"name\":\"n\",\"type\":\"function_call\"}"`,
			`2 tool_output/tool "{\"Ok\":1}" call=m1 tool=search mcp:ctx args={} text=- whole=unavailable`}, ignored: 1},
	{name: "31 doubled arguments, outputs and names", lines: []string{meta0(u1),
		item(`{"type":"function_call","call_id":"c1","name":"n","arguments":"x","arguments":"y"}`),
		item(`{"type":"function_call_output","call_id":"c1","output":"x","output":"y"}`),
		item(`{"type":"function_call","call_id":"c2","name":"n","name":"o","arguments":"{\"path\":\"p\"}"}`)},
		want: []string{
			`1 tool_call/assistant "{\"arguments\":\"y\",\"call_id\":\"c1\",\"name\":\"n\",\"type\":\"function_call\"}" call=c1 tool=n args=unavailable`,
			`2 tool_output/tool "tool_output tool" call=c1 text=unavailable whole=unavailable`,
			`3 tool_call/assistant "{\"arguments\":\"{\\\"path\\\":\\\"p\\\"}\",\"call_id\":\"c2\",\"name\":\"o\",\"type\":\"function_call\"}" [file=p]`}, ignored: 1},
	{name: "32 one body for a call id", lines: []string{meta0(u1), output("c1", "a"), event(`{"type":"exec_command_end","call_id":"c1","exit_code":1,"status":"failed","stdout":"s"}`),
		event(`{"type":"exec_command_end","call_id":"c1","stdout":"s"}`), output("c2", `{"output":"x","metadata":{"exit_code":0}}`), event(`{"type":"patch_apply_end","call_id":"c2","success":true}`)},
		want: []string{`1 tool_output/tool "a" call=c1 text=a`, `2 tool_output/tool call=c1 text=- status=failed [provider_disposition=exit_code:1]`,
			`4 tool_output/tool "{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}" call=c2 text={"output":"x","metadata":{"exit_code":0}} [provider_disposition=exit_code:0]`}, ignored: 3},
	{name: "32 what a later record declares", lines: []string{meta0(u1), output("c1", "a"), event(`{"type":"exec_command_end","call_id":"c1","duration":null}`),
		event(`{"type":"mcp_tool_call_end","call_id":"c1","duration":{"secs":1,"nanos":1000000000}}`), event(`{"type":"exec_command_end","call_id":"c1","duration":{"secs":1,"nanos":2}}`)},
		want: []string{`1 tool_output/tool "a" call=c1 text=a`, `4 tool_output/tool call=c1 text=- took=1000000002`}, ignored: 3},
	{name: "33 a local shell call", lines: []string{meta0(u1), item(`{"type":"local_shell_call","call_id":"c2","action":{"type":"exec","command":["ls"],"working_directory":"/d"}}`), output("c2", "a")},
		want: []string{`1 tool_call/assistant "{\"action\":{\"command\":[\"ls\"],\"type\":\"exec\",\"working_directory\":\"/d\"},\"call_id\":\"c2\",\"type\":\"local_shell_call\"}" call=c2 tool=shell args={"command":["ls"],"type":"exec","working_directory":"/d"} [command=ls] [tool_workdir=/d]`,
			`2 command_output/tool "a" call=c2 text=a`}, ignored: 1},
	{name: "34 wrappers", lines: []string{meta0(u1), say("user", "<environment_context>x</environment_context>\n# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>i</INSTRUCTIONS> "),
		say("user", "# AGENTS.md instructions for /w\nwithout a block"), say("user", "<skill>x"), say("developer", "<skill>x</skill>"), say("user", "<environment_context>x</environment_context> and fix it")},
		want: []string{`1 notice/system "<environment_context>x</environment_context>\n# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>i</INSTRUCTIONS> "`,
			`2 notice/system "# AGENTS.md instructions for /w\nwithout a block"`, `3 message/user "<skill>x"`, `4 message/system "<skill>x</skill>"`,
			`5 message/user "<environment_context>x</environment_context> and fix it"`}, ignored: 1, title: "<skill>x"},
	{name: "35 a renamed thread", lines: []string{meta0(u1), say("user", "hi"), event(`{"type":"thread_name_updated","thread_name":" New\nname "}`),
		event(`{"type":"thread_name_updated","thread_id":"` + u9 + `","thread_name":"of another"}`)}, want: []string{hi}, ignored: 3, title: "New name"},
	{name: "36 a file of event messages", lines: []string{meta0(u1), event(`{"type":"user_message","message":"hi"}`), event(`{"type":"agent_message","message":""}`)},
		want: []string{hi, `2 message/assistant "message assistant"`}, ignored: 1, title: "hi"},
	{name: "37 two records on one line", lines: []string{meta0(u1), say("user", "a") + say("user", "b"), `{"timestamp":"2026","type":"event_msg","payl` + say("user", "c")},
		want: []string{`1 message/user "a"`, `1.1 message/user "b"`, `2 message/user "c"`}, rejected: []string{"line 3: damaged at TORN"}, ignored: 1, title: "a"},
	{name: "nameless calls have no activity", lines: []string{meta0(u1), item(`{"type":"web_search_call","id":"w1","status":"completed","action":{"type":"open_page","url":"u"}}`), item(`{"type":"tool_search_output","call_id":"s1","status":"completed","tools":[]}`)},
		want: []string{`1 tool_call/assistant "{\"action\":{\"type\":\"open_page\",\"url\":\"u\"},\"id\":\"w1\",\"status\":\"completed\",\"type\":\"web_search_call\"}"`,
			`2 tool_output/tool "{\"call_id\":\"s1\",\"status\":\"completed\",\"tools\":[],\"type\":\"tool_search_output\"}" call=s1 text=- status=completed`}, ignored: 1},
}

func callOutput(id string) string {
	var k eventKeys
	k.native("call_id", id, sdkplugin.ToolOutput, sdkplugin.RoleTool)
	s := sdkplugin.Session{Ref: ownRef(u1)}
	return eventID(&s, &sdkplugin.Event{Kind: eventKind, Key: k.number(0)})
}

// tornAt returns the offset of the first line that begins with a damaged record.
func tornAt(content string) string {
	for _, start := range []string{"\n[]", "\n" + `{"timestamp":"2026",`} {
		if at := strings.Index(content, start); at >= 0 {
			return strconv.Itoa(at + 1)
		}
	}
	return "?"
}

func TestRollouts(t *testing.T) {
	for _, c := range rolloutCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			thread := c.thread
			if thread == "" {
				thread = u1
			}
			h.write(fileOf(thread), lines(c.lines...))
			got := h.full(thread)
			// A case that is about facts alone says no more of its events.
			for i := range got.events {
				if i < len(c.want) && strings.HasPrefix(c.want[i], "[") {
					got.events[i] = got.events[i][strings.Index(got.events[i], " [")+1:]
				}
			}
			if !slices.Equal(got.events, c.want) {
				t.Errorf("events\n got %q\nwant %q", got.events, c.want)
			}
			if len(c.rejected) != len(got.rejections) {
				t.Errorf("rejections %q, want %q", got.rejections, c.rejected)
			}
			for i := range min(len(c.rejected), len(got.rejections)) {
				want := strings.Replace(c.rejected[i], "TORN", tornAt(lines(c.lines...)), 1)
				if got.rejections[i] != want {
					t.Errorf("rejection %q, want %q", got.rejections[i], want)
				}
			}
			if got.tally.Ignored != c.ignored || got.title() != c.title {
				t.Errorf("%d ignored, title %q; want %d, %q", got.tally.Ignored, got.title(), c.ignored, c.title)
			}
			if ids := slices.Sorted(slices.Values(got.ids)); len(slices.Compact(ids)) != len(got.ids) {
				t.Errorf("ids %q are not distinct", got.ids)
			}
			if again := h.full(thread); !slices.Equal(again.ids, got.ids) {
				t.Errorf("ids %q, then %q", got.ids, again.ids)
			}
		})
	}
}
