package cursor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/sqlitesnap"
)

// mapped maps bytes as a transcript and tells what it gave; the recorder checks every event.
func mapped(t *testing.T, text []byte, isPlain bool) (events, keys []string) {
	s, r := &scanner{}, &recorder{}
	s.begin("S", r)
	var err error
	if isPlain {
		err = s.plain(t.Context(), text)
	} else {
		s.Reader.ResetStream(strings.NewReader(string(text)))
		for err == nil && s.Reader.Next() {
			err = s.Line(s.Reader.Line(), &s.lines, r)
		}
		if lines := uint64(strings.Count(string(text), "\n")); s.Retained+s.Ignored+uint64(len(r.rejections)) != lines {
			t.Errorf("%d lines, %d retained, %d ignored, %d rejected", lines, s.Retained, s.Ignored, len(r.rejections))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.events, r.keys
}

func FuzzTranscript(f *testing.F) {
	f.Add([]byte(eventful), false)
	f.Add([]byte(said("assistant", `{"type":"tool_use","id":"c","name":"n","input":{"path":1e400},"input":[]}`)+"\n"), false)
	f.Add([]byte(said("user", `{"type":"tool_result","toolUseId":"\ud83d","content":[{"type":"text","text":"a"},{"type":"text"}]}`)+"\n\x00\n"), false)
	f.Add([]byte(`{"role":"tool","content":{"type":"text"},"timestamp":1e300}`+"\n[]\n"), false)
	f.Add([]byte("user:\n<timestamp>Jul 28, 2026, 12:06 PM (UTC-12:59)</timestamp>\nA:\n[Tool call] X\n  a=1\n  {\n[Tool result]\n\tx\nend"), true)
	f.Add([]byte("assistant:\n[Thinking]\n[Tool call]\n  {\"a\":[1,2]}\n[Tool call] \xff\n  k=\n  =v\r\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, isPlain bool) {
		events, keys := mapped(t, text, isPlain)
		again, sameKeys := mapped(t, text, isPlain)
		if !slices.Equal(events, again) || !slices.Equal(keys, sameKeys) {
			t.Error("two scans differ")
		}
		slices.Sort(sameKeys)
		if len(slices.Compact(sameKeys)) != len(keys) {
			t.Error("two events with one key")
		}
	})
}

func FuzzRows(f *testing.F) {
	f.Add([]byte(`{"type":2,"text":"x","toolFormerData":{"name":"n","toolCallId":"c","params":"{\"path\":1.50}","status":"error","result":{"a":1E2}},"errorDetails":{"error":{"message":"m"}}}`))
	f.Add([]byte(`{"type":"user","rawText":"<user_query>q","createdAt":"x","context":{"fileSelections":[{"uri":"p"},7]},"codeBlocks":{"uri":1}}`))
	f.Add([]byte(`{"role":"assistant","content":[{"type":"tool-call","toolCallId":7,"args":"{"},{"type":"tool-result","toolCallId":"c","experimental_content":[{"text":"x"}]},7]}`))
	f.Add([]byte(`{"role":"user","content":"x","createdAt":1e18}`))
	f.Add([]byte(root(1, 2) + "\x12\x20"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(rootList(data)); n > len(data)/blobIDBytes {
			t.Errorf("%d ids in %d bytes", n, len(data))
		}
		s, out := &scanner{found: &found{id: "S"}}, &recorder{}
		r := &s.rows
		r.begin("S", "", "", out)
		r.start()
		cell := sqlitesnap.Cell{Length: int64(len(data)), Bytes: data}
		if err := s.message(3, "id", &cell, out); err != nil {
			t.Fatal(err)
		}
		if r.parse(data) {
			b := bubble{v: r.doc.Root(), id: "b", index: 4}
			b.user = isUser(b.v.Get("type"))
			if err := r.bubble(&b); err != nil {
				t.Fatal(err)
			}
		}
		heads := headReader{byID: map[sessionID]*head{}}
		heads.composer("S", &cell, map[sessionID]sessionID{})
	})
}

// BenchmarkLines measures the mapping of transcripts, on the lines of a typical session or on the file that CTX_CURSOR_LINES names.
func BenchmarkLines(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		text.WriteString(user(fmt.Sprintf("<user_query>\nplease change part %d\n</user_query>", i)) + "\n")
		text.WriteString(said("assistant", fmt.Sprintf(`{"type":"text","text":%q},{"type":"tool_use","name":"StrReplace","input":{"path":"/w/file%d.go","old_string":%q,"new_string":%q}}`,
			strings.Repeat("The reader keeps its place. ", 20), i, strings.Repeat("\told line of code\n", 40), strings.Repeat("\tnew line of code\n", 45))) + "\n")
	}
	content := []byte(text.String())
	if path := os.Getenv("CTX_CURSOR_LINES"); path != "" {
		var err error
		if content, err = os.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
	h := newHome(b)
	if err := os.WriteFile(h.path(transcriptOf("S")), content, 0o600); err != nil {
		b.Fatal(err)
	}
	source := h.source("S")
	req := sdkplugin.ScanRequest{Routes: h.list.routes, Route: h.list.routes[0], Source: source, Mode: sdkplugin.ModeFull}
	s := &scanner{}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.scan(b.Context(), h.list, &req, discard{&recorder{}}); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{ *recorder }

func (discard) Event(*sdkplugin.Event) error { return nil }
