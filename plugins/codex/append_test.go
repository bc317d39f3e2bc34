package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// eventful is a rollout with everything that an append must remember.
var eventful = lines(
	meta0(u2, forkOf(u1), `"git":{"branch":"b","commit_hash":"c"}`),
	say("user", "inherited"),
	call("c1", "exec_command", `{"cmd":"ls"}`),
	output("c1", "a"),
	say("user", "inherited"),
	call("c2", "shell", `{"command":"ls"}`),
	event(`{"type":"exec_command_end","call_id":"c1","exit_code":0}`),
	turn("01900001-0000-7000-8000-0000000000aa", "/x"),
	event(`{"type":"thread_name_updated","thread_name":"Named"}`),
	call("c2", "shell", "again"),
	output("c2", "poisoned"),
	"",
	`{"torn`+say("assistant", "b"),
	say("user", "inherited"),
	output("c1", "again"),
	item(`{"type":"function_call_output","call_id":"x","call_id":"y","output":"dup"}`),
)

// parent is what the inherited prefix of eventful comes from.
var parent = lines(
	meta0(u1), strings.Replace(say("user", "inherited"), "04:05", "04:04", 1), turn(u1, "/w"), call("c1", "exec_command", `{"cmd":"ls"}`), output("c1", "other"))

// sameEnd tells what an append left other than a full scan.
func sameEnd(full, appended, before *recorder) error {
	counts := before.counts()
	counts.Retained += appended.tally.Retained
	counts.Rejected += appended.tally.Rejected
	counts.Ignored += appended.tally.Ignored
	counts.Complete += appended.counts().Complete
	switch events := append(slices.Clone(before.events), appended.events...); {
	case appended.mode != sdkplugin.ModeAppend:
		return fmt.Errorf("mode %d", appended.mode)
	case !slices.Equal(events, full.events):
		return fmt.Errorf("events\n got %q\nwant %q", events, full.events)
	case !slices.Equal(append(slices.Clone(before.ids), appended.ids...), full.ids):
		return fmt.Errorf("ids differ")
	case counts != full.counts():
		return fmt.Errorf("counts %+v, want %+v", counts, full.counts())
	case !reflect.DeepEqual(full.ending, appended.ending):
		return fmt.Errorf("ending\n got %+v\nwant %+v", appended.ending, full.ending)
	}
	return nil
}

// TestAppendEqualsFull cuts one rollout around every line end and at many places between, once with and once without the parent's rollout.
func TestAppendEqualsFull(t *testing.T) {
	for _, name := range []string{"alone", "with its parent"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			if name != "alone" {
				h.write(fileOf(u1), parent)
			}
			head := strings.Index(eventful, "\n") + 1 // the listing of a child looks at its first line
			for cut := head; cut <= len(eventful); cut++ {
				if cut%11 > 0 && !strings.Contains(eventful[cut-1:min(cut+1, len(eventful))], "\n") {
					continue
				}
				h.write(fileOf(u2), eventful[:cut])
				before := h.full(u2)
				h.add(fileOf(u2), eventful[cut:])
				appended := h.more(u2, before)
				if err := sameEnd(h.full(u2), appended, before); err != nil {
					t.Fatalf("cut at %d: %v", cut, err)
				}
			}
		})
	}
}

// TestRebuiltState appends behind a frontier that has no room for the state.
func TestRebuiltState(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	cut := strings.Index(eventful, turn("01900001-0000-7000-8000-0000000000aa", "/x"))
	h.write(fileOf(u2), eventful[:cut])
	before := h.full(u2)
	h.add(fileOf(u2), eventful[cut:])
	full := h.full(u2)
	before.ending.Frontier = stateless(t, before.ending.Frontier)
	if err := sameEnd(full, h.more(u2, before), before); err != nil {
		t.Error(err)
	}
	before.ending.ContentDigest[0]++
	if got := h.more(u2, before); got.mode != sdkplugin.ModeFull || !slices.Equal(got.events, full.events) {
		t.Errorf("another prefix: mode %d, events %q", got.mode, got.events)
	}
}

// TestBigFrontier keeps the frontier inside its bound whatever a rollout holds.
func TestBigFrontier(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{1000, 5000} {
		h := newHome(t)
		var b strings.Builder
		b.WriteString(meta0(u1) + "\n")
		for i := range calls {
			b.WriteString(output(fmt.Sprintf("c%d", i), "x") + "\n")
		}
		h.write(fileOf(u1), b.String())
		before := h.full(u1)
		held := bytes.Contains(before.ending.Frontier, []byte(`"State"`))
		if n := len(before.ending.Frontier); n > transcript.MaxFrontier || held != (calls == 1000) {
			t.Errorf("%d calls: frontier of %d bytes, state %v", calls, n, held)
		}
		h.add(fileOf(u1), output("c7", "later")+"\n"+output("new", "later")+"\n")
		if got := h.more(u1, before); got.mode != sdkplugin.ModeAppend || len(got.events) != 1 || got.tally.Ignored != 1 {
			t.Errorf("%d calls: mode %d, events %q", calls, got.mode, got.events)
		}
	}
}

func TestUnfinishedLine(t *testing.T) { // 18
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u1), lines(meta0(u1))+say("user", "hi"))
	before := h.full(u1)
	if len(before.events) > 0 || before.counts().Complete != 1 {
		t.Errorf("events %q, counts %+v", before.events, before.counts())
	}
	h.add(fileOf(u1), lines("", say("user", "hi")))
	if got := h.more(u1, before); !slices.Equal(got.events, []string{hi, `2 message/user "hi"`}) || got.mode != sdkplugin.ModeAppend {
		t.Errorf("mode %d, events %q", got.mode, got.events)
	}
}

