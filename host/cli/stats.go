package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	localusage "github.com/agenthistory/ctx/host/usage"
)

func (a *App) statsCommand() *cobra.Command {
	var detail bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Tell how often ctx was used on this machine and what it delivered",
		Long: `Tell how often ctx was used on this machine and what it delivered. The counters are kept in the data root for 400 days, hold no
query, path or id, and never leave the machine; ctx status --usage disable stops the counting, reset forgets.`,
		Args: noArguments,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.place()
		if err != nil {
			return err
		}
		settings, configErr := config.Load(s.dataRoot, s.env)
		report := localusage.Stats(cmd.Context(), settings, detail)
		switch {
		case configErr != nil && a.format != "json":
			return configErr
		case configErr != nil:
			if err := writeLine(a.Stderr, report); err != nil {
				return err
			}
			return reported{exitFailed}
		}
		return a.answer(report, func(p *page) { printStats(p, report) })
	}
	cmd.Flags().BoolVar(&detail, "detail", false, "also by operation and by duration")
	return a.formats(cmd, "text", "json")
}

func printStats(p *page, r *localusage.Report) {
	switch r.State {
	case localusage.Disabled:
		p.outcome(markWarning, "Local usage is not counted")
		p.next("ctx status --usage enable")
	case localusage.Failed:
		p.outcome(markWarning, "%s", r.Error.Message)
		p.next("ctx status --usage reset")
	case localusage.Empty:
		p.outcome(markDone, "Nothing counted yet")
	default:
		p.outcome(markDone, "Local usage, kept for %d days on this machine only", r.RetentionDays)
	}
	for _, d := range r.Definitions {
		printDefinition(p, d)
	}
	if e := r.Estimates; e != nil {
		p.section("Estimates",
			field{"Context", aboutTokens(e.Tokens.Range)},
			field{"Avoided context", avoided(&e.Reduction)})
	}
}

func printDefinition(p *page, d *localusage.Definition) {
	s := &d.Summary
	output := size(s.Output)
	if s.MCPResponse > 0 {
		output += fmt.Sprintf(", %s of it over MCP", size(s.MCPResponse))
	}
	p.section("Usage",
		field{"Period", fmt.Sprintf("%s to %s (UTC), active on %s", d.FirstDay, d.LastDay, plural(d.ActiveDays, "day"))},
		field{"ctx versions", strings.Join(d.CtxVersions, ", ")},
		field{"Calls", fmt.Sprintf("%s, %s failed", count(s.Calls), count(s.Failed))},
		field{"Classified result sets", fmt.Sprintf("%s with results, %s empty", count(s.ResultBearing), count(s.Empty))},
		field{"No result-set classification", count(s.NotApplicable)},
		field{"Results", count(s.Results)},
		field{"Delivered output", output},
		field{"Covered context", size(s.Context)},
		field{"Matched history", size(s.Matched)},
		field{"Search coverage", fmt.Sprintf("%s of %s with known session sizes", count(s.Covered), searches(s.Covered+s.Uncovered))})
	if len(d.ByOperation) == 0 {
		return
	}
	var rows [][]string
	for _, o := range d.ByOperation {
		rows = append(rows, []string{o.Surface, o.Name, count(o.Calls), count(o.Failed), count(o.Results), size(o.Output), o.CtxVersion})
	}
	p.table([]string{"Surface", "Operations", "Calls", "Failed", "Results", "Output", "ctx"}, rows)
	rows = rows[:0]
	for _, b := range d.Durations {
		if b.Calls > 0 {
			rows = append(rows, []string{strings.ReplaceAll(b.Bucket, "_", " "), count(b.Calls)})
		}
	}
	p.table([]string{"Latency", "Calls"}, rows)
}

func searches(n int64) string {
	if n == 1 {
		return "1 search"
	}
	return count(n) + " searches"
}

func aboutTokens(r localusage.Range) string {
	return fmt.Sprintf("about %s tokens (%s to %s)", count(r.Central), count(r.Low), count(r.High))
}

func avoided(r *localusage.Reduction) string {
	if r.Covered == 0 {
		return "unknown: no search with known session sizes"
	}
	return aboutTokens(r.Range)
}
