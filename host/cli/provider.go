package cli

import (
	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
)

// providerCommand is hidden: the host starts the built-in providers through it, exactly as it starts a third-party executable.
func (a *App) providerCommand() *cobra.Command {
	cmd := group("provider", "Serve a built-in provider (started by ctx itself)", a.providerServeCommand())
	cmd.Hidden = true
	return cmd
}

func (a *App) providerServeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve NAME",
		Short: "Serve a built-in provider over a private socket",
		Args:  exactlyOne("a provider name"),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, p := range a.Providers {
				if p.Name == args[0] {
					p.Serve()
					return nil
				}
			}
			return fault.New(fault.NotFound, "no built-in provider %s", quoteWord(args[0])).WithHint("ctx sources --all")
		},
	}
}
