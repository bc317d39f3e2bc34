package mcp

import (
	"context"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/search"
)

// Bounds of a compact answer: grapheme clusters of a snippet, characters of a title, results in the text.
const (
	compactSnippet = 160
	compactTitle   = 60
	compactHits    = 3
)

func (s *Server) search(ctx context.Context, args arguments, f *frame) (*answer, error) {
	if err := args.notBlank(invalid, "provider", "history_source", "provider_key", "source_id", "source_format", "workspace", "since", "file"); err != nil {
		return nil, err
	}
	if _, given := args["session"]; given {
		if err := args.id("session", "session"); err != nil {
			return nil, err
		}
	}
	service := s.Search()
	req := searchRequest(args)
	if err := service.Check(req); err != nil {
		return nil, err
	}
	if s.Wake != nil && s.Wake(ctx) {
		req.Freshness = search.Freshness{Mode: "background", Status: "daemon_background"}
	}
	p, err := s.archive.acquire(ctx)
	if fault.Code(err) == fault.SourceUnavailable {
		return nil, fault.Wrap(err, fault.SourceUnavailable, "%s", fault.From(err).Message).
			With("error", fault.SourceUnavailable)
	}
	if err != nil {
		return nil, err
	}
	defer s.archive.release(p)
	found, err := service.SearchIn(ctx, p.gen, req)
	if err != nil {
		return nil, err
	}
	view := p.view(s.Store)
	defer view.Close()
	compact := args.bool("compact")
	for {
		a := &answer{text: searchText(view, found, compact), rows: count(len(found.Results))}
		var shape any = found
		if compact {
			shape = compactAnswer(found)
		}
		if a.structured, err = marshal(shape); err != nil {
			return nil, err
		}
		over := f.size(a) - f.most
		if over <= 0 || len(found.Results) == 0 {
			for i := range found.Results {
				a.snippets += len(found.Results[i].Snippet)
			}
			return a, nil
		}
		// Rows are of about the same size: drop as many as the excess is worth, and at least one.
		drop := max(1, over*len(found.Results)/(len(a.structured)+1))
		found.Results = found.Results[:max(0, len(found.Results)-drop)]
		found.Window.Returned, found.Window.MoreAvailable = len(found.Results), true
	}
}

func searchRequest(args arguments) search.Request {
	req := search.Request{
		Query: args.text("query"), Provider: args.text("provider"), SourceRoots: args.list("source_roots"),
		SourceGroups: args.list("source_groups"), HistorySource: args.text("history_source"), ProviderKey: args.text("provider_key"),
		SourceID: args.text("source_id"), SourceFormat: args.text("source_format"), Workspace: args.text("workspace"),
		Since: args.text("since"), PrimaryOnly: args.bool("primary_only"), ContentScope: args.text("content_scope"),
		EventType: args.text("event_type"), File: args.text("file"), Session: args.text("session"), Events: args.bool("events"),
		IncludeCurrent: args.bool("include_current_session"), Backend: search.Backend(args.text("backend")),
		Freshness: search.Freshness{Mode: "off", Status: "existing_generation"},
	}
	if limit, given := args.integer("limit"); given {
		req.Limit = int(limit)
	}
	if weight, given := args["semantic_weight"].(float64); given {
		req.Weight = &weight
	}
	if args.bool("compact") {
		req.Snippet = compactSnippet
	}
	return req
}

// compactRow is a result without what can be asked for later.
type compactRow struct {
	Event        string `json:"ctx_event_id"`
	Session      string `json:"ctx_session_id"`
	Title        string `json:"title"`
	SessionTitle string `json:"session_title,omitempty"`
	Gone         string `json:"source_state,omitempty"` // only when it is not present
	Snippet      string `json:"snippet"`
	More         *int   `json:"more_matches_in_session,omitempty"`
	Timestamp    string `json:"timestamp,omitempty"`
	CWD          string `json:"cwd,omitempty"`
}

// compactAnswer has the members that a reader needs to go on.
func compactAnswer(a *search.Answer) any {
	rows := make([]compactRow, len(a.Results))
	for i := range rows {
		r := &a.Results[i]
		rows[i] = compactRow{
			Event: r.EventID, Session: r.SessionID, Title: r.Title, SessionTitle: clip(r.SessionTitle, compactTitle), Snippet: r.Snippet, More: r.MoreMatches,
			Timestamp: r.Timestamp, CWD: r.CWD,
		}
		if r.SourceState != "present" {
			rows[i].Gone = r.SourceState
		}
	}
	type none *struct{} // takes a member of the whole answer out
	return struct {
		*search.Answer
		Compact    bool         `json:"compact"`
		Results    []compactRow `json:"results"`
		Phases     none         `json:"phase_attribution,omitempty"`
		Generated  none         `json:"generated_at,omitempty"`
		Truncation none         `json:"truncation,omitempty"`
	}{Answer: a, Compact: true, Results: rows}
}
