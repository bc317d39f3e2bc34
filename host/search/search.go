// Package search answers ranked queries over a pinned generation, for the command line and the MCP server alike. It renders nothing
// and writes nothing.
//
// Vocabulary:
//
//   - alternative: the query or one of its terms. Alternatives are OR-ed; their distinct tokens form one set.
//   - coverage: how many of the distinct tokens an event contains, a prefix counting as one. It scales the score.
//   - part: one filter as a set of documents. Parts are AND-ed; the events left are those that the query is matched against.
//   - candidate: a matching event while results are chosen; the pool is the bounded list of the best ones.
//   - collapsed: a proven copy whose original is found as well. It is taken out of the pool and listed with the original.
//   - root group: the sessions with the same exact root claim; a session without a claim is its own root.
//   - champion: the session that stands first for its root.
//   - decisive: a pool that more candidates cannot change.
//   - relaxation: a filter that alone kept results away.
//   - operator: one of the exact forms that narrow a query: a phrase, NEAR, an exclusion, a field, a prefix.
//   - reading: what an alternative says, by a set of allowed operators; without any it is its words. No text is refused.
//   - condition: what a reading asks of an event beyond one of its words; the index decides some, tests of the stored text the rest.
//   - relaxed: an operator read as plain words after all, because no event met the conditions.
package search

import (
	"context"
	"path/filepath"
	"time"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/redact"
	"github.com/agenthistory/ctx/host/refresh"
)

// Service answers searches. It is safe for concurrent use.
type Service struct {
	Store *core.Store
	// DataRoot is put into suggested commands; "" for the default data root.
	DataRoot string
	// Provider resolves a spelling of a provider to its internal id; nil takes every name as an id.
	Provider func(name string) (id string, err error)
	// SemanticEnabled is the configured switch of semantic search.
	SemanticEnabled bool
	// Receipt tells how the last refresh ended, nil when that is not known; a nil func reads it from the data root of the store.
	Receipt func() (*refresh.Receipt, error)
	// Redact takes secrets out of the answers; nil: nothing is.
	Redact *redact.Redactor
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Check refuses what can be refused without opening an index, in the order of the contract.
func (s *Service) Check(req Request) error {
	_, err := s.check(req)
	return err
}

// Search pins the active generation, answers req and lets the generation go.
func (s *Service) Search(ctx context.Context, req Request) (*Answer, error) {
	q, err := s.check(req)
	if err != nil {
		return nil, err
	}
	start := s.now()
	gen, err := s.Store.Pin(ctx)
	if err != nil {
		return nil, noGeneration(err)
	}
	defer gen.Close()
	return s.answer(ctx, gen, q, start)
}

// SearchIn answers req from a generation that the caller has pinned; a long-lived process keeps one between calls.
func (s *Service) SearchIn(ctx context.Context, gen *core.Generation, req Request) (*Answer, error) {
	q, err := s.check(req)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, gen, q, s.now())
}

// noGeneration gives the failure of a search without any index the form that machine formats promise.
func noGeneration(err error) error {
	f := fault.From(err)
	if f.Code != fault.SourceUnavailable {
		return err
	}
	f.Retryable = nil
	return f.With("error", fault.SourceUnavailable).WithHint("run 'ctx setup' or 'ctx import --all'")
}

func (s *Service) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Service) receipt() *refresh.Receipt {
	read := s.Receipt
	if read == nil {
		read = func() (*refresh.Receipt, error) {
			return refresh.LastReceipt(&config.Config{DataRoot: filepath.Dir(s.Store.Dir())})
		}
	}
	receipt, err := read()
	if err != nil {
		return nil // coverage leaves out what is not known
	}
	return receipt
}

// run is one search over one generation.
type run struct {
	*query
	service  *Service
	ctx      context.Context
	gen      *core.Generation
	view     *history.View
	filter   *filter
	origins  origins
	sessions sessions
	extent   func() (extent, error) // what is searched, counted once

	// Filled when first needed.
	said    *understanding
	relaxed []string              // kinds of operators given up
	spelled map[string]Correction // by the word asked for; without a word to use when there is none close

	matched *lexical.Set   // what the query and the filters select
	anyTerm *lexical.Set   // what the query text selects
	termSet map[string]int // number of every word that ranks; the words of a prefix have one together
}

func (s *Service) answer(ctx context.Context, gen *core.Generation, q *query, start time.Time) (*Answer, error) {
	r := &run{query: q, service: s, ctx: ctx, gen: gen, view: history.Over(s.Store, gen), origins: origins{gen: gen}, sessions: sessions{ctx: ctx, gen: gen}}
	defer r.view.Close()
	var err error
	if r.filter, err = r.buildFilter(); err != nil {
		return nil, err
	}
	r.extent = r.measure()
	defer func() { _, _ = r.extent() }() // nobody may read columns of a generation that is let go
	found, err := r.find()
	if err != nil {
		return nil, err
	}
	a := &Answer{
		SchemaVersion: 1, PayloadType: "search_results", Query: q.text, Filters: q.filters, Freshness: q.req.Freshness,
		Retrieval: q.retrieval, Results: []Row{},
		Window:     Window{Limit: q.limit, Returned: len(found.rows), MoreAvailable: found.more},
		Truncation: Truncation{CandidatePool: found.pool, CandidatePoolTruncated: found.truncated},
	}
	stats := gen.Manifest().Stats
	a.Freshness.SourceCount = int(stats.Sources)
	a.Retrieval.GenerationID, a.Retrieval.IndexedDocuments = gen.ID(), stats.Events
	if a.Results, err = r.rows(found.rows); err != nil {
		return nil, err
	}
	if a.Coverage, err = r.coverage(len(found.rows) == 0); err != nil {
		return nil, err
	}
	a.Corrections, a.Relaxed, a.Expansions, a.blank = r.said.corrections, r.relaxed, r.said.expansions, q.blank
	for _, rd := range r.said.readings {
		a.unknown = append(a.unknown, rd.unknown...)
	}
	if q.req.Explain {
		if a.Explain, err = r.explain(found.rows, a.Results); err != nil {
			return nil, err
		}
	}
	end := s.now()
	a.PhaseAttribution.QuerySeconds = Decimal(end.Sub(start).Seconds())
	a.Retrieval.PhaseAttribution = a.PhaseAttribution
	a.GeneratedAt = selection.FormatTime(end.UnixMilli())
	return a, nil
}
