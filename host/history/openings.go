package history

import (
	"context"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
)

// openingBytes bounds what is returned of a prompt, promptDepth how many events are looked at for the first one.
const (
	openingBytes = 400
	promptDepth  = 64
)

// Openings returns how the newest sessions of people (not of subagents) begin: the title, or else what was said first. The newest
// comes first. At most n sessions are looked at; one without either is left out.
func (v *View) Openings(ctx context.Context, n int) ([]string, error) {
	type candidate struct {
		last    int64
		ordinal uint32
		title   string
	}
	var newest []candidate // by time, newest first
	err := v.gen.Sessions(func(s *record.Session, stats core.SessionStats) error {
		if s.Scope == record.ScopeSubagent || !stats.Timed {
			return ctx.Err()
		}
		at, _ := slices.BinarySearchFunc(newest, stats.Last, func(c candidate, last int64) int {
			if c.last >= last {
				return -1
			}
			return 1
		})
		if at < n {
			newest = slices.Insert(newest, at, candidate{stats.Last, s.Ordinal, s.Meta.Title})
			newest = newest[:min(len(newest), n)]
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	var openings []string
	for _, c := range newest {
		text := c.title
		if text == "" {
			if text, err = v.firstPrompt(ctx, c.ordinal); err != nil {
				return nil, err
			}
		}
		if text != "" {
			openings = append(openings, text)
		}
	}
	return openings, nil
}

// firstPrompt is the beginning of the first message of a person in a session.
func (v *View) firstPrompt(ctx context.Context, ordinal uint32) (string, error) {
	it := v.gen.SessionEvents(ordinal, nil, false)
	defer it.Close()
	for n := 0; n < promptDepth && it.Next(); n++ {
		row, ok := v.gen.Lexical().Row(it.Doc())
		if !ok || !row.Eligible || row.Type != record.TypeMessage || row.Role != record.RoleUser {
			continue
		}
		var e record.Event
		if err := v.gen.Event(it.Doc(), &e); err != nil {
			return "", err
		}
		body := e.AppendBody(nil)
		return string(body[:min(len(body), openingBytes)]), ctx.Err()
	}
	return "", it.Err()
}
