package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/sources"
)

func (a *App) sourcesCommand() *cobra.Command {
	var provider, format string
	var all, missing bool
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "List the histories on this machine and whether they are read",
		Args:  noArguments,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.open()
		if err != nil {
			return err
		}
		id := ""
		if provider != "" {
			if id, err = s.provider(provider); err != nil {
				return err
			}
		}
		found, err := s.discover(cmd.Context(), id)
		if err != nil {
			return err
		}
		full := all || missing || provider != ""
		if format == "json" {
			return writeDocument(a.Stdout, found.Listing(full))
		}
		return a.printSources(s, found, full)
	}
	flags := cmd.Flags()
	flags.StringVar(&provider, "provider", "", "only this provider, with missing and empty places")
	flags.BoolVar(&all, "all", false, "every known place")
	flags.BoolVar(&missing, "show-missing", false, "the same as --all")
	a.formatFlag(cmd, &format, "text", "text", "json")
	return cmd
}

func (a *App) printSources(s *session, found *sources.Discovery, full bool) error {
	p := a.page()
	ready, hidden, trouble := 0, 0, len(found.Issues)
	var rows [][]string
	var problems []string
	for _, row := range found.Rows {
		if row.Importable {
			ready++
		}
		if !full && (!sources.Visible(row) || row.Status == sources.Empty && !row.Configured()) {
			hidden++
			continue
		}
		rows = append(rows, []string{row.Provider, string(row.Status), s.shortPath(row.Path), selectionLabel(row.Selection), row.SourceFormat})
		if row.UnsupportedReason != nil && row.Status != sources.Empty {
			problems = append(problems, fmt.Sprintf("%s: %s", row.Provider, *row.UnsupportedReason))
		}
	}
	if ready > 0 {
		p.outcome(markDone, "%s ready", plural(ready, "source"))
	} else {
		p.outcome(markWarning, "No source is ready")
	}
	if trouble += len(problems); trouble > 0 {
		p.printf("%s needs attention\n", plural(trouble, "place"))
	}
	if len(rows) > 0 {
		p.table([]string{"Source", "Status", "Location", "Selection", "Format"}, rows)
	}
	for _, problem := range problems {
		p.diagnostic(problem, "")
	}
	for _, issue := range found.Issues {
		p.diagnostic(fmt.Sprintf("%s: %s (%s)", issue.Provider, issue.Message, issue.Code), "")
	}
	if hidden > 0 {
		p.gap()
		p.printf("%s not shown; ctx sources --all\n", plural(hidden, "missing or empty place"))
	}
	if !found.AutomaticDiscovery {
		p.gap()
		p.printf("Automatic discovery is off; only configured roots are read\n")
	}
	return p.err
}

func selectionLabel(selection sources.Selection) string {
	switch {
	case selection.Root == nil:
		return selection.Kind
	case selection.Group == nil:
		return *selection.Root
	}
	return *selection.Root + " (" + *selection.Group + ")"
}

// shortPath shows the home directory as ~.
func (s *session) shortPath(path string) string {
	home := s.env.Home
	if home == "" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}
