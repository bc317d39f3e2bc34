package claude

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

func TestEventIDs(t *testing.T) {
	part := `{"type":"assistant","uuid":"s1","sessionId":"S1","requestId":"r1","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"part"}],"usage":{"output_tokens":1}}}`
	call := `{"type":"assistant","uuid":"s2","sessionId":"S1","requestId":"r1","message":{"id":"msg_1","role":"assistant","content":[{"type":"tool_use","id":"t9","name":"Read","input":{"file_path":"/w/b"}}],"usage":{"output_tokens":9}}}`
	callEvent := func(id string) string {
		return `1:0 tool_call/assistant "{\"file_path\":\"/w/b\"}" id=` + id + ` call="t9" tool=Read args=body structured={"id":"t9","input":{"file_path":"/w/b"},"name":"Read","type":"tool_use"} file=/w/b`
	}
	bare := func(s string) string {
		return strings.NewReplacer(`"uuid":"s1",`, "", `"uuid":"s2",`, "").Replace(s)
	}
	first := `0:0 message/user " hi " id=a,0 at=1767323045678 session_cwd=/w branch=main`
	runCases(t, []mapCase{{
		name:    "T20 repeated uuid",
		lines:   []string{line1, line1, user("a", "other words")},
		events:  []string{first},
		ignored: 2,
		title:   "hi",
	}, {
		name:    "a repeated uuid of an ignored record, and one of a rejected record",
		lines:   []string{user("a", " "), user("a", "late"), `{"type":"user","uuid":"b","message":1}`, user("b", "first good")},
		events:  []string{`3:0 message/user "first good" id=b,0`},
		reject:  []string{"line 3 user: message is no object"},
		ignored: 2,
		title:   "first good",
	}, {
		name:   "T21 one message on two lines",
		lines:  []string{part, call},
		events: []string{`0:0 message/assistant "part" id=s1,0`, callEvent("s2,0")},
	}, {
		name:   "T22 the same without uuids",
		lines:  []string{bare(part), bare(call), bare(call)},
		events: []string{`0:0 message/assistant "part" id=msg_1,0`, callEvent("#,0"), "2" + strings.TrimPrefix(callEvent("#,1"), "1")},
	}, {
		name: "an id is used once, whoever has it first",
		lines: []string{
			`{"type":"assistant","message":{"id":"x","role":"assistant","content":"by message"}}`,
			user("x", "by uuid"),
			user("z", "by uuid first"),
			`{"type":"assistant","message":{"id":"z","role":"assistant","content":"by message later"}}`,
		},
		events: []string{
			`0:0 message/assistant "by message" id=x,0`,
			`1:0 message/user "by uuid" id=#,0`,
			`2:0 message/user "by uuid first" id=z,0`,
			`3:0 message/assistant "by message later" id=#,0`,
		},
		title: "by uuid",
	}, {
		name: "results without a uuid never take the id of their message",
		lines: []string{
			`{"type":"user","message":{"id":"m","content":[{"type":"tool_result","tool_use_id":"t","content":"r"},{"type":"text","text":"beside"}]}}`,
			`{"type":"user","uuid":"","toolUseResult":"r","message":{"id":"m"}}`,
		},
		events: []string{
			`0:0 tool_output/tool "r" id=#,0 call="t" text=body whole=structured structured={"content":"r","tool_use_id":"t","type":"tool_result"}`,
			`0:1 message/user "beside" id=#,0`,
			`1:0 tool_output/tool "r" id=#,0 structured={"message":{"id":"m"},"toolUseResult":"r","type":"user","uuid":""}`,
		},
	}, {
		name: "summaries count the times they were written",
		lines: []string{
			`{"type":"summary","summary":"same","leafUuid":"1"}`, `{"type":"summary","summary":"same","leafUuid":"2"}`, `{"type":"summary","uuid":"u","summary":"other"}`,
		},
		events: []string{`0:0 summary "same" id=#,0`, `1:0 summary "same" id=#,1`, `2:0 summary "other" id=#,0`},
	}, {
		name:   "records of a damaged line count their events through",
		lines:  []string{speak("assistant", "1", `[{"type":"text","text":"t"},{"type":"tool_use"}]`) + speak("assistant", "2", `"u"`)},
		events: []string{`0:0 message/assistant "t" id=1,0`, `0:1 tool_call/assistant "tool_call" id=1,1 structured={"type":"tool_use"}`, `0:2 message/assistant "u" id=2,0`},
	}})
}

