package search

import (
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// Codes of semantic retrieval that cannot run.
const (
	semanticScope       = "semantic_content_scope_unsupported"
	semanticEventType   = "semantic_event_type_unsupported"
	semanticDisabled    = "semantic_disabled"
	semanticUnsupported = "semantic_unsupported"
)

// obstacle is a reason why semantic retrieval cannot run.
type obstacle struct {
	code, detail, status string
}

// chooseRetrieval decides how candidates are found. What the request asks for is judged before what is available. A hybrid request
// falls back and says so; a semantic one fails, because lexical results would pass for something else.
func (s *Service) chooseRetrieval(q *query) error {
	wanted := q.req.Backend
	if wanted == "" {
		wanted = Lexical
		if s.SemanticEnabled && !q.fileOnly {
			wanted = Hybrid
		}
	}
	if q.fileOnly && wanted != Lexical {
		return invalid("a search by file alone is lexical")
	}
	r := &q.retrieval
	*r = Retrieval{RequestedMode: wanted, EffectiveMode: Lexical, SemanticStatus: "skipped", Index: "core"}
	weight := DefaultWeight
	if q.req.Weight != nil {
		weight = *q.req.Weight
	}
	if wanted == Lexical || wanted == Hybrid && weight == 0 {
		return nil
	}
	o := q.unsupported()
	if o == nil {
		r.SemanticWeight = Decimal(weight)
		o = s.unavailable()
	}
	if wanted == Semantic {
		return fault.New(o.code, "%s: %s", o.code, o.detail).With("detail", o.detail).WithRetry(false).
			WithHint("Use --backend lexical or leave --backend out")
	}
	r.SemanticStatus, r.FallbackCode, r.Fallback = o.status, o.code, o.detail
	return nil
}

// unsupported: vectors are made of messages only.
func (q *query) unsupported() *obstacle {
	switch {
	case q.scope == record.ScopeCalls || q.scope == record.ScopeOutputs:
		return &obstacle{semanticScope, "semantic search knows messages only, not calls and outputs", "unsupported"}
	case q.filters.EventType != "" && q.filters.EventType != record.Message:
		return &obstacle{semanticEventType, "semantic search knows messages only, no other event type", "unsupported"}
	}
	return nil
}

// unavailable names why no vectors can be asked. This build makes none.
func (s *Service) unavailable() *obstacle {
	if !s.SemanticEnabled {
		return &obstacle{semanticDisabled, "semantic search is switched off", "disabled"}
	}
	return &obstacle{semanticUnsupported, "this build has no semantic index", "unavailable"}
}
