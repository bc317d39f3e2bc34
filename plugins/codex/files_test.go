package codex

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
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

func TestWindows(t *testing.T) {
	t.Parallel()
	const big = 2 * smallWindow
	text := lines(meta0(u1), say("user", "hi"))
	skippable := "\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
	for _, c := range []struct {
		name, content string
		first, all    uint64
	}{
		{"nothing", "", 0, 0},
		{"no frame", "text", 0, 0},
		{"a frame", windowed(text, 1<<20), 1 << 20, 1 << 20},
		{"a bigger second frame", skippable + windowed(text, 1<<20) + windowed(strings.Repeat("a", 1<<20), big), 1 << 20, big},
		{"a smaller second frame", windowed(text, big) + windowed(text, 1<<20), big, big},
		{"cut in a block", windowed(text, big)[:20], big, big},
		{"cut in a skippable frame", skippable[:9], 0, 0},
	} {
		first, all := windowOf(strings.NewReader(c.content), true), windowOf(strings.NewReader(c.content), false)
		if first != c.first || all != c.all {
			t.Errorf("%s: %d and %d, want %d and %d", c.name, first, all, c.first, c.all)
		}
	}

	// A child and its parent cannot both have a big window: the copies of the child are not proven then.
	h := newHome(t)
	child := lines(meta0(u2, forkOf(u1)), say("user", "hi"))
	for _, c := range []struct {
		child, parent int
		claims        bool
	}{{1 << 20, big, true}, {big, 1 << 20, true}, {big, big, false}} {
		h.write(fileOf(u1)+".zst", windowed(text, c.parent))
		h.write(fileOf(u2)+".zst", windowed(child, c.child))
		if got := h.full(u2); len(got.events) != 1 || strings.Contains(got.events[0], "copy=") != c.claims {
			t.Errorf("windows %d and %d: events %q", c.child, c.parent, got.events)
		}
	}
	var scans sync.WaitGroup
	for range 12 {
		scans.Go(func() { h.full(u2) })
	}
	scans.Wait()
	h.write(fileOf(u2)+".zst", windowed(child, 2*maxWindow))
	if err := h.fails(u2); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a window over the limit: %v", err)
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
			thread, _ := ref.Anchor.Native(sessionNamespace, 1)
			return thread[0]
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

// TestMalformedParent has a parent whose rollout turns out to belong to nobody behind what the child repeats.
func TestMalformedParent(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	late := strings.Repeat(line("world_state", "{}")+"\n", headLines)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "a"))+late+lines(meta0(u3), say("user", "b")))
	h.write(fileOf(u2), lines(meta0(u2, forkOf(u1)), say("user", "a"), say("user", "b")))
	if got := h.full(u2).events; len(got) != 2 || strings.Contains(got[1], "copy=") {
		t.Errorf("events %q", got)
	}
}

// TestParentOfCopiedLine appears after a child whose own session_meta line is the second one.
func TestParentOfCopiedLine(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u2), lines(meta0(u1), meta0(u2, forkOf(u1)), say("user", "a")))
	_, before := h.source(u2)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "a")))
	if _, after := h.source(u2); bytes.Equal(before.Observation, after.Observation) {
		t.Error("a parent that came changes nothing")
	}
}

// TestTreeOfTrees has a directory below a tree that is called as a tree.
func TestTreeOfTrees(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(sessionsDir+"/"+fileOf(u1), lines(meta0(u1)))
	h.write(fileOf(u2), lines(meta0(u2)))
	if got := h.threads(); !slices.Equal(got, []string{u2, u1}) {
		t.Errorf("threads %q", got)
	}
}

// TestUnreadableWithoutName: what a file without a thread in its name gave earlier is not gone because it cannot be read now.
func TestUnreadableWithoutName(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	v := &inventory{Listing: listing.Listing{Ctx: t.Context()}, routes: h.routes()}
	h.write("notes.jsonl", lines(meta0(u1)))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if !v.rollout(0, "notes.jsonl", jsonl.Observation{}) || v.found[0].thread != u1 {
		t.Errorf("found %+v", v.found)
	}
	if v.Ctx = cancelled; v.rollout(0, "notes.jsonl", jsonl.Observation{}) {
		t.Error("a file that was not read counts as listed")
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
	h.write(titleFile, strings.Repeat("\n", maxTitleFile)+lines(`{"id":"`+u1+`","thread_name":"Name C"}`))
	if got := h.full(u1).title(); got != "Name C" {
		t.Errorf("title %q at the end of a long index", got)
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
		p := &provider{}
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
