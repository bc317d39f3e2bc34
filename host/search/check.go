package search

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// Bounds of a query.
const (
	maxQueryBytes   = 64 << 10
	maxAlternatives = 32
	maxTokens       = 32
	maxSelectors    = 64
	maxFilterBytes  = 64 << 10
)

// EventTypes are the event types that a search can be limited to.
var EventTypes = record.SearchableTypes()

// query is a checked request.
type query struct {
	req          *Request
	alternatives []string
	text         string // alternatives joined with " OR "
	fileOnly     bool
	events       bool // event rows
	limit        int
	snippet      int // most grapheme clusters of a snippet
	scope        record.ContentScope
	since        int64 // Unix ms, valid when filters.Since is set
	blank        bool  // an alternative without text was left out
	filters      Filters
	retrieval    Retrieval
}

func invalid(format string, args ...any) error {
	return fault.New(fault.InvalidRequest, format, args...)
}

// check validates a request. The first failure wins: content scope against event type, then the other values, the query, the
// filters, and at last whether the wanted retrieval can run.
func (s *Service) check(req Request) (*query, error) {
	q := &query{req: &req, limit: req.Limit, snippet: snippetGraphemes, events: req.Events || req.Session != ""}
	if req.Snippet > 0 {
		q.snippet = req.Snippet
	}
	for _, step := range []func() error{q.checkScope, q.checkNumbers, q.checkSelectors, q.checkQuery, q.checkIdentity} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := s.checkProvider(q); err != nil {
		return nil, err
	}
	if err := s.checkPlaceAndTime(q); err != nil {
		return nil, err
	}
	if err := s.chooseRetrieval(q); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *query) checkScope() error {
	req := q.req
	if req.ContentScope != "" && req.EventType != "" {
		return invalid("content scope and event type cannot be used together")
	}
	if req.ContentScope != "" {
		scope, ok := record.ParseContentScope(req.ContentScope)
		if !ok {
			return invalid("the content scope is all, transcript, calls or outputs")
		}
		q.scope = scope
	}
	q.filters.ContentScope = q.scope.String()
	if req.EventType != "" {
		if !slices.Contains(EventTypes, req.EventType) {
			return invalid("the event type is one of %s", strings.Join(EventTypes, ", "))
		}
		q.filters.EventType = req.EventType
	}
	return nil
}

func (q *query) checkNumbers() error {
	if q.limit == 0 {
		q.limit = DefaultLimit
	}
	if q.limit < 1 || q.limit > MaxLimit {
		return invalid("the limit is 1 to %d", MaxLimit)
	}
	if w := q.req.Weight; w != nil && !(*w >= 0 && *w <= 1) {
		return invalid("the semantic weight is 0.0 to 1.0")
	}
	switch q.req.Backend {
	case "", Lexical, Hybrid, Semantic:
		return nil
	}
	return invalid("the backend is hybrid, semantic or lexical")
}

// checkSelectors never repeats a rejected value: names of roots are private.
func (q *query) checkSelectors() error {
	for _, list := range [][]string{q.req.SourceRoots, q.req.SourceGroups} {
		if len(list) > maxSelectors {
			return invalid("at most %d source roots and %d source groups can be given", maxSelectors, maxSelectors)
		}
		for _, name := range list {
			if !config.ValidName(name) {
				return invalid("a source root or group is not a valid name")
			}
		}
	}
	q.filters.SourceRoots, q.filters.SourceGroups = q.req.SourceRoots, q.req.SourceGroups
	return nil
}

func (q *query) checkQuery() error {
	req := q.req
	given := req.Terms
	if req.Query != "" {
		given = append([]string{req.Query}, req.Terms...)
	}
	if len(given) > maxAlternatives {
		return invalid("a query has at most %d alternatives", maxAlternatives)
	}
	total := 0
	for _, text := range given {
		total += len(text)
		if text = strings.TrimSpace(text); text == "" {
			q.blank = true
			continue
		}
		q.alternatives = append(q.alternatives, text)
	}
	if total > maxQueryBytes {
		return invalid("a query has at most %d bytes", maxQueryBytes)
	}
	q.text = strings.Join(q.alternatives, " OR ")
	q.fileOnly = len(q.alternatives) == 0
	if q.fileOnly && strings.TrimSpace(req.File) == "" {
		return fault.New(fault.InvalidRequest, "a query, a term or a file is needed").WithHint("ctx search --help")
	}
	if len(lexical.QueryTerms(q.alternatives...)) > maxTokens {
		return invalid("a query has at most %d different words", maxTokens)
	}
	return nil
}

func (q *query) checkIdentity() error {
	req := q.req
	for _, f := range []struct {
		name, value string
		to          *string
	}{
		{"history source", req.HistorySource, &q.filters.HistorySource}, {"provider key", req.ProviderKey, &q.filters.ProviderKey},
		{"source id", req.SourceID, &q.filters.SourceID}, {"source format", req.SourceFormat, &q.filters.SourceFormat},
	} {
		if f.value == "" {
			continue
		}
		value := strings.TrimSpace(f.value)
		if value == "" || strings.ContainsFunc(value, unicode.IsControl) {
			return invalid("the %s is empty or holds control characters", f.name)
		}
		*f.to = value
	}
	if q.filters.HistorySource != "" {
		if _, _, ok := selection.SplitHistorySource(q.filters.HistorySource); !ok {
			return invalid("the history source is provider_key/source_id")
		}
	}
	return nil
}

const customProvider = "custom"

func (s *Service) checkProvider(q *query) error {
	name := strings.TrimSpace(q.req.Provider)
	if name == "" {
		if q.req.Provider != "" {
			return invalid("the provider is empty")
		}
		return nil
	}
	name, err := s.providerID(name)
	if err != nil {
		return err
	}
	f := &q.filters
	if name != customProvider && (f.HistorySource != "" || f.ProviderKey != "" || f.SourceID != "") {
		return invalid("history source, provider key and source id belong to provider %s only", customProvider)
	}
	f.Provider = name
	return nil
}

// providerID resolves a spelling of a provider. custom is the name of histories whose plugin may be gone.
func (s *Service) providerID(name string) (string, error) {
	if s.Provider == nil || name == customProvider {
		return name, nil
	}
	return s.Provider(name)
}

func (s *Service) checkPlaceAndTime(q *query) error {
	req := q.req
	for _, f := range []struct {
		name, value string
		to          *string
	}{{"workspace", req.Workspace, &q.filters.Workspace}, {"file", req.File, &q.filters.File}} {
		if f.value == "" {
			continue
		}
		value := strings.TrimSpace(f.value)
		if value == "" || len(value) > maxFilterBytes {
			return invalid("the %s filter has 1 to %d bytes", f.name, maxFilterBytes)
		}
		*f.to = value
	}
	if req.Since != "" {
		ms, ok := selection.ParseSince(strings.TrimSpace(req.Since), s.now())
		if !ok {
			return fault.New(fault.InvalidRequest, "since is neither an RFC 3339 time nor <n>d").WithHint("For example --since 7d or --since 2026-01-31T00:00:00Z")
		}
		q.since, q.filters.Since = ms, strings.TrimSpace(req.Since)
	}
	if req.Session != "" && len(req.Exclude) > 0 {
		return invalid("a session cannot be chosen and excluded in one search")
	}
	q.filters.PrimaryOnly, q.filters.IncludeCurrent = req.PrimaryOnly, req.IncludeCurrent
	return nil
}
