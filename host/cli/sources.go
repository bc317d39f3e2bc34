package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/sources"
)

func (a *App) sourcesCommand() *cobra.Command {
	var provider string
	var all, missing bool
	cmd := reporting(a, &cobra.Command{
		Use:   "sources",
		Short: "List the histories on this machine and whether they are read",
		Args:  noArguments,
	}, func(cmd *cobra.Command, s *session, _ []string) (_ listed, err error) {
		id := ""
		if provider != "" {
			if id, err = s.agent(provider); err != nil {
				return listed{}, err
			}
		}
		found, err := s.discover(cmd.Context(), id)
		if err != nil {
			return listed{}, err
		}
		full := all || missing || provider != ""
		l := listed{found.Listing(full), s, found, full}
		a.delivered(len(l.Sources))
		return l, nil
	}, printSources)
	flags := cmd.Flags()
	flags.StringVar(&provider, "provider", "", "only this `provider`, with missing and empty places")
	flags.BoolVar(&all, "all", false, "every known place")
	flags.BoolVar(&missing, "show-missing", false, "the same as --all")
	cmd.AddCommand(a.sourcesAddCommand(), a.sourcesRemoveCommand(), a.pruneCommand())
	return cmd
}

// listed is a discovery as JSON shows it, with what its text is made from.
type listed struct {
	sources.Listing
	s     *session
	found *sources.Discovery
	full  bool
}

// agent resolves the name of a provider, or of an agent that has none.
func (s *session) agent(spelling string) (string, error) {
	id, err := s.provider(spelling)
	if known, ok := sources.Agent(spelling); err != nil && ok {
		return known, nil
	}
	return id, err
}

// listing is the text of a discovery in the making.
type listing struct {
	rows     [][]string
	ready    int
	hidden   int
	problems []problem
}

// problem is one diagnostic with what to do about it.
type problem struct{ text, action string }

func (s *session) listing(found *sources.Discovery, full bool) listing {
	var l listing
	for _, row := range found.Rows {
		if row.Importable {
			l.ready++
		}
		if !full && (!sources.Visible(row) || row.Status == sources.Empty && !row.Configured()) {
			l.hidden++
			continue
		}
		l.rows = append(l.rows, []string{row.Provider, string(row.Status), s.shortPath(row.Path), selectionLabel(row.Selection), row.SourceFormat})
		if row.UnsupportedReason != "" && row.Status != sources.Empty {
			l.problems = append(l.problems, problem{row.Provider + ": " + string(row.UnsupportedReason), rowAction(row)})
		}
	}
	for _, row := range found.Plugins {
		if row.Enabled && row.UnsupportedReason == "" {
			continue // its own rows stand above
		}
		name := cmp.Or(string(row.Plugin), s.shortPath(string(row.ManifestPath)))
		place := s.shortPath(string(cmp.Or(row.Path, row.ManifestPath)))
		l.rows = append(l.rows, []string{name, row.Status, place, "plugin", cmp.Or(string(row.SourceFormat), "-")})
		l.problems = append(l.problems, problem{"plugin " + name + ": " + cmp.Or(string(row.UnsupportedReason), row.Status), "ctx plugins list"})
	}
	for _, issue := range found.Issues {
		l.problems = append(l.problems, problem{fmt.Sprintf("%s: %s (%s)", issue.Provider, issue.Message, issue.Code), s.issueAction(issue)})
	}
	return l
}

// rowAction is what a person can do about a row that is not read.
func rowAction(row sources.Row) string {
	switch {
	case row.StatusReason != "":
		return ""
	case row.UnsupportedReason == sources.NoProvider:
		return "install a provider plugin for it, then: ctx plugins trust NAME"
	case row.Configured():
		return fmt.Sprintf("ctx sources add %[1]s --replace ..., or ctx sources remove %[1]s", row.Selection.Root)
	}
	return ""
}

func (s *session) issueAction(issue sources.Issue) string {
	switch issue.Code {
	case sources.ConfiguredRootClash:
		return "ctx sources remove one of them, or set sources.automatic = false in config.toml"
	case sources.ConfiguredRootMissing:
		return "mount or restore it, or ctx sources remove " + issue.Lost.Root.Name
	case sources.Unreconstructible, sources.InsufficientEvidence:
		if known, ok := s.config.ProviderNamed(issue.Provider); ok && known.RootIs != config.NoNamedRoot {
			return "ctx sources add NAME --provider " + known.CLIName + " --root PATH"
		}
	}
	return ""
}

func printSources(p *page, result listed) {
	l := result.s.listing(result.found, result.full)
	if l.ready > 0 {
		p.outcome(markDone, "%s ready", plural(l.ready, "source"))
	} else {
		p.outcome(markWarning, "No source is ready")
	}
	if len(l.problems) == 1 {
		p.printf("1 place needs attention\n")
	} else if len(l.problems) > 1 {
		p.printf("%s need attention\n", plural(len(l.problems), "place"))
	}
	if len(l.rows) > 0 {
		p.table([]string{"Source", "Status", "Location", "Selection", "Format"}, l.rows)
	}
	if len(l.problems) > 0 {
		p.gap()
	}
	for i, one := range l.problems {
		if i+1 < len(l.problems) && l.problems[i+1].action == one.action {
			one.action = "" // told once for all
		}
		p.diagnostic(one.text, one.action)
	}
	if l.hidden > 0 {
		p.gap()
		p.printf("%s not shown; ctx sources --all\n", plural(l.hidden, "missing or empty place"))
	}
	if !result.found.AutomaticDiscovery {
		p.gap()
		p.printf("Automatic discovery is off; only configured roots are read\n")
	}
}

func selectionLabel(selection sources.Selection) string {
	switch {
	case selection.Root == "":
		return selection.Kind
	case selection.Group == "":
		return string(selection.Root)
	}
	return fmt.Sprintf("%s (%s)", selection.Root, selection.Group)
}

// shortPath shows the home directory as ~.
func (s *session) shortPath(path string) string { return shortPath(s.env.Home, path) }

func shortPath(home, path string) string {
	rest, inside := strings.CutPrefix(path, home)
	if home == "" || !inside || rest != "" && rest[0] != '/' {
		return path
	}
	return "~" + rest
}
