package cursor

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

// user is a line of a prompt; said a line of blocks.
func user(text string) string { return said("user", fmt.Sprintf(`{"type":"text","text":%q}`, text)) }

func said(role, blocks string) string {
	return fmt.Sprintf(`{"role":%q,"message":{"role":%q,"content":[%s]}}`, role, role, blocks)
}

// TestLines holds the cases of the transcript format: the lines, the events, the rejections.
func TestLines(t *testing.T) {
	long := `{"role":"user","message":{"content":[{"type":"text","text":"` + strings.Repeat("x", 17<<20) + `"}]}}`
	cases := []struct {
		name     string
		lines    string
		events   []string
		rejected []string
		ignored  uint64
	}{
		{"K01 prompt without time", `{"role":"user","message":{"content":[{"type":"text","text":"hello"}]}}`,
			[]string{`0:0 message/user "hello"`}, nil, 0},
		{"K03 equal lines", `{"timestamp":"2026-06-24T12:00:00Z","role":"user","message":{"content":[{"type":"text","text":"hello"}]}}` + "\n" +
			`{"timestamp":"2026-06-24T12:00:00Z","role":"user","message":{"content":[{"type":"text","text":"hello"}]}}`,
			[]string{`0:0 message/user @2026-06-24T12:00:00Z "hello"`, `1:0 message/user @2026-06-24T12:00:00Z "hello"`}, nil, 0},
		{"K04 two roles", `{"role":"assistant","message":{"role":"user","content":[{"type":"text","text":"x"}]}}`,
			nil, []string{"line 1: role and message.role differ"}, 0},
		{"K05 parts", `{"role":"assistant","message":{"content":[{"type":"text","text":"A"},{"type":"tool_use","name":"Read","input":{"path":"/w/a","limit":4}},{"type":"text","text":"B"}]}}`,
			[]string{`0:0 message/assistant "A"`, `0:1 tool_call/assistant "{\"input\":{\"limit\":4,\"path\":\"/w/a\"},\"name\":\"Read\",\"type\":\"tool_use\"}" file="/w/a"`, `0:2 message/assistant "B"`}, nil, 0},
		{"K06 call with an id", said("assistant", `{"type":"tool_use","id":" c1 ","name":"mcp__forge__read","input":{"command":" c ","path":" p ","url":" u "}}`),
			[]string{`0:0 tool_call/assistant "{\"id\":\" c1 \",\"input\":{\"command\":\" c \",\"path\":\" p \",\"url\":\" u \"},\"name\":\"mcp__forge__read\",\"type\":\"tool_use\"}" call( c1  mcp__forge__read {"command":" c ","path":" p ","url":" u "}) command=" c " file=" p " url=" u "`}, nil, 0},
		{"K07 result", said("user", `{"type":"tool_result","tool_use_id":"c1","content":" out "}`),
			[]string{`0:0 tool_output/tool " out " result(c1  body)`}, nil, 0},
		{"K08 result of blocks", said("user", `{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`),
			[]string{`0:0 tool_output/tool "a\nb" result(c1  body)`}, nil, 0},
		{"K09 result without text", said("user", `{"type":"tool_result","tool_use_id":"c1"}`),
			[]string{`0:0 tool_output/tool "Cursor tool result" result(c1  absent)`}, nil, 0},
		{"result that is empty", said("user", `{"type":"tool_result","tool_use_id":"c1","content":""}`) + "\n" + said("user", `{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":""}]}`),
			[]string{`0:0 tool_output/tool "" result(c1  )`, `1:0 tool_output/tool "" result(c1  )`}, nil, 0},
		{"K10 end of a turn", `{"type":"turn_ended","status":"success"}`, nil, nil, 1},
		{"K11 failed turn", `{"type":"turn_ended","status":"error","error":"User aborted request"}`,
			[]string{`0:0 notice/system "User aborted request"`}, nil, 0},
		{"K12 event of a turn", `{"timestamp":"2026-06-24T12:00:04Z","event":"turn_ended","message":{"content":[{"type":"text","text":"turn complete"}]}}`, nil, nil, 1},
		{"K13 redacted takes a number", `{"role":"assistant","message":{"content":[{"type":"text","text":"[REDACTED]"},{"type":"tool_use","name":"Shell","input":{"command":"ls"}}]}}`,
			[]string{`0:1 tool_call/assistant "{\"input\":{\"command\":\"ls\"},\"name\":\"Shell\",\"type\":\"tool_use\"}" command="ls"`}, nil, 0},
		{"K14 redacted inside", said("assistant", `{"type":"text","text":"Plan.\n\n[REDACTED]"}`),
			[]string{`0:0 message/assistant "Plan.\n\n[REDACTED]"`}, nil, 0},
		{"K15 string content", `{"role":"user","message":{"content":"plain string"}}`, []string{`0:0 message/user "plain string"`}, nil, 0},
		{"K17 stated time", user("<timestamp>Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)</timestamp>\n<user_query>\nlist\n</user_query>"),
			[]string{`0:0 message/user @2026-07-28T10:06:00Z "<timestamp>Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)</timestamp>\n<user_query>\nlist\n</user_query>"`}, nil, 0},
		{"K17 no zone", user("<timestamp>Tuesday, Jul 28, 2026, 12:06 PM</timestamp>\n<user_query>list</user_query>"),
			[]string{`0:0 message/user "<timestamp>Tuesday, Jul 28, 2026, 12:06 PM</timestamp>\n<user_query>list</user_query>"`}, nil, 0},
		{"no time for what is quoted", user("<user_query>what is <timestamp>Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)</timestamp></user_query>"),
			[]string{`0:0 message/user "<user_query>what is <timestamp>Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)</timestamp></user_query>"`}, nil, 0},
		{"K18 context", user("<user_info>\nOS: linux\n</user_info>"), []string{`0:0 notice/system "<user_info>\nOS: linux\n</user_info>"`}, nil, 0},
		{"K19 empty text", user(""), nil, nil, 1},
		{"K20 two selectors", `{"role":"user","role":"assistant","message":{"content":[]}}`, nil, []string{"line 1: a member that decides twice"}, 0},
		{"K21 input twice", said("assistant", `{"type":"tool_use","id":"c","name":"t","input":{"path":"1"},"input":{"path":"2"}}`),
			[]string{`0:0 tool_call/assistant "Cursor tool call" call(c t unavailable) file="1" file="2"`}, nil, 0},
		{"id twice", said("assistant", `{"type":"tool_use","id":"c","id":"d","name":"t","input":{}}`),
			[]string{`0:0 tool_call/assistant "Cursor tool call"`}, nil, 0},
		{"content twice", said("user", `{"type":"tool_result","tool_use_id":"c","content":"a","content":"b"}`),
			[]string{`0:0 tool_output/tool "Cursor tool result" result(c  unavailable)`}, nil, 0},
		{"K22 malformed line", user("first") + "\nnot json\n" + user("last"),
			[]string{`0:0 message/user "first"`, `2:0 message/user "last"`}, []string{"line 2: not one JSON object"}, 0},
		{"two records on one line", user("a") + user("b"), nil, []string{"line 1: not one JSON object"}, 0},
		{"K23 blank lines", "\n  \n" + user("x"), []string{`2:0 message/user "x"`}, nil, 2},
		{"K25 system", said("system", `{"type":"text","text":"rules"}`), []string{`0:0 notice/system "rules"`}, nil, 0},
		{"K26 thinking", said("assistant", `{"type":"thinking","thinking":"x"}`), nil, nil, 1},
		{"K27 call of a user", said("user", `{"type":"tool_use","name":"Read","input":{}}`), nil, nil, 1},
		{"K28 array", `[1,2]`, nil, []string{"line 1: not one JSON object"}, 0},
		{"K34 no times", `{"timestamp":"2026-06-24 12:00:00","role":"user","message":{"content":"t"}}` + "\n" + `{"timestamp":5,"role":"user","message":{"content":"t"}}`,
			[]string{`0:0 message/user "t"`, `1:0 message/user "t"`}, nil, 0},
		{"times that no clock shows", `{"timestamp":253402300800000,"role":"user","message":{"content":"t"}}` + "\n" + `{"timestamp":1e300,"role":"user","message":{"content":"t"}}` + "\n" +
			`{"timestamp":"9999-12-31T23:59:59-23:59","role":"user","message":{"content":"t"}}` + "\n" + `{"timestamp":"0000-01-01T00:00:00+23:59","role":"user","message":{"content":"t"}}`,
			[]string{`0:0 message/user "t"`, `1:0 message/user "t"`, `2:0 message/user "t"`, `3:0 message/user "t"`}, nil, 0},
		{"times as numbers", `{"timestamp":1782302400,"role":"user","message":{"content":"t"}}` + "\n" + `{"timestamp":1782302400000,"role":"user","message":{"content":"t"}}`,
			[]string{`0:0 message/user @2026-06-24T12:00:00Z "t"`, `1:0 message/user @2026-06-24T12:00:00Z "t"`}, nil, 0},
		{"K37 status of a message", `{"type":"message","status":"completed","role":"user","message":{"role":"user","content":[{"type":"text","text":"x"}]}}`,
			[]string{`0:0 message/user "x"`}, nil, 0},
		{"K38 message wins", `{"role":"user","content":[{"type":"text","text":"top"}],"message":{"role":"user","content":[{"type":"text","text":"in"}]}}`,
			[]string{`0:0 message/user "in"`}, nil, 0},
		{"top content", `{"role":"user","content":"top"}`, []string{`0:0 message/user "top"`}, nil, 0},
		{"K39 long line", long + "\n" + user("rest"), []string{`1:0 message/user "rest"`}, []string{"line 1: line over 16 MiB"}, 0},
		{"K40 byte order mark", "\xef\xbb\xbf" + user("hello"), []string{`0:0 message/user "hello"`}, nil, 0},
		{"summary", `{"type":"summary","summary":"so far"}`, []string{`0:0 summary/system "so far"`}, nil, 0},
		{"command output", said("assistant", `{"type":"command_output","text":"ok"}`), []string{`0:0 command_output/tool "ok"`}, nil, 0},
		{"record of a tool", `{"role":"tool","tool_use_id":"c","content":"done"}`, []string{`0:0 tool_output/tool "done" result(c  body)`}, nil, 0},
		{"failed result", said("user", `{"type":"tool_result","toolCallId":"c","is_error":true,"content":"no"}`),
			[]string{`0:0 tool_output/tool "no" result(c error body)`}, nil, 0},
		{"explicit MCP", said("assistant", `{"type":"tool_use","id":"c","name":"n","protocol":"mcp","server":"s","tool":"t"}`),
			[]string{`0:0 tool_call/assistant "{\"id\":\"c\",\"name\":\"n\",\"protocol\":\"mcp\",\"server\":\"s\",\"tool\":\"t\",\"type\":\"tool_use\"}" call(c t absent) mcp:s`}, nil, 0},
		{"selector that is no string", `{"role":7,"message":{}}`, nil, []string{"line 1: role, event, type or status is no short string"}, 0},
		{"type of a block twice", said("user", `{"type":"text","type":"text","text":"x"}`), nil, []string{"line 1: a block type twice"}, 0},
		{"type of a later block twice", said("user", `{"type":"text","text":"a"},{"type":"text","type":"text","text":"x"}`), nil, []string{"line 1: a block type twice"}, 0},
		{"odd but legal", `{"type":"error"}` + "\n" + `{"type":"user_message"}` + "\n" + `{"role":"user","message":{}}` + "\n" + said("user", `7,null,{"type":"image"}`), nil, nil, 4},
		{"directories and paths", said("assistant", `{"type":"tool_use","name":"S","input":{"target_directories":["a"],"relative_workspace_path":"b","target_file":"c","gitBranch":"d"}}`),
			[]string{`0:0 tool_call/assistant "{\"input\":{\"gitBranch\":\"d\",\"relative_workspace_path\":\"b\",\"target_directories\":[\"a\"],\"target_file\":\"c\"},\"name\":\"S\",\"type\":\"tool_use\"}" file="b" file="c"`}, nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.write(transcriptOf("S"), c.lines+"\n")
			r := h.scan("S", nil)
			if !slices.Equal(r.events, c.events) || !slices.Equal(r.rejections, c.rejected) || r.ignored != c.ignored {
				t.Errorf("events\n got %q\nwant %q\nrejected %q, want %q; ignored %d, want %d", r.events, c.events, r.rejections, c.rejected, r.ignored, c.ignored)
			}
		})
	}
}

