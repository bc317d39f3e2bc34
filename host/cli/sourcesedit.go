package cli

import (
	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
)

// rootEdit is the JSON result of adding or removing a named root. Only OpenHands roots have a kind.
type rootEdit struct {
	SchemaVersion int       `json:"schema_version"`
	Operation     string    `json:"operation"`
	Changed       bool      `json:"changed"`
	Root          namedRoot `json:"root"`
}

type namedRoot struct {
	Name     string  `json:"name"`
	Provider string  `json:"provider"`
	Path     string  `json:"path"`
	Group    *string `json:"group"`
	Kind     string  `json:"kind,omitempty"`
}

func (a *App) sourcesAddCommand() *cobra.Command {
	var root config.Root
	var replace bool
	var format string
	cmd := &cobra.Command{
		Use:   "add NAME --provider PROVIDER --root PATH",
		Short: "Name a further place with the history of a provider",
		Long: `Name a place with the history of a provider in config.toml, beside the one that is found automatically. The name is the identity of the
place: a path that changes under it keeps all ids. Nothing is imported and nothing indexed is removed by this.`,
		Example: "  ctx sources add work --provider claude --root ~/.claude-work --source-group office",
		Args:    exactlyOne("a name for the root"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if root.Provider == "" || root.Path == "" {
			return usage(cmd, "--provider and --root are needed")
		}
		s, err := a.open()
		if err != nil {
			return err
		}
		root.Name = args[0]
		added, changed, err := s.config.AddRoot(root, replace)
		if err != nil {
			return err
		}
		return a.printRootEdit("add", added, changed, format)
	}
	flags := cmd.Flags()
	flags.StringVar(&root.Provider, "provider", "", "whose history it is")
	flags.StringVar(&root.Path, "root", "", "`path` of the directory or database")
	flags.StringVar(&root.Group, "source-group", "", "`group` that searches can name")
	flags.StringVar(&root.Kind, "kind", "", "current-conversations or legacy-persistence, for OpenHands only")
	flags.BoolVar(&replace, "replace", false, "set all settings of an existing name anew; without --source-group it loses its group")
	a.formatFlag(cmd, &format, "text", "text", "json")
	return cmd
}

func (a *App) sourcesRemoveCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Forget the name of a place; what was indexed from it stays",
		Args:  exactlyOne("the name of a root"),
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := a.open()
		if err != nil {
			return err
		}
		removed, err := s.config.RemoveRoot(args[0])
		if err != nil {
			return err
		}
		return a.printRootEdit("remove", removed, true, format)
	}
	a.formatFlag(cmd, &format, "text", "text", "json")
	return cmd
}

func (a *App) printRootEdit(operation string, r config.Root, changed bool, format string) error {
	if format == "json" {
		done := rootEdit{1, operation, changed, namedRoot{Name: r.Name, Provider: r.Provider, Path: r.Path, Kind: r.Kind}}
		if r.Group != "" {
			done.Root.Group = &r.Group
		}
		return writeDocument(a.Stdout, done)
	}
	p := a.page()
	switch {
	case !changed:
		p.outcome(markDone, "The root %s has these settings already", r.Name)
	case operation == "add":
		p.outcome(markDone, "The root %s is named", r.Name)
	default:
		p.outcome(markDone, "The root %s is removed; what was indexed from it stays until ctx sources prune --retained", r.Name)
	}
	p.section("", field{"Provider", r.Provider}, field{"Path", r.Path}, field{"Group", r.Group}, field{"Kind", r.Kind})
	if operation == "add" && changed {
		p.next("ctx import --all")
	}
	return p.err
}
