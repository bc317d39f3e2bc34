package codex

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

func (h *testHome) threads() []string {
	h.t.Helper()
	var all []string
	_, found := h.sources()
	for _, s := range found {
		all = append(all, s.ProviderSessionID)
	}
	return all
}

func TestCopies(t *testing.T) { // 21
	t.Parallel()
	h := newHome(t)
	raw := lines(meta0(u1), say("user", "raw"))
	h.write(fileOf(u1), raw)
	h.write(fileOf(u1)+".zst", compressed(lines(meta0(u1), say("user", "zst"))))
	read := func(want ...string) []string {
		t.Helper()
		got := h.full(u1)
		var texts []string
		for _, e := range got.events {
			texts = append(texts, strings.Fields(e)[2])
		}
		if !slices.Equal(texts, want) || len(h.threads()) != 1 {
			t.Errorf("events %q of threads %q, want %q", got.events, h.threads(), want)
		}
		return got.ids
	}
	id := read(`"raw"`)
	h.write(fileOf(u1)+".zst", compressed(lines(meta0(u1), say("user", "raw"), say("user", "more"))))
	if got := read(`"raw"`, `"more"`); got[0] != id[0] {
		t.Errorf("ids %q, want %q first", got, id)
	}
	h.write(archivedDir+"/"+strings.TrimPrefix(fileOf(u1), "2026/01/02/"), raw)
	h.remove(fileOf(u1))
	read(`"raw"`, `"more"`)
	h.write(fileOf(u1)+".zst", "no zstandard")
	read(`"raw"`)
	h.remove(fileOf(u1) + ".zst")
	if got := read(`"raw"`); !slices.Equal(got, id) {
		t.Errorf("archived: ids %q, want %q", got, id)
	}
}

func TestCompressed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	late := strings.Repeat(line("world_state", "{}")+"\n", 39)
	h.write(fileOf(u1)+".zst", compressed(late)+compressed(lines(meta0(u1), say("user", "two frames"))+"unfinished"))
	if got := h.full(u1); !slices.Equal(got.events, []string{`40 message/user "two frames"`}) || len(got.ending.Frontier) > 0 {
		t.Errorf("events %q, frontier %q", got.events, got.ending.Frontier)
	}
	bomb := compressed(lines(meta0(u1), strings.Repeat(" ", unpackAllowed+1<<20), say("user", "hi")))
	for name, content := range map[string]string{
		"empty": "", "no frame": "text", "no metadata": compressed(lines(say("user", "hi"))), "cut": bomb[:len(bomb)-2],
		"trailing bytes": compressed(lines(meta0(u1), say("user", "hi"))) + "x",
	} {
		h.write(fileOf(u1)+".zst", content)
		if err := h.fails(u1); err == nil || !strings.HasPrefix(err.Error(), "malformed_source") {
			t.Errorf("%s: %v", name, err)
		}
	}
	limited := &unpacked{from: strings.NewReader("12345"), left: 4}
	if _, err := limited.Read(make([]byte, 9)); err == nil {
		t.Error("more than the bound is handed out")
	}
}

func TestOwners(t *testing.T) { // 15, 17, 20 and the table of owners
	t.Parallel()
	child := meta0(u2, forkOf(u1))
	late := strings.Repeat(line("world_state", "{}")+"\n", 39)
	for _, c := range []struct {
		name, file, thread, content string
		fails                       bool
	}{
		{name: "child and parent", file: fileOf(u2), thread: u2, content: lines(child, meta0(u1))},
		{name: "parent and child", file: fileOf(u2), thread: u2, content: lines(meta0(u1), child)},
		{name: "a stranger", file: fileOf(u2), thread: u2, content: lines(child, meta0(u1), meta0(u3)), fails: true},
		{name: "a stranger behind the first lines", file: fileOf(u2), thread: u2, content: lines(child, late, meta0(u3)), fails: true},
		{name: "another thread", file: fileOf(u1), thread: u1, content: lines(meta0(u2)), fails: true},
		{name: "a repeated line that differs", file: fileOf(u2), thread: u2, content: lines(child, meta0(u2)), fails: true},
		{name: "a payload without id", file: fileOf(u1), thread: u1, content: lines(line("session_meta", "{}")), fails: true},
		{name: "an overlong parent", file: fileOf(u1), thread: u1, content: lines(meta0(u1, forkOf(strings.Repeat("x", 1025)))), fails: true},
		{name: "a name without UUID", file: "notes.jsonl", thread: u2, content: lines(meta0(u1), child)},
		{name: "a name without UUID, owner too late", file: "notes.jsonl", thread: "notes", content: late + lines(meta0(u1)), fails: true},
		{name: "two threads and a name without UUID", file: "notes.jsonl", thread: "notes", content: lines(meta0(u1), meta0(u3)), fails: true},
		{name: "a history that was cut back", file: "rollout-" + u1 + "_" + u9 + ".jsonl", thread: u1, content: lines(meta0(u1))},
		{name: "a name alone", file: fileOf(u1), thread: u1, content: lines(say("user", "x"))},
	} {
		h := newHome(t)
		h.write(c.file, c.content+lines(say("user", "hi")))
		if got := h.threads(); !slices.Equal(got, []string{c.thread}) {
			t.Errorf("%s: threads %q, want %q", c.name, got, c.thread)
			continue
		}
		if c.fails {
			if err := h.fails(c.thread); err == nil {
				t.Errorf("%s: no failure", c.name)
			}
		} else if got := h.full(c.thread); len(got.events) == 0 {
			t.Errorf("%s: no events", c.name)
		}
	}
}

