package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/nullable"
	"github.com/agenthistory/ctx/host/pluginhost"
	"github.com/agenthistory/ctx/host/sources"
)

// pluginRow is one plugin as commands show it. Null members are kept.
type pluginRow struct {
	Name        string        `json:"name"`
	DisplayName string        `json:"display_name"`
	Version     string        `json:"version"`
	Trust       sources.Trust `json:"trust"` // built_in for the providers of this program
	Reason      nullable.Text `json:"reason"`
	Manifest    nullable.Text `json:"manifest_path"`
	Executable  nullable.Text `json:"executable"`
	SHA256      nullable.Text `json:"sha256"`
	Provider    nullable.Text `json:"provider"`
	Environment []string      `json:"environment"`
}

const builtIn sources.Trust = "built_in"

func (s *session) pluginRow(p sources.Plugin) pluginRow {
	row := pluginRow{
		Name: p.Name, DisplayName: p.DisplayName, Version: p.Version, Trust: p.Trust, Reason: nullable.Text(p.Reason),
		Manifest: nullable.Text(p.Manifest), Environment: []string{},
	}
	if len(p.Command) > 0 {
		row.Executable = nullable.Text(p.Command[0])
	}
	for i := range s.config.Installed {
		if decided := &s.config.Installed[i]; decided.Name == p.Name && decided.Trusted {
			row.SHA256, row.Provider, row.Environment = nullable.Text(decided.SHA256), nullable.Text(decided.Provider.ID), decided.Environment
		}
	}
	return row
}

// pluginRows is what plugins list answers.
type pluginRows struct {
	Schema  int         `json:"schema_version"`
	Plugins []pluginRow `json:"plugins"`
	short   func(path string) string
}

func (a *App) pluginsListCommand() *cobra.Command {
	return reporting(a, &cobra.Command{
		Use:   "list",
		Short: "List the provider plugins and whether they are trusted",
		Long: `List the providers of this program and the plugins in the data root's plugins directory and in CTX_HISTORY_PLUGIN_PATH. Nothing of a
plugin runs before it is trusted.`,
		Args: noArguments,
	}, func(_ *cobra.Command, s *session, _ []string) (pluginRows, error) {
		all := pluginRows{Schema: 1, short: s.shortPath}
		for _, name := range a.builtin() {
			all.Plugins = append(all.Plugins, pluginRow{Name: name, DisplayName: name, Version: version, Trust: builtIn, Provider: nullable.Text(name), Environment: []string{}})
		}
		for _, p := range sources.Plugins(s.config) {
			all.Plugins = append(all.Plugins, s.pluginRow(p))
		}
		return all, nil
	}, printPlugins)
}

func printPlugins(p *page, all pluginRows) {
	var cells [][]string
	for _, row := range all.Plugins {
		cells = append(cells, []string{row.Name, strings.ReplaceAll(string(row.Trust), "_", " "), row.Version, all.short(cmp.Or(string(row.Manifest), "-"))})
	}
	p.table([]string{"Plugin", "Trust", "Version", "Manifest"}, cells)
	for _, row := range all.Plugins {
		if row.Reason != "" {
			p.gap()
			p.diagnostic(row.Name+": "+string(row.Reason), "")
		}
	}
}

func (a *App) pluginsTrustCommand() *cobra.Command {
	return a.pluginDecision("trust", "Allow a plugin to run, in its present form",
		`Pin the executable and the manifest of a plugin by their SHA-256, start it once to learn its names, and let refreshes use it from now on.
When either file changes, the plugin is not trusted any more. Variables that look like secrets are never passed on.`, (*session).trust)
}

func (a *App) pluginsUntrustCommand() *cobra.Command {
	return a.pluginDecision("untrust", "Take the trust of a plugin back",
		"Never start a plugin again. What was indexed through it stays.", (*session).untrust)
}

// decision is what trust and untrust answer.
type decision struct {
	SchemaVersion int       `json:"schema_version"`
	Operation     string    `json:"operation"`
	Changed       bool      `json:"changed"`
	Plugin        pluginRow `json:"plugin"`
	Refused       []string  `json:"refused_environment"`
}

func (a *App) pluginDecision(operation, short, long string, decide func(*session, context.Context, string) (decision, error)) *cobra.Command {
	return reporting(a, &cobra.Command{Use: operation + " NAME", Short: short, Long: long, Args: exactlyOne("the name of a plugin")},
		func(cmd *cobra.Command, s *session, args []string) (decision, error) {
			done, err := decide(s, cmd.Context(), args[0])
			done.SchemaVersion, done.Operation = 1, operation
			return done, err
		}, printDecision)
}

func printDecision(p *page, done decision) {
	row := done.Plugin
	p.outcome(markDone, "The plugin %s is %s", row.Name, row.Trust)
	p.section("", field{"Provider", string(row.Provider)}, field{"Executable", string(row.Executable)}, field{"SHA-256", string(row.SHA256)},
		field{"Sees", strings.Join(row.Environment, " ")}, field{"Refused", strings.Join(done.Refused, " ")})
	if row.Trust == sources.Trusted {
		p.next("ctx sources --provider "+string(row.Provider), "ctx import --all")
	}
}

// plugin finds an installed plugin by its name.
func (s *session) plugin(name string) (sources.Plugin, error) {
	all := sources.Plugins(s.config)
	i := slices.IndexFunc(all, func(p sources.Plugin) bool { return p.Name == name })
	if i < 0 {
		return sources.Plugin{}, fault.New(fault.NotFound, "no plugin is called %s", quoteWord(name)).WithHint("ctx plugins list")
	}
	return all[i], nil
}

func (s *session) trust(ctx context.Context, name string) (decision, error) {
	p, err := s.plugin(name)
	if err != nil {
		return decision{}, err
	}
	pin, err := p.Pin()
	if err != nil {
		return decision{}, err
	}
	starter := s.plugins()
	running, err := starter.launcher.Start(ctx, pluginhost.Spec{Name: p.Name, Command: p.Command, SHA256: pin})
	if err != nil {
		return decision{}, err
	}
	defer running.Close()
	decided, refused, err := p.Accept(s.config, pin, running.Descriptor(), s.app.builtin())
	if err != nil {
		return decision{}, err
	}
	return s.decide(p, decided, p.Trust != sources.Trusted, append([]string{}, refused...))
}

func (s *session) untrust(_ context.Context, name string) (decision, error) {
	p, err := s.plugin(name)
	i := slices.IndexFunc(s.config.Installed, func(i config.Installed) bool { return i.Name == name })
	if i < 0 {
		return decision{Plugin: s.pluginRow(p), Refused: []string{}}, err // nobody ever trusted it
	}
	decided := s.config.Installed[i]
	changed := decided.Trusted
	decided.Trusted = false
	if err != nil {
		p = sources.Plugin{Name: name, DisplayName: name, Manifest: decided.Manifest, Trust: sources.Untrusted}
	}
	return s.decide(p, decided, changed, []string{})
}

// decide keeps a decision and shows the plugin as it is then.
func (s *session) decide(p sources.Plugin, decided config.Installed, changed bool, refused []string) (decision, error) {
	if changed {
		if err := config.EditInstalled(s.dataRoot, decided); err != nil {
			return decision{}, err
		}
	}
	fresh, err := s.reloaded()
	if err != nil {
		return decision{}, err
	}
	if now, err := fresh.plugin(p.Name); err == nil {
		p = now
	}
	return decision{Changed: changed, Plugin: fresh.pluginRow(p), Refused: refused}, nil
}
