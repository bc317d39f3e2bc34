package history

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// openingBytes bounds what is returned of a prompt, promptDepth how many events are looked at for the first one.
const (
	openingBytes = 400
	promptDepth  = 64
)

// SessionList holds the newest sessions that have an event of a selection. It marshals to the session_list object.
type SessionList struct {
	SchemaVersion int            `json:"schema_version"`
	PayloadType   string         `json:"payload_type"`
	Generation    string         `json:"generation_id"`
	Filters       map[string]any `json:"filters"`
	Limit         int64          `json:"limit"`
	Matched       int            `json:"matched_sessions"` // without the limit
	More          bool           `json:"more_available"`
	Sessions      []SessionRow   `json:"sessions"`
}

// SessionRow is one session of a list. Times are those of its events.
type SessionRow struct {
	ID record.Digest `json:"-"`

	SessionID       string `json:"ctx_session_id"`
	Provider        string `json:"provider"`
	ProviderSession string `json:"provider_session_id,omitempty"`
	Title           string `json:"title,omitempty"`
	Opening         string `json:"opening,omitempty"` // what was said first, when there is no title
	CWD             string `json:"cwd,omitempty"`
	WorkspaceLabel  string `json:"workspace_label,omitempty"` // when there is no cwd
	Branch          string `json:"branch,omitempty"`
	Model           string `json:"model,omitempty"`
	Parent          string `json:"parent_ctx_session_id,omitempty"`
	Root            string `json:"root_ctx_session_id,omitempty"`
	Relationship    string `json:"session_relationship,omitempty"`
	AgentScope      string `json:"agent_scope,omitempty"`
	SourceState     string `json:"source_state"`
	Events          uint64 `json:"events"`
	StartedAt       string `json:"started_at,omitempty"`
	LastEventAt     string `json:"last_event_at,omitempty"`
}

// dated is a session with what its events tell of its time.
type dated struct {
	ordinal uint32
	stats   core.SessionStats
}

// newest returns the sessions that keep takes, the newest first, those without a time at the end.
func (v *View) newest(ctx context.Context, keep func(*record.Session, core.SessionStats) bool) ([]dated, error) {
	var found []dated
	err := v.gen.Sessions(func(s *record.Session, stats core.SessionStats) error {
		if keep(s, stats) {
			found = append(found, dated{s.Ordinal, stats})
		}
		return ctx.Err()
	})
	slices.SortStableFunc(found, func(a, b dated) int { return cmp.Compare(b.last(), a.last()) })
	return found, err
}

// last is the time of the newest event, before all times where none is known.
func (d dated) last() int64 {
	if !d.stats.Timed {
		return math.MinInt64
	}
	return d.stats.Last
}

// Sessions lists the sessions with at least one event that passes the filters of req, and whose newest event is not older than since
// (RFC 3339 or "<n>d", "" = of any age). Range, direction, content and cursor of req play no part.
func (v *View) Sessions(ctx context.Context, req RangeRequest, since string) (*SessionList, error) {
	plan, err := req.plan()
	if err != nil {
		return nil, err
	}
	oldest := int64(math.MinInt64)
	if since != "" {
		ms, ok := selection.ParseSince(strings.TrimSpace(since), time.Now())
		if !ok {
			return nil, fault.New(fault.InvalidRequest, "since takes an RFC 3339 time or a number of days such as 7d")
		}
		oldest, plan.filters["since"] = ms, selection.FormatTime(ms)
	}
	set, err := plan.selectDocuments(ctx, v.gen)
	if err != nil {
		return nil, err
	}
	var members selection.Ordinals
	if set != nil {
		set.Each(func(d lexical.Doc) bool {
			if row, ok := v.gen.Lexical().Row(d); ok {
				members.Add(row.Session)
			}
			return true
		})
	}
	found, err := v.newest(ctx, func(s *record.Session, stats core.SessionStats) bool {
		return (set == nil || members.Has(s.Ordinal)) && (since == "" || stats.Timed && stats.Last >= oldest)
	})
	if err != nil {
		return nil, err
	}
	list := &SessionList{SchemaVersion: 1, PayloadType: "session_list", Generation: v.gen.ID(), Filters: plan.filters, Limit: plan.limit,
		Matched: len(found), More: int64(len(found)) > plan.limit, Sessions: []SessionRow{}}
	for _, d := range found[:min(int64(len(found)), plan.limit)] {
		row, err := v.sessionRow(ctx, d)
		if err != nil {
			return nil, err
		}
		list.Sessions = append(list.Sessions, row)
	}
	return list, nil
}

func (v *View) sessionRow(ctx context.Context, d dated) (SessionRow, error) {
	s, err := v.session(d.ordinal)
	if err != nil {
		return SessionRow{}, err
	}
	m := &s.Meta
	row := SessionRow{
		ID: s.ID, SessionID: s.ID.String(), Provider: s.Provider, ProviderSession: s.ProviderSessionID, Title: m.Title, CWD: m.CWD, Branch: m.Branch,
		Model: m.Model, Parent: s.Info.Parent, Root: s.Info.Root, Relationship: s.Info.Relationship, AgentScope: s.Info.AgentScope,
		SourceState: s.SourceState, Events: d.stats.Events,
	}
	if m.CWD == "" {
		row.WorkspaceLabel = m.WorkspaceLabel
	}
	if d.stats.Timed {
		row.StartedAt, row.LastEventAt = selection.FormatTime(d.stats.First), selection.FormatTime(d.stats.Last)
	}
	if m.Title == "" {
		row.Opening, err = v.firstPrompt(ctx, d.ordinal)
	}
	return row, err
}

// Openings returns how the newest sessions of people (not of subagents) begin: the title, or else what was said first. The newest
// comes first. At most n sessions are looked at; one without either is left out.
func (v *View) Openings(ctx context.Context, n int) ([]string, error) {
	found, err := v.newest(ctx, func(s *record.Session, stats core.SessionStats) bool {
		return s.Scope != record.ScopeSubagent && stats.Timed
	})
	if err != nil {
		return nil, err
	}
	var openings []string
	for _, d := range found[:min(len(found), n)] {
		row, err := v.sessionRow(ctx, d)
		if err != nil {
			return nil, err
		}
		if text := cmp.Or(row.Title, row.Opening); text != "" {
			openings = append(openings, text)
		}
	}
	return openings, nil
}

// firstPrompt is the beginning of the first message of a person in a session.
func (v *View) firstPrompt(ctx context.Context, ordinal uint32) (string, error) {
	it := v.gen.SessionEvents(ordinal, nil, false)
	defer it.Close()
	for n := 0; n < promptDepth && it.Next(); n++ {
		row, ok := v.gen.Lexical().Row(it.Doc())
		if !ok || !row.Eligible || row.Type != record.TypeMessage || row.Role != record.RoleUser {
			continue
		}
		var e record.Event
		if err := v.gen.Event(it.Doc(), &e); err != nil {
			return "", err
		}
		v.Redact.Event(&e)
		body := e.AppendBody(nil)
		return strings.ToValidUTF8(string(body[:min(len(body), openingBytes)]), ""), ctx.Err()
	}
	return "", it.Err()
}
