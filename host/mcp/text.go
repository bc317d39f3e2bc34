package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/onscreen"
	"github.com/agenthistory/ctx/host/internal/plain"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/search"
)

// The text content of an answer is a short summary for people and for models that are shown nothing else. The payload is in the
// structured content. Nothing recorded reaches a terminal as a control.
const (
	maxHits       = 5   // results of a search
	maxBlocks     = 8   // events of a page or a window
	maxSourceRows = 12  // sources
	maxCell       = 80  // characters of a table cell
	maxQuoted     = 320 // of a query or a snippet
	maxEventText  = 500
	clipMark      = "... [truncated]"
)

// summary collects the lines of a text.
type summary struct{ strings.Builder }

func (s *summary) line(format string, args ...any) {
	fmt.Fprintf(s, format, args...)
	s.WriteByte('\n')
}

// field writes a key with its value; an empty value writes nothing.
func (s *summary) field(indent int, key string, value any) {
	if text := fmt.Sprint(value); text != "" {
		s.line("%*s%s: %s", indent, "", key, onscreen.Line(text))
	}
}

// clip collapses white space and cuts what is longer than n characters.
func clip(text string, n int) string {
	var b strings.Builder
	count, space := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = count > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			count, space = count+1, false
		}
		b.WriteRune(r)
		if count++; count > n { // longer than allowed: the rest does not matter
			kept := []rune(b.String())[:n-len(clipMark)]
			return string(kept) + clipMark
		}
	}
	return b.String()
}

// more says how many rows the text leaves out.
func (s *summary) more(left int, what string) {
	if left > 0 {
		s.line("\n%d more %s in the structured content", left, what)
	}
}

func searchText(view *history.View, a *search.Answer, compact bool) string {
	s := &summary{}
	s.line("ctx search")
	s.field(0, "query", clip(a.Query, maxQuoted))
	if !compact {
		s.line("freshness: %s/%s", a.Freshness.Mode, a.Freshness.Status)
		r := &a.Retrieval
		s.line("retrieval: requested=%s, effective=%s, semantic_weight=%v, semantic_status=%s", r.RequestedMode, r.EffectiveMode, r.SemanticWeight, r.SemanticStatus)
		s.field(0, "semantic_fallback", r.FallbackCode)
		s.field(0, "semantic_fallback_detail", r.Fallback)
		s.field(0, "filters", filterText(&a.Filters))
	}
	s.line("results: %d", len(a.Results))
	if len(a.Results) == 0 {
		s.coverage(&a.Coverage)
	}
	for _, note := range a.Notes() {
		s.line("note: %s", clip(onscreen.Line(note), maxQuoted))
	}
	if n := a.Coverage.UnknownWorkspace; n != nil && *n > 0 {
		s.line("unknown_workspace_sessions: %d", *n)
	}
	shown := min(maxHits, len(a.Results))
	if compact {
		shown = min(compactHits, shown)
	}
	for i := range a.Results[:shown] {
		s.hit(view, &a.Results[i], compact)
	}
	s.more(len(a.Results)-shown, "results")
	if a.Window.MoreAvailable {
		s.line("\nmore results exist; raise limit or add a word")
	}
	return s.String()
}

func (s *summary) hit(view *history.View, r *search.Row, compact bool) {
	session, event := view.OwnSession(r.Session), view.OwnEvent(r.Event)
	s.line("\n%d. %s", r.Rank, onscreen.Line(clip(r.Title, maxCell)))
	s.field(3, "ctx_session_id", session)
	s.field(3, "ctx_event_id", event)
	if compact {
		s.field(3, "snippet", clip(r.Readable, compactSnippet/2))
		return
	}
	s.field(3, "provider", r.Provider)
	s.field(3, "timestamp", r.Timestamp)
	s.gone(3, r.SourceState)
	s.field(3, "snippet", clip(r.Readable, maxQuoted))
	short := strings.NewReplacer(r.SessionID, session, r.EventID, event)
	for _, command := range r.Commands[:min(2, len(r.Commands))] {
		s.field(3, "next", clip(short.Replace(command), maxQuoted))
	}
	if r.Relationship != "" && r.Relationship != "root" {
		s.field(3, "session_relationship", r.Relationship)
	}
	if r.Copy != nil {
		s.line("   copied_from: event %s of session %s (%s)", r.Copy.Event, r.Copy.Session, r.Copy.Proof)
	}
	if n := r.Lineage.ObservedCount; n > 0 {
		s.line("   copies: %d", n)
	}
}

func (s *summary) gone(indent int, state string) {
	if state == "gone" {
		s.line("%*ssource_state: gone (the source is no longer on disk)", indent, "")
	}
}

