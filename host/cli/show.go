package cli

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
)

func (a *App) showCommand() *cobra.Command {
	return group("show", "Read a stored session or event", a.showSessionCommand(), a.showEventCommand())
}

// sessionFlags select one session: by ctx id or by the provider's id.
type sessionFlags struct{ provider, providerSession string }

func (s *sessionFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.provider, "provider", "", "provider of --provider-session")
	cmd.Flags().StringVar(&s.providerSession, "provider-session", "", "the provider's own session `id` instead of ID")
}

func (s *sessionFlags) selector(cmd *cobra.Command, app *session, args []string) (history.SessionSelector, error) {
	selector := history.SessionSelector{ProviderSession: s.providerSession}
	if len(args) == 1 {
		selector.ID = args[0]
		if _, _, err := history.ParseID("session", args[0]); err != nil {
			return selector, err
		}
	}
	if len(args) == 0 && !cmd.Flags().Changed("provider-session") {
		return selector, usage(cmd, "a session id or --provider-session is needed")
	}
	if err := refuseBlank(cmd, fault.InvalidRequest, "provider", "provider-session"); err != nil {
		return selector, err
	}
	if s.provider != "" {
		id, err := app.provider(s.provider)
		if err != nil {
			return selector, err
		}
		selector.Provider = id
	}
	return selector, nil
}

func (a *App) showSessionCommand() *cobra.Command {
	var selected sessionFlags
	var mode, format, out string
	var most int
	cmd := &cobra.Command{
		Use:   "session [ID]",
		Short: "Show the transcript of a session",
		Long: `Show the transcript of a session from the index, never from the provider's files.
Mode lite shows what was asked and the last answer to it, full every message, log every event with all tool calls and outputs.`,
		Args: atMostOne("session id"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		view, found, err := a.findSession(cmd, &selected, args)
		if err != nil {
			return err
		}
		defer view.Close()
		transcript := view.Transcript(cmd.Context(), found, history.Mode(mode), most)
		t := &transcriptText{view: view, session: found, mode: mode, max: most}
		defer func() { a.delivered(transcript.Returned()) }()
		return a.deliver(out, func(w io.Writer) error { return a.writeTranscript(w, transcript, t, format, out != "") })
	}
	selected.add(cmd)
	choiceFlag(cmd, &mode, "mode", "lite", "which events", "full", "lite", "log")
	cmd.Flags().Var(positiveCount(&most), "max-events", "stop after `n` events")
	cmd.Flags().StringVar(&out, "out", "", "write to this `file` instead of stdout, all or nothing")
	a.formatFlag(cmd, &format, "text", "text", "markdown", "html", "json", "jsonl")
	return cmd
}

// findSession opens a view and resolves the session that the flags and the argument name. The caller closes the view.
func (a *App) findSession(cmd *cobra.Command, selected *sessionFlags, args []string) (*history.View, *history.Session, error) {
	s, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	selector, err := selected.selector(cmd, s, args)
	if err != nil {
		return nil, nil, err
	}
	view, err := history.Open(cmd.Context(), s.store)
	if err != nil {
		return nil, nil, err
	}
	found, err := view.FindSession(cmd.Context(), selector)
	if err != nil {
		return nil, nil, errors.Join(wrongKind(cmd, err, view, "event", selector.ID), view.Close())
	}
	return view, found, nil
}

// wrongKind is err, unless it says that there is no such id and the id belongs to the other kind: then the hint is the command for it.
func wrongKind(cmd *cobra.Command, err error, view *history.View, other, id string) error {
	if fault.Code(err) != fault.NotFound || id == "" {
		return err
	}
	var probe error
	if other == "event" {
		_, probe = view.FindEvent(cmd.Context(), id)
	} else {
		_, probe = view.FindSession(cmd.Context(), history.SessionSelector{ID: id})
	}
	if probe != nil {
		return err
	}
	return fault.Wrap(err, fault.NotFound, "%s is the id of %s", quoteWord(id), map[string]string{"event": "an event", "session": "a session"}[other]).
		WithHint("%s %s %s", cmd.Parent().CommandPath(), other, id)
}

// withEvent checks the id of an event, opens a view and runs use, whose not_found may be that of a session id.
func (a *App) withEvent(cmd *cobra.Command, id string, use func(context.Context, *history.View) error) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	if _, _, err := history.ParseID("event", id); err != nil {
		return err
	}
	view, err := history.Open(cmd.Context(), s.store)
	if err != nil {
		return err
	}
	defer view.Close()
	return wrongKind(cmd, use(cmd.Context(), view), view, "session", id)
}

