package claude

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

var fuzzLines = []string{
	line1,
	line1 + user("a2", "two"),
	`{"torn ` + user("a2", "two"),
	`{"type":"summary","summary":"s","leafUuid":"l"}`,
	`{"type":"system","subtype":"api_error","uuid":"1","error":{"error":{"error":{"message":"m"}}}}`,
	`{"type":"attachment","uuid":"2","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"t"}]}}`,
	`{"type":"user","toolUseResult":{"filePath":"/f","gitOperation":{"pr":{"number":1}}},"message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","data":"AA"}}]}]}}`,
	`{"type":"user","toolUseResult":["x"],"sourceToolUseID":"t","message":{"content":[{"type":"thinking"},{"type":"text","text":"t"}]}}`,
	`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"N","input":{"b":1.50,"a":"\ud83d"},"input":{"path":["p"]}},{"type":"x_tool_result","content":[{"title":"T","encrypted_content":"z"}]}]}}`,
	`{"type":"user","uuid":"f","forkedFrom":{"sessionId":"P","messageUuid":"q"},"timestamp":17e8,"message":{"content":"<system-reminder>r</system-reminder> p"}}`,
	`{"type":"pr-link","prUrl":"u","prNumber":1}`,
}

// FuzzLine maps one line: nothing may panic, what is given is valid, and the records add up.
func FuzzLine(f *testing.F) {
	for _, line := range fuzzLines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		content = bytes.ReplaceAll(content, []byte("\n"), []byte(" "))
		r := &checker{t: t}
		s := &scanner{}
		s.mapper.begin(sessionKey{root: "S1"}, sidecars{}, r)
		if err := s.Line(&jsonl.Line{Ordinal: 3, Bytes: content}, &s.mapper, r); err != nil {
			t.Fatal(err)
		}
		records := s.Retained + s.Ignored + r.rejected
		if records == 0 && len(bytes.TrimSpace(content)) > 0 {
			t.Error("a line of which nothing came")
		}
		if s.Retained == 0 && len(r.events) > 0 || s.Retained > 0 && len(r.events) == 0 {
			t.Errorf("%d retained records gave %d events", s.Retained, len(r.events))
		}
	})
}

// checker is a recorder that holds every event to the contract.
type checker struct {
	recorder
	t    *testing.T
	keys map[string]bool
}

func (c *checker) Event(e *sdkplugin.Event) error {
	if c.keys == nil {
		c.keys = map[string]bool{}
	}
	if c.keys[string(e.Key)] {
		c.t.Errorf("key %s is used twice", renderKey(e.Key))
	}
	c.keys[string(e.Key)] = true
	if e.Sequence>>16 != 3 || !e.Body.Present || e.Type == "" {
		c.t.Errorf("event %s", renderEvent(e))
	}
	if body := renderValue(e, e.Body); !utf8.ValidString(body) {
		c.t.Errorf("body %q is not UTF-8", body)
	}
	for _, span := range e.Body.Spans {
		piece := e.Structured[span.Offset : span.Offset+span.Length]
		if _, err := canonical.Unquote(nil, piece); span.Quoted && err != nil || !canonical.IsCanonical(piece) {
			c.t.Errorf("piece %s of %s", piece, e.Structured)
		}
	}
	if (e.Invocation != nil || e.Result != nil) && e.CallID.Validate() != nil {
		c.t.Errorf("call id %q", e.CallID)
	}
	if e.Copy != nil && (e.Copy.EventKey.Validate() != nil || e.Copy.Session.Key.Validate() != nil) {
		c.t.Error("broken copy claim")
	}
	for _, fact := range e.Facts {
		if fact.Value == "" || !utf8.ValidString(fact.Value) || len(fact.Value) > sdkplugin.MaxString {
			c.t.Errorf("fact %q", fact.Value)
		}
	}
	if bytes.Contains(e.Structured, []byte(`"encrypted_content":`)) && bytes.Contains(e.Structured, []byte(`_tool_result"`)) &&
		!bytes.Contains(e.Structured, []byte(`"tool_result"`)) && e.Type == sdkplugin.ToolOutput && e.Result != nil {
		c.t.Errorf("encrypted content is stored: %s", e.Structured)
	}
	return c.recorder.Event(e)
}

// FuzzAppend reads a file in one go and in two steps.
func FuzzAppend(f *testing.F) {
	f.Add([]byte(strings.Join(fuzzLines, "\n")+"\n"), uint16(200), false)
	f.Add([]byte(eventful), uint16(500), true)
	f.Add([]byte("\xef\xbb\xbf"+line1+"\r\n\x00\x00"+line1+"\n\n{}"), uint16(1), false)
	f.Fuzz(func(t *testing.T, content []byte, cut uint16, rebuild bool) {
		at := min(int(cut), len(content))
		tr := newTree(t)
		const locator = "-w/S1.jsonl"
		tr.write(locator, string(content[:at]))
		before := tr.full(tr.only())
		tr.append(locator, string(content[at:]))
		source := tr.only()
		req := appendRequest(tr.route(), source, before)
		if rebuild {
			req.Frontier = stateless(t, req.Frontier)
		}
		if err := sameEnd(tr.full(source), tr.scan(req), before); err != nil {
			t.Error(err)
		}
	})
}

// FuzzState: any state is refused or read as what it is written as.
func FuzzState(f *testing.F) {
	s := new(state).ready()
	s.Titles.addCustom([]byte("title"))
	s.Titles.addSummary([]byte("leaf"), []byte("summary"))
	s.Occurrences.Next(fingerprint{1})
	s.Links[fingerprintOf([]byte("link"))] = true
	seed, err := json.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"Links":{"00":true}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		var first, again state
		if json.Unmarshal(src, &first) != nil {
			return
		}
		written, err := json.Marshal(first.ready())
		if err == nil {
			err = json.Unmarshal(written, &again)
		}
		if stable, failed := json.Marshal(again.ready()); err != nil || failed != nil || !bytes.Equal(stable, written) {
			t.Errorf("%q is not stable: %v, %v", written, err, failed)
		}
	})
}

// FuzzCollect: every uuid that a record can have is collected, or its key is known to be odd.
func FuzzCollect(f *testing.F) {
	for _, line := range fuzzLines {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"uuid"
: "a\\", "\u0075uid":"b\u0061\""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.ReplaceAll(line, []byte("\n"), []byte(" "))
		found := fingerprints{}
		found.collect(line)
		var doc canonical.Doc
		_, _, _ = transcript.Records(&doc, line, known, func(record canonical.Value) error {
			if v := record.Get("uuid"); v.IsString() && plainKey(record, v) && !found[fingerprintOf(v.Str())] {
				t.Errorf("%q is not found", v.Str())
			}
			return nil
		})
	})
}
