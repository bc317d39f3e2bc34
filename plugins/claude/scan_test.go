package claude

import (
	"bytes"
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

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// eventful is a file with everything that an append must remember.
var eventful = strings.Join([]string{
	`{"type":"summary","summary":"same","leafUuid":"u3"}`,
	`{"type":"user","uuid":"u1","sessionId":"OLD","timestamp":"2026-01-02T03:04:05Z","cwd":"/w","gitBranch":"main","version":"1","message":{"content":"<command-name>/x</command-name>"}}`,
	`{"type":"assistant","message":{"id":"m1","model":"one","content":"by message id"}}`,
	`{"type":"assistant","message":{"id":"m1","model":"two","content":"by content"}}`,
	``,
	`{"type":"pr-link","prUrl":"https://h/1"}`,
	`{"torn` + user("u2", "prompt"),
	`{"type":"custom-title","customTitle":"wt"}`,
	`{"type":"worktree-state","worktreeSession":{"worktreeName":"wt","worktreePath":"/wt"}}`,
	`{"type":"summary","summary":"same","leafUuid":"zz"}`,
	user("u1", "again"),
	`{"type":"pr-link","prUrl":"https://h/1"}`,
	`{"type":"assistant","message":{"id":"m1","content":"by content"}}`,
	user("m1", "uuid is a message id"),
	`{"type":"ai-title","aiTitle":""}`,
	`{"type":"relocated","relocatedCwd":"/r"}`,
	speak("user", "u3", `[{"type":"tool_result","tool_use_id":"t","content":"r"}]`),
}, "\n") + "\n"

// sameEnd tells what an append left other than a full scan.
func sameEnd(full, appended *recorder, before *recorder) error {
	events := append(slices.Clone(before.events), appended.events...)
	rejections := append(slices.Clone(before.rejections), appended.rejections...)
	switch {
	case appended.mode != sdkplugin.ModeAppend:
		return fmt.Errorf("mode %d", appended.mode)
	case !slices.Equal(events, full.events):
		return fmt.Errorf("events\n got %q\nwant %q", events, full.events)
	case !slices.Equal(rejections, full.rejections):
		return fmt.Errorf("rejections %q, want %q", rejections, full.rejections)
	case full.retained > 0 && full.renderSession() != appended.renderSession():
		return fmt.Errorf("session %s, want %s", appended.renderSession(), full.renderSession())
	case !reflect.DeepEqual(full.ending, appended.ending):
		return fmt.Errorf("ending\n got %+v\nwant %+v", appended.ending, full.ending)
	}
	return nil
}

// TestAppendEqualsFull cuts one file at every byte.
func TestAppendEqualsFull(t *testing.T) {
	tr := newTree(t)
	const locator = "-w/S1.jsonl"
	for cut := range len(eventful) + 1 {
		tr.write(locator, eventful[:cut])
		before := tr.full(tr.only())
		tr.append(locator, eventful[cut:])
		source := tr.only()
		appended := tr.more(source, before)
		total := sdkplugin.Counts{
			Retained: before.retained + appended.retained, Ignored: before.ignored + appended.ignored,
			Rejected: before.rejected + appended.rejected,
		}
		full := tr.full(source)
		if err := sameEnd(full, appended, before); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if total.Retained != full.retained || total.Ignored != full.ignored || total.Rejected != full.rejected {
			t.Fatalf("cut at %d: counts %+v, want %d %d %d", cut, total, full.retained, full.ignored, full.rejected)
		}
	}
}

// TestRebuiltState appends behind a frontier that has no room for the state.
func TestRebuiltState(t *testing.T) {
	tr := newTree(t)
	const locator = "-w/S1.jsonl"
	cut := strings.Index(eventful, `{"type":"summary","summary":"same","leafUuid":"zz"}`)
	tr.write(locator, eventful[:cut])
	before := tr.full(tr.only())
	tr.append(locator, eventful[cut:])
	source := tr.only()
	full := tr.full(source)

	req := appendRequest(tr.route(), source, before)
	req.Frontier = stateless(t, req.Frontier)
	if err := sameEnd(full, tr.scan(req), before); err != nil {
		t.Error(err)
	}

	req.ContentDigest = bytes.Repeat([]byte{1}, 32)
	if got := tr.scan(req); got.mode != sdkplugin.ModeFull || !slices.Equal(got.events, full.events) {
		t.Errorf("another prefix: mode %d, events %q", got.mode, got.events)
	}
}

// TestLargeState has more records than a frontier can hold.
func TestLargeState(t *testing.T) {
	tr := newTree(t)
	const locator, records = "-w/S1.jsonl", 9000
	var b strings.Builder
	for i := range records {
		b.WriteString(user(fmt.Sprint("u", i), "text") + "\n")
	}
	tr.write(locator, b.String())
	before := tr.full(tr.only())
	if n := len(before.ending.Frontier); n > 1000 {
		t.Errorf("frontier of %d bytes", n)
	}
	tr.append(locator, user("u5", "repeated")+"\n"+user("new", "text")+"\n")
	source := tr.only()
	appended := tr.more(source, before)
	if err := sameEnd(tr.full(source), appended, before); err != nil {
		t.Error(err)
	}
	if len(appended.events) != 1 || appended.ignored != 1 {
		t.Errorf("%d events, %d ignored", len(appended.events), appended.ignored)
	}
}

// TestWorkOfAppend: the prefix is read for its digest and parsed by nobody.
func TestWorkOfAppend(t *testing.T) {
	tr := newTree(t)
	const locator = "-w/S1.jsonl"
	var b strings.Builder
	for i := range 2000 {
		b.WriteString(user(fmt.Sprint("u", i), "text") + "\n")
	}
	tr.write(locator, b.String())
	before := tr.full(tr.only())
	for i := range 10 {
		tr.append(locator, user(fmt.Sprint("new", i), "text")+"\n")
	}
	source := tr.only()
	s := &scanner{work: &jsonl.Work{}}
	req := appendRequest(tr.route(), source, before)
	r := &recorder{}
	if err := s.scan(t.Context(), &req, r); err != nil {
		t.Fatal(err)
	}
	if s.Parsed != 10 || len(r.events) != 10 || r.mode != sdkplugin.ModeAppend {
		t.Errorf("parsed %d lines for %d events in mode %d", s.Parsed, len(r.events), r.mode)
	}
	if read := s.work.BytesRead.Load(); read != source.Size {
		t.Errorf("read %d bytes of a file of %d", read, source.Size)
	}
	if opened := s.work.FilesOpened.Load(); opened != 1 {
		t.Errorf("opened %d files", opened)
	}
}

// TestUUIDsOfThePrefix: the prefix is parsed only when a new record has a uuid that may be one of it, and then it decides.
func TestUUIDsOfThePrefix(t *testing.T) {
	const locator = "-w/S1.jsonl"
	prefix := strings.Join([]string{
		user("plain", "x"),
		`{"type":"user", "uuid" : "es\u0063\"aped", "message":{"content":"x"}}`,
		`{"type":"user","uuid":"outer","toolUseResult":{"uuid":"nested"},"message":{"content":"\"uuid\":\"text\""}}`,
		`{"type":"user","uuid":"rejected","message":"no object"}`,
		`{"type":"mode","uuid":"ignored"}`,
		`{"torn` + user("recovered", "x"),
		`{"type":"assistant","message":{"id":"mid","content":"by message id"}}`,
	}, "\n") + "\n"
	odd := `{"type":"user","uu\u0069d":"odd","message":{"content":"x"}}` + "\n"
	for _, c := range []struct {
		prefix, uuid string
		events       int
		parsed       uint64
	}{
		{prefix, "new", 1, 1}, {prefix, "text", 1, 1},
		{prefix, "plain", 0, 8}, {prefix, `es\u0063\"aped`, 0, 8}, {prefix, "recovered", 0, 8},
		{prefix, "nested", 1, 8}, {prefix, "rejected", 1, 8}, {prefix, "ignored", 1, 8}, {prefix, "mid", 1, 1},
		{prefix + odd, "odd", 0, 9}, {prefix + odd, "new", 1, 9},
	} {
		tr := newTree(t)
		tr.write(locator, c.prefix)
		before := tr.full(tr.only())
		tr.append(locator, `{"type":"user","uuid":"`+c.uuid+`","message":{"content":"y"}}`+"\n")
		source := tr.only()
		s, r := &scanner{}, &recorder{}
		req := appendRequest(tr.route(), source, before)
		if err := s.scan(t.Context(), &req, r); err != nil {
			t.Fatal(err)
		}
		if err := sameEnd(tr.full(source), r, before); err != nil {
			t.Errorf("%s: %v", c.uuid, err)
		}
		if len(r.events) != c.events || s.Parsed != c.parsed {
			t.Errorf("%s: %d events from %d parsed lines, want %d from %d", c.uuid, len(r.events), s.Parsed, c.events, c.parsed)
		}
	}
}

// TestFrontierSize: whatever a file holds, its frontier leaves the host room for its own part.
func TestFrontierSize(t *testing.T) {
	for name, line := range map[string]func(i int) string{
		"without ids": func(i int) string { return fmt.Sprintf(`{"type":"user","message":{"content":"text %d"}}`, i) },
		"message ids": func(i int) string { return fmt.Sprintf(`{"type":"user","message":{"id":"m%d","content":"text"}}`, i) },
		"models": func(i int) string {
			return fmt.Sprintf(`{"type":"assistant","message":{"model":"%d%s","content":"text"}}`, i, strings.Repeat("x", 4000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t)
			const locator = "-w/S1.jsonl"
			var b strings.Builder
			for i := range 1200 {
				b.WriteString(line(i) + "\n")
				if i > 60 && name == "models" {
					break
				}
			}
			tr.write(locator, b.String())
			before := tr.full(tr.only())
			if n := len(before.ending.Frontier); n > 48<<10 {
				t.Errorf("frontier of %d bytes", n)
			}
			tr.append(locator, line(5)+"\n")
			source := tr.only()
			if err := sameEnd(tr.full(source), tr.more(source, before), before); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLateSidecar: a sidecar that names another parent makes an append a full scan; one that does not is taken as it is.
func TestLateSidecar(t *testing.T) {
	tr := newTree(t)
	const locator, sidecar = "-w/S1/subagents/agent-b.jsonl", "-w/S1/subagents/agent-b.meta.json"
	tr.write(locator, user("1", "x")+"\n")
	before := tr.full(tr.only())
	for _, step := range []struct {
		meta string
		mode sdkplugin.Mode
		want string
	}{
		{`{"agentType":"Explore","description":"d"}`, sdkplugin.ModeAppend, "S1/subagents/agent-b delegated parent=S1 root=S1 subagent"},
		{`{"parentAgentId":"a"}`, sdkplugin.ModeFull, "S1/subagents/agent-b delegated parent=S1/subagents/agent-a root=S1 subagent"},
		{`{"parentAgentId":"agent-a","description":"d"}`, sdkplugin.ModeAppend, "S1/subagents/agent-b delegated parent=S1/subagents/agent-a root=S1 subagent"},
		{`{"parentAgentId":"b"}`, sdkplugin.ModeFull, "S1/subagents/agent-b delegated parent=S1 root=S1 subagent"},
	} {
		tr.write(sidecar, step.meta)
		got := tr.more(tr.only(), before)
		if got.mode != step.mode || got.renderSession() != step.want {
			t.Errorf("%s: mode %d, session %s", step.meta, got.mode, got.renderSession())
		}
		if bytes.Equal(got.ending.Observation, before.ending.Observation) {
			t.Errorf("%s: the observation is the same", step.meta)
		}
		if step.mode == sdkplugin.ModeAppend {
			got.retained = before.retained
		}
		before = got
	}
}

// TestRewrites: everything but growth behind the same prefix of the same file is read from the start.
func TestRewrites(t *testing.T) {
	const locator = "-w/S1.jsonl"
	lines := []string{user("r1", "line one") + "\n", user("r2", "line two") + "\n", user("r3", "line three") + "\n"}
	for name, change := range map[string]func(tr *tree, req *sdkplugin.ScanRequest){
		"T43 cut and continued": func(tr *tree, _ *sdkplugin.ScanRequest) {
			tr.write(locator, lines[0]+user("r4", strings.Repeat("long ", 100))+"\n")
		},
		"cut": func(tr *tree, _ *sdkplugin.ScanRequest) { tr.write(locator, lines[0]) },
		"another file": func(tr *tree, _ *sdkplugin.ScanRequest) {
			path := filepath.Join(tr.root, locator)
			if err := os.Rename(path, path+".old"); err != nil {
				tr.t.Fatal(err)
			}
			tr.write(locator, strings.Join(lines, ""))
		},
		"foreign frontier": func(_ *tree, req *sdkplugin.ScanRequest) { req.Frontier = []byte("something else") },
		"cut frontier": func(_ *tree, req *sdkplugin.ScanRequest) {
			req.Frontier = req.Frontier[:len(req.Frontier)-1]
		},
		"no digest": func(_ *tree, req *sdkplugin.ScanRequest) { req.ContentDigest = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t)
			tr.write(locator, strings.Join(lines, ""))
			before := tr.full(tr.only())
			req := appendRequest(tr.route(), tr.only(), before)
			change(tr, &req)
			req.Source = tr.only()
			got, want := tr.scan(req), tr.full(req.Source)
			if got.mode != sdkplugin.ModeFull || !slices.Equal(got.events, want.events) || !reflect.DeepEqual(got.ending, want.ending) {
				t.Errorf("mode %d, events %q, want %q", got.mode, got.events, want.events)
			}
			if !strings.HasPrefix(got.events[0], `0:0 message/user "line one" id=r1,0`) {
				t.Errorf("the first event has become %s", got.events[0])
			}
		})
	}
}

func TestPartialTail(t *testing.T) {
	tr := newTree(t)
	const locator = "-w/S1.jsonl"
	tr.write(locator, user("n", "tail"))
	before := tr.full(tr.only())
	if before.ending.CertifiedBytes != 0 || before.counts() != (sdkplugin.Counts{}) || len(before.sessions) != 0 {
		t.Errorf("the unfinished line counts: %+v", before.counts())
	}
	tr.append(locator, "\n")
	after := tr.more(tr.only(), before)
	compareLines(t, "events", after.events, []string{`0:0 message/user "tail" id=n,0`})
	if again := tr.more(tr.only(), after); len(again.events) != 0 || again.ending.CertifiedBytes != after.ending.CertifiedBytes {
		t.Errorf("a second append finds %q", again.events)
	}
}

// TestSizeLimit shrinks the limit of one event.
func TestSizeLimit(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, record, want string
		limit              int
	}{
		{"call", speak("assistant", "a", `[{"type":"tool_use","id":"t","name":"N","input":{"path":"`+long+`"}}]`),
			`0:0 tool_call/assistant "{\"path\":\"` + long + `\"}" id=a,0 call="t" tool=N args=omitted(size_limit,311) file=` + long, 320},
		{"call with a body over the limit", speak("assistant", "a", `[{"type":"tool_use","id":"t","name":"N","input":[1e15,1e15]}]`),
			`0:0 tool_call/assistant "tool_call" id=a,0 call="t" tool=N args=omitted(size_limit,39)`, 20},
		{"result", speak("user", "a", `[{"type":"tool_result","tool_use_id":"t","content":"`+long+`"}]`),
			`0:0 tool_output/tool "` + long + `" id=a,0 call="t" text=omitted(size_limit,300) whole=omitted(size_limit,353)`, 320},
		{"result of blocks", speak("user", "a", `[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"`+long+`"}]}]`),
			`0:0 tool_output/tool "` + long + `" id=a,0 call="t" text=absent whole=omitted(size_limit,378)`, 320},
		{"within", speak("user", "a", `[{"type":"tool_result","tool_use_id":"t","content":"ok"}]`),
			`0:0 tool_output/tool "ok" id=a,0 call="t" text=body whole=structured structured={"content":"ok","tool_use_id":"t","type":"tool_result"}`, 320},
		{"text", user("a", long), "", 299},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var m mapper
			r := &recorder{}
			m.begin(sessionKey{root: "S1"}, sidecars{}, r)
			m.maxText = c.limit
			outcome := mapOne(t, &m, c.record)
			if c.want == "" {
				if outcome.Rejected == "" || len(r.events) > 0 {
					t.Errorf("%+v, events %q", outcome, r.events)
				}
				return
			}
			compareLines(t, "events", r.events, []string{c.want})
		})
	}
}

