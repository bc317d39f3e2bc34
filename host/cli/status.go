package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/daemon"
	"github.com/agenthistory/ctx/host/status"
	localusage "github.com/agenthistory/ctx/host/usage"
)

func (a *App) statusCommand() *cobra.Command {
	var control string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell what is indexed and how current it is",
		Long:  "Tell what is indexed and how current it is. Nothing is created, imported or refreshed.",
		Args:  noArguments,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if control != "" {
			return a.usageControl(control)
		}
		s, err := a.place()
		if err != nil {
			return err
		}
		if s.config, err = config.Load(s.dataRoot, s.env); err != nil {
			return a.statusWithoutConfig(err)
		}
		report, err := s.observe(cmd.Context())
		if err != nil {
			return err
		}
		return a.answer(report, func(p *page) { printStatus(p, report) })
	}
	choiceFlag(cmd.Flags(), &control, "usage", "", "control local usage counting", "enable", "disable", "reset")
	return a.formats(cmd, "text", "json")
}

func (s *session) observe(ctx context.Context) (*status.Report, error) {
	observed, health := s.control().Observe(ctx)
	r, err := status.Observe(ctx, status.Inputs{
		DataRoot: s.dataRoot, Config: *s.config, Store: s.store, Executable: s.app.Self, Daemon: observed,
	})
	if err == nil {
		daemon.Present(r, health)
	}
	return r, err
}

// unconfigured is the reduced status object for a config file that cannot be used. It never shows the file.
func unconfigured() map[string]any {
	return map[string]any{
		"schema_version": 1,
		"local_usage":    localusage.Observe(context.Background(), nil),
		"local_only":     true,
		"read_only":      true,
	}
}

func (a *App) statusWithoutConfig(err error) error {
	if a.format != "json" {
		return err
	}
	if err := writeLine(a.Stderr, unconfigured()); err != nil {
		return err
	}
	return reported{exitFailed}
}

func printStatus(p *page, r *status.Report) {
	if p.quiet {
		return
	}
	findings := r.Findings()
	switch {
	case r.Lexical.Reason == "generation_not_published":
		p.outcome(markWarning, "Nothing is indexed yet")
		findings = findings[:0]
	case !r.Initialized:
		p.outcome(markFailed, "The index cannot be used")
	case r.IndexedSources != nil && *r.IndexedSources == 0:
		p.outcome(markWarning, "No agent history was found on this machine")
	case len(findings) > 0:
		p.outcome(markWarning, "Needs attention")
	default:
		p.outcome(markDone, "Ready")
	}
	for _, finding := range findings {
		p.diagnostic(finding.Text, "")
	}
	p.section("History",
		field{"Search", joinNonEmpty(", ", r.Lexical.Status, r.Lexical.Reason)},
		field{"Sources", sourcesLine(r)},
		field{"Sessions", optional(r.IndexedSessions)},
		field{"Events", optional(r.IndexedEvents)},
		field{"Skipped records", skippedLine(r.Refresh.RejectedRecordTotal)},
		field{"Refresh", joinNonEmpty(", ", r.Refresh.Status, r.Refresh.Reason)},
	)
	p.section("Services",
		field{"Indexing mode", r.Indexing.Mode},
		field{"Daemon", daemonLine(r) + startHint(r)},
		field{"Semantic", r.Semantic.Status},
		field{"Local usage", r.LocalUsage.State},
		field{"Attribution", r.Attribution.Status},
	)
	if !r.Initialized {
		p.section("Data", field{"Root", r.DataRoot}, field{"Config", r.ConfigPath})
	}
	if r.IndexedSources != nil && *r.IndexedSources == 0 {
		p.next("ctx sources --all")
		return
	}
	p.next(helping(r)...)
}

// helping are the commands that help against what is wrong, each once.
func helping(r *status.Report) []string {
	var commands []string
	for _, finding := range r.Findings() {
		if finding.Command != "" && !slices.Contains(commands, finding.Command) {
			commands = append(commands, finding.Command)
		}
	}
	return commands
}

func sourcesLine(r *status.Report) string {
	if r.IndexedSources == nil {
		return ""
	}
	line := count(*r.IndexedSources)
	if r.Sources.Retained > 0 {
		line += ", " + count(r.Sources.Retained) + " retained"
	}
	if r.Sources.Gone > 0 {
		line += ", " + count(r.Sources.Gone) + " gone from disk"
	}
	return line
}

// skippedLine tells how many records are not there.
func skippedLine(n *uint64) string {
	if positive(n) == "" {
		return ""
	}
	return positive(n) + " (ctx doctor says why)"
}

// startHint is for a background process that should run.
func startHint(r *status.Report) string {
	if r.Initialized && r.Daemon.Enabled && r.Daemon.Status == "stopped" {
		return ", ctx setup starts it"
	}
	return ""
}

func optional(n *uint64) string {
	if n == nil {
		return ""
	}
	return count(*n)
}

func positive(n *uint64) string {
	if n == nil || *n == 0 {
		return ""
	}
	return count(*n)
}
