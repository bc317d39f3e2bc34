package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/record"
)

// transcriptText renders a session for people.
type transcriptText struct {
	s       *session
	view    *history.View
	session *history.Session
	mode    string
	max     int
}

// each writes every event that is left. A failure is kept like one of writing.
func (p *page) each(transcript *history.Transcript, write func(*history.Shown)) {
	err := transcript.Each(func(shown *history.Shown) error {
		write(shown)
		return p.err
	})
	p.err = cmp.Or(p.err, err)
}

// text is the form for a screen or a pipe: a header, then numbered events with their bodies indented.
func (t *transcriptText) text(p *page, transcript *history.Transcript) error {
	fields, err := t.head()
	if err != nil {
		return err
	}
	p.section("Session", fields...)
	events := eventText{p: p, view: t.view, program: t.s.program()}
	p.each(transcript, events.write)
	switch {
	case transcript.Truncated():
		p.gap()
		p.printf("Cut after %s (--max-events)\n", plural(events.n, "event"))
	case events.n == 0:
		p.gap()
		p.printf("No event of mode %s in this session; --mode log shows every event\n", t.mode)
	}
	if command := events.program + " show session " + t.view.OwnSession(t.session.ID) + " --mode "; events.folded > 0 {
		p.gap()
		p.printf("%s folded; all of it: %s%s | less\n", plural(events.folded, "long output"), command, t.mode)
	} else if p.style.terminal && t.mode == string(history.ModeLite) && events.n > 0 {
		p.gap()
		p.printf("Only questions and last answers; all of it: %slog\n", command)
	}
	return p.err
}

// head says what the session is, where and when it ran and how it hangs together with others.
func (t *transcriptText) head() ([]field, error) {
	s := t.session
	stats, err := t.view.Generation().SessionStats(s.Ordinal)
	if err != nil {
		return nil, err
	}
	when := ""
	if stats.Timed {
		when = selection.FormatTime(stats.First) + " to " + selection.FormatTime(stats.Last)
	}
	fields := []field{
		{"Session", t.view.OwnSession(s.ID)},
		{"Title", clipGraphemes(oneLine(s.Meta.Title), titleGraphemes)},
		{"Directory", oneLine(s.Meta.CWD)}, {"Branch", oneLine(s.Meta.Branch)}, {"Time", when}, {"Events", count(stats.Events)},
	}
	fields = append(fields, t.lineageFields()...)
	return append(fields, field{"Relationship", s.Info.Relationship}, field{"Provider", s.Provider},
		field{"Provider session", s.ProviderSessionID}, field{"Mode", t.mode}, field{"Source", goneNote(s.SourceState)}), nil
}

func (t *transcriptText) lineageFields() []field {
	s := t.session
	if s.Parent != nil && s.Root != nil && *s.Parent == *s.Root {
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

// eventText writes events one after the other. On a terminal the head of an event is one line if that is wide enough, and what tools were given and gave is
// dimmed and folded.
type eventText struct {
	p       *page
	view    *history.View
	program string // ctx, as a command to copy
	here    string // marks the event that was asked for among its neighbours
	whole   bool   // nothing is folded
	n       int
	folded  int
}

func (t *eventText) write(shown *history.Shown) {
	p, e := t.p, shown.Event
	t.n++
	id, copied := t.view.OwnEvent(e.ID), ""
	if e.Copy != nil {
		copied = "from event " + t.view.ShortEvent(e.Copy.Event)
	}
	name := fmt.Sprintf("%d. %s", t.n, joinNonEmpty(" ", p.style.safe(e.Role), p.style.safe(e.Type), t.here))
	text, activity := shown.Text(), activityLine(e.Activity)
	p.gap()
	if !p.style.terminal {
		p.printf("%s\n", p.style.bold(name))
		p.fields(3, 8, []field{{"Time", eventTime(e)}, {"Event", fmt.Sprintf("%s · seq %d", id, e.Sequence)}, {"Copied", copied}, {"Activity", activity}})
		if strings.TrimSpace(text) != "" {
			p.printf("\n")
			p.body(3, text)
		}
		return
	}
	if copied != "" {
		copied = "copied " + copied
	}
	rest := joinNonEmpty(" · ", clipGraphemes(activity, activityGraphemes), eventTime(e), id, copied)
	color := "2"
	switch {
	case isProse(e.Type) && e.Role == record.User:
		color = "1;36"
	case isProse(e.Type):
		color = "1"
	}
	for _, piece := range p.broken(name+" · "+rest, p.style.width) {
		if after, first := strings.CutPrefix(piece, name); first {
			piece = p.style.paint(color, name) + p.style.dim(after)
		} else {
			piece = p.style.dim(piece)
		}
		p.printf("%s\n", piece)
	}
	if isProse(e.Type) {
		p.body(3, text)
		return
	}
	if e.Type == record.ToolCall {
		text = argumentLines(text)
	}
	if p.output(3, text, t.whole, t.program+" show event "+id) {
		t.folded++
	}
}

// isProse tells what is written for people from what tools were given and gave.
func isProse(eventType string) bool {
	return eventType == record.Message || eventType == record.Summary || eventType == record.Notice
}

// argumentLines shows the arguments of a call as a person would write them, one below the other; what is no JSON object stays.
func argumentLines(text string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil {
		return text
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var value string
		if json.Unmarshal(members[name], &value) != nil {
			value = string(members[name])
		}
		if strings.Contains(value, "\n") {
			value = "\n  " + strings.ReplaceAll(strings.TrimRight(value, "\n"), "\n", "\n  ")
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	return b.String()
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
	p.each(transcript, func(shown *history.Shown) {
		e := shown.Event
		p.printf("[%s] %s %s %s\n%s\n\n", orDash(eventTime(e)), orDash(e.Role), e.Type, e.ID, shown.Text())
	})
	if transcript.Truncated() {
		p.printf("transcript_truncated: true\nmax_events: %d\n", t.max)
	}
	return p.err
}

func (t *transcriptText) markdown(p *page, transcript *history.Transcript) error {
	s := t.session
	name := cmp.Or(s.ProviderSessionID, s.ID.String())
	p.printf("# %s session %s\n\n- ctx_session_id: `%s`\n", s.Provider, p.style.safe(name), s.ID)
	for _, f := range []field{{"title", s.Meta.Title}, {"directory", s.Meta.CWD}, {"branch", s.Meta.Branch}} {
		if f.value != "" {
			p.printf("- %s: %s\n", f.label, withoutTags(oneLine(f.value)))
		}
	}
	if s.SourceState == "gone" {
		p.printf("- %s\n", goneMark)
	}
	p.printf("\n")
	p.each(transcript, func(shown *history.Shown) { eventMarkdown(p, shown) })
	if transcript.Truncated() {
		p.printf("> Cut after %s.\n", plural(t.max, "event"))
	}
	return p.err
}

// eventMarkdown writes an event as a section of its own, whatever its text holds.
func eventMarkdown(p *page, shown *history.Shown) {
	e, text := shown.Event, p.style.safe(shown.Text())
	switch {
	case strings.TrimSpace(text) == "":
	case isProse(e.Type):
		text = contained(text)
	default:
		text = fenced(text)
	}
	p.printf("## %s - %s - %s\n\nctx_event_id: `%s`\n\n%s\n\n", p.style.safe(orDash(e.Role)), p.style.safe(e.Type), orDash(eventTime(e)), e.ID, text)
}

func eventTime(e *record.Event) string {
	if !e.Timed {
		return ""
	}
	return selection.FormatTime(e.OccurredAt)
}

func orDash(text string) string { return cmp.Or(text, "-") }