func (a *App) writeTranscript(w io.Writer, transcript *history.Transcript, t *transcriptText, format string, toFile bool) error {
	p := a.page()
	if p.w = w; toFile {
		p.style = style{} // recorded text goes into a file as it is
	}
	switch {
	case format == "json":
		return transcript.WriteJSON(w)
	case format == "jsonl":
		return transcript.WriteJSONL(w)
	case format == "html":
		return t.html(w, transcript)
	case format == "markdown":
		return t.markdown(p, transcript)
	case toFile:
		return t.plain(p, transcript)
	}
	return t.terminal(p, transcript)
}

func (a *App) showEventCommand() *cobra.Command {
	var before, after, window int
	var format string
	cmd := &cobra.Command{
		Use:   "event ID",
		Short: "Show one event, with its neighbours if wanted",
		Args:  exactlyOne("an event id"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("window") {
			before, after = window, window
		}
		return a.withEvent(cmd, args[0], func(ctx context.Context, view *history.View) error {
			found, err := view.Window(ctx, args[0], before, after)
			if err != nil {
				return err
			}
			a.delivered(len(found.Events))
			return a.printWindow(view, found, format)
		})
	}
	boundedFlag(cmd, &before, "before", 0, 0, 50, "events before it")
	boundedFlag(cmd, &after, "after", 0, 0, 50, "events after it")
	boundedFlag(cmd, &window, "window", 0, 0, 50, "events on both sides, in place of --before and --after")
	a.formatFlag(cmd, &format, "text", "text", "markdown", "json", "jsonl")
	return cmd
}

func (a *App) printWindow(view *history.View, found *history.Window, format string) error {
	switch format {
	case "json":
		compact, err := found.AppendJSON(nil)
		if err != nil {
			return err
		}
		return writeIndented(a.Stdout, compact)
	case "jsonl":
		lines, err := found.AppendJSONL(nil)
		if err != nil {
			return err
		}
		_, err = a.Stdout.Write(lines)
		return err
	case "markdown":
		return windowMarkdown(a.page(), found)
	}
	return a.windowText(view, found)
}

func (a *App) windowText(view *history.View, found *history.Window) error {
	p := a.page()
	selected := found.Selected
	p.section("Event",
		field{"Event", view.ShortEvent(selected.Event.ID)},
		field{"Session", sessionLabel(view.ShortSession(selected.Session.ID), selected.Session.Meta.Title, selected.Session.SourceState)},
		field{"Provider", selected.Session.Provider},
		field{"Events", strconv.Itoa(len(found.Events))},
	)
	if text := lineageText(found.Lineage); text != "" {
		p.section("Copied lineage", field{"Copies", text})
	}
	for i, shown := range found.Events {
		here := ""
		if len(found.Events) > 1 && shown.Event.ID == selected.Event.ID {
			here = "(this event)"
		}
		printEvent(p, view, shown, i+1, here)
	}
	return p.err
}

func windowMarkdown(p *page, found *history.Window) error {
	p.printf("# Event %s\n\n", found.Selected.Event.ID)
	if found.Selected.Session.SourceState == "gone" {
		p.printf("> %s\n\n", goneMark)
	}
	for _, shown := range found.Events {
		eventMarkdown(p, shown)
	}
	return p.err
}