// K02, K03 and the table of known ids: the digests that public ids are made of.
func TestKnownIDs(t *testing.T) {
	t.Parallel()
	for sid, want := range map[string][2]string{
		"provider-native-identity-golden":      {"992b3fb9-7785-8c1f-bad4-ec397f03f13e", "c041f64d-87e9-86ef-9057-6f3dd4cb0504"},
		"11111111-2222-4333-8444-555555555555": {"feb6cd37-a208-85d9-a34a-540d6c4f05b8", "062db264-a477-8d5d-ad37-cdf2b8fdbcc7"},
	} {
		source := identity(1, []byte(providerID), sessionID(sid).anchor())
		session := identity(2, source, []byte(sessionKind), sessionID(sid).ref(true).Key)
		if uuid(source) != want[0] || uuid(session) != want[1] {
			t.Errorf("%s: %s, %s", sid, uuid(source), uuid(session))
		}
	}
	const sid = "11111111-2222-4333-8444-555555555555"
	timed := `{"timestamp":"2026-06-24T12:00:00Z","role":"user","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}` + "\n"
	h := newHome(t)
	h.write(transcriptOf(sid), user("hello")+"\n"+timed+timed)
	want := []string{"0a1c53e7-730c-8594-a62b-c7ec74ca3554", "1f6961de-9a82-89f2-9885-ebd37e87831c", "6f25abd5-86b8-8a1a-893f-c85adfd96622"}
	source := identity(1, []byte(providerID), sessionID(sid).anchor())
	session := identity(2, source, []byte(sessionKind), sessionID(sid).ref(true).Key)
	for i, key := range h.scan(sid, nil).keys {
		if got := uuid(identity(3, source, session, []byte(eventKind), []byte(key))); got != want[i] {
			t.Errorf("event %d: %s, want %s", i, got, want[i])
		}
	}
}

