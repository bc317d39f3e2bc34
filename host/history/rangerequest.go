package history

import (
	"crypto/sha256"
	"sort"
	"strings"

	"github.com/google/uuid"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/record"
)

// RangeRequest is a listing of events as it was asked for, with the names that arguments have. An empty member was not given.
type RangeRequest struct {
	Since     string   `json:"since"` // RFC 3339 in whole milliseconds, both or neither; [since, until)
	Until     string   `json:"until"`
	Providers []string `json:"providers"`

	Source        string `json:"source"` // full UUIDs
	Session       string `json:"session"`
	ParentSession string `json:"parent_session"`
	RootSession   string `json:"root_session"`

	HistorySource   string `json:"history_source"`
	ProviderKey     string `json:"provider_key"`
	SourceID        string `json:"source_id"`
	SourceFormat    string `json:"source_format"`
	ProviderSession string `json:"provider_session"`
	Branch          string `json:"branch"`
	Workspace       string `json:"workspace"`
	File            string `json:"file"`
	EventType       string `json:"event_type"`
	Role            string `json:"role"`
	AgentType       string `json:"agent_type"`

	Scope      string `json:"scope"`     // all (default), primary, subagent
	Direction  string `json:"direction"` // ascending (default), descending
	Content    string `json:"content"`   // full (default), text, none
	Cursor     string `json:"cursor"`
	Limit      int64  `json:"limit"` // 1..10,000,000; 0 means 10,000 unless LimitGiven
	LimitGiven bool   `json:"-"`
}

const (
	defaultRangeLimit = 10_000
	maxRangeLimit     = 10_000_000
	maxProviders      = 64
	maxProviderBytes  = 256
	maxFilterBytes    = 65_536
)

// rangePlan is a checked request.
type rangePlan struct {
	filters   map[string]any // given ones, as answers repeat them
	providers []string
	text      map[string]string // text filters by name, trimmed; ids are lower-case UUIDs
	scope     record.Scope      // ScopeUnknown: all
	ranged    bool
	since     int64
	until     int64
	reverse   bool
	content   record.ContentProjection
	limit     int64
	cursor    string
}

// namedValue is a filter by the name that answers give it.
type namedValue struct{ name, value string }