// filterText names the filters that were given.
func filterText(f *search.Filters) string {
	raw, err := plain.JSON(f)
	var members map[string]any
	if err != nil || json.Unmarshal(raw, &members) != nil {
		return ""
	}
	var parts []string
	for name, value := range members {
		if name != "content_scope" || value != "all" {
			parts = append(parts, name+"="+clip(fmt.Sprint(value), maxCell))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func (s *summary) coverage(c *search.Coverage) {
	parts := []string{fmt.Sprintf("sources=%d, unselected=%d", c.Sources, c.SourcesUnselected)}
	for _, n := range []struct {
		name  string
		count *int
	}{{"stale", c.SourcesStale}, {"failed", c.SourcesFailed}, {"sessions", &c.Sessions}, {"events", &c.Events}} {
		if n.count != nil {
			parts = append(parts, fmt.Sprintf("%s=%d", n.name, *n.count))
		}
	}
	if c.Relaxations != nil {
		for _, r := range *c.Relaxations {
			parts = append(parts, fmt.Sprintf("drop=%s:%d", r.Drop, r.WouldMatch))
		}
	}
	s.line("coverage: %s", strings.Join(parts, ", "))
}

func pageText(view *history.View, p *history.TranscriptPage, most int) string {
	s := &summary{}
	s.line("ctx show session")
	s.field(0, "ctx_session_id", view.OwnSession(p.Session.ID))
	s.field(0, "provider", p.Session.Provider)
	s.field(0, "provider_session_id", p.Session.ProviderSessionID)
	s.field(0, "mode", string(p.Mode))
	s.gone(0, p.Session.SourceState)
	s.line("events: %d", len(p.Rows))
	s.line("page: limit=%d, returned=%d, has_more=%t", p.Limit, len(p.Rows), p.HasMore)
	if p.HasMore {
		bound := ""
		if most < maxLine {
			bound = fmt.Sprintf(`"max_bytes":%d,`, most)
		}
		s.line(`continue: show_session {"ctx_session_id":"%s","mode":"%s","limit":%d,%s"cursor":"%s"}`, p.Session.ID, p.Mode, p.Limit, bound, p.NextCursor())
	} else {
		s.line("this page is the last")
	}
	for i, row := range p.Rows[:min(maxBlocks, len(p.Rows))] {
		s.block(view, i+1, row, p.Events[i])
	}
	s.more(len(p.Rows)-maxBlocks, "events")
	return s.String()
}

func windowText(view *history.View, w *history.Window) string {
	s := &summary{}
	s.line("ctx show event")
	selected := w.Selected
	s.field(0, "ctx_event_id", view.OwnEvent(selected.Event.ID))
	s.field(0, "ctx_session_id", view.OwnSession(selected.Session.ID))
	s.gone(0, selected.Session.SourceState)
	s.line("events: %d", len(w.Events))
	s.block(view, 1, selected.AppendJSON(nil), selected.Event.ID)
	if r := w.Lineage; r.SelectedDepth > 0 || r.ObservedCount > 0 {
		s.line("\ncopied lineage")
		s.line("   resolution: %s, depth=%d, copies=%d", r.Resolution.State, r.SelectedDepth, r.ObservedCount)
	}
	if len(w.Events) > 1 {
		s.line("\nwindow")
	}
	n := 0
	for _, other := range w.Events {
		if other != selected && n < maxBlocks {
			n++
			s.block(view, n, other.AppendJSON(nil), other.Event.ID)
		}
	}
	s.more(len(w.Events)-1-n, "events")
	return s.String()
}

// block writes one event row.
func (s *summary) block(view *history.View, n int, row []byte, id record.Digest) {
	var e struct {
		Sequence uint64          `json:"sequence"`
		Role     string          `json:"role"`
		Type     string          `json:"event_type"`
		Occurred string          `json:"occurred_at"`
		Text     string          `json:"text"`
		Activity json.RawMessage `json:"activity"`
	}
	if json.Unmarshal(row, &e) != nil {
		return // rows are our own
	}
	if e.Role == "" {
		e.Role = "-"
	}
	s.line("\n%s", onscreen.Line(strings.TrimSpace(fmt.Sprintf("%d. #%d %s %s %s", n, e.Sequence, e.Role, e.Type, e.Occurred))))
	s.field(3, "ctx_event_id", view.OwnEvent(id))
	s.field(3, "activity", clip(string(e.Activity), maxEventText))
	s.field(3, "text", clip(e.Text, maxEventText))
}

// rangeText needs the head of a page only.
func rangeText(structured []byte) string {
	var page struct {
		Events     []struct{} `json:"events"`
		Generation string     `json:"generation_id"`
		Terminal   bool       `json:"terminal"`
		Truncated  bool       `json:"truncated"`
		Cursor     string     `json:"next_cursor"`
	}
	if json.Unmarshal(structured, &page) != nil {
		return "ctx query_events\n" // pages are our own
	}
	s := &summary{}
	s.line("ctx query_events")
	s.line("events: %d", len(page.Events))
	s.field(0, "generation_id", page.Generation)
	s.field(0, "terminal", page.Terminal)
	s.field(0, "truncated", page.Truncated)
	s.field(0, "next_cursor", page.Cursor)
	return s.String()
}
