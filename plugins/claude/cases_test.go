package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

// line1 is a whole ordinary record.
const line1 = `{"type":"user","uuid":"a","sessionId":"S1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","gitBranch":"main","message":{"role":"user","content":" hi "}}`

// speak is a record of a user or of the model.
func speak(role, uuid, content string) string {
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"sessionId":"S1","message":{"role":%q,"content":%s}}`, role, uuid, role, content)
}

func user(uuid, text string) string { return speak("user", uuid, fmt.Sprintf("%q", text)) }

// mapCase is one file and everything that comes of it. Only session, title, rejections and counts that are given are compared;
// events always are.
type mapCase struct {
	name    string
	locator string // -w/S1.jsonl
	lines   []string
	raw     string // instead of lines
	session string
	events  []string
	reject  []string
	ignored uint64
	title   string
}

func (c *mapCase) content() string {
	if c.raw != "" {
		return c.raw
	}
	return strings.Join(c.lines, "\n") + "\n"
}

func (c *mapCase) run(t *testing.T) {
	tr := newTree(t)
	locator := c.locator
	if locator == "" {
		locator = "-w/S1.jsonl"
	}
	tr.write(locator, c.content())
	got := tr.full(tr.only())
	compareLines(t, "events", got.events, c.events)
	compareLines(t, "rejections", got.rejections, c.reject)
	if got.ignored != c.ignored {
		t.Errorf("%d ignored, want %d", got.ignored, c.ignored)
	}
	if c.session != "" && got.renderSession() != c.session {
		t.Errorf("session %s\n    want %s", got.renderSession(), c.session)
	}
	if title := got.meta().Title; title != c.title {
		t.Errorf("title %q, want %q", title, c.title)
	}
	if got.mode != sdkplugin.ModeFull || !got.ended {
		t.Errorf("mode %d, ended %v", got.mode, got.ended)
	}
}

func compareLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("%s %d: unexpected\n got %s", what, i, got[i])
		case i >= len(got):
			t.Errorf("%s %d: missing\nwant %s", what, i, want[i])
		case got[i] != want[i]:
			t.Errorf("%s %d:\n got %s\nwant %s", what, i, got[i], want[i])
		}
	}
}

func runCases(t *testing.T, cases []mapCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func TestText(t *testing.T) {
	long := strings.Repeat("y", 70000)
	runCases(t, []mapCase{{
		name:    "T01 plain string",
		lines:   []string{line1},
		session: "S1 root",
		events:  []string{`0:0 message/user " hi " id=a,0 at=1767323045678 session_cwd=/w branch=main`},
		title:   "hi",
	}, {
		name:    "T09 thinking only",
		lines:   []string{speak("assistant", "i", `[{"type":"thinking","thinking":"secret","signature":"s"}]`)},
		ignored: 1,
	}, {
		name:    "T10 redacted thinking only",
		lines:   []string{speak("assistant", "j", `[{"type":"redacted_thinking","data":"x"}]`)},
		ignored: 1,
	}, {
		name:    "T11 blank text",
		lines:   []string{user("k", "  "), speak("user", "k2", `[]`), speak("user", "k3", `[{"type":"image","source":{}}]`)},
		ignored: 3,
	}, {
		name:   "T12 summary of another session",
		lines:  []string{`{"type":"summary","summary":"Fix login","leafUuid":"zzz"}`},
		events: []string{`0:0 summary "Fix login" id=#,0`},
	}, {
		name:    "T13 bookkeeping",
		lines:   []string{`{"type":"atis-latch","atis":"","sessionId":"S1"}`, `{"type":"queue-operation","operation":"enqueue","content":"later","sessionId":"S1"}`},
		ignored: 2,
	}, {
		name: "T14 unknown type",
		lines: []string{
			`{"type":"hologram","uuid":"l","sessionId":"S1","content":"beam"}`,
			`{"type":"hologram","uuid":"l2","sessionId":"S1","role":"user","message":{"content":[{"type":"text","text":"up"},{"type":"text","text":"down"}]}}`,
			`{"type":"hologram","uuid":"l3","sessionId":"S1","projector":1}`,
			`{"type":"message","uuid":"l4","content":"exported"}`,
			`{"type":"hologram","uuid":"l5","content":[{"type":"text","text":5}]}`,
		},
		events: []string{
			`0:0 notice "beam" id=l,0`,
			`1:0 notice/user "up\ndown" id=l2,0`,
			`3:0 notice "exported" id=l4,0`,
		},
		ignored: 2,
	}, {
		name:   "T38 lone surrogate",
		lines:  []string{`{"type":"user","uuid":"l38","sessionId":"S1","message":{"role":"user","content":"ok \ud83d"}}`},
		events: []string{"0:0 message/user \"ok \uFFFD\" id=l38,0"},
		title:  "ok \uFFFD",
	}, {
		name:  "T40 inline sidechain",
		lines: []string{`{"type":"assistant","uuid":"af","sessionId":"S1","isSidechain":true,"message":{"role":"assistant","content":"sub"}}`, `{"type":"user","uuid":"ag","sessionId":"S1","isSidechain":true,"message":{"role":"user","content":"a task, no title"}}`},
		events: []string{
			`0:0 message/assistant "sub" id=af,0 subagent`,
			`1:0 message/user "a task, no title" id=ag,0 subagent`,
		},
	}, {
		name:   "T47 missing type",
		lines:  []string{`{"uuid":"ah","sessionId":"S1","message":{"role":"user","content":"bare"}}`, `{"uuid":"ai","message":{"role":"narrator","content":"odd"}}`},
		events: []string{`0:0 message/user "bare" id=ah,0`, `1:0 notice/narrator "odd" id=ai,0`},
	}, {
		name: "T48 long text",
		lines: []string{
			speak("user", "l1", `[{"type":"text","text":"`+long+`"}]`),
			user("l2", long),
		},
		events: []string{`0:0 message/user "` + long + `" id=l1,0`, `1:0 message/user "` + long + `" id=l2,0`},
		title:  long[:200],
	}, {
		name: "blank texts are left out of a joined text",
		lines: []string{
			speak("assistant", "m", `[{"type":"text","text":"one"},{"type":"text","text":" \n"},{"type":"text","text":" two "},"loose",{"type":"text"}]`),
			speak("assistant", "n", `{"type":"text","text":"one block alone"}`),
			`{"type":"user","uuid":"o","content":"without a message"}`,
		},
		events: []string{
			`0:0 message/assistant "one\n two " id=m,0`,
			`1:0 message/assistant "one block alone" id=n,0`,
			`2:0 message/user "without a message" id=o,0`,
		},
		title: "without a message",
	}})
}

