package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/record"
)

// transcriptText renders a session for people.
type transcriptText struct {
	app     *App
	view    *history.View
	session *history.Session
	mode    string
	max     int
}

// terminal is the form for a screen or a pipe: a header, then numbered events with their bodies indented.
func (t *transcriptText) terminal(w io.Writer, transcript *history.Transcript) error {
	p := t.app.page()
	p.w = w
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
func (t *transcriptText) plain(w io.Writer, transcript *history.Transcript) error {
	s := t.session
	var b strings.Builder
	fmt.Fprintf(&b, "ctx_session_id: %s\nprovider: %s\n", s.ID, s.Provider)
	if s.ProviderSessionID != "" {
		fmt.Fprintf(&b, "provider_session_id: %s\n", s.ProviderSessionID)
	}
	fmt.Fprintf(&b, "mode: %s\nformat: text\n", t.mode)
	if s.SourceState == "gone" {
		b.WriteString("source_state: gone\n")
	}
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	err := each(transcript, func(shown *history.Shown) error {
		e := shown.Event
		_, err := fmt.Fprintf(w, "[%s] %s %s %s\n%s\n\n", orDash(eventTime(e)), orDash(e.Role), e.Type, e.ID, shown.Text())
		return err
	})
	if err != nil {
		return err
	}
	if transcript.Truncated() {
		_, err := fmt.Fprintf(w, "transcript_truncated: true\nmax_events: %d\n", t.max)
		return err
	}
	return nil
}

func (t *transcriptText) markdown(w io.Writer, transcript *history.Transcript, safe func(string) string) error {
	s := t.session
	name := s.ProviderSessionID
	if name == "" {
		name = s.ID.String()
	}
	head := fmt.Sprintf("# %s session %s\n\n- ctx_session_id: `%s`\n", s.Provider, safe(name), s.ID)
	if s.SourceState == "gone" {
		head += "- " + goneMark + "\n"
	}
	if _, err := io.WriteString(w, head+"\n"); err != nil {
		return err
	}
	if err := each(transcript, func(shown *history.Shown) error { return eventMarkdown(w, shown, safe) }); err != nil {
		return err
	}
	if transcript.Truncated() {
		_, err := fmt.Fprintf(w, "> Cut after %s.\n", plural(t.max, "event"))
		return err
	}
	return nil
}

// eventMarkdown writes one event; safe makes its text harmless where it goes to a terminal.
func eventMarkdown(w io.Writer, shown *history.Shown, safe func(string) string) error {
	e := shown.Event
	_, err := fmt.Fprintf(w, "## %s - %s - %s\n\nctx_event_id: `%s`\n\n%s\n\n", safe(orDash(e.Role)), safe(e.Type), orDash(eventTime(e)), e.ID, safe(shown.Text()))
	return err
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