// TestContentDigest holds the layout of content digests against hand-written JSON.
func TestContentDigest(t *testing.T) {
	bodyDigest := func(kind byte, role, body string) string {
		b := append([]byte("ctx-claude-nativepath-body-v1\x00"), kind)
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(role))), role...)
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(body))), body...)
		var numbers []string
		for _, n := range sha256.Sum256(b) {
			numbers = append(numbers, fmt.Sprint(n))
		}
		return "[" + strings.Join(numbers, ",") + "]"
	}
	for _, c := range []struct {
		name, record string
		want         []string // JSON of each event
	}{{
		"summary",
		`{"type":"summary","summary":"Fix \"login\"","leafUuid":"z"}`,
		[]string{`[null,"summary",null,null,"Fix \"login\"",` + bodyDigest(1, "", `Fix "login"`) + `,null,null,null]`},
	}, {
		"text and call",
		`{"type":"assistant","parentUuid":"p","timestamp":"2026-01-02T03:04:05Z","cwd":"/w","message":{"role":"assistant","content":[{"type":"text","text":"Look"},{"type":"tool_use","name":"Read","id":"t","input":{"path":"/b","a":1}}]}}`,
		[]string{
			`["p","message","assistant","2026-01-02T03:04:05Z","Look",` + bodyDigest(0, "assistant", "Look") + `,null,null,null]`,
			`["p","tool_call","assistant","2026-01-02T03:04:05Z","{\"a\":1,\"path\":\"/b\"}",` + bodyDigest(3, "assistant", `{"a":1,"path":"/b"}`) +
				`,null,{"call_id":"t","tool_name":"Read","input":{"a":1,"path":"/b"},"native_content":{"id":"t","input":{"a":1,"path":"/b"},"name":"Read","type":"tool_use"},"protocol":null,"server":null,"explicit_tool":null,"call_id_unavailable":false,"tool_name_unavailable":false,"input_unavailable":false,"mcp_identity_unavailable":false,"native_content_unavailable":false,"literal_facts":[{"kind":"file","value":"/b"}]},null]`,
		},
	}, {
		"result, with and without what the client adds",
		`{"type":"user","timestamp":1767323045678,"toolUseResult":{"filePath":"/c","gitOperation":{"commit":{"sha":"abc"}}},"message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`,
		[]string{
			`[null,"tool_output","tool",1767323045678,"ok",` + bodyDigest(4, "tool", "ok") +
				`,null,null,{"call_id":"t","native_content":{"content":"ok","tool_use_id":"t","type":"tool_result"},"call_id_unavailable":false,"content_unavailable":false,"native_content_unavailable":false,"literal_facts":[{"kind":"file","value":"/c"}]}]`,
		},
	}, {
		"result with a repeated key",
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"one","content":"two"}]}}`,
		[]string{
			`[null,"tool_output","tool",null,"tool_output",` + bodyDigest(4, "tool", "tool_output") +
				`,null,null,{"call_id":"c","native_content":null,"call_id_unavailable":false,"content_unavailable":true,"native_content_unavailable":true,"literal_facts":[]}]`,
		},
	}, {
		"pull request",
		`{"type":"pr-link","prUrl":"https://h/1","prNumber":1}`,
		[]string{`[null,"notice",null,null,"https://h/1",` + bodyDigest(2, "", "https://h/1") + `,null,null,null]`},
	}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t)
			tr.write("-w/S1.jsonl", c.record+"\n")
			keys := &keyRecorder{}
			s := &scanner{}
			req := sdkplugin.ScanRequest{Route: tr.route(), Source: tr.only(), Mode: sdkplugin.ModeFull}
			if err := s.scan(t.Context(), &req, keys); err != nil {
				t.Fatal(err)
			}
			if len(keys.keys) != len(c.want) {
				t.Fatalf("%d events, want %d", len(keys.keys), len(c.want))
			}
			for i, j := range c.want {
				frame := binary.BigEndian.AppendUint64([]byte("ctx-claude-fallback-event-id-v1\x00"), uint64(len(j)))
				digest := sha256.Sum256(append(frame, j...))
				want := sdkplugin.Composite("claude.event",
					sdkplugin.Utf8("claude.fallback-event.v1"), sdkplugin.Bytes(digest[:]), sdkplugin.U64(0))
				if keys.keys[i] != string(want) {
					t.Errorf("event %d: key %s\n         want %s\nof %s\nmade of %s", i,
						hex.EncodeToString([]byte(keys.keys[i])), hex.EncodeToString(want), j, s.mapper.digester.json)
				}
			}
		})
	}
}

type keyRecorder struct {
	recorder
	keys []string
}

func (k *keyRecorder) Event(e *sdkplugin.Event) error {
	k.keys = append(k.keys, string(e.Key))
	return k.recorder.Event(e)
}

// TestSessionKeys holds the binary keys against the encoding in plain bytes.
func TestSessionKeys(t *testing.T) {
	text := func(s string) string {
		return "\x02" + string(binary.BigEndian.AppendUint64(nil, uint64(len(s)))) + s
	}
	namespace := func(s string) string {
		return "\x01" + string(binary.BigEndian.AppendUint64(nil, uint64(len(s)))) + s
	}
	for _, c := range []struct {
		key     sessionKey
		typed   string
		display string
	}{
		{sessionKey{root: "R"}, text("R") + "\x00\x00", "R"},
		{sessionKey{root: "R", agent: "agent-a"}, text("R") + "\x00" + text("agent-a"), "R/subagents/agent-a"},
		{sessionKey{root: "R", run: "wf", agent: "agent-a"}, text("R") + text("wf") + text("agent-a"), "R/subagents/workflows/wf/agent-a"},
	} {
		list := "\x07\x00\x00\x00\x03" + c.typed
		if got := string(c.key.anchor()); got != namespace("claude.session-leaf")+list {
			t.Errorf("%+v: anchor %q", c.key, got)
		}
		if got := string(c.key.ref(true).Key); got != namespace("claude.session")+list {
			t.Errorf("%+v: key %q", c.key, got)
		}
		if got := c.key.display(); got != c.display {
			t.Errorf("%+v: shown as %q", c.key, got)
		}
		back, err := keyOfAnchor(c.key.anchor())
		if err != nil || back != c.key {
			t.Errorf("%+v: read back as %+v, %v", c.key, back, err)
		}
	}
	for _, bad := range []string{"", "x", string(sessionKey{root: "R"}.anchor()) + "x", namespace("claude.session-leaf") + "\x07\x00\x00\x00\x03\x00\x00\x00",
		namespace("claude.session-leaf") + "\x07\x00\x00\x00\x03" + text("R") + "\x02\xff\xff\xff\xff\xff\xff\xff\xffx"} {
		if key, err := keyOfAnchor(sdkplugin.Anchor(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, key)
		}
	}
}

// TestKnownIDs derives public ids as the host does, for native keys with known answers.
func TestKnownIDs(t *testing.T) {
	lp := func(dst, b []byte) []byte { return append(binary.BigEndian.AppendUint64(dst, uint64(len(b))), b...) }
	digest := func(kind byte, fields ...[]byte) []byte {
		b := append([]byte("ctx.identity\x00\x00\x01"), kind)
		b = binary.BigEndian.AppendUint16(b, uint16(len(fields)))
		for i, f := range fields {
			b = lp(binary.BigEndian.AppendUint16(b, uint16(i+1)), f)
		}
		sum := sha256.Sum256(b)
		return sum[:]
	}
	id := func(digest []byte) string {
		b := append([]byte(nil), digest[:16]...)
		b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	const root = "11111111-2222-4333-8444-555555555555"
	for _, c := range []struct {
		key             sessionKey
		source, session string
		events          []string // of the record u-1
	}{
		{sessionKey{"claude-root", "claude-workflow", "claude-agent"},
			"4c29621c-26f8-8848-87b6-61c7d67bdbf5", "a66bd1e0-2491-8189-a158-e7d05c8149c6", nil},
		{sessionKey{root: root}, "a109c728-96b2-872c-bd60-777c877f6dfd", "9074deb2-0f79-8e34-85a3-710c1eedb598",
			[]string{"87f74418-311b-8748-8ac6-2d3fdd6942e4", "6e99a54e-1224-88b9-a870-5a1a34fa2617"}},
		{sessionKey{root: root, agent: "agent-a1b2c3"}, "1e0a78e3-cc5c-863f-aedb-f0b0f3804751", "27a583b3-bf4c-8449-8063-f7dd8e265f84",
			[]string{"560f9797-e9ac-8c58-b649-b5a218a60910"}},
		{sessionKey{root, "wf_1", "agent-a1b2c3"}, "812120bd-7dc0-80c9-bb94-d730d7d71557", "b8d7513d-129a-800a-b988-12dca3c2b5c3", nil},
	} {
		source := digest(1, []byte(providerID), c.key.anchor())
		session := digest(2, source, []byte(sessionKind), c.key.ref(true).Key)
		if id(source) != c.source || id(session) != c.session {
			t.Errorf("%+v: source %s, session %s", c.key, id(source), id(session))
		}
		for i, want := range c.events {
			var m mapper
			if got := id(digest(3, source, session, []byte(eventKind), m.pairKey([]byte("u-1"), i))); got != want {
				t.Errorf("%+v: event %d is %s, want %s", c.key, i, got, want)
			}
		}
	}
}
