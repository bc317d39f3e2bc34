package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/record"
)

// transcriptText renders a session for people.
type transcriptText struct {
	view    *history.View
	session *history.Session
	mode    string
	max     int
}

// terminal is the form for a screen or a pipe: a header, then numbered events with their bodies indented.
func (t *transcriptText) terminal(p *page, transcript *history.Transcript) error {
	s := t.session
	fields := []field{
		{"Session", t.view.ShortSession(s.ID)},
		{"Title", clipGraphemes(oneLine(s.Meta.Title), titleGraphemes)},
	}
	fields = append(fields, t.lineageFields()...)
	fields = append(fields, field{"Relationship", s.Info.Relationship}, field{"Provider", s.Provider},
		field{"Provider session", s.ProviderSessionID}, field{"Mode", t.mode})
	if s.SourceState == "gone" {
		fields = append(fields, field{"Source", goneMark})
	}
	p.section("Session", fields...)
	n := 0
	err := each(transcript, func(shown *history.Shown) error {
		n++
		printEvent(p, t.view, shown, n, "")
		return p.err
	})
	if err != nil {
		return err
	}
	switch {
	case transcript.Truncated():
		p.gap()
		p.printf("Cut after %s (--max-events)\n", plural(n, "event"))
	case n == 0:
		p.gap()
		p.printf("No event of mode %s in this session; --mode log shows every event\n", t.mode)
	}
	return p.err
}

// each calls show for every selected event.
func each(transcript *history.Transcript, show func(*history.Shown) error) error {
	for {
		shown, err := transcript.Next()
		if err != nil || shown == nil {
			return err
		}
		if err := show(shown); err != nil {
			return err
		}
	}
}

func (t *transcriptText) lineageFields() []field {
	s := t.session
	switch {
	case s.Parent == nil && s.Root == nil:
		return nil
	case s.Parent != nil && s.Root != nil && *s.Parent == *s.Root:
		return []field{{"Parent / root", t.view.ShortSession(*s.Parent)}}
	}
	var fields []field
	if s.Parent != nil {
		fields = append(fields, field{"Parent", t.view.ShortSession(*s.Parent)})
	}
	if s.Root != nil && *s.Root != s.ID {
		fields = append(fields, field{"Root", t.view.ShortSession(*s.Root)})
	}
	return fields
}

// printEvent writes one event; here marks the one that was asked for among its neighbours.
func printEvent(p *page, view *history.View, shown *history.Shown, n int, here string) {
	e := shown.Event
	p.gap()
	p.printf("%s\n", p.style.bold(fmt.Sprintf("%d. %s", n, joinNonEmpty(" ", p.style.safe(e.Role), p.style.safe(e.Type), here))))
	fields := []field{
		{"Time", eventTime(e)},
		{"Event", fmt.Sprintf("%s · seq %d", view.ShortEvent(e.ID), e.Sequence)},
	}
	if e.Copy != nil {
		fields = append(fields, field{"Copied", "from event " + view.ShortEvent(e.Copy.Event)})
	}
	fields = append(fields, field{"Activity", activityLine(e.Activity)})
	p.fields(3, 8, fields)
	if text := shown.Text(); strings.TrimSpace(text) != "" {
		p.printf("\n")
		p.body(3, text)
	}
}

// activityLine names the tool or the state of a result; the values are in the machine formats.
func activityLine(activity *record.Activity) string {
	if activity == nil {
		return ""
	}
	var parts []string
	if call := activity.Invocation; call != nil {
		parts = append(parts, joinNonEmpty(" / ", call.Protocol, call.Server, call.Tool))
	}
	if result := activity.Result; result != nil && result.Status != "" {
		parts = append(parts, "result "+result.Status)
	}
	files := 0
	for _, fact := range activity.Facts {
		if fact.Kind == record.FactFile {
			if files++; files <= 3 {
				parts = append(parts, string(fact.Value))
			}
		}
	}
	if files > 3 {
		parts = append(parts, fmt.Sprintf("and %s", plural(files-3, "more file")))
	}
	return oneLine(strings.Join(parts, ", "))
}

// plain is the form of --out: no decoration, one head line an event.
func (t *transcriptText) plain(p *page, transcript *history.Transcript) error {
	s := t.session
	p.printf("ctx_session_id: %s\nprovider: %s\n", s.ID, s.Provider)
	if s.ProviderSessionID != "" {
		p.printf("provider_session_id: %s\n", s.ProviderSessionID)
	}
	p.printf("mode: %s\nformat: text\n", t.mode)
	if s.SourceState == "gone" {
		p.printf("source_state: gone\n")
	}
	p.printf("\n")
	err := each(transcript, func(shown *history.Shown) error {
		e := shown.Event
		p.printf("[%s] %s %s %s\n%s\n\n", orDash(eventTime(e)), orDash(e.Role), e.Type, e.ID, shown.Text())
		return p.err
	})
	if err != nil {
		return err
	}
	if transcript.Truncated() {
		p.printf("transcript_truncated: true\nmax_events: %d\n", t.max)
	}
	return p.err
}

func (t *transcriptText) markdown(p *page, transcript *history.Transcript) error {
	s := t.session
	name := s.ProviderSessionID
	if name == "" {
		name = s.ID.String()
	}
	p.printf("# %s session %s\n\n- ctx_session_id: `%s`\n", s.Provider, p.style.safe(name), s.ID)
	if s.SourceState == "gone" {
		p.printf("- %s\n", goneMark)
	}
	p.printf("\n")
	err := each(transcript, func(shown *history.Shown) error {
		eventMarkdown(p, shown)
		return p.err
	})
	if err != nil {
		return err
	}
	if transcript.Truncated() {
		p.printf("> Cut after %s.\n", plural(t.max, "event"))
	}
	return p.err
}

func eventMarkdown(p *page, shown *history.Shown) {
	e := shown.Event
	p.printf("## %s - %s - %s\n\nctx_event_id: `%s`\n\n%s\n\n", p.style.safe(orDash(e.Role)), p.style.safe(e.Type), orDash(eventTime(e)), e.ID,
		p.style.safe(shown.Text()))
}

func eventTime(e *record.Event) string {
	if !e.Timed {
		return ""
	}
	return time.UnixMilli(e.OccurredAt).UTC().Format("2006-01-02T15:04:05.000Z")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
