package cli

import (
	"context"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
)

func (a *App) showCommand() *cobra.Command {
	cmd := group("show", "Read a stored session or event", a.showSessionCommand(), a.showEventCommand())
	cmd.Use = "show ID"
	cmd.Long = "Read a stored session or event. ctx show ID finds out what the id is of, and takes the flags that go with that."
	cmd.Example = "  ctx show 1013d6b8\n  ctx show 1013d6b8 --mode log\n  ctx show session 1013d6b8 --format html --out session.html\n  ctx show event ab2e1a1e --window 5"
	return cmd
}

// reading is what a command does with an open index.
type reading[T any] func(cmd *cobra.Command, s *session, view *history.View, what T) error

// ofSession makes cmd a command about one session, named by its ctx id or by the provider's.
func (a *App) ofSession(cmd *cobra.Command, read reading[*history.Session]) *cobra.Command {
	var provider string
	var selector history.SessionSelector
	cmd.Flags().StringVar(&provider, "provider", "", "`provider` of --provider-session")
	cmd.Flags().StringVar(&selector.ProviderSession, "provider-session", "", "the provider's own session `id` instead of ID")
	one := atMostOne("session id")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !cmd.Flags().Changed("provider-session") {
			return usage(cmd, "a session id or --provider-session is needed")
		}
		return one(cmd, args)
	}
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, args []string) (err error) {
		if len(args) == 1 {
			selector.ID = args[0]
		}
		if err := refuseBlank(cmd, fault.InvalidRequest, "provider", "provider-session"); err != nil {
			return err
		}
		if provider != "" {
			if selector.Provider, err = s.provider(provider); err != nil {
				return err
			}
		}
		return s.view(cmd, "session", selector.ID, func(ctx context.Context, view *history.View) error {
			found, err := view.FindSession(ctx, selector)
			if err != nil {
				return err
			}
			return read(cmd, s, view, found)
		})
	})
	return cmd
}

// ofEvent makes cmd a command about one event.
func (a *App) ofEvent(cmd *cobra.Command, read reading[string]) *cobra.Command {
	cmd.Args = exactlyOne("an event id")
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, args []string) error {
		return s.view(cmd, "event", args[0], func(_ context.Context, view *history.View) error { return read(cmd, s, view, args[0]) })
	})
	return cmd
}

// view opens the index and runs use. When that finds no such id, but the id is of the other kind, the hint is the command that takes it.
func (s *session) view(cmd *cobra.Command, kind, id string, use func(context.Context, *history.View) error) error {
	if id != "" {
		if _, _, err := history.ParseID(kind, id); err != nil {
			return err
		}
	}
	return s.reading(cmd.Context(), func(view *history.View) error {
		err := use(cmd.Context(), view)
		other, article := "event", "an"
		if kind == "event" {
			other, article = "session", "a"
		}
		if fault.Code(err) != fault.NotFound || id == "" || !view.Knows(cmd.Context(), other, id) {
			return err
		}
		family := "ctx locate" // tells the session of an event
		if cmd.Name() == kind {
			family = cmd.Parent().CommandPath()
		}
		return fault.Wrap(err, fault.NotFound, "%s is the id of %s %s", quoteWord(id), article, other).WithHint("%s %s %s", family, other, id)
	})
}

func (a *App) showSessionCommand() *cobra.Command {
	var mode, out string
	var most int
	cmd := a.ofSession(&cobra.Command{
		Use:   "session [ID]",
		Short: "Show the transcript of a session",
		Long: `Show the transcript of a session from the index, never from the provider's files.
Mode lite shows what was asked and the last answer to it, full every message, log every event with all tool calls and outputs.

On a terminal prose is wrapped, calls and outputs of tools are dimmed, and long ones are folded: a line tells how much is left out and
the command that shows all of it. Everywhere else, and with --out, the text is complete.`,
	}, func(cmd *cobra.Command, s *session, view *history.View, found *history.Session) error {
		transcript := view.Transcript(cmd.Context(), found, history.Mode(mode), most)
		t := &transcriptText{s: s, view: view, session: found, mode: mode, max: most}
		defer func() { a.delivered(transcript.Returned()) }()
		return a.deliver(out, func(w io.Writer) error { return a.writeTranscript(w, transcript, t, out != "") })
	})
	choiceFlag(cmd.Flags(), &mode, "mode", "lite", "which events", "full", "lite", "log")
	cmd.Flags().Var(whole(&most, 1, math.MaxInt64, " above 0"), "max-events", "stop after `n` events")
	outFlag(cmd, &out)
	redactFlag(cmd)
	return a.formats(cmd, "text", "markdown", "html", "json", "jsonl")
}

func (a *App) writeTranscript(w io.Writer, transcript *history.Transcript, t *transcriptText, toFile bool) error {
	p := a.page()
	if p.w = w; toFile {
		p.style = style{} // recorded text goes into a file as it is
	}
	switch {
	case a.format == "json":
		return transcript.WriteJSON(w)
	case a.format == "jsonl":
		return transcript.WriteJSONL(w)
	case a.format == "html":
		return t.html(w, transcript)
	case a.format == "markdown":
		return t.markdown(p, transcript)
	case toFile:
		return t.plain(p, transcript)
	}
	return t.text(p, transcript)
}

func (a *App) showEventCommand() *cobra.Command {
	var before, after, window int
	cmd := a.ofEvent(&cobra.Command{
		Use:   "event ID",
		Short: "Show one event, with its neighbours if wanted",
	}, func(cmd *cobra.Command, s *session, view *history.View, id string) error {
		if cmd.Flags().Changed("window") {
			before, after = window, window
		}
		found, err := view.Window(cmd.Context(), id, before, after)
		if err != nil {
			return err
		}
		a.delivered(len(found.Events))
		return a.writeWindow(s, view, found)
	})
	boundedFlag(cmd, &before, "before", 0, 0, 50, "events before it")
	boundedFlag(cmd, &after, "after", 0, 0, 50, "events after it")
	redactFlag(cmd)
	boundedFlag(cmd, &window, "window", 0, 0, 50, "events on both sides, in place of --before and --after")
	return a.formats(cmd, "text", "markdown", "json", "jsonl")
}

func (a *App) writeWindow(s *session, view *history.View, found *history.Window) error {
	switch a.format {
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
	p := a.page()
	selected := found.Selected
	p.section("Event",
		field{"Event", view.OwnEvent(selected.Event.ID)},
		field{"Session", sessionLabel(view.OwnSession(selected.Session.ID), selected.Session.Meta.Title, selected.Session.SourceState)},
		field{"Provider", selected.Session.Provider},
		field{"Events", strconv.Itoa(len(found.Events))},
	)
	if text := lineageText(found.Lineage); text != "" {
		p.section("Copied lineage", field{"Copies", text})
	}
	text := eventText{p: p, view: view, program: s.program()}
	for _, shown := range found.Events {
		here := shown == selected
		text.whole = here
		if text.here = ""; here && len(found.Events) > 1 {
			text.here = "(this event)"
		}
		text.write(shown)
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
