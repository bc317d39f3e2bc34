package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

func TestFraming(t *testing.T) {
	ok := user("m", "ok")
	okEvent := func(line int) string { return fmt.Sprintf(`%d:0 message/user "ok" id=m,0`, line) }
	runCases(t, []mapCase{{
		name:   "T15 malformed line",
		lines:  []string{`{"type":`, ok},
		events: []string{okEvent(1)},
		reject: []string{"line 1 damaged at 0: not one JSON object"},
		title:  "ok",
	}, {
		name:   "T16 partial tail",
		raw:    user("n", "tail"),
		events: nil,
	}, {
		name:    "T17 CRLF, blank line, byte order mark",
		raw:     "\xEF\xBB\xBF" + user("o", "x") + "\r\n\r\n \t\n" + user("p", "y") + "\r\n",
		events:  []string{`0:0 message/user "x" id=o,0`, `3:0 message/user "y" id=p,0`},
		ignored: 2,
		title:   "x",
	}, {
		name:    "NUL bytes",
		raw:     strings.Repeat("\x00", 30) + "\n\x00\x00" + ok + "\x00\x00\n" + "\x00\x00",
		events:  []string{okEvent(1)},
		ignored: 1,
		title:   "ok",
	}, {
		name:   "T36 message is no object",
		lines:  []string{`{"type":"user","uuid":"ae","sessionId":"S1","message":"hi"}`},
		reject: []string{"line 1 user: message is no object"},
	}, {
		name:   "T37 not UTF-8",
		lines:  []string{strings.Replace(line1, " hi ", " h\xffi ", 1), ok},
		events: []string{okEvent(1)},
		reject: []string{"line 1: not UTF-8"},
		title:  "ok",
	}, {
		name:   "T39 line over the limit",
		lines:  []string{user("g1", "first"), user("big", strings.Repeat("x", jsonl.MaxLine)), ok},
		events: []string{`0:0 message/user "first" id=g1,0`, okEvent(2)},
		reject: []string{"line 2: line over 16 MiB"},
		title:  "first",
	}, {
		name:  "T49 two records on a line",
		lines: []string{line1 + user("a2", "two")},
		events: []string{
			`0:0 message/user " hi " id=a,0 at=1767323045678 session_cwd=/w branch=main`,
			`0:1 message/user "two" id=a2,0`,
		},
		title: "hi",
	}, {
		name:   "T50 stub and record on a line",
		lines:  []string{`{"type":"pr-link","prNu` + user("b2", "x")},
		events: []string{`0:0 message/user "x" id=b2,0`},
		reject: []string{"line 1 damaged at 0: not one JSON object"},
		title:  "x",
	}, {
		name:    "record, torn bytes, records, and values that are no objects count once",
		lines:   []string{ok, user("a", "1") + `,[1]{"type":"user","uu{"type":"mode","mode":"plan"}` + user("c", "2") + `42`},
		events:  []string{okEvent(0), `1:0 message/user "1" id=a,0`, `1:1 message/user "2" id=c,0`},
		reject:  []string{fmt.Sprintf("line 2 damaged at %d: not one JSON object", len(ok)+1+len(user("a", "1")))},
		ignored: 1,
		title:   "ok",
	}, {
		name:   "objects of other kinds are not taken from a damaged line",
		lines:  []string{`{"torn {"type":"user","uuid":"x","message":{"content":"no session id"}}`, `{"torn {"type":"message","content":"x"}`, ok},
		events: []string{okEvent(2)},
		reject: []string{"line 1 damaged at 0: not one JSON object", "line 2 damaged at 72: not one JSON object"},
		title:  "ok",
	}, {
		name:   "raw control character",
		lines:  []string{strings.Replace(line1, " hi ", "a\tb", 1), ok},
		events: []string{okEvent(1)},
		reject: []string{"line 1 damaged at 0: not one JSON object"},
		title:  "ok",
	}, {
		name:   "nested too deep",
		lines:  []string{speak("user", "d", strings.Repeat("[", 130)+strings.Repeat("]", 130)), ok},
		events: []string{okEvent(1)},
		reject: []string{"line 1 damaged at 0: not one JSON object"},
		title:  "ok",
	}})
}