func TestRelationships(t *testing.T) { // 7.1, 7.2
	t.Parallel()
	spawn := `"source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + u1 + `","depth":1,"agent_role":"explorer"}}}`
	const root, delegated, forked, resumed = sdkplugin.RelationshipRoot, sdkplugin.RelationshipDelegated, sdkplugin.RelationshipForked, sdkplugin.RelationshipResumedFrom
	const primary, subagent = sdkplugin.ScopePrimary, sdkplugin.ScopeSubagent
	for _, c := range []struct {
		members      string
		parent, tree string
		relationship sdkplugin.Relationship
		scope        sdkplugin.Scope
	}{
		{`"source":"cli"`, "", u2, root, primary},
		{`"source":{"subagent":"review"}`, "", u2, root, subagent},
		{`"source":{"custom":"x"},"forked_from_id":" "`, "", u2, root, primary},
		{spawn, u1, "", delegated, subagent},
		{spawn + `,"session_id":"` + u9 + `"`, u1, u9, delegated, subagent},
		{spawn + `,"parent_thread_id":"` + u9 + `"`, u1, "", 0, 0},
		{spawn + `,"forked_from_id":"` + u9 + `"`, u1, "", 0, 0},
		{spawn + `,"forked_from_id":"` + u1 + `"`, u1, "", delegated, subagent},
		{`"source":{"thread_spawn":{"parent_thread_id":"` + u1 + `"}}`, u1, "", delegated, subagent},
		{`"parent_thread_id":"` + u1 + `"`, u1, "", delegated, subagent},
		{`"forked_from_id":"` + u1 + `","session_id":"` + u2 + `"`, u1, "", forked, primary},
		{`"history_base":{"thread_id":"` + u1 + `"}`, u1, "", resumed, primary},
		{`"history_base":{"thread_id":"` + u9 + `"},"forked_from_id":"` + u1 + `"`, u1, "", 0, 0},
	} {
		h := newHome(t)
		h.write(fileOf(u2), lines(meta0(u2, c.members), say("user", "hi")))
		s := h.full(u2).sessions[0]
		name := func(ref *sdkplugin.SessionRef) string {
			switch {
			case ref == nil:
				return ""
			case ref.Anchor == nil:
				return u2
			}
			thread, _ := threadOf(ref.Anchor)
			return thread
		}
		if name(s.Parent) != c.parent || name(s.Root) != c.tree || s.Relationship != c.relationship || s.Scope != c.scope {
			t.Errorf("%s: parent %q root %q %v %v", c.members, name(s.Parent), name(s.Root), s.Relationship, s.Scope)
		}
	}
}