func mapOne(t testing.TB, m *mapper, record string) transcript.Outcome {
	t.Helper()
	var s scanner
	if err := s.Doc.Parse([]byte(record)); err != nil {
		t.Fatal(err)
	}
	outcome, err := m.record(s.Doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// TestManyParts has more texts in one result than pieces are looked for.
func TestManyParts(t *testing.T) {
	var texts, want []string
	for i := range 2 * transcript.MaxPieces {
		texts = append(texts, fmt.Sprintf(`{"type":"text","text":"part %d"}`, i))
		want = append(want, fmt.Sprintf("part %d", i))
	}
	r := &recorder{}
	var m mapper
	m.begin(sessionKey{root: "S1"}, sidecars{}, r)
	mapOne(t, &m, speak("user", "a", `[{"type":"tool_result","tool_use_id":"t","content":[`+strings.Join(texts, ",")+`]}]`))
	if head := fmt.Sprintf("0:0 tool_output/tool %q id=a,0", strings.Join(want, "\n")); !strings.HasPrefix(r.events[0], head) {
		t.Errorf("event %s", r.events[0])
	}
}

func TestScanFailures(t *testing.T) {
	tr := newTree(t)
	tr.write("-w/S1.jsonl", line1+"\n")
	source := tr.only()
	scan := func(ctx context.Context, source sdkplugin.Source, out sink) error {
		req := sdkplugin.ScanRequest{Route: tr.route(), Source: source, Mode: sdkplugin.ModeFull}
		return new(scanner).scan(ctx, &req, out)
	}
	var failure *sdkplugin.Failure
	foreign := source
	foreign.Anchor = sdkplugin.Anchor("x")
	if err := scan(t.Context(), foreign, &recorder{}); !errors.As(err, &failure) || failure.Class != sdkplugin.Internal {
		t.Errorf("foreign anchor: %v", err)
	}
	var file *jsonl.Failure
	gone := source
	gone.Locator = "-w/S2.jsonl"
	if err := scan(t.Context(), gone, &recorder{}); !errors.As(err, &file) || file.Class != jsonl.Vanished {
		t.Errorf("missing file: %v", err)
	}
	path := filepath.Join(tr.root, "-w/S1.jsonl")
	replaced := &recorder{cancel: func() { _ = os.Remove(path) }}
	if err := scan(t.Context(), source, replaced); !errors.As(err, &file) || file.Class != jsonl.Vanished || replaced.ended {
		t.Errorf("file removed during the scan: %v", err)
	}
	tr.write("-w/S1.jsonl", strings.Repeat("\n", 3*transcript.PatienceLines)+line1+"\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := scan(ctx, tr.only(), &recorder{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled scan: %v", err)
	}
}

// TestReusedMemory reads different files with one scanner and compares with fresh ones.
func TestReusedMemory(t *testing.T) {
	tr := newTree(t)
	tr.write("-w/A.jsonl", eventful)
	tr.write("-w/B.jsonl", line1+"\n"+user("u1", "b")+"\n"+`{"type":"summary","summary":"same"}`+"\n")
	tr.write("-w/C.jsonl", `{"type":"assistant","message":{"id":"m1","content":"c"}}`+"\n")
	shared := &scanner{}
	for range 2 {
		for _, source := range tr.sources() {
			req := sdkplugin.ScanRequest{Route: tr.route(), Source: source, Mode: sdkplugin.ModeFull}
			got, want := &recorder{}, &recorder{}
			if err := shared.scan(t.Context(), &req, got); err != nil {
				t.Fatal(err)
			}
			if err := new(scanner).scan(t.Context(), &req, want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s\n got %+v\nwant %+v", source.Locator, got, want)
			}
		}
	}
}

// TestRecallOfLongLines asks for the prefix again while a long line is mapped; the prefix has one too.
func TestRecallOfLongLines(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	const locator = "-w/S1.jsonl"
	long := user("u", strings.Repeat("y", 1<<20)) + "\n"
	tr.write(locator, long)
	before := tr.full(tr.only())
	tr.append(locator, long+user("v", "text")+"\n")
	source := tr.only()
	s, r := &scanner{}, &recorder{}
	req := appendRequest(tr.route(), source, before)
	if err := s.scan(t.Context(), &req, r); err != nil {
		t.Fatal(err)
	}
	if err := sameEnd(tr.full(source), r, before); err != nil || s.Parsed != 3 {
		t.Errorf("%d lines parsed: %v", s.Parsed, err)
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
