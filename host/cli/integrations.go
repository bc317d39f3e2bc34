package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/integrations"
	"github.com/agenthistory/ctx/host/internal/nullable"
)

// integrationFlags are those that the commands below share.
type integrationFlags struct {
	integrations.Request
	app     *App
	project bool
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
	f := &integrationFlags{app: a, Request: integrations.Request{Version: version}}
	cmd := &cobra.Command{Use: use, Short: short, Long: short + "." + integrationsLong, Args: noArguments}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := exclusive(cmd, "agent", "all-agents"); err != nil {
			return err
		}
		env := config.System()
		f.Where = integrations.Where{Home: env.Home, WorkDir: env.WorkDir, Getenv: a.Getenv, Scope: integrations.Global}
		if f.project {
			f.Scope = integrations.Project
		}
		return run(f)
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.Agents, "agent", nil, "only this agent `id`; may be repeated (default: the detected ones)")
	flags.BoolVar(&f.All, "all-agents", false, "every known agent")
	flags.BoolVar(&f.project, "project", false, "the files of the project in the working directory")
	if strings.Contains(more, "provider") {
		flags.StringArrayVar(&f.Agents, "provider", nil, "the same as --agent")
		_ = flags.MarkHidden("provider")
	}
	if strings.Contains(more, "force") {
		flags.BoolVar(&f.Force, "force", false, "replace or remove what has the name ctx but is not ours; an invalid file is never touched")
	}
	if strings.Contains(more, "backup") {
		flags.BoolVar(&f.Backup, "backup", false, "keep the old text in a file beside it")
	}
	return a.formats(cmd, "text", "json")
}

// mcpReport is the answer of the mcp commands.
type mcpReport struct {
	Integration string              `json:"integration"`
	Server      integrations.Server `json:"server"`
	Scope       integrations.Scope  `json:"scope"`
	Results     any                 `json:"results"`
}

type skillReport struct {
	Skill   string             `json:"skill"`
	Scope   integrations.Scope `json:"scope"`
	Results any                `json:"results"`
}

func (f *integrationFlags) mcp(rows any) any {
	return mcpReport{"mcp", integrations.LocalServer, f.Scope, rows}
}

func (f *integrationFlags) skill(rows any) any { return skillReport{"ctx", f.Scope, rows} }

func (f *integrationFlags) slash(rows any) any {
	return map[string]any{"slash_command": "ctx", "scope": f.Scope, "results": rows}
}

// answer writes a report. Failed targets are told by their number after it, and give exit 1.
func (f *integrationFlags) answer(report any, failed int, show func(*page)) error {
	p := f.app.page()
	if f.app.format == "json" {
		p.err = writeLine(f.app.Stdout, report)
	} else {
		show(p)
	}
	if p.err != nil || failed == 0 {
		return p.err
	}
	fmt.Fprintf(f.app.Stderr, "%s failed\n", plural(failed, "target"))
	return reported{exitFailed}
}

func (f *integrationFlags) statusMCP() error {
	rows, err := f.StatusMCP()
	if err != nil {
		return err
	}
	return f.answer(f.mcp(rows), 0, func(p *page) {
		if len(rows) == 0 {
			f.noneDetected(p, integrations.Clients())
			return
		}
		var table [][]string
		for _, r := range rows {
			table = append(table, []string{r.Name, string(r.Status), f.shown(r.Path)})
		}
		standing(p, "server", "File", table)
		for _, r := range rows {
			switch {
			case r.Error != "":
				p.diagnostic(r.Name+": "+string(r.Error), "")
			case r.Status == integrations.Conflict:
				p.diagnostic(r.Name+": another server has the name ctx", f.command("mcp --agent "+r.Agent+" --force"))
			}
		}
		if slices.ContainsFunc(rows, func(r integrations.State) bool { return r.Detected && r.Status == integrations.Missing }) {
			p.next(f.command("mcp"))
		}
	})
}

// standing is the outcome and the table of a status command; the second column of the table is the status.
func standing(p *page, what, place string, table [][]string) {
	ready := 0
	for _, row := range table {
		if row[1] == string(integrations.Current) {
			ready++
		}
	}
	m := markDone
	if ready == 0 {
		m = markWarning
	}
	p.outcome(m, "The ctx %s is in %s of %s", what, count(ready), plural(len(table), strings.ToLower(place)))
	p.table([]string{"Agent", "Status", place}, table)
}

// command is the installation that mends what a status shows.
func (f *integrationFlags) command(rest string) string {
	if f.project {
		rest += " --project"
	}
	return "ctx integrations install " + rest
}

func (f *integrationFlags) statusSkills() error {
	rows, err := f.StatusSkills()
	if err != nil {
		return err
	}
	return f.answer(f.skill(rows), 0, func(p *page) {
		var table [][]string
		for _, r := range rows {
			table = append(table, []string{r.Name, string(r.Status), f.shown(nullable.Text(r.Path))})
		}
		standing(p, "skill", "Folder", table)
		for _, r := range rows {
			if r.Status == integrations.Modified {
				p.diagnostic(r.Name+": the skill was edited", f.command("skills --agent "+r.Agent+" --force"))
			}
		}
		if slices.ContainsFunc(rows, func(r integrations.SkillState) bool {
			return r.Status == integrations.Missing || r.Status == integrations.Stale
		}) {
			p.next(f.command("skills"))
		}
	})
}

func (f *integrationFlags) installMCP() error {
	return f.change(f.InstallMCP, f.mcp, integrations.Clients(), "added to", "had it already")
}

func (f *integrationFlags) removeMCP() error {
	return f.change(f.RemoveMCP, f.mcp, integrations.Clients(), "removed from", "did not have it")
}

func (f *integrationFlags) installSkills() error {
	return f.change(f.InstallSkills, f.skill, nil, "written to", "has it already") // one folder is a target always
}

func (f *integrationFlags) installSlash() error {
	return f.change(f.InstallSlash, f.slash, f.SlashAgents(), "written to", "has it already")
}

// change tells what became of every target, or names the known agents when there was none; done and idle are the words for one that was changed and one that had not to be.
func (f *integrationFlags) change(run func() ([]integrations.Change, error), report func(any) any, known []string,
	done, idle string) error {
	rows, err := run()
	if err != nil {
		return err
	}
	failed := len(slices.DeleteFunc(slices.Clone(rows), func(r integrations.Change) bool { return r.Success }))
	return f.answer(report(rows), failed, func(p *page) {
		if len(rows) == 0 {
			f.noneDetected(p, known)
		}
		for _, r := range rows {
			switch {
			case !r.Success:
				p.diagnostic(r.Name+": "+string(r.Error), "")
			case r.Idle:
				p.outcome(markDone, "%s %s", r.Name, idle)
			default:
				p.outcome(markDone, "%s: %s %s", r.Name, done, f.shown(r.Path))
			}
		}
	})
}

func (f *integrationFlags) shown(path nullable.Text) string {
	return shortPath(f.Home, string(cmp.Or(path, "-")))
}

func (f *integrationFlags) noneDetected(p *page, known []string) {
	if f.project {
		p.outcome(markWarning, "No agent has a configuration in this project; name one with --agent")
		return
	}
	p.outcome(markWarning, "No agent was found on this machine; name one with --agent (%s)", strings.Join(known, ", "))
}
