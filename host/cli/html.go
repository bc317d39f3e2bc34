package cli

import (
	"io"

	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/htmlpage"
	"github.com/agenthistory/ctx/host/record"
)

// html is the form for a browser: one file with everything in it.
func (t *transcriptText) html(w io.Writer, transcript *history.Transcript) error {
	s := t.session
	title := oneLine(s.Meta.Title)
	if title == "" {
		title = s.Provider + " session " + t.view.OwnSession(s.ID)
	}
	head := htmlpage.Head{Title: title, Fields: []htmlpage.Field{
		{Name: "Agent", Value: joinNonEmpty(" · ", s.Provider, s.Meta.AgentName, s.Meta.Model)},
		{Name: "Directory", Value: s.Meta.CWD}, {Name: "Branch", Value: s.Meta.Branch},
		{Name: "Session", Value: s.ID.String()}, {Name: "Provider session", Value: s.ProviderSessionID}, {Name: "Mode", Value: t.mode},
		{Name: "Source", Value: goneNote(s.SourceState)},
	}}
	next := func() (*htmlpage.Event, error) {
		shown, err := transcript.Next()
		if err != nil || shown == nil {
			return nil, err
		}
		e := shown.Event
		page := &htmlpage.Event{ID: e.ID.String(), Role: e.Role, Type: e.Type, Time: eventTime(e), Label: activityLine(e.Activity),
			Tool: !isProse(e.Type), Text: shown.Text()}
		if e.Type == record.ToolCall {
			page.Text = argumentLines(page.Text)
		}
		return page, nil
	}
	return htmlpage.Write(w, head, next, func() string {
		if transcript.Truncated() {
			return "Cut after " + plural(t.max, "event")
		}
		return ""
	})
}
