package history

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
)

func TestOpenings(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t,
		fixture.Session{Name: "old", Meta: record.SessionMeta{Title: "the oldest"}, Events: []fixture.Event{{Key: "1", Sequence: 1, At: 1000, Text: "x"}}},
		fixture.Session{Name: "titled", Meta: record.SessionMeta{Title: "a title"}, Events: []fixture.Event{{Key: "1", Sequence: 1, At: 3000, Text: "not this"}}},
		fixture.Session{Name: "prompted", Events: []fixture.Event{
			{Key: "1", Sequence: 1, At: 4000, Role: "assistant", Text: "hello"}, {Key: "2", Sequence: 2, At: 4001, Text: "said first"},
			{Key: "3", Sequence: 3, At: 2, Text: "said later"},
		}},
		fixture.Session{Name: "helper", Scope: record.ScopeSubagent, Meta: record.SessionMeta{Title: "of a subagent"},
			Events: []fixture.Event{{Key: "1", Sequence: 1, At: 9000, Text: "x"}}},
		fixture.Session{Name: "silent", Events: []fixture.Event{{Key: "1", Sequence: 1, At: 2000, Role: "assistant", Text: "x"}}},
	)
	view, err := Open(context.Background(), a.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	for n, want := range map[int][]string{9: {"said first", "a title", "the oldest"}, 3: {"said first", "a title"}, 1: {"said first"}} {
		if got, err := view.Openings(context.Background(), n); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d: %q %v, want %q", n, got, err, want)
		}
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Publish(t,
		fixture.Session{Name: "old", Meta: record.SessionMeta{Title: "the oldest", CWD: "/work/shop", Branch: "main"}, Events: []fixture.Event{
			{Key: "1", Sequence: 1, At: 1000, Text: "x"}, {Key: "2", Sequence: 2, At: 2000, Role: "assistant", Text: "y"}}},
		fixture.Session{Name: "timeless", Events: []fixture.Event{{Key: "1", Sequence: 1, Text: "no time"}}},
		fixture.Session{Name: "helper", Scope: record.ScopeSubagent, Events: []fixture.Event{{Key: "1", Sequence: 1, At: 9000, Text: "begin", Scope: record.ScopeSubagent}}},
		fixture.Session{Provider: "codex", Name: "other", Meta: record.SessionMeta{WorkspaceLabel: "-work-shop"},
			Events: []fixture.Event{{Key: "1", Sequence: 1, At: 5000, Text: "x"}}},
		fixture.Session{Name: "empty"},
	)
	view := view(t, a)
	for _, c := range []struct {
		req   RangeRequest
		since string
		want  string
	}{
		{RangeRequest{}, "", "helper other old timeless empty"},
		{RangeRequest{Limit: 2, LimitGiven: true}, "", "helper other"},
		{RangeRequest{Scope: "subagent"}, "", "helper"},
		{RangeRequest{Providers: []string{"codex"}}, "", "other"},
		{RangeRequest{Role: "assistant"}, "", "old"},
		{RangeRequest{Workspace: "/work/shop"}, "", "other old"},
		{RangeRequest{}, "1970-01-01T00:00:02Z", "helper other old"},
		{RangeRequest{}, "1970-01-01T00:00:02.001Z", "helper other"},
		{RangeRequest{}, "1d", ""},
	} {
		list, err := view.Sessions(t.Context(), c.req, c.since)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range list.Sessions {
			got = append(got, row.ProviderSession)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v since %q: %v, want %s", c.req, c.since, got, c.want)
		}
		if list.More != (c.req.Limit == 2) || list.More != (list.Matched > len(got)) {
			t.Errorf("%+v: %d of %d, more: %v", c.req, len(got), list.Matched, list.More)
		}
	}
	list, err := view.Sessions(t.Context(), RangeRequest{Session: fixture.SessionID("", "old").String()}, "")
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	if row := list.Sessions[0]; row.Events != 2 || row.StartedAt != "1970-01-01T00:00:01.000Z" || row.LastEventAt != "1970-01-01T00:00:02.000Z" ||
		row.Title != "the oldest" || row.Opening != "" || row.CWD != "/work/shop" || row.Branch != "main" || row.SourceState != "present" {
		t.Errorf("%+v", row)
	}
	if _, err := view.Sessions(t.Context(), RangeRequest{}, "yesterday"); fault.Code(err) != fault.InvalidRequest {
		t.Errorf("yesterday: %v", err)
	}
}
