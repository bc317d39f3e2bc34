package retention

import (
	"context"
	"errors"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// Forgetting is the JSON document of `ctx forget`, schema 1.
type Forgetting struct {
	SchemaVersion int    `json:"schema_version"`
	Operation     string `json:"operation"` // forget, undo
	Changed       bool   `json:"changed"`
	SessionID     string `json:"ctx_session_id"`
	Provider      string `json:"provider,omitempty"`
	Sessions      uint64 `json:"forgotten_sessions"` // one for every root that held it
	Events        uint64 `json:"forgotten_events"`
	Children      uint64 `json:"child_sessions"` // stored sessions that claim it as their parent; they stay
}

// Forget removes a stored session from every root that holds it and leaves a tombstone. When it returns without an error, no byte of
// the session is left in the active generation, and the one before is gone as soon as nobody reads it. Faults: not_found, those of
// core's Begin and Publish, and resource_unavailable for the list.
func (a *Archive) Forget(ctx context.Context, id record.Digest) (*Forgetting, error) {
	c, err := a.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Discard()
	s, err := c.Base().SessionByID(id)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fault.New(fault.NotFound, "no stored session has the id %s", id)
	}
	before, err := LoadForgotten(a.DataRoot)
	if err != nil {
		return nil, err
	}
	digest := Tombstone(s.Provider, s.Kind, s.Key)
	dropped, err := before.with(digest, s.Provider, nil).drop(c)
	if err != nil {
		return nil, err
	}
	list := before.with(digest, s.Provider, dropped.ids)
	out := &Forgetting{
		SchemaVersion: 1, Operation: "forget", Changed: true, SessionID: id.String(), Provider: s.Provider,
		Sessions: uint64(len(dropped.ids)), Events: dropped.events, Children: dropped.children,
	}
	// The list comes first: a crash in between leaves a session that is told to be forgotten and is erased by the next refresh, never
	// one that was erased and comes back.
	if err := list.write(); err != nil {
		return nil, err
	}
	if err := list.publish(ctx, c, true); err != nil {
		return nil, errors.Join(err, before.write())
	}
	return out, nil
}

func (f *Forgotten) publish(ctx context.Context, c *core.Candidate, erase bool) error {
	c.SetTombstones(f.Digest())
	_, err := c.Publish(ctx, core.PublishOptions{Erase: erase})
	return err
}

// Apply brings the active generation into line with the list, as an undo or a crash in mid-forget left it, and tells whether that
// made a new generation.
func (f *Forgotten) Apply(ctx context.Context, store *core.Store, active *core.Generation) (bool, error) {
	if active.Manifest().Tombstones == f.Digest() {
		return false, nil
	}
	c, err := store.Begin(ctx, core.BeginOptions{})
	if err != nil {
		return false, err
	}
	defer c.Discard()
	if c.Base() == nil {
		return false, nil
	}
	dropped, err := f.drop(c)
	if err == nil {
		err = f.publish(ctx, c, len(dropped.ids) > 0)
	}
	return err == nil, err
}

// dropped is what was taken out of a candidate.
type dropped struct {
	ids              []string
	events, children uint64
}

// drop takes all forgotten sessions out of a candidate.
func (f *Forgotten) drop(c *core.Candidate) (dropped, error) {
	var out dropped
	found := map[record.Digest]stored{}
	children := map[record.Digest]uint64{}
	err := sessions(c.Base(), func(s stored) {
		if _, ok := f.Has(s.Provider, s.Kind, s.Key); ok {
			found[s.ID] = s
		}
		if s.Parent != nil {
			children[*s.Parent]++
		}
	})
	for id, s := range found {
		if err != nil {
			break
		}
		out.ids = append(out.ids, id.String())
		out.events += s.Events
		out.children += children[id]
		err = f.dropOne(c, s)
	}
	return out, err
}

// dropOne takes out one session; a source that is gone and held nothing else goes with it.
func (f *Forgotten) dropOne(c *core.Candidate, s stored) error {
	cert, err := c.Base().Certificate(s.Source)
	if err != nil {
		return err
	}
	if cert != nil && cert.State == core.Gone {
		inside, err := c.Base().SourceSessions(cert.Ordinal)
		if err != nil {
			return err
		}
		if len(inside) == 1 {
			return c.Drop(s.Source)
		}
	}
	n, _ := f.Has(s.Provider, s.Kind, s.Key)
	return c.DropSession(s.ID, n)
}

// Undo lifts the tombstone of a session, given by its full id. Changed is false when it has none.
func (a *Archive) Undo(ctx context.Context, id string) (*Forgetting, error) {
	out := &Forgetting{SchemaVersion: 1, Operation: "undo", SessionID: id}
	list, err := LoadForgotten(a.DataRoot)
	if err != nil {
		return nil, err
	}
	if out.Provider, out.Changed = list.lift(id); !out.Changed {
		return out, nil
	}
	c, err := a.begin(ctx) // for its lock: nobody else changes the list meanwhile
	if err != nil {
		return nil, err
	}
	defer c.Discard()
	if list, err = LoadForgotten(a.DataRoot); err != nil {
		return nil, err
	}
	if out.Provider, out.Changed = list.lift(id); !out.Changed {
		return out, nil
	}
	return out, list.write()
}
