package search

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/agenthistory/ctx/host/record"
)

// nearly is how relevant a primary session must be, compared with the strongest of its root, to stand first.
const nearly = float32(0.95)

// shaped is a pool in output order.
type shaped struct {
	rows   []result // at most the limit
	more   bool     // one more row existed
	events bool
	roots  []*rootGroup // session rows only, strongest first
}

// rootGroup is the sessions of one root claim, best first.
type rootGroup struct {
	id       record.Digest
	sessions []*result
}

func (g *rootGroup) strongest() key { return g.sessions[0].key() }

// primary returns the first primary session that is nearly as relevant as the strongest one and as whole; nil when none does.
func (g *rootGroup) primary() *result {
	top := g.strongest()
	for _, s := range g.sessions {
		if s.row.Scope == uint8(record.ScopePrimary) && s.whole == top.whole && s.score >= top.score*nearly {
			return s
		}
	}
	return nil
}

// shape orders candidates, which come best first, and takes one row more than wanted.
func (r *run) shape(candidates []*candidate) (*shaped, error) {
	s := &shaped{events: r.events}
	if r.events {
		for _, c := range candidates[:min(len(candidates), r.limit+1)] {
			s.rows = append(s.rows, result{candidate: c})
		}
	} else {
		roots, err := r.groupByRoot(groupBySession(candidates))
		if err != nil {
			return nil, err
		}
		if !r.unranked() { // by file alone everything scores the same, and the newest match of a root decides
			sortRoots(roots)
		}
		s.roots = roots
		s.rows = interleave(roots, r.limit+1)
	}
	if s.more = len(s.rows) > r.limit; s.more {
		s.rows = s.rows[:r.limit]
	}
	return s, nil
}

// groupBySession keeps the best candidate of each session and counts its matches.
func groupBySession(candidates []*candidate) []*result {
	var groups []*result
	bySession := map[uint32]*result{}
	for _, c := range candidates {
		g := bySession[c.row.Session]
		if g == nil {
			g = &result{candidate: c}
			bySession[c.row.Session] = g
			groups = append(groups, g)
		}
		g.matches++
	}
	return groups
}

func (r *run) groupByRoot(groups []*result) ([]*rootGroup, error) {
	ordinals := make([]uint32, len(groups))
	for i, g := range groups {
		ordinals[i] = g.row.Session
	}
	if err := r.sessions.load(ordinals); err != nil {
		return nil, err
	}
	var roots []*rootGroup
	byRoot := map[record.Digest]*rootGroup{}
	for _, s := range groups {
		stored, err := r.sessions.get(s.row.Session)
		if err != nil {
			return nil, err
		}
		id := stored.ID
		if stored.Root != nil {
			id = *stored.Root
		}
		g := byRoot[id]
		if g == nil {
			g = &rootGroup{id: id}
			byRoot[id] = g
			roots = append(roots, g)
		}
		g.sessions = append(g.sessions, s)
	}
	return roots, nil
}

func sortRoots(roots []*rootGroup) {
	slices.SortStableFunc(roots, func(a, b *rootGroup) int {
		ua, ub := a.id.UUID(), b.id.UUID()
		return cmp.Or(a.strongest().compare(b.strongest()), bytes.Compare(ua[:], ub[:]))
	})
}

// interleave gives the champion of every root, then the other sessions root by root, one a round, until there are most rows.
func interleave(roots []*rootGroup, most int) []result {
	var rows []result
	rest := make([][]*result, len(roots))
	for i, g := range roots {
		champion := g.primary()
		if champion == nil {
			champion = g.sessions[0]
		}
		if len(rows) < most {
			rows = append(rows, *champion)
		}
		for _, s := range g.sessions {
			if s != champion {
				rest[i] = append(rest[i], s)
			}
		}
	}
	for round := 0; len(rows) < most; round++ {
		before := len(rows)
		for _, sessions := range rest {
			if round < len(sessions) && len(rows) < most {
				rows = append(rows, *sessions[round])
			}
		}
		if len(rows) == before {
			break
		}
	}
	return rows
}

// decisive tells whether candidates weaker than tail cannot change the rows.
func (s *shaped) decisive(limit int, tail key) bool {
	if limit == 0 {
		return true
	}
	if !s.more {
		return false
	}
	if s.events {
		return true
	}
	if len(s.roots) < limit || !tail.less(s.roots[limit-1].strongest()) {
		return false
	}
	for _, g := range s.roots[:limit] {
		top := g.strongest()
		settled := !tail.whole && top.whole || tail.score < top.score*nearly
		if p := g.primary(); p != nil && tail.less(p.key()) {
			settled = true
		}
		if !settled {
			return false
		}
	}
	return true
}