// TestInheritedPrefix is a fork that repeats its parent's history with times of its own. 38
func TestInheritedPrefix(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	later := func(s string) string { return strings.Replace(s, "2026-01-02", "2026-01-03", 1) }
	h.write(fileOf(u1), lines(meta0(u1), say("user", "q"), turn(u1, "/w"), call("c1", "shell", "x"), output("c1", "o"), say("assistant", "a")))
	h.write(fileOf(u2), lines(meta0(u2, forkOf(u1)), meta0(u1), later(say("user", "q")), later(call("c1", "shell", "x")),
		event(`{"type":"token_count"}`), later(output("c1", "o")), later(say("user", "new")), later(say("assistant", "a"))))
	parent, child := h.full(u1), h.full(u2)
	for i, e := range child.events {
		want := ""
		if i < 3 {
			want = "copy=" + u1 + ":" + parent.ids[i] + ":certified_ordered_prefix"
		}
		if _, got, _ := strings.Cut(e, " copy="); want == "" && got != "" || want != "" && "copy="+got != want {
			t.Errorf("event %q, want %q", e, want)
		}
	}
	if len(child.events) != 5 {
		t.Fatalf("events %q", child.events)
	}

	_, with := h.source(u2)
	h.add(fileOf(u1), lines(strings.Repeat(say("user", "growing")+"\n", 1000)))
	h.sources()
	_, grown := h.source(u2)
	h.add(fileOf(u1), lines(say("user", "growing")))
	if _, more := h.source(u2); !bytes.Equal(more.Observation, grown.Observation) || bytes.Equal(more.Observation, with.Observation) {
		t.Error("the growth of a big parent changes its children, or that of a small one does not")
	}
	h.remove(fileOf(u1))
	if _, without := h.source(u2); bytes.Equal(without.Observation, grown.Observation) {
		t.Error("a parent that went changes nothing")
	}
	alone := h.full(u2)
	copies := 0
	for _, e := range alone.events {
		if strings.Contains(e, "certified") {
			t.Errorf("a proof without the parent: %q", e)
		}
		if strings.Contains(e, "copy=") {
			copies++
		}
	}
	if copies != 1 { // the result, by its call id
		t.Errorf("events %q", alone.events)
	}
	// The prefix ends at the first local turn.
	h.write(fileOf(u1), lines(meta0(u1), say("user", "q"), say("user", "r")))
	h.write(fileOf(u2), lines(meta0(u2, forkOf(u1)), say("user", "q"), turn("01900001-0000-7000-8000-0000000000aa", "/w"), say("user", "r")))
	if got := h.full(u2).events; !strings.Contains(got[0], "copy=") || strings.Contains(got[1], "copy=") {
		t.Errorf("events %q", got)
	}
}

func TestTitles(t *testing.T) { // 35
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "first prompt"), event(`{"type":"thread_name_updated","thread_name":"Renamed"}`)))
	before := h.full(u1)
	_, unnamed := h.source(u1)
	h.write(titleFile, lines(`{"id":"`+u1+`","thread_name":"Name A"}`, `{"id":"`+u1+`","thread_name":"Name B"}`, `{"id":"`+u1+`","thread_name":" "}`, `torn`))
	if _, named := h.source(u1); bytes.Equal(named.Observation, unnamed.Observation) {
		t.Error("a new title does not change the observation")
	}
	after := h.more(u1, before)
	if before.title() != "Renamed" || after.title() != "Name B" || after.mode != sdkplugin.ModeAppend || len(after.events) > 0 {
		t.Errorf("titles %q, %q; mode %d, events %q", before.title(), after.title(), after.mode, after.events)
	}
}

func TestNothingIsReadTwice(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u1), lines(meta0(u1), strings.Repeat(say("user", "hi")+"\n", 5000)))
	h.sources()
	if got := h.work.BytesRead.Load(); got > probeBytes {
		t.Errorf("a listing read %d bytes", got)
	}
	p, s := h.source(u1)
	h.work.BytesRead.Store(0)
	req := h.request(s)
	if err := p.scan(context.Background(), &req, &recorder{}); err != nil {
		t.Fatal(err)
	}
	if got := h.work.BytesRead.Load(); got > s.Size+300<<10 {
		t.Errorf("a scan of %d bytes read %d", s.Size, got)
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	row := `{"session_id":"s","ts":1,"text":"x"}`
	for content, want := range map[string]string{
		meta0(u1): leafFormat, row: promptFormat, `{"id":"` + u1 + `","timestamp":"` + t0 + `","instructions":"x"}`: bareFormat,
		`{"session_id":"s","ts":1,"text":"x","timestamp":"t","type":"t","payload":{}}`: "", `{"other":1}`: "", `torn`: "",
	} {
		h := newHome(t)
		h.write("some-"+u1+".jsonl", content+"\n")
		p := newProvider(nil)
		route := sdkplugin.Route{Path: h.path("some-" + u1 + ".jsonl"), Explicit: true, Lineage: make([]byte, 32)}
		v, err := p.list(context.Background(), []sdkplugin.Route{route})
		if err != nil {
			t.Fatal(err)
		}
		source := v.found[0].source(v.routes)
		req := sdkplugin.ScanRequest{Routes: v.routes, Route: route, Source: source, Mode: sdkplugin.ModeFull}
		err = p.scan(context.Background(), &req, &recorder{})
		undecided := err != nil && strings.HasPrefix(err.Error(), "unsupported_schema")
		if got := source.Format; want != "" && got != want || undecided != (want == "") {
			t.Errorf("%s is %q, want %q; %v", content, got, want, err)
		}
	}
}
