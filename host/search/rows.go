package search

import (
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/lineage"
	"github.com/agenthistory/ctx/host/record"
)

// archive is the generation for lineage walks, with the sessions that the search has read already.
type archive struct {
	*core.Generation
	run *run
}

func (a archive) Session(ordinal uint32) (*record.Session, error) { return a.run.sessions.get(ordinal) }

// rowReader is what one goroutine needs to read records.
type rowReader struct {
	event record.Event
	buf   []byte
	text  record.Projection
}

// read fetches a record and makes its projection.
func (w *rowReader) read(gen *core.Generation, doc lexical.Doc) (err error) {
	if w.buf, err = gen.EventInto(w.buf, doc, &w.event); err == nil {
		w.text.Fill(&w.event)
	}
	return err
}

// rows reads the records that are returned, and no others.
func (r *run) rows(found []result) ([]Row, error) {
	r.termSet = map[string]int{}
	for i, t := range r.said.terms {
		r.termSet[string(t)] = i
	}
	for i, group := range r.said.groups {
		for _, t := range group {
			r.termSet[string(t)] = len(r.said.terms) + i
		}
	}
	rows := make([]Row, len(found))
	err := inParallel(len(found), func(w *rowReader, i int) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		return r.row(w, &rows[i], i, &found[i])
	})
	if err != nil || !r.req.ShortIDs {
		return rows, err
	}
	for i := range rows {
		row := &rows[i]
		row.ShortSession, row.ShortEvent = r.view.OwnSession(row.Session), r.view.OwnEvent(row.Event)
		row.ShortCommands = r.commands(row.ShortSession, row.ShortEvent)
	}
	return rows, nil
}

func (r *run) row(w *rowReader, row *Row, i int, found *result) error {
	s, err := r.sessions.get(found.row.Session)
	if err != nil {
		return err
	}
	e := &w.event
	if err := w.read(r.gen, found.doc); err != nil {
		return err
	}
	r.describe(row, e, r.service.Redact.Session(s))
	row.Rank, row.Score = i+1, Decimal32(found.score)
	if !r.events {
		importance, more := row.Score, found.matches-1
		row.SessionImportance, row.MoreMatches = &importance, &more
	}
	state, err := r.gen.SourceState(s.Source)
	if err != nil {
		return err
	}
	row.SourceState = state.String()
	if row.Lineage, err = lineage.Walk(archive{r.gen, r}, e, lineage.SearchPreview); err != nil {
		return err
	}
	row.Why = r.why(&w.text)
	if r.service.Redact.Event(e) {
		w.text.Fill(e)
	}
	part, cut := snippet(w.text.Text, row.SnippetMaxChars, r.subject)
	row.Snippet, row.SnippetTruncated = string(w.text.Text[part.from:part.to]), cut
	if part.from < w.text.Body && (len(r.termSet) == 0 || slices.Contains(row.Why, "text")) {
		part.to = min(part.to, w.text.Body) // what follows is for programs: the stored form and the facts
	}
	row.Readable = readable(w.text.Text, part)
	row.Commands = r.commands(row.SessionID, row.EventID)
	return nil
}

// describe fills the members that come from the record and its session alone.
func (r *run) describe(row *Row, e *record.Event, s *record.Session) {
	event, session := e.ID.String(), s.ID.String()
	*row = Row{
		ItemID: session, ResultType: "session_result", ResultScope: "session",
		EventID: event, SessionID: session, CompatEventID: event, CompatSessionID: session,
		EventSeq: e.Sequence, Title: title(s.Provider, e.Role, e.Type), SessionTitle: s.Meta.Title, SnippetMaxChars: r.snippet,
		Provider: s.Provider, SourceFormat: s.SourceFormat, ProviderSession: s.ProviderSessionID,
		Relationship: s.Relationship.String(), AgentScope: e.Scope.String(), CWD: s.Meta.CWD, Visibility: "local",
		Type: e.Type, Role: e.Role, Session: s.ID, Event: e.ID,
		Citations: []Citation{{
			ItemID: event, TargetType: "event", EventID: event, SessionID: session, Provider: s.Provider, Session: session, EventSeq: e.Sequence,
		}},
	}
	if r.events {
		row.ItemID, row.ResultType, row.ResultScope = event, "event", "event"
	}
	if s.Parent != nil {
		row.Parent = s.Parent.String()
	}
	if s.Root != nil {
		row.Root = s.Root.String()
	}
	if e.Copy != nil {
		row.Copy = &Copy{Session: e.Copy.Session.String(), Event: e.Copy.Event.String(), Proof: e.Copy.Proof.String()}
	}
	if e.Timed {
		row.Timestamp = selection.FormatTime(e.OccurredAt)
	}
}

func title(provider, role, typ string) string {
	if role == "" {
		return provider + " " + typ
	}
	return provider + " " + role + " " + typ
}

// why tells where a row matched, in fixed order: text, file, metadata.
func (r *run) why(text *record.Projection) []string {
	why := []string{}
	if r.hasTerm(text.Text[:text.Body]) {
		why = append(why, "text")
	}
	if r.filters.File != "" || r.said.hasField("file") {
		why = append(why, "file")
	}
	if r.hasTerm(text.Text[text.Body:]) {
		why = append(why, "metadata")
	}
	return why
}

// hasTerm tells whether a token of the query is in the text.
func (r *run) hasTerm(text []byte) bool {
	if len(r.termSet) == 0 || len(text) == 0 {
		return false
	}
	found := false
	lexical.EachSpan(text, func(token []byte, _, _ int) bool {
		_, found = r.termSet[string(token)]
		return !found
	})
	return found
}
