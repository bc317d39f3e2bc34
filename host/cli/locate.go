package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/history"
)

func (a *App) locateCommand() *cobra.Command {
	return group("locate", "Tell where a session or event comes from", a.locateSessionCommand(), a.locateEventCommand())
}

func (a *App) locateSessionCommand() *cobra.Command {
	var selected sessionFlags
	var format string
	cmd := &cobra.Command{Use: "session [ID]", Short: "Tell where a session comes from", Args: atMostOne("session id")}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		view, session, err := a.findSession(cmd, &selected, args)
		if err != nil {
			return err
		}
		defer view.Close()
		found, err := view.LocateSession(cmd.Context(), history.SessionSelector{ID: session.ID.String()})
		if err != nil {
			return err
		}
		return a.answer(format, found, func(p *page) {
			printLocated(p, "Session", found.Source, found.SourceState,
				field{"ID", found.SessionID}, field{"Provider", found.Provider}, field{"Provider session", found.ProviderSession},
				field{"First event", found.StartedAt})
		})
	}
	selected.add(cmd)
	a.formatFlag(cmd, &format, "text", "text", "json")
	return cmd
}

func (a *App) locateEventCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{Use: "event ID", Short: "Tell where an event comes from", Args: exactlyOne("an event id")}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withEvent(cmd, args[0], func(ctx context.Context, view *history.View) error {
			found, err := view.LocateEvent(ctx, args[0])
			if err != nil {
				return err
			}
			return a.answer(format, found, func(p *page) {
				printLocated(p, "Event", found.Source, found.SourceState,
					field{"ID", found.EventID}, field{"Session", found.SessionID}, field{"Provider", found.Provider},
					field{"Provider session", found.ProviderSession}, field{"Time", found.OccurredAt},
					field{"Sequence", strconv.FormatUint(found.Sequence, 10)})
			})
		})
	}
	a.formatFlag(cmd, &format, "text", "text", "json")
	return cmd
}

// printLocated writes what was found and its source; both blocks share one label column.
func printLocated(p *page, title string, source history.SourceLocation, state string, fields ...field) {
	const column = 16
	p.columns(title, column, fields...)
	gone := ""
	if state == "gone" {
		gone = goneMark
	}
	p.columns("Core source", column, field{"ID", source.SourceID}, field{"Format", source.SourceFormat},
		field{"Schema", source.SchemaVariant}, field{"State", gone})
}
