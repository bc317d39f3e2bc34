package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/internal/nullable"
	"github.com/agenthistory/ctx/host/sources"
)

// rootEdit is the JSON result of adding or removing a named root. Only OpenHands roots have a kind.
type rootEdit struct {
	SchemaVersion int       `json:"schema_version"`
	Operation     string    `json:"operation"`
	Changed       bool      `json:"changed"`
	Root          namedRoot `json:"root"`
	empty         bool      // no history of the provider is there
}

type namedRoot struct {
	Name     string        `json:"name"`
	Provider string        `json:"provider"`
	Path     string        `json:"path"`
	Group    nullable.Text `json:"group"`
	Kind     string        `json:"kind,omitempty"`
}

func (a *App) sourcesAddCommand() *cobra.Command {
	var root config.Root
	var replace bool
	cmd := reporting(a, &cobra.Command{
		Use:   "add NAME --provider PROVIDER --root PATH",
		Short: "Name a further place with the history of a provider",
		Long: `Name a place with the history of a provider in config.toml, beside the one that is found automatically. The name is the identity of the
place: a path that changes under it keeps all ids. Nothing is imported and nothing indexed is removed by this.`,
		Example: "  ctx sources add work --provider claude --root ~/.claude-work --source-group office",
		Args:    exactlyOne("a name for the root"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if root.Provider == "" || root.Path == "" {
				return usage(cmd, "--provider and --root are needed")
			}
			return nil
		},
	}, func(cmd *cobra.Command, s *session, args []string) (*rootEdit, error) {
		root.Name = args[0]
		added, changed, err := s.config.AddRoot(root, replace)
		if err != nil {
			return nil, err
		}
		edit := editOf("add", added, changed)
		if s, err = s.reloaded(); err != nil {
			return nil, err
		}
		found, err := s.discover(cmd.Context(), added.Provider)
		edit.empty = err == nil && !slices.ContainsFunc(found.Rows, func(row sources.Row) bool {
			return row.Importable && string(row.Selection.Root) == added.Name
		})
		return edit, err
	}, printRootEdit)
	flags := cmd.Flags()
	flags.StringVar(&root.Provider, "provider", "", "`provider` whose history it is")
	flags.StringVar(&root.Path, "root", "", "`path` of the directory or database")
	flags.StringVar(&root.Group, "source-group", "", "`group` that searches can name")
	flags.StringVar(&root.Kind, "kind", "", "`kind` of history, current-conversations or legacy-persistence, for OpenHands only")
	flags.BoolVar(&replace, "replace", false, "set all settings of an existing name anew; without --source-group it loses its group")
	return cmd
}

func (a *App) sourcesRemoveCommand() *cobra.Command {
	return reporting(a, &cobra.Command{
		Use:   "remove NAME",
		Short: "Forget the name of a place; what was indexed from it stays",
		Args:  exactlyOne("the name of a root"),
	}, func(_ *cobra.Command, s *session, args []string) (*rootEdit, error) {
		removed, err := s.config.RemoveRoot(args[0])
		return editOf("remove", removed, true), err
	}, printRootEdit)
}

func editOf(operation string, r config.Root, changed bool) *rootEdit {
	root := namedRoot{Name: r.Name, Provider: r.Provider, Path: r.Path, Kind: r.Kind, Group: nullable.Text(r.Group)}
	return &rootEdit{SchemaVersion: 1, Operation: operation, Changed: changed, Root: root}
}

func printRootEdit(p *page, done *rootEdit) {
	r := &done.Root
	switch {
	case !done.Changed:
		p.outcome(markDone, "The root %s has these settings already", r.Name)
	case done.Operation == "add":
		p.outcome(markDone, "The root %s is added", r.Name)
	default:
		p.outcome(markDone, "The root %s is removed; what was indexed from it stays until ctx sources prune --retained", r.Name)
	}
	p.section("", field{"Provider", r.Provider}, field{"Path", r.Path}, field{"Group", string(r.Group)}, field{"Kind", r.Kind})
	switch {
	case done.empty:
		p.gap()
		p.diagnostic("No history of "+r.Provider+" is there yet", "ctx sources --provider "+r.Provider)
	case done.Operation == "add" && done.Changed:
		p.next("ctx import --all")
	}
}