func TestTypeChecks(t *testing.T) {
	long := strings.Repeat("x", maxField)
	longest, longer := strings.Repeat("i", 64<<10-9), strings.Repeat("i", 64<<10-2)
	var cases []mapCase
	for _, bad := range []struct{ record, detail string }{
		{`{"type":1,"message":{"content":"x"}}`, "type is no short string"},
		{`{"type":"user","uuid":{},"message":{"content":"x"}}`, "user: uuid is no short string"},
		{`{"type":"user","uuid":"` + long + `","message":{"content":"x"}}`, "user: uuid is no short string"},
		{`{"type":"mode","sessionId":[1]}`, "mode: sessionId is no short string"},
		{`{"type":"user","role":true,"message":{"content":"x"}}`, "user: role is no short string"},
		{`{"type":"user","timestamp":{},"message":{"content":"x"}}`, "user: timestamp is no short string or number"},
		{`{"type":"summary","summary":["x"]}`, "summary: summary is no string"},
		{`{"type":"user","message":{"id":5,"content":"x"}}`, "user: message.id is no short string"},
		{`{"type":"user","message":{"type":[],"content":"x"}}`, "user: message.type is no short string"},
		{`{"type":"user","message":{"role":7,"content":"x"}}`, "user: message.role is no short string"},
		{`{"type":"user","message":{"content":[{"type":{}}]}}`, "user: block type is no short string"},
		{`{"type":"user","message":{"content":[{"type":"text","id":5,"text":"x"}]}}`, "user: block id is no short string"},
		{`{"type":"assistant","message":{"content":[{"type":"tool_use","name":[]}]}}`, "assistant: block name is no short string"},
		{`{"type":"assistant","message":{"content":[{"type":"text","text":5}]}}`, "assistant: block text is no string"},
		{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":5}]}}`, "user: call id is no short string"},
		{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + strings.Repeat("x", maxCallID) + `"}]}}`, "user: call id is no short string"},
	} {
		detail := bad.detail
		if !strings.Contains(detail, ": ") {
			detail = ": " + detail
		} else {
			detail = " " + detail
		}
		cases = append(cases, mapCase{name: bad.detail, lines: []string{bad.record}, reject: []string{"line 1" + detail}})
	}
	cases = append(cases, mapCase{
		name: "bad optional fields are dropped",
		lines: []string{
			`{"type":"user","uuid":"a","cwd":5,"version":[],"gitBranch":{},"parentUuid":1,"message":{"content":"kept"}}`,
			`{"type":"user","uuid":"b","cwd":"` + long + `","message":null,"content":"kept too"}`,
		},
		events: []string{`0:0 message/user "kept" id=a,0`, `1:0 message/user "kept too" id=b,0`},
		title:  "kept",
	}, mapCase{
		name: "the longest call ids, and longer ones that no key can hold",
		lines: []string{
			speak("assistant", "a", `[{"type":"tool_use","id":"`+longest+`","name":"N"},{"type":"server_tool_use","id":"`+longer+`","name":"N"}]`),
			speak("user", "b", `[{"type":"tool_result","tool_use_id":"`+longest+`","is_error":true},{"type":"tool_result","toolUseId":"`+longer+`"}]`),
		},
		events: []string{
			`0:0 tool_call/assistant "tool_call" id=a,0 call="` + longest + `" tool=N args=absent structured={"id":"` + longest + `","name":"N","type":"tool_use"}`,
			`0:1 tool_call/assistant "tool_call" id=a,1 structured={"id":"` + longer + `","name":"N","type":"server_tool_use"}`,
			`1:0 tool_output/tool "tool_output" id=b,0 call="` + longest + `" status=error text=absent whole=structured structured={"is_error":true,"tool_use_id":"` + longest + `","type":"tool_result"}`,
			`1:1 tool_output/tool "tool_output" id=b,1 structured={"toolUseId":"` + longer + `","type":"tool_result"}`,
		},
	}, mapCase{
		name: "call ids may be long",
		lines: []string{
			speak("assistant", "a", `[{"type":"tool_use","id":"`+strings.Repeat("i", 5000)+`","name":"N"}]`),
		},
		events: []string{
			`0:0 tool_call/assistant "tool_call" id=a,0 call="` + strings.Repeat("i", 5000) + `" tool=N args=absent structured={"id":"` + strings.Repeat("i", 5000) + `","name":"N","type":"tool_use"}`,
		},
	})
	runCases(t, cases)
}

// TestTooManyEvents has a line of one call more than a line may give, and the ordinary one behind it.
func TestTooManyEvents(t *testing.T) {
	many := `[` + strings.Repeat(`{"type":"tool_use"},`, 65536) + `{"type":"tool_use"}]`
	(&mapCase{
		lines:  []string{speak("assistant", "a", many), user("m", "ok")},
		events: []string{`1:0 message/user "ok" id=m,0`},
		reject: []string{"line 1 assistant: more events than one line may give"},
		title:  "ok",
	}).run(t)
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		`"2026-01-02T03:04:05.678Z"`:         "1767323045678",
		`"2026-01-02 03:04:05.678z"`:         "1767323045678",
		`"2026-01-02t03:04:05.6789999Z"`:     "1767323045678",
		`"2026-01-24T23:30:00.123456+05:30"`: "1769277600123",
		`"2026-01-02T03:04:05-00:30"`:        "1767324845000",
		`"1969-12-31T23:59:59.5Z"`:           "-500",
		`"2024-02-29T00:00:00Z"`:             "1709164800000",
		`1767323045678`:                      "1767323045678",
		`1767323045`:                         "1767323045000",
		`1767323045.678`:                     "1767323045678",
		`999999999`:                          "",
		`"2025-02-29T00:00:00Z"`:             "",
		`"2026-13-01T00:00:00Z"`:             "",
		`"2026-01-02T03:04:05"`:              "",
		`"2026-01-02T03:04:05.Z"`:            "",
		`"2026-01-02T24:04:05Z"`:             "",
		`"2026-01-02T03:04:05+5:30"`:         "",
		`"yesterday"`:                        "",
		`null`:                               "",
		`1e300`:                              "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			event := `0:0 message/user "n" id=ad,0`
			if want != "" {
				event += " at=" + want
			}
			(&mapCase{
				lines:  []string{`{"type":"user","uuid":"ad","sessionId":"S1","timestamp":` + text + `,"message":{"role":"user","content":"n"}}`},
				events: []string{event},
				title:  "n",
			}).run(t)
		})
	}
}