func TestPadding(t *testing.T) { // 30
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "hi"))+strings.Repeat("\x00", 4096))
	before := h.full(u1)
	if before.tally.Ignored != 2 || len(before.rejections) > 0 {
		t.Errorf("counts %+v", before.tally)
	}
	h.add(fileOf(u1), lines(say("user", "more")))
	if got := h.more(u1, before); len(got.events) != 2 || got.tally.Ignored != 1 || got.mode != sdkplugin.ModeFull {
		t.Errorf("mode %d, events %q, counts %+v", got.mode, got.events, got.tally)
	}
}

func TestRewritten(t *testing.T) { // 22
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "one"), say("user", "two")))
	before := h.full(u1)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "six")))
	if got := h.more(u1, before); got.mode != sdkplugin.ModeFull || !slices.Equal(got.events, []string{`1 message/user "six"`}) {
		t.Errorf("mode %d, events %q", got.mode, got.events)
	}
}

func TestLateMessages(t *testing.T) { // 36
	t.Parallel()
	h := newHome(t)
	prompt := event(`{"type":"user_message","message":"hi"}`)
	h.write(fileOf(u1), lines(meta0(u1), prompt))
	before := h.full(u1)
	h.add(fileOf(u1), lines(event(`{"type":"user_message","message":"ho"}`)))
	if got := h.more(u1, before); got.mode != sdkplugin.ModeAppend || !slices.Equal(got.events, []string{`2 message/user "ho"`}) {
		t.Errorf("mode %d, events %q", got.mode, got.events)
	}
	h.add(fileOf(u1), lines(say("user", "real")))
	if got := h.more(u1, before); got.mode != sdkplugin.ModeFull || !slices.Equal(got.events, []string{`3 message/user "real"`}) {
		t.Errorf("mode %d, events %q", got.mode, got.events)
	}
	h.write(fileOf(u1), lines(meta0(u1)))
	before = h.full(u1)
	h.add(fileOf(u1), lines(prompt, say("user", "real")))
	if got := h.more(u1, before); got.mode != sdkplugin.ModeAppend || !slices.Equal(got.events, []string{`2 message/user "real"`}) {
		t.Errorf("mode %d, events %q", got.mode, got.events)
	}
}

// TestConflictingAppend adds the session_meta line of a stranger.
func TestConflictingAppend(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "hi")))
	before := h.full(u1)
	h.add(fileOf(u1), lines(meta0(u1)))
	if got := h.more(u1, before); got.mode != sdkplugin.ModeAppend {
		t.Errorf("mode %d after a repeated line", got.mode)
	}
	h.add(fileOf(u1), lines(meta0(u3)))
	if err := h.fails(u1); err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("error %v", err)
	}
}

func TestStateForms(t *testing.T) {
	t.Parallel()
	s := newState(namedMeta(u1))
	s.terminal([]byte("t"))
	s.Occurrences.next(1)
	s.Occurrences.next(1)
	written, err := json.Marshal(s)
	var read state
	if err == nil {
		err = json.Unmarshal(written, &read)
	}
	if err != nil || !reflect.DeepEqual(&read, s) {
		t.Errorf("%s is read as %+v, %v", written, read, err)
	}
	for _, bad := range []string{`{"Terminals":"AA"}`, `{"Terminals":"AAAAAAAAAAA"}`, `{"Terminals":"AAAAAAAAAAH/"}`, `{"Terminals":"?"}`} {
		if json.Unmarshal([]byte(bad), &read) == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// One file that has grown is looked at alone, and reading on in it lists nothing, as long as no other rollout can depend on its change.
func TestObserve(t *testing.T) {
	h := newHome(t)
	const thread = "01900000-0000-7000-8000-000000000001"
	name := fileOf(thread)
	h.write(name, lines(meta0(thread), say("user", strings.Repeat("long ", parentBytes/5))))
	before := h.full(thread)
	_, known := h.source(thread)
	h.add(name, lines(say("user", "more")))
	_, listed := h.source(thread)

	p, route := &provider{work: &h.work}, h.routes()[known.Route]
	h.work = jsonl.Work{}
	now, err := p.Observe(context.Background(), route, known)
	if err != nil || !reflect.DeepEqual(now, listed) {
		t.Fatalf("%+v %v, listed %+v", now, err, listed)
	}
	req := h.request(now)
	req.Mode, req.Frontier = sdkplugin.ModeAppend, before.ending.Frontier
	req.CertifiedBytes, req.ContentDigest, req.Counts = before.ending.CertifiedBytes, before.ending.ContentDigest[:], before.counts()
	r := &recorder{}
	if err := p.scan(context.Background(), &req, r); err != nil || r.mode != sdkplugin.ModeAppend || len(r.events) != 1 {
		t.Errorf("%v, mode %v, events %q", err, r.mode, r.events)
	}
	if len(p.homes) != 1 || p.homes[keyOf(route)].rollouts != nil {
		t.Error("the home was listed")
	}

	short := known
	short.Size = parentBytes - 1
	moved := known
	moved.FileID++
	for what, s := range map[string]sdkplugin.Source{
		"a rollout that others may begin with": short, "another file": moved, "a new file": {Locator: known.Locator},
		"a file that is not there": {Anchor: known.Anchor, Locator: "nowhere.jsonl", Size: known.Size, Observation: known.Observation},
		"the prompt log":           {Format: promptFormat, Anchor: known.Anchor},
	} {
		if got, err := p.Observe(context.Background(), route, s); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got, err := p.Observe(context.Background(), route, sdkplugin.Source{Locator: "2026/notes.txt"}); err != nil || got.Anchor != nil {
		t.Errorf("a file that is none: %+v %v", got, err)
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
