package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/integrations"
)

// integrationFlags are those that the commands below share.
type integrationFlags struct {
	app                         *App
	agents                      []string
	all, project, force, backup bool
	format                      string
}

func (a *App) integrationsCommand() *cobra.Command {
	return group("integrations", "Make ctx known to your agents: MCP server, skill, slash command",
		group("install", "Add ctx to the files of agents",
			a.integration("mcp", "Add the local MCP server to the configuration of agents", "provider force backup", (*integrationFlags).installMCP),
			a.integration("skills", "Write the skill that teaches agents when to ask ctx", "force", (*integrationFlags).installSkills),
			a.integration("slash-commands", "Write the slash command /ctx", "force", (*integrationFlags).installSlash)),
		group("remove", "Take ctx out of the files of agents",
			a.integration("mcp", "Remove only the ctx entry from the configuration of agents", "force backup", (*integrationFlags).removeMCP)),
		group("status", "Tell how the files of agents stand",
			a.integration("mcp", "Tell which agents know the MCP server", "provider", (*integrationFlags).statusMCP),
			a.integration("skills", "Tell which folders hold the skill", "", (*integrationFlags).statusSkills)))
}

const integrationsLong = `

The agents and their files: ctx docs show mcp-integrations`

// integration is one command; more names the flags that not all of them have.
func (a *App) integration(use, short, more string, run func(*integrationFlags) error) *cobra.Command {
	f := &integrationFlags{app: a}
	cmd := &cobra.Command{Use: use, Short: short, Long: short + "." + integrationsLong, Args: noArguments}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := exclusive(cmd, "agent", "all-agents"); err != nil {
			return err
		}
		return run(f)
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.agents, "agent", nil, "only this agent `id`; may be repeated (default: the detected ones)")
	flags.BoolVar(&f.all, "all-agents", false, "every known agent")
	flags.BoolVar(&f.project, "project", false, "the files of the project in the working directory")
	if strings.Contains(more, "provider") {
		flags.StringArrayVar(&f.agents, "provider", nil, "the same as --agent")
		_ = flags.MarkHidden("provider")
	}
	if strings.Contains(more, "force") {
		flags.BoolVar(&f.force, "force", false, "replace or remove what has the name ctx but is not ours; an invalid file is never touched")
	}
	if strings.Contains(more, "backup") {
		flags.BoolVar(&f.backup, "backup", false, "keep the old text in a file beside it")
	}
	a.formatFlag(cmd, &f.format, "text", "text", "json")
	return cmd
}

func (f *integrationFlags) scope() integrations.Scope {
	if f.project {
		return integrations.Project
	}
	return integrations.Global
}

func (f *integrationFlags) where() integrations.Where {
	env := config.System()
	return integrations.Where{Home: env.Home, WorkDir: env.WorkDir, Getenv: f.app.Getenv}
}

// mcpReport is the answer of the mcp commands.
type mcpReport struct {
	Integration string              `json:"integration"`
	Server      integrations.Server `json:"server"`
	Scope       integrations.Scope  `json:"scope"`
	Results     any                 `json:"results"`
}

func (f *integrationFlags) targets() ([]string, integrations.Where, error) {
	w := f.where()
	ids, err := integrations.Targets(w, f.scope(), f.agents, f.all)
	return ids, w, err
}

func (f *integrationFlags) statusMCP() error {
	ids, w, err := f.targets()
	if err != nil {
		return err
	}
	rows := integrations.StatusMCP(w, f.scope(), ids)
	if f.format == "json" {
		return writeLine(f.app.Stdout, mcpReport{"mcp", integrations.LocalServer, f.scope(), rows})
	}
	p := f.app.page()
	ready := 0
	var table [][]string
	for _, r := range rows {
		if r.Status == integrations.Current {
			ready++
		}
		table = append(table, []string{r.Name, string(r.Status), f.shown(w, r.Path)})
	}
	if len(rows) == 0 {
		f.noneDetected(p)
		return p.err
	}
	p.outcome(markDone, "%s of %s have the ctx server", count(ready), plural(len(rows), "agent"))
	p.table([]string{"Agent", "Status", "File"}, table)
	for _, r := range rows {
		f.problem(p, r.Name, r.Error)
	}
	return p.err
}

func (f *integrationFlags) installMCP() error {
	return f.changeMCP("added to", "had it already", integrations.InstallMCP)
}

func (f *integrationFlags) removeMCP() error {
	return f.changeMCP("removed from", "did not have it", integrations.RemoveMCP)
}

