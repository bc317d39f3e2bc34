package history

import (
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
)

func pageTexts(p *TranscriptPage) []string {
	var out []string
	for _, row := range p.Rows {
		_, rest, _ := strings.Cut(string(row), `"text":"text `)
		text, _, _ := strings.Cut(rest, `"`)
		out = append(out, text)
	}
	return out
}

func TestPagesJoin(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "s", Events: talk("uaasnuacoauuaamu")})
	v := view(t, a)
	s := find(t, v, "s")
	for _, mode := range []Mode{ModeLite, ModeFull, ModeLog} {
		want := keys(t, v.Transcript(t.Context(), s, mode, 0))
		for _, req := range []PageRequest{{Limit: 1}, {Limit: 2}, {Limit: 3}, {Limit: 7}, {}, {MaxBytes: 1}, {MaxBytes: 1200}} {
			req.Mode = mode
			var got []string
			for pages := 0; ; pages++ {
				p, err := v.TranscriptPage(t.Context(), s, req)
				if err != nil || pages > 50 {
					t.Fatal(pages, err)
				}
				if len(p.Rows) > p.Limit || p.HasMore != (p.NextCursor() != "") || p.HasMore && len(p.Rows) == 0 {
					t.Fatalf("page %+v", p)
				}
				got = append(got, pageTexts(p)...)
				if req.Cursor = p.NextCursor(); req.Cursor == "" {
					break
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s limit %d bytes %d: %v, want %s", mode, req.Limit, req.MaxBytes, got, want)
			}
		}
	}
}

func TestPageKeep(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "s", Events: talk("uuuuu")})
	v := view(t, a)
	s := find(t, v, "s")
	p, err := v.TranscriptPage(t.Context(), s, PageRequest{Mode: ModeLog})
	if err != nil || p.HasMore || p.Limit != DefaultPageEvents {
		t.Fatal(p, err)
	}
	p.Keep(2)
	if len(p.Rows) != 2 || len(p.Events) != 2 || !p.HasMore {
		t.Fatalf("kept %d, more %v", len(p.Rows), p.HasMore)
	}
	next, err := v.TranscriptPage(t.Context(), s, PageRequest{Mode: ModeLog, Cursor: p.NextCursor()})
	if err != nil || strings.Join(pageTexts(next), " ") != "u2 u3 u4" {
		t.Errorf("next page %v, %v", pageTexts(next), err)
	}
	for _, limit := range []int{-1, MaxPageEvents + 1} {
		if _, err := v.TranscriptPage(t.Context(), s, PageRequest{Limit: limit}); fault.Code(err) != fault.InvalidRequest {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestSessionCursor(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "s", Events: talk("uuu")}, fixture.Session{Name: "other", Events: talk("uuu")})
	v := view(t, a)
	s := find(t, v, "s")
	first, err := v.TranscriptPage(t.Context(), s, PageRequest{Mode: ModeLog, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	cursor := first.NextCursor()
	code := func(v *View, s *Session, cursor string) string {
		_, err := v.TranscriptPage(t.Context(), s, PageRequest{Mode: ModeLog, Cursor: cursor})
		if err != nil && (fault.From(err).Retryable == nil || *fault.From(err).Retryable) {
			t.Errorf("%v may be retried", err)
		}
		return fault.Code(err)
	}
	if got := code(v, find(t, v, "other"), cursor); got != CursorMismatch {
		t.Errorf("other session: %s", got)
	}
	for i := range cursor {
		for _, c := range "AB_" {
			if changed := cursor[:i] + string(c) + cursor[i+1:]; changed != cursor {
				if got := code(v, s, changed); got != InvalidCursor {
					t.Fatalf("character %d changed: %q", i, got)
				}
			}
		}
	}
	for _, bad := range []string{"x", cursor + "A", cursor[:len(cursor)-1], cursor + "\n", cursor[:8] + "\n" + cursor[8:], strings.Repeat("A", 4097), "é"} {
		if got := code(v, s, bad); got != InvalidCursor {
			t.Errorf("%.20q: %q", bad, got)
		}
	}
	a.Publish(t, fixture.Session{Name: "third", Events: talk("u")})
	next := view(t, a)
	if got := code(next, find(t, next, "s"), cursor); got != CursorStale {
		t.Errorf("after a publication: %s", got)
	}
	if got := code(next, find(t, next, "other"), cursor); got != CursorStale {
		t.Errorf("the generation is checked before the session: %s", got)
	}
	if got := code(v, s, cursor); got != "" {
		t.Errorf("in its own generation: %s", got)
	}
}

func TestSessionCursorCoordinate(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, fixture.Session{Name: "s", Events: talk("uuu")})
	v := view(t, a)
	s := find(t, v, "s")
	e, err := v.FindEvent(t.Context(), fixture.EventID("", "s", "u1").String())
	if err != nil {
		t.Fatal(err)
	}
	key := sessionKey(e)
	key[7]++ // a sequence that the event does not have
	for name, cursor := range map[string]string{
		"wrong key":       encodeSessionCursor(v.gen.ID(), s.ID, key),
		"unknown session": encodeSessionCursor(v.gen.ID(), fixture.SessionID("", "nobody"), sessionKey(e)),
	} {
		if _, err := v.TranscriptPage(t.Context(), s, PageRequest{Cursor: cursor}); fault.Code(err) != InvalidCursor {
			t.Errorf("%s: %v", name, err)
		}
	}
}
