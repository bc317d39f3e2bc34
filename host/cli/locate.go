package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/history"
)

func (a *App) locateCommand() *cobra.Command {
	cmd := group("locate", "Tell where a session or event comes from", a.locateSessionCommand(), a.locateEventCommand())
	cmd.Long = "Tell where a session or event comes from. ctx locate ID finds out what the id is of."
	return cmd
}

func (a *App) locateSessionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "session [ID]", Short: "Tell where a session comes from"}
	return a.ofSession(a.formats(cmd, "text", "json"), func(_ *cobra.Command, _ *session, view *history.View, s *history.Session) error {
		found, err := view.LocateSession(s)
		if err != nil {
			return err
		}
		return a.answer(found, func(p *page) {
			printLocated(p, "Session", found.Source, found.SourceState,
				field{"ID", found.SessionID}, field{"Provider", found.Provider}, field{"Provider session", found.ProviderSession},
				field{"First event", found.StartedAt})
		})
	})
}

func (a *App) locateEventCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "event ID", Short: "Tell where an event comes from"}
	return a.ofEvent(a.formats(cmd, "text", "json"), func(cmd *cobra.Command, _ *session, view *history.View, id string) error {
		found, err := view.LocateEvent(cmd.Context(), id)
		if err != nil {
			return err
		}
		return a.answer(found, func(p *page) {
			printLocated(p, "Event", found.Source, found.SourceState,
				field{"ID", found.EventID}, field{"Session", found.SessionID}, field{"Provider", found.Provider},
				field{"Provider session", found.ProviderSession}, field{"Time", found.OccurredAt},
				field{"Sequence", strconv.FormatUint(found.Sequence, 10)})
		})
	})
}

// printLocated writes what was found and its source; both blocks share one label column.
func printLocated(p *page, title string, source history.SourceLocation, state string, fields ...field) {
	const column = 16
	p.columns(title, column, fields...)
	p.columns("Core source", column, field{"ID", source.SourceID}, field{"Format", source.SourceFormat},
		field{"Schema", source.SchemaVariant}, field{"State", goneNote(state)})
}
