package retention

import (
	"context"
	"errors"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// Prune says what to drop: sources that are gone, retained, or either, or one session of such a source.
type Prune struct {
	Gone, Retained bool
	Session        record.Digest // zero = no single session
	// Before narrows to sessions whose newest event is older, in Unix milliseconds; 0 = all. Untimed sessions are never older.
	Before int64
	DryRun bool // only count
	// Selected tells whether a route is selected now.
	Selected func(route string) bool
}

// Pruned is the JSON document of `ctx sources prune`, schema 1.
type Pruned struct {
	SchemaVersion int    `json:"schema_version"`
	Operation     string `json:"operation"` // prune
	DryRun        bool   `json:"dry_run"`
	Changed       bool   `json:"changed"`
	Sources       uint64 `json:"pruned_sources"`
	Sessions      uint64 `json:"pruned_sessions"`
	Events        uint64 `json:"pruned_events"`
	KeptGone      uint64 `json:"kept_gone_sources"`
	KeptRetained  uint64 `json:"kept_retained_sources"`
}

// Prune drops what p chooses and publishes a new generation, if there is anything to drop. Faults: invalid_request for a session that is
// on disk and selected, and those of core's Begin and Publish.
func (a *Archive) Prune(ctx context.Context, p Prune) (*Pruned, error) {
	g, err := a.Store.Pin(ctx)
	if err != nil {
		return nil, err
	}
	out, cuts, err := p.choose(g)
	if err = errors.Join(err, g.Close()); err != nil {
		return nil, err
	}
	if p.DryRun || len(cuts) == 0 {
		return out, nil
	}
	c, err := a.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Discard()
	if out, cuts, err = p.choose(c.Base()); err != nil { // what counts is the generation that is changed
		return nil, err
	}
	for _, cut := range cuts {
		if err := cut.apply(c); err != nil {
			return nil, err
		}
	}
	if _, err := c.Publish(ctx, core.PublishOptions{}); err != nil {
		return nil, err
	}
	out.Changed = len(cuts) > 0
	return out, nil
}

// cut is what goes of one source: all of it, or some sessions.
type cut struct {
	source   record.Digest
	whole    bool
	sessions []record.Digest
}

func (k *cut) apply(c *core.Candidate) error {
	if k.whole {
		return c.Drop(k.source)
	}
	for _, id := range k.sessions {
		if err := c.DropSession(id, 0); err != nil {
			return err
		}
	}
	return nil
}

// choose decides about every source of a generation and counts.
func (p *Prune) choose(g *core.Generation) (*Pruned, []cut, error) {
	inside := map[record.Digest][]stored{}
	if err := sessions(g, func(s stored) { inside[s.Source] = append(inside[s.Source], s) }); err != nil {
		return nil, nil, err
	}
	out := &Pruned{SchemaVersion: 1, Operation: "prune", DryRun: p.DryRun}
	var cuts []cut
	one := !p.Session.IsZero()
	free := !one // the session to prune may be pruned
	err := g.Certificates(func(cert *core.Certificate) error {
		gone, retained := cert.State == core.Gone, !p.Selected(cert.Route)
		k := cut{source: cert.Source, whole: p.Before == 0 && !one}
		chosen := gone && p.Gone || retained && p.Retained || (gone || retained) && one
		for _, s := range inside[cert.Source] {
			free = free || chosen && s.ID == p.Session
			if chosen && p.takes(s) {
				k.sessions = append(k.sessions, s.ID)
				out.Sessions++
				out.Events += s.Events
			}
		}
		k.whole = chosen && (k.whole || len(k.sessions) > 0 && len(k.sessions) == len(inside[cert.Source]))
		if k.whole || len(k.sessions) > 0 {
			cuts = append(cuts, k)
		}
		out.count(k.whole, gone, retained)
		return nil
	})
	if err == nil && !free {
		err = fault.New(fault.InvalidRequest, "the session is on disk and selected: the next import would bring it back").
			WithHint("To remove it for good: ctx forget %s", p.Session)
	}
	return out, cuts, err
}

// takes tells whether a session of a chosen source goes.
func (p *Prune) takes(s stored) bool {
	return (p.Session.IsZero() || s.ID == p.Session) && (p.Before == 0 || s.Timed && s.Last < p.Before)
}

// count counts a source that goes as a whole or stays.
func (p *Pruned) count(goes, gone, retained bool) {
	switch {
	case goes:
		p.Sources++
		return
	case gone:
		p.KeptGone++
	}
	if retained {
		p.KeptRetained++
	}
}
