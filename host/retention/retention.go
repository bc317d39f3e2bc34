// Package retention takes history out of the index that the user wants out: what is no longer on disk or no longer selected, and single
// sessions for good.
//
// Vocabulary:
//
//   - gone: a source that is certified absent from disk. Its records stay.
//   - retained: a source that no selected root holds any more. Its records stay too. A source may be both.
//   - prune: dropping records of gone or retained sources. What is on disk again later is imported again.
//   - forget: dropping one session, wherever it was found, with every byte of it, and never taking it again.
//   - tombstone: the digest of a forgotten session's native key. It holds no content and is the same below every root.
//   - undo: lifting a tombstone. The session returns with the next import that finds it.
package retention

import (
	"context"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// Archive is what sessions are taken out of.
type Archive struct {
	Store    *core.Store
	DataRoot string
	Log      func(format string, args ...any) // nil = nobody
}

// begin starts a candidate from the active generation.
func (a *Archive) begin(ctx context.Context) (*core.Candidate, error) {
	c, err := a.Store.Begin(ctx, core.BeginOptions{Log: a.Log})
	if err == nil && c.Base() == nil {
		c.Discard()
		return nil, fault.New(fault.SourceUnavailable, "nothing was imported yet").WithHint("ctx import --all").WithRetry(true)
	}
	return c, err
}

// stored is a session with what a decision about it needs.
type stored struct {
	*record.Session
	core.SessionStats
}

// sessions visits what a generation stores, by ordinal.
func sessions(g *core.Generation, visit func(stored)) error {
	return g.Sessions(func(s *record.Session, stats core.SessionStats) error {
		visit(stored{s, stats})
		return nil
	})
}
