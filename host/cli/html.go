package cli

import (
	"io"

	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/htmlpage"
)

// html is the form for a browser: one file with everything in it.
func (t *transcriptText) html(w io.Writer, transcript *history.Transcript) error {
	s := t.session
	title := oneLine(s.Meta.Title)
	if title == "" {
		title = s.Provider + " session " + t.view.ShortSession(s.ID)
	}
	head := htmlpage.Head{Title: title, Fields: []htmlpage.Field{
		{Name: "Agent", Value: joinNonEmpty(" · ", s.Provider, s.Meta.AgentName, s.Meta.Model)},
		{Name: "Directory", Value: s.Meta.CWD}, {Name: "Branch", Value: s.Meta.Branch},
		{Name: "Session", Value: s.ID.String()}, {Name: "Provider session", Value: s.ProviderSessionID}, {Name: "Mode", Value: t.mode},
	}}
	if s.SourceState == "gone" {
		head.Fields = append(head.Fields, htmlpage.Field{Name: "Source", Value: goneMark})
	}
	next := func() (*htmlpage.Event, error) {
		shown, err := transcript.Next()
		if err != nil || shown == nil {
			return nil, err
		}
		e := shown.Event
		return &htmlpage.Event{ID: e.ID.String(), Role: e.Role, Type: e.Type, Time: eventTime(e), Label: activityLine(e.Activity), Text: shown.Text()}, nil
	}
	return htmlpage.Write(w, head, next, func() string {
		if transcript.Truncated() {
			return "Cut after " + plural(t.max, "event")
		}
		return ""
	})
}