func (f *integrationFlags) changeMCP(done, idle string,
	change func(integrations.Where, integrations.Scope, []string, integrations.Options) []integrations.Change) error {
	ids, w, err := f.targets()
	if err != nil {
		return err
	}
	rows := change(w, f.scope(), ids, integrations.Options{Force: f.force, Backup: f.backup})
	failed := 0
	for _, r := range rows {
		if !r.Success {
			failed++
		}
	}
	if f.format == "json" {
		return f.finish(failed, writeLine(f.app.Stdout, mcpReport{"mcp", integrations.LocalServer, f.scope(), rows}))
	}
	p := f.app.page()
	if len(rows) == 0 {
		f.noneDetected(p)
	}
	for _, r := range rows {
		switch {
		case r.Modified:
			p.outcome(markDone, "%s: %s %s", r.Name, done, f.shown(w, r.Path))
		case r.Success:
			p.outcome(markDone, "%s %s", r.Name, idle)
		default:
			f.problem(p, r.Name, r.Error)
		}
	}
	return f.finish(failed, p.err)
}

func (f *integrationFlags) shown(w integrations.Where, path *string) string {
	if path == nil {
		return "-"
	}
	if rest, ok := strings.CutPrefix(*path, w.Home+"/"); ok && w.Home != "" {
		return "~/" + rest
	}
	return *path
}

func (f *integrationFlags) noneDetected(p *page) {
	if f.project {
		p.outcome(markWarning, "No agent has a configuration in this project; name one with --agent")
		return
	}
	p.outcome(markWarning, "No agent was found on this machine; name one with --agent (%s)", strings.Join(integrations.Clients(), ", "))
}

func (f *integrationFlags) problem(p *page, name string, text *string) {
	if text != nil {
		p.diagnostic(name+": "+*text, "")
	}
}

// finish turns failed targets into exit 1 and tells their number, after the answer itself.
func (f *integrationFlags) finish(failed int, err error) error {
	if err != nil || failed == 0 {
		return err
	}
	fmt.Fprintf(f.app.Stderr, "%s failed\n", plural(failed, "target"))
	return reported{exitFailed}
}

type skillReport struct {
	Skill   string             `json:"skill"`
	Scope   integrations.Scope `json:"scope"`
	Results any                `json:"results"`
}

func (f *integrationFlags) statusSkills() error {
	w := f.where()
	ids, err := integrations.SkillTargets(w, f.scope(), f.agents, f.all)
	if err != nil {
		return err
	}
	rows := integrations.StatusSkills(w, f.scope(), ids)
	if f.format == "json" {
		return writeLine(f.app.Stdout, skillReport{"ctx", f.scope(), rows})
	}
	p := f.app.page()
	var table [][]string
	for _, r := range rows {
		table = append(table, []string{r.Name, string(r.Status), f.shown(w, &r.Path)})
	}
	p.table([]string{"Agent", "Status", "Folder"}, table)
	return p.err
}

func (f *integrationFlags) installSkills() error {
	w := f.where()
	ids, err := integrations.SkillTargets(w, f.scope(), f.agents, f.all)
	if err != nil {
		return err
	}
	return f.writeSkills(w, integrations.InstallSkills(w, f.scope(), ids, f.force, version),
		func(rows any) any { return skillReport{"ctx", f.scope(), rows} })
}

func (f *integrationFlags) installSlash() error {
	w := f.where()
	ids, err := integrations.SlashTargets(w, f.scope(), f.agents, f.all)
	if err != nil {
		return err
	}
	return f.writeSkills(w, integrations.InstallSlash(w, f.scope(), ids, f.force), func(rows any) any {
		return map[string]any{"slash_command": "ctx", "scope": f.scope(), "results": rows}
	})
}

func (f *integrationFlags) writeSkills(w integrations.Where, rows []integrations.SkillChange, report func(any) any) error {
	failed := len(slices.DeleteFunc(slices.Clone(rows), func(r integrations.SkillChange) bool { return r.Success }))
	if f.format == "json" {
		return f.finish(failed, writeLine(f.app.Stdout, report(rows)))
	}
	p := f.app.page()
	if len(rows) == 0 {
		f.noneDetected(p)
	}
	for _, r := range rows {
		switch {
		case r.Already:
			p.outcome(markDone, "%s has it already", r.Name)
		case r.Success:
			p.outcome(markDone, "%s: written to %s", r.Name, f.shown(w, &r.Path))
		default:
			f.problem(p, r.Name, r.Error)
		}
	}
	return f.finish(failed, p.err)
}
