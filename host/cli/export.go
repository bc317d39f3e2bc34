package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/history"
)

func (a *App) exportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write everything that is stored as JSON lines",
		Long: `Write everything that is stored as JSON lines: one record a session, one a full event in order of time, and one
completion record at the end. A stream without it is incomplete. Nobody's history is locked in.`,
		Args: noArguments,
	}
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, _ []string) error {
		return a.deliver(out, func(w io.Writer) error { return history.Export(cmd.Context(), s.store, s.redact, w) })
	})
	outFlag(cmd, &out)
	redactFlag(cmd)
	return a.formats(cmd, "jsonl")
}