// identity is the host's digest of the parts of an id.
func identity(kind byte, fields ...[]byte) []byte {
	b := append([]byte("ctx.identity\x00\x00\x01"), kind, 0, byte(len(fields)))
	for i, f := range fields {
		b = append(binary.BigEndian.AppendUint64(append(b, 0, byte(i+1)), uint64(len(f))), f...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

func uuid(digest []byte) string {
	u := slices.Clone(digest[:16])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// TestContentDigest: numbers and keys are hashed as RFC 8785 writes them.
func TestContentDigest(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`{"b":1.0,"a":1e21}`:                `{"a":1e+21,"b":1}`,
		`{"n":[1E2,-0,0.1,1e-7,5e-324]}`:    `{"n":[100,0,0.1,1e-7,5e-324]}`,
		`{"n":12345678901234567890}`:        `{"n":12345678901234567000}`,
		"{\"\U0001F600\":1,\"\uFB33\":2}":   "{\"\U0001F600\":1,\"\uFB33\":2}",
		`{"a":1,"b":[],"a":{"x":"\u00e9"}}`: `{"a":{"x":"é"},"b":[]}`,
	} {
		s := &scanner{}
		if err := s.Doc.Parse([]byte(src)); err != nil {
			t.Fatal(err)
		}
		if got := string(appendJCS(nil, s.Doc.Root())); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

func TestInvalidNames(t *testing.T) {
	t.Parallel()
	for _, id := range []sessionID{"", " ", "\xff", sessionID(strings.Repeat("x", sdkplugin.MaxTypedKey))} {
		if id.valid() {
			t.Errorf("%.20q is valid", id)
		}
	}
	if id, err := sessionID("a/subagents/b").anchor().Native(sessionNamespace, 1); err != nil || sessionID(id[0]).parent() != "a" {
		t.Error(id, err)
	}
}
