package cli

import (
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
		if format == "json" {
			return writeDocument(a.Stdout, found)
		}
		p := a.page()
		p.section("Session", padded(
			field{"ID", found.SessionID}, field{"Provider", found.Provider}, field{"Provider session", found.ProviderSession},
			field{"First event", found.StartedAt})...)
		printCoreSource(p, found.Source, found.SourceState)
		return p.err
	}
	selected.add(cmd)
	a.formatFlag(cmd, &format, "text", "text", "json")
	return cmd
}

func (a *App) locateEventCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{Use: "event ID", Short: "Tell where an event comes from", Args: exactlyOne("an event id")}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		view, err := a.eventView(cmd, args[0])
		if err != nil {
			return err
		}
		defer view.Close()
		found, err := view.LocateEvent(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if format == "json" {
			return writeDocument(a.Stdout, found)
		}
		p := a.page()
		p.section("Event", padded(
			field{"ID", found.EventID}, field{"Session", found.SessionID}, field{"Provider", found.Provider},
			field{"Provider session", found.ProviderSession}, field{"Time", found.OccurredAt},
			field{"Sequence", strconv.FormatUint(found.Sequence, 10)})...)
		printCoreSource(p, found.Source, found.SourceState)
		return p.err
	}
	a.formatFlag(cmd, &format, "text", "text", "json")
	return cmd
}

func printCoreSource(p *page, source history.SourceLocation, state string) {
	fields := []field{{"ID", source.SourceID}, {"Format", source.SourceFormat}, {"Schema", source.SchemaVariant}}
	if state == "gone" {
		fields = append(fields, field{"State", goneMark})
	}
	p.section("Core source", padded(fields...)...)
}

// padded gives both blocks of locate the same label column of 16 characters.
func padded(fields ...field) []field {
	const column = 16
	for i := range fields {
		for len(fields[i].label) < column {
			fields[i].label += " "
		}
	}
	return fields
}
