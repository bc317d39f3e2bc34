package codex

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

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
		c.t.Errorf("key %x is used twice", e.Key)
	}
	c.keys[string(e.Key)] = true
	if text := valueOf(e, e.Body); !utf8.ValidString(text) {
		c.t.Errorf("body %q is not UTF-8", text)
	}
	spans := append([]sdkplugin.Span{}, e.Body.Spans...)
	if e.Invocation != nil {
		spans = append(spans, e.Invocation.Arguments.Value.Spans...)
	}
	if e.Result != nil {
		spans = append(append(spans, e.Result.Text.Value.Spans...), e.Result.Structured.Value.Spans...)
	}
	for _, span := range spans {
		if piece := e.Structured[span.Offset : span.Offset+span.Length]; !canonical.IsCanonical(piece) || span.Quoted && piece[0] != '"' {
			c.t.Errorf("piece %s of %s", piece, e.Structured)
		}
	}
	return c.recorder.Event(e)
}

// FuzzLines maps any lines: nothing may panic, what is given is valid, the records add up, and a state reads back.
func FuzzLines(f *testing.F) {
	for _, c := range rolloutCases {
		if text := lines(c.lines...); len(text) < 1<<16 {
			f.Add([]byte(text))
		}
	}
	f.Add([]byte(eventful))
	f.Add([]byte(lines(meta0(u1), item(`{"type":"message","role":"user","content":[{"text":"\ud83d"},{"output_text":"\u0000"}]}`), "{\"a\":\"\xff\"}")))
	f.Fuzz(func(t *testing.T, content []byte) {
		r := &checker{t: t}
		s := &scanner{}
		owner := namedMeta(u2)
		owner.Parent, owner.Relationship = u1, sdkplugin.RelationshipForked
		owner.Bare = bytes.HasPrefix(content, []byte(`{"id"`))
		s.mapper.begin(newState(owner), r)
		s.Reader.ResetStream(bytes.NewReader(content))
		if err := s.Map(t.Context(), maxContent, &s.mapper, r); err != nil && err != error(errOwner) {
			t.Fatal(err)
		}
		if int(s.Retained) != len(r.events) {
			t.Errorf("%d retained records gave %d events", s.Retained, len(r.events))
		}
		checkState(t, s.mapper.state)
	})
}

// checkState: a state is read as what it is written as.
func checkState(t *testing.T, s *state) {
	t.Helper()
	var read state
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if again, failed := json.Marshal(&read); err != nil || failed != nil || !bytes.Equal(again, text) {
		t.Errorf("state %s is written again as %s: %v, %v", text, again, err, failed)
	}
}

// FuzzState: any bytes are refused or read as what they are written as.
func FuzzState(f *testing.F) {
	s := newState(namedMeta(u1))
	s.call([]byte("c"), true)
	s.terminal([]byte("t"))
	s.Occurrences.next(1)
	s.Occurrences.next(1)
	seed, err := json.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, src []byte) {
		var s state
		if json.Unmarshal(src, &s) == nil {
			checkState(t, &s)
		}
	})
}

// FuzzNames reads the meaning of names and of the beginnings of files.
func FuzzNames(f *testing.F) {
	f.Add(fileOf(u1), []byte(meta0(u1, forkOf(u2))))
	f.Add("rollout-"+u1+"_"+u2+".jsonl.zst", []byte(`{"id":1}`))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		stem := stemOf(name)
		if owner := expectedOwner(stem); owner != "" && !strings.HasSuffix(stem, owner) {
			t.Errorf("%q names %q", stem, owner)
		}
		var r jsonl.Reader
		var doc canonical.Doc
		r.ResetStream(bytes.NewReader(content))
		h, err := readHead(t.Context(), &r, &doc, false, maxContent)
		if err != nil {
			t.Fatal(err)
		}
		if owner, err := h.owner(stem, false); err == nil && owner.ID == "" {
			t.Error("an owner without an id")
		}
	})
}