func (req *RangeRequest) plan() (*rangePlan, error) {
	p := &rangePlan{filters: map[string]any{}, text: map[string]string{}, cursor: req.Cursor}
	for _, check := range []func(*RangeRequest) error{p.takeChoices, p.takeIDs, p.takeRange, p.takeProviders, p.takeText, p.takeLimit} {
		if err := check(req); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *rangePlan) takeChoices(req *RangeRequest) error {
	switch req.Direction {
	case "", "ascending":
	case "descending":
		p.reverse = true
	default:
		return fault.New(fault.InvalidRequest, "the direction is ascending or descending")
	}
	if req.Content != "" {
		content, ok := record.ParseContentProjection(req.Content)
		if !ok {
			return fault.New(fault.InvalidRequest, "the content is full, text or none")
		}
		p.content = content
	}
	if req.Scope != "" && req.Scope != "all" {
		scope, ok := record.ParseScope(req.Scope)
		if !ok {
			return fault.New(fault.InvalidRequest, "the scope is all, primary or subagent")
		}
		p.scope = scope
		p.filters["scope"] = req.Scope
	}
	return nil
}

func (p *rangePlan) takeIDs(req *RangeRequest) error {
	for _, f := range []namedValue{
		{"source", req.Source}, {"session", req.Session}, {"parent_session", req.ParentSession}, {"root_session", req.RootSession},
	} {
		if f.value == "" {
			continue
		}
		id, err := uuid.Parse(strings.TrimSpace(f.value))
		if err != nil {
			return fault.New(fault.InvalidRequest, "%s takes a full UUID", f.name)
		}
		p.text[f.name], p.filters[f.name] = id.String(), id.String()
	}
	return nil
}

func (p *rangePlan) takeRange(req *RangeRequest) error {
	if (req.Since == "") != (req.Until == "") {
		return rangeFault(InvalidRange, "since and until go together")
	}
	if req.Since == "" {
		return nil
	}
	for _, bound := range []struct {
		name, text string
		ms         *int64
	}{{"since", req.Since, &p.since}, {"until", req.Until, &p.until}} {
		t, ok := selection.ParseTime(strings.TrimSpace(bound.text))
		if !ok {
			return rangeFault(InvalidRange, "%s is not an RFC 3339 time", bound.name)
		}
		ms, whole := selection.WholeMilliseconds(t)
		if !whole {
			return rangeFault(InvalidRange, "%s is not a whole number of milliseconds", bound.name)
		}
		*bound.ms = ms
	}
	if p.since >= p.until {
		return rangeFault(InvalidRange, "the range is empty: since is not before until")
	}
	p.ranged = true
	return nil
}

func (p *rangePlan) takeProviders(req *RangeRequest) error {
	seen := map[string]bool{}
	for _, name := range req.Providers {
		name = strings.TrimSpace(name)
		if name == "" || len(name) > maxProviderBytes {
			return rangeFault(InvalidRange, "a provider has 1 to %d bytes", maxProviderBytes)
		}
		if !seen[name] {
			seen[name] = true
			p.providers = append(p.providers, name)
		}
	}
	if len(p.providers) > maxProviders {
		return rangeFault(InvalidRange, "at most %d different providers can be named", maxProviders)
	}
	if len(p.providers) > 0 {
		sort.Strings(p.providers)
		p.filters["providers"] = p.providers
	}
	return nil
}

func (p *rangePlan) takeText(req *RangeRequest) error {
	for _, f := range []namedValue{ // in the order of their names
		{"agent_type", req.AgentType}, {"branch", req.Branch}, {"event_type", req.EventType}, {"file", req.File},
		{"history_source", req.HistorySource}, {"provider_key", req.ProviderKey}, {"provider_session_id", req.ProviderSession},
		{"role", req.Role}, {"source_format", req.SourceFormat}, {"source_id", req.SourceID}, {"workspace", req.Workspace},
	} {
		if f.value == "" {
			continue
		}
		value := strings.TrimSpace(f.value)
		if value == "" || len(value) > maxFilterBytes {
			return rangeFault(InvalidRange, "%s has 1 to %d bytes", f.name, maxFilterBytes)
		}
		if f.name == "history_source" {
			if _, _, ok := selection.SplitHistorySource(value); !ok {
				return rangeFault(InvalidRange, "history_source is provider_key/source_id")
			}
		}
		p.text[f.name], p.filters[f.name] = value, value
	}
	return nil
}

func (p *rangePlan) takeLimit(req *RangeRequest) error {
	p.limit = req.Limit
	if p.limit == 0 && !req.LimitGiven {
		p.limit = defaultRangeLimit
	}
	if p.limit < 1 || p.limit > maxRangeLimit {
		return rangeFault(ResourceLimit, "the limit is 1 to %d events", maxRangeLimit)
	}
	return nil
}

// domain is the domain object of answers.
func (p *rangePlan) domain() any {
	if !p.ranged {
		return map[string]any{"kind": "all"}
	}
	return map[string]any{"kind": "range", "range": map[string]any{
		"since": selection.FormatTime(p.since), "until": selection.FormatTime(p.until),
	}}
}

func (p *rangePlan) direction() string {
	if p.reverse {
		return "descending"
	}
	return "ascending"
}

// digest identifies the selection: domain, filters and direction, but neither limit nor content. Map keys are marshalled in sorted
// order, so equal selections give equal bytes.
func (p *rangePlan) digest() ([sha256.Size]byte, error) {
	text, err := appendJSON([]byte("ctx.event-range-selection\x00"), map[string]any{
		"domain": p.domain(), "filters": p.filters, "direction": p.direction(),
	})
	return sha256.Sum256(text), err
}
