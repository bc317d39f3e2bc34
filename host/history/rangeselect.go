package history

import (
	"context"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// selectDocuments returns the documents that pass all filters, nil when there is none to apply. Discovery exclusion plays no part.
func (p *rangePlan) selectDocuments(ctx context.Context, gen *core.Generation) (*lexical.Set, error) {
	s := &rangeSelection{ctx: ctx, plan: p, gen: gen, reader: gen.Lexical()}
	for _, apply := range []func() error{s.bySource, s.bySession, s.byEvent, s.byIdentity, s.byPlace} {
		if err := apply(); err != nil {
			return nil, err
		}
	}
	return s.set, nil
}

type rangeSelection struct {
	ctx    context.Context
	plan   *rangePlan
	gen    *core.Generation
	reader *lexical.Reader
	set    *lexical.Set
}

func (s *rangeSelection) and(set *lexical.Set) {
	if s.set == nil {
		s.set = set
		return
	}
	s.set.And(set)
}

func (s *rangeSelection) bySource() error {
	p := s.plan
	if len(p.providers) > 0 {
		codes := map[uint32]bool{}
		for i, name := range s.gen.Manifest().Providers {
			if slices.Contains(p.providers, name) {
				codes[uint32(i)] = true
			}
		}
		s.and(s.reader.Where(lexical.ByProvider, func(v uint32) bool { return codes[v] }))
	}
	source, format := p.ids["source"], p.text["source_format"]
	if source == "" && format == "" {
		return nil
	}
	chosen, err := selection.SelectSources(s.gen, func(c *core.Certificate) bool {
		return (source == "" || c.Source.String() == source) && (format == "" || c.Format == format)
	})
	if err != nil {
		return err
	}
	s.and(chosen.Documents(s.reader))
	return nil
}

// bySession applies what sessions know. The agent type is a scope of the event or a name of the session's agent.
func (s *rangeSelection) bySession() error {
	p := s.plan
	id, parent, root := p.ids["session"], p.ids["parent_session"], p.ids["root_session"]
	native, agent := p.text["provider_session_id"], p.text["agent_type"]
	if id != "" {
		digits, _, err := ParseID("session", id)
		if err != nil {
			return err
		}
		found, err := s.gen.IDs(core.SessionIDs, digits, 2)
		if err != nil {
			return err
		}
		var ordinals []uint32
		for _, id := range found {
			session, err := s.gen.SessionByID(id)
			if err != nil {
				return err
			}
			ordinals = append(ordinals, session.Ordinal)
		}
		s.and(s.reader.InSessions(ordinals))
	}
	if parent == "" && root == "" && native == "" && agent == "" {
		return nil
	}
	var related, named []uint32
	err := s.gen.Sessions(func(r *record.Session, _ core.SessionStats) error {
		if (parent == "" || idText(r.Parent) == parent) && (root == "" || idText(r.Root) == root) &&
			(native == "" || r.ProviderSessionID == native) {
			related = append(related, r.Ordinal)
		}
		if agent != "" && r.Meta.AgentName == agent {
			named = append(named, r.Ordinal)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if parent != "" || root != "" || native != "" {
		s.and(s.reader.InSessions(related))
	}
	if agent != "" {
		set := s.reader.InSessions(named)
		if scope, ok := record.ParseScope(agent); ok {
			set.Or(selection.Scope(s.reader, scope))
		}
		s.and(set)
	}
	return nil
}

func (s *rangeSelection) byEvent() error {
	p := s.plan
	if p.scope != record.ScopeUnknown {
		s.and(selection.Scope(s.reader, p.scope))
	}
	for _, f := range []struct {
		name string
		set  func(*lexical.Reader, string) (*lexical.Set, error)
	}{
		{"event_type", selection.EventType}, {"role", selection.Role}, {"file", selection.File},
		{"branch", func(r *lexical.Reader, v string) (*lexical.Set, error) {
			return r.TermSet(lexical.FactBranch, []byte(v))
		}},
	} {
		value := p.text[f.name]
		if value == "" {
			continue
		}
		set, err := f.set(s.reader, value)
		if err != nil {
			return err
		}
		s.and(set)
	}
	return nil
}

// byIdentity applies the filters on custom identities; an empty half is not compared.
func (s *rangeSelection) byIdentity() error {
	text := s.plan.text
	key, id, _ := selection.SplitHistorySource(text["history_source"])
	for _, pair := range [][2]string{{key, id}, {text["provider_key"], text["source_id"]}} {
		if pair[0] == "" && pair[1] == "" {
			continue
		}
		set, err := selection.CustomIdentity(s.ctx, s.gen, pair[0], pair[1])
		if err != nil {
			return err
		}
		s.and(set)
	}
	return nil
}

func (s *rangeSelection) byPlace() error {
	p := s.plan
	if value := p.text["workspace"]; value != "" {
		w, err := selection.InWorkspace(s.gen, value)
		if err != nil {
			return err
		}
		s.and(w.Matches)
	}
	return nil
}