func TestTools(t *testing.T) {
	runCases(t, []mapCase{{
		name:  "T02 texts around a call",
		lines: []string{speak("assistant", "b", `[{"type":"text","text":"A"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}},{"type":"text","text":"B"}]`)},
		events: []string{
			`0:0 message/assistant "A\nB" id=b,0`,
			`0:1 tool_call/assistant "{\"command\":\"ls\"}" id=b,1 call="t1" tool=Bash args=body structured={"id":"t1","input":{"command":"ls"},"name":"Bash","type":"tool_use"} command=ls`,
		},
	}, {
		name:  "T03 sorted arguments",
		lines: []string{speak("assistant", "c", `[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"/w/a.go","old_string":"x","new_string":"y"}}]`)},
		events: []string{
			`0:0 tool_call/assistant "{\"file_path\":\"/w/a.go\",\"new_string\":\"y\",\"old_string\":\"x\"}" id=c,0 call="t2" tool=Edit args=body structured={"id":"t2","input":{"file_path":"/w/a.go","new_string":"y","old_string":"x"},"name":"Edit","type":"tool_use"} file=/w/a.go`,
		},
	}, {
		name:  "T04 string result",
		lines: []string{`{"type":"user","uuid":"d","sessionId":"S1","toolUseResult":{"stdout":"ok","stderr":"","interrupted":false},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok","is_error":false}]}}`},
		events: []string{
			`0:0 tool_output/tool "ok" id=d,0 call="t1" text=body whole=structured structured={"content":"ok","is_error":false,"tool_use_id":"t1","type":"tool_result"}`,
		},
	}, {
		name:  "T05 blocks with an image",
		lines: []string{speak("user", "e", `[{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"l1"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"text","text":"l2"}]}]`)},
		events: []string{
			`0:0 tool_output/tool "l1\nl2" id=e,0 call="t2" text=absent whole=structured structured={"content":[{"text":"l1","type":"text"},{"source":{"data":{"bytes":4,"omitted":"binary"},"media_type":"image/png","type":"base64"},"type":"image"},{"text":"l2","type":"text"}],"tool_use_id":"t2","type":"tool_result"}`,
		},
	}, {
		name:  "T06 two results",
		lines: []string{speak("user", "f", `[{"type":"tool_result","tool_use_id":"x","content":"1"},{"type":"tool_result","tool_use_id":"y","content":"2","is_error":true}]`)},
		events: []string{
			`0:0 tool_output/tool "1" id=f,0 call="x" text=body whole=structured structured={"content":"1","tool_use_id":"x","type":"tool_result"}`,
			`0:1 tool_output/tool "2" id=f,1 call="y" status=error text=body whole=structured structured={"content":"2","is_error":true,"tool_use_id":"y","type":"tool_result"}`,
		},
	}, {
		name:  "T07 result and interruption",
		lines: []string{speak("user", "g", `[{"type":"tool_result","tool_use_id":"x","content":"no","is_error":true},{"type":"text","text":"[Request interrupted by user for tool use]"}]`)},
		events: []string{
			`0:0 tool_output/tool "no" id=g,0 call="x" status=error text=body whole=structured structured={"content":"no","is_error":true,"tool_use_id":"x","type":"tool_result"}`,
			`0:1 notice/user "[Request interrupted by user for tool use]" id=g,1`,
		},
	}, {
		name:  "T08 result without a block",
		lines: []string{`{"type":"user","uuid":"h","sessionId":"S1","toolUseResult":"Error: denied","message":{"role":"user","content":"x"}}`},
		events: []string{
			`0:0 tool_output/tool "Error: denied" id=h,0 structured={"message":{"content":"x","role":"user"},"sessionId":"S1","toolUseResult":"Error: denied","type":"user","uuid":"h"}`,
			`0:1 message/user "x" id=h,1`,
		},
	}, {
		name: "a result without a block keeps nothing private",
		lines: []string{
			`{"type":"user","uuid":"h","toolUseResult":{"filePath":"/w/p","file":{"base64":"QUJD"}},"sourceToolUseID":"t7","message":{"role":"user","content":[{"type":"thinking","thinking":"hush"},{"type":"image","source":{"type":"base64","data":"Zm9v"}},{"type":"text","text":"seen"}]}}`,
			`{"type":"user","uuid":"h2","toolUseResult":"done","sourceToolUseID":"t8"}`,
		},
		events: []string{
			`0:0 tool_output/tool "tool_output" id=h,0 call="t7" text=absent whole=structured structured={"message":{"content":[{"text":"seen","type":"text"}],"role":"user"},"sourceToolUseID":"t7","toolUseResult":{"file":{"base64":{"bytes":4,"omitted":"binary"}},"filePath":"/w/p"},"type":"user","uuid":"h"} file=/w/p`,
			`0:1 message/user "seen" id=h,1`,
			`1:0 tool_output/tool "done" id=h2,0 call="t8" text=body whole=structured structured={"sourceToolUseID":"t8","toolUseResult":"done","type":"user","uuid":"h2"}`,
		},
	}, {
		name:  "T31 joined MCP name",
		lines: []string{speak("assistant", "aa", `[{"type":"tool_use","id":"t3","name":"mcp__a__b__c","input":{}}]`)},
		events: []string{
			`0:0 tool_call/assistant "{}" id=aa,0 call="t3" tool=mcp__a__b__c args=body structured={"id":"t3","input":{},"name":"mcp__a__b__c","type":"tool_use"}`,
		},
	}, {
		name: "MCP identity of a block that names the three",
		lines: []string{
			speak("assistant", "a1", `[{"type":"tool_use","id":"t1","name":"n","protocol":"mcp","server":"s","tool":"u","input":{}}]`),
			speak("assistant", "a2", `[{"type":"tool_use","id":"t2","name":"n","protocol":"mcp","server":"s"}]`),
			speak("assistant", "a3", `[{"type":"tool_use","id":"t3","name":"n","protocol":"mcp","server":"s","server":"z","tool":"u"}]`),
		},
		events: []string{
			`0:0 tool_call/assistant "{}" id=a1,0 call="t1" tool=u mcp:s args=body structured={"id":"t1","input":{},"name":"n","protocol":"mcp","server":"s","tool":"u","type":"tool_use"}`,
			`1:0 tool_call/assistant "tool_call" id=a2,0 call="t2" tool=n args=absent structured={"id":"t2","name":"n","protocol":"mcp","server":"s","type":"tool_use"}`,
			`2:0 tool_call/assistant "tool_call" id=a3,0 call="t3" tool=n args=absent`,
		},
	}, {
		name:  "T32 call without id",
		lines: []string{speak("assistant", "ab", `[{"type":"tool_use","name":"Read","input":{"file_path":"/w/c"}}]`)},
		events: []string{
			`0:0 tool_call/assistant "{\"file_path\":\"/w/c\"}" id=ab,0 structured={"input":{"file_path":"/w/c"},"name":"Read","type":"tool_use"} file=/w/c`,
		},
	}, {
		name:  "T33 white space in a call id",
		lines: []string{`{"type":"user","uuid":"ac","sessionId":"S1","message":{"content":[{"type":"tool_result","tool_use_id":" c1 ","content":" x "}]}}`},
		events: []string{
			`0:0 tool_output/tool " x " id=ac,0 call=" c1 " text=body whole=structured structured={"content":" x ","tool_use_id":" c1 ","type":"tool_result"}`,
		},
	}, {
		name: "T44 server tool",
		lines: []string{speak("assistant", "ag", `[`+
			`{"type":"server_tool_use","id":"srv1","name":"web_search","input":{"query":"q"}},`+
			`{"type":"web_search_tool_result","tool_use_id":"srv1","content":[{"type":"web_search_result","title":"T","url":"https://e","encrypted_content":"zz"}]},`+
			`{"type":"text","text":"found"},`+
			`{"type":"server_tool_use","id":"srv2","name":"web_fetch","input":{}},`+
			`{"type":"web_fetch_tool_result","tool_use_id":"srv2","content":{"type":"web_fetch_result","url":"https://f","content":{"type":"document","title":"D","source":{"type":"text","data":"plain"}}}}]`)},
		events: []string{
			`0:0 message/assistant "found" id=ag,0`,
			`0:1 tool_call/assistant "{\"query\":\"q\"}" id=ag,1 call="srv1" tool=web_search args=body structured={"id":"srv1","input":{"query":"q"},"name":"web_search","type":"server_tool_use"}`,
			`0:2 tool_call/assistant "{}" id=ag,2 call="srv2" tool=web_fetch args=body structured={"id":"srv2","input":{},"name":"web_fetch","type":"server_tool_use"}`,
			`0:3 tool_output/tool "T\nhttps://e" id=ag,3 call="srv1" text=absent whole=structured structured={"content":[{"title":"T","type":"web_search_result","url":"https://e"}],"tool_use_id":"srv1","type":"web_search_tool_result"} url=https://e`,
			`0:4 tool_output/tool "https://f\nD" id=ag,4 call="srv2" text=absent whole=structured structured={"content":{"content":{"source":{"data":"plain","type":"text"},"title":"D","type":"document"},"type":"web_fetch_result","url":"https://f"},"tool_use_id":"srv2","type":"web_fetch_tool_result"} url=https://f`,
		},
	}, {
		name: "T46 repeated keys",
		lines: []string{
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"one","content":"two"}]}}`,
			`{"type":"user","uuid":"q1","message":{"content":[{"type":"tool_result","tool_use_id":"c","tool_use_id":"d","content":"one"}]}}`,
			`{"type":"user","uuid":"q2","message":{"content":[{"type":"tool_result","type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"p"},{"type":"text","text":"q"}]}]}}`,
			speak("assistant", "q3", `[{"type":"tool_use","id":"t","name":"N","input":{"path":"/a"},"input":{"path":"/b"}}]`),
			speak("assistant", "q4", `[{"type":"tool_use","id":"t","name":"N","name":"M","input":{"path":"/a"}}]`),
			speak("assistant", "q5", `[{"type":"tool_use","id":"t","name":"N","input":{"result":1,"output":2,"result":3}}]`),
		},
		events: []string{
			`0:0 tool_output/tool "tool_output" id=#,0 call="c" text=unavailable whole=unavailable`,
			`1:0 tool_output/tool "one" id=q1,0`,
			`2:0 tool_output/tool "p\nq" id=q2,0 call="c" text=absent whole=unavailable`,
			`3:0 tool_call/assistant "tool_call" id=q3,0 call="t" tool=N args=unavailable file=/a file=/b`,
			`4:0 tool_call/assistant "{\"path\":\"/a\"}" id=q4,0 file=/a`,
			`5:0 tool_call/assistant "{\"output\":2,\"result\":3}" id=q5,0 call="t" tool=N args=body structured={"id":"t","input":{"output":2,"result":3},"name":"N","type":"tool_use"}`,
		},
	}, {
		name: "T51 version control in the client's result",
		lines: []string{
			`{"type":"user","uuid":"d","sessionId":"S1","toolUseResult":{"stdout":"ok","gitOperation":{"commit":{"sha":"abc1234","kind":"committed"},"pr":{"number":104,"url":"https://h/o/r/pull/104","action":"created"}}},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok","is_error":false},{"type":"tool_result","tool_use_id":"t2","content":"later"}]}}`,
			`{"type":"user","uuid":"d2","sessionId":"S1","toolUseResult":{"gitOperation":{"branch":{"ref":"topic","action":"rebased"},"push":{"branch":"main"}}},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":"up"}]}}`,
		},
		events: []string{
			`0:0 tool_output/tool "ok" id=d,0 call="t1" text=body whole=structured structured={"content":"ok","gitOperation":{"commit":{"kind":"committed","sha":"abc1234"},"pr":{"action":"created","number":104,"url":"https://h/o/r/pull/104"}},"is_error":false,"tool_use_id":"t1","type":"tool_result"} commit=abc1234 pull_request=104 url=https://h/o/r/pull/104`,
			`0:1 tool_output/tool "later" id=d,1 call="t2" text=body whole=structured structured={"content":"later","tool_use_id":"t2","type":"tool_result"}`,
			`1:0 tool_output/tool "up" id=d2,0 call="t3" text=body whole=structured structured={"content":"up","gitOperation":{"branch":{"action":"rebased","ref":"topic"},"push":{"branch":"main"}},"tool_use_id":"t3","type":"tool_result"} branch=main branch=topic`,
		},
	}, {
		name: "escapes in a result are decoded once",
		lines: []string{
			speak("user", "e1", `[{"type":"tool_result","tool_use_id":"x","content":"a\tb\u0041\/\n\"q\""}]`),
		},
		events: []string{
			`0:0 tool_output/tool "a\tbA/\n\"q\"" id=e1,0 call="x" text=body whole=structured structured={"content":"a\tbA/\n\"q\"","tool_use_id":"x","type":"tool_result"}`,
		},
	}, {
		name: "results inside results come first",
		lines: []string{
			speak("user", "n", `[{"type":"tool_result","tool_use_id":"outer","content":[{"type":"tool_result","tool_use_id":"inner","content":"in"},{"type":"text","text":"out"}]}]`),
		},
		events: []string{
			`0:0 tool_output/tool "in" id=n,0 call="inner" text=body whole=structured structured={"content":"in","tool_use_id":"inner","type":"tool_result"}`,
			`0:1 tool_output/tool "out" id=n,1 call="outer" text=absent whole=structured structured={"content":[{"content":"in","tool_use_id":"inner","type":"tool_result"},{"text":"out","type":"text"}],"tool_use_id":"outer","type":"tool_result"}`,
		},
	}, {
		name: "odd inputs",
		lines: []string{
			speak("assistant", "o1", `[{"type":"tool_use","id":"t","name":"N","input":"free \"text\""}]`),
			speak("assistant", "o2", `[{"type":"tool_use","id":"t","name":"N","input":null}]`),
			speak("user", "o3", `[{"type":"tool_result","toolUseId":"t","content":[]}]`),
			speak("user", "o4", `[{"type":"tool_result","tool_use_id":"t","content":""}]`),
		},
		events: []string{
			`0:0 tool_call/assistant "\"free \\\"text\\\"\"" id=o1,0 call="t" tool=N args=body structured={"id":"t","input":"free \"text\"","name":"N","type":"tool_use"}`,
			`1:0 tool_call/assistant "tool_call" id=o2,0 call="t" tool=N args=absent structured={"id":"t","input":null,"name":"N","type":"tool_use"}`,
			`2:0 tool_output/tool "tool_output" id=o3,0 call="t" text=absent whole=structured structured={"content":[],"toolUseId":"t","type":"tool_result"}`,
			`3:0 tool_output/tool "" id=o4,0 call="t" text=body whole=structured structured={"content":"","tool_use_id":"t","type":"tool_result"}`,
		},
	}})
}
