package history

import (
	"context"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// rangeSelection turns filters into sets of documents.
type rangeSelection struct {
	ctx    context.Context
	gen    *core.Generation
	reader *lexical.Reader
	text   map[string]string // of the plan
}

// rangeFilters are the filters by name, those that cost least first. One without a value selects nothing out.
var rangeFilters = []struct {
	name string
	set  func(s *rangeSelection, value string) (*lexical.Set, error)
}{
	{"source", func(s *rangeSelection, value string) (*lexical.Set, error) {
		return s.bySource(func(c *core.Certificate) bool { return c.Source.String() == value })
	}},
	{"source_format", func(s *rangeSelection, value string) (*lexical.Set, error) {
		return s.bySource(func(c *core.Certificate) bool { return c.Format == value })
	}},
	{"session", (*rangeSelection).session},
	{"parent_session", func(s *rangeSelection, value string) (*lexical.Set, error) {
		return s.bySession(func(r *record.Session) bool { return idText(r.Parent) == value })
	}},
	{"root_session", func(s *rangeSelection, value string) (*lexical.Set, error) {
		return s.bySession(func(r *record.Session) bool { return idText(r.Root) == value })
	}},
	{"provider_session_id", func(s *rangeSelection, value string) (*lexical.Set, error) {
		return s.bySession(func(r *record.Session) bool { return r.ProviderSessionID == value })
	}},
	{"agent_type", (*rangeSelection).agent},
	{"event_type", func(s *rangeSelection, value string) (*lexical.Set, error) {
		return selection.EventType(s.reader, value)
	}},
	{"role", func(s *rangeSelection, value string) (*lexical.Set, error) { return selection.Role(s.reader, value) }},
	{"file", func(s *rangeSelection, value string) (*lexical.Set, error) { return selection.File(s.reader, value) }},
	{"branch", func(s *rangeSelection, value string) (*lexical.Set, error) {
		return s.reader.TermSet(lexical.FactBranch, []byte(value))
	}},
	{"history_source", func(s *rangeSelection, value string) (*lexical.Set, error) {
		key, id, _ := selection.SplitHistorySource(value)
		return selection.CustomIdentity(s.ctx, s.gen, key, id)
	}},
	{"provider_key", func(s *rangeSelection, value string) (*lexical.Set, error) {
		return selection.CustomIdentity(s.ctx, s.gen, value, s.text["source_id"])
	}},
	{"source_id", func(s *rangeSelection, value string) (*lexical.Set, error) {
		if s.text["provider_key"] != "" {
			return nil, nil // compared with it
		}
		return selection.CustomIdentity(s.ctx, s.gen, "", value)
	}},
	{"workspace", func(s *rangeSelection, value string) (*lexical.Set, error) {
		found, err := selection.InWorkspace(s.gen, value)
		return found.Matches, err
	}},
}

// selectDocuments returns the documents that pass all filters, nil when there is none to apply. Discovery exclusion plays no part.
func (p *rangePlan) selectDocuments(ctx context.Context, gen *core.Generation) (passed *lexical.Set, err error) {
	s := &rangeSelection{ctx: ctx, gen: gen, reader: gen.Lexical(), text: p.text}
	and := func(set *lexical.Set) {
		if passed == nil {
			passed = set
		} else if set != nil {
			passed.And(set)
		}
	}
	if len(p.providers) > 0 {
		codes := map[uint32]bool{}
		for i, name := range gen.Manifest().Providers {
			codes[uint32(i)] = slices.Contains(p.providers, name)
		}
		and(s.reader.Where(lexical.ByProvider, func(v uint32) bool { return codes[v] }))
	}
	if p.scope != record.ScopeUnknown {
		and(selection.Scope(s.reader, p.scope))
	}
	for _, f := range rangeFilters {
		if value := p.text[f.name]; value != "" {
			set, err := f.set(s, value)
			if err != nil {
				return nil, err
			}
			and(set)
		}
	}
	return passed, nil
}

func (s *rangeSelection) bySource(keep func(*core.Certificate) bool) (*lexical.Set, error) {
	chosen, err := selection.SelectSources(s.gen, keep)
	return chosen.Documents(s.reader), err
}

func (s *rangeSelection) bySession(keep func(*record.Session) bool) (*lexical.Set, error) {
	var ordinals []uint32
	err := s.gen.Sessions(func(r *record.Session, _ core.SessionStats) error {
		if keep(r) {
			ordinals = append(ordinals, r.Ordinal)
		}
		return nil
	})
	return s.reader.InSessions(ordinals), err
}

// session is one by its full id.
func (s *rangeSelection) session(id string) (*lexical.Set, error) {
	digits, _, err := ParseID("session", id)
	if err != nil {
		return nil, err
	}
	found, err := s.gen.IDs(core.SessionIDs, digits, 2)
	if err != nil {
		return nil, err
	}
	var ordinals []uint32
	for _, id := range found {
		session, err := s.gen.SessionByID(id)
		if err != nil {
			return nil, err
		}
		ordinals = append(ordinals, session.Ordinal)
	}
	return s.reader.InSessions(ordinals), nil
}

// agent is a scope of the event or a name of the session's agent.
func (s *rangeSelection) agent(name string) (*lexical.Set, error) {
	set, err := s.bySession(func(r *record.Session) bool { return r.Meta.AgentName == name })
	if scope, ok := record.ParseScope(name); ok && err == nil {
		set.Or(selection.Scope(s.reader, scope))
	}
	return set, err
}
