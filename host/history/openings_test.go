package history

import (
	"context"
	"slices"
	"testing"

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
