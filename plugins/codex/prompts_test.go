package codex

import (
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

func row(session, ts, text string) string {
	return `{"session_id":"` + session + `","ts":` + ts + `,"text":"` + text + `"}`
}

func TestPrompts(t *testing.T) { // 28
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "hi")))
	h.write(promptFile, lines(row("s", "1", ""), row(" ", "1", "x"), row("s", `"1"`, "x"), row("s", "1.5", "x"), row(u1, "1", "hi"),
		"torn", row("s", "2", strings.Repeat("x", maxPromptRow)), row("s2", "3", "one")+row("s2", "4", "two")))
	got := h.full("")
	if want := []string{`0 message/user "message"`, `7 message/user "one"`, `7.1 message/user "two"`}; !slices.Equal(got.events, want) {
		t.Errorf("events %q, want %q", got.events, want)
	}
	if c := got.counts(); c != (sdkplugin.Counts{Complete: 9, Retained: 3, Rejected: 5, Ignored: 1}) {
		t.Errorf("counts %+v, rejections %q", c, got.rejections)
	}
	if s := got.sessions[0]; s.YieldsTo == nil || s.ProviderSessionID != "s" || got.ending.Metadata[1].Title != "one" {
		t.Errorf("session %+v, metadata %+v", s, got.ending.Metadata)
	}
	h.add(promptFile, lines(row("s", "9", "later"), row("s3", "9", "new")))
	more := h.more("", got)
	if more.mode != sdkplugin.ModeAppend || len(more.events) != 2 || len(more.ending.Metadata) != 2 ||
		more.ending.Metadata[1].Title != "new" || more.ending.Metadata[0].StartedAt.Millis != 1000 {
		t.Errorf("mode %d, events %q, metadata %+v", more.mode, more.events, more.ending.Metadata)
	}
	if full := h.full(""); !slices.Equal(full.ids, append(got.ids, more.ids...)) || string(full.ending.Frontier) != string(more.ending.Frontier) {
		t.Errorf("an append ends in another state than a full scan")
	}
	h.write(promptFile, lines(row("s", "1", "rewritten")))
	if again := h.more("", got); again.mode != sdkplugin.ModeFull || len(again.events) != 1 {
		t.Errorf("mode %d, events %q", again.mode, again.events)
	}
}

// TestPromptsAlone: a log that the user names gives all its rows.
func TestPromptsAlone(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(fileOf(u1), lines(meta0(u1), say("user", "hi")))
	h.write(promptFile, lines(row(u1, "1", "hi")))
	p, s := h.source("")
	req := h.request(s)
	req.Route.Explicit, req.Routes = true, nil
	req.Source.Route = 0
	r := &recorder{}
	if err := p.scan(t.Context(), &req, r); err != nil || len(r.events) != 1 || r.sessions[0].YieldsTo != nil {
		t.Errorf("events %q, %v", r.events, err)
	}
}
