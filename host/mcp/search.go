package mcp

import (
	"context"
	"encoding/json"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/plain"
	"github.com/agenthistory/ctx/host/search"
)

// Bounds of a compact answer: grapheme clusters of a snippet, characters of a title, results in the text.
const (
	compactSnippet = 160
	compactTitle   = 60
	compactHits    = 3
)

// A search that names no limit ends earlier than after its 20 results to keep its line this short, because clients cut long answers. With
// a limit of its own the line may have all bytes.
const (
	usualLine   = 40_000
	compactLine = 12_000
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
	service.Redact = f.redact
	asked := struct {
		search.Request
		Compact bool `json:"compact"`
	}{Request: search.Request{Freshness: search.Freshness{Mode: "off", Status: "existing_generation"}}}
	if err := args.into(&asked); err != nil {
		return nil, err
	}
	req, compact := asked.Request, asked.Compact
	if compact {
		req.Snippet = compactSnippet
	}
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
	most := f.most
	if req.Limit == 0 {
		most = usualLine
		if compact {
			most = compactLine
		}
	}
	return fitSearch(view, found, compact, f, most)
}

// fitSearch drops trailing results until the line has at most most bytes. The first one stays as long as the line may have it.
func fitSearch(view *history.View, found *search.Answer, compact bool, f *frame, most int) (*answer, error) {
	rows, err := searchRows(found, compact)
	if err != nil {
		return nil, err
	}
	for {
		a := &answer{text: searchText(view, found, compact), rows: new(len(rows))}
		if a.structured, err = plain.JSON(searchShape(found, compact, rows)); err != nil {
			return nil, err
		}
		over := f.size(a) - most
		if len(rows) <= 1 {
			over = f.size(a) - f.most
		}
		if over <= 0 || len(rows) == 0 {
			for i := range rows {
				a.snippets += len(found.Results[i].Snippet)
			}
			return a, nil
		}
		n := len(rows) - 1
		for over -= len(rows[n]); over > 0 && n > 1; {
			n--
			over -= len(rows[n]) + 1
		}
		rows, found.Results = rows[:n], found.Results[:n]
		found.Window.Returned, found.Window.MoreAvailable = n, true
	}
}

// searchRows are the results as they stand in the answer.
func searchRows(found *search.Answer, compact bool) ([]json.RawMessage, error) {
	rows := make([]json.RawMessage, len(found.Results))
	for i := range rows {
		var row any = &found.Results[i]
		if compact {
			row = compactOf(&found.Results[i])
		}
		var err error
		if rows[i], err = plain.JSON(row); err != nil {
			return nil, err
		}
	}
	return rows, nil
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

func compactOf(r *search.Row) compactRow {
	row := compactRow{
		Event: r.EventID, Session: r.SessionID, Title: r.Title, SessionTitle: clip(r.SessionTitle, compactTitle), Snippet: r.Snippet, More: r.MoreMatches,
		Timestamp: r.Timestamp, CWD: r.CWD,
	}
	if r.SourceState != "present" {
		row.Gone = r.SourceState
	}
	return row
}

// searchShape is the answer around its rows; a compact one has the members that a reader needs to go on.
func searchShape(a *search.Answer, compact bool, rows []json.RawMessage) any {
	type whole struct {
		*search.Answer
		Results []json.RawMessage `json:"results"`
	}
	if !compact {
		return whole{a, rows}
	}
	type none *struct{} // takes a member of the whole answer out
	return struct {
		whole
		Compact    bool `json:"compact"`
		Phases     none `json:"phase_attribution,omitempty"`
		Generated  none `json:"generated_at,omitempty"`
		Truncation none `json:"truncation,omitempty"`
	}{whole: whole{a, rows}, Compact: true}
}
