package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/sdkplugin/conformance"
)

func (a *App) pluginsCommand() *cobra.Command {
	return group("plugins", "Work with history provider plugins",
		a.pluginsListCommand(), a.pluginsTrustCommand(), a.pluginsUntrustCommand(), a.pluginsTestCommand())
}

func (a *App) pluginsTestCommand() *cobra.Command {
	var scratch, fixture, sample string
	var only []string
	cmd := &cobra.Command{
		Use:   "test EXECUTABLE [ARGUMENT...]",
		Short: "Put a provider through the conformance kit",
		Long: `Start a provider executable and put it through the conformance kit. Checks that need history use --fixture or --sample; without
them they are listed as not run. Nothing is installed or trusted by this.`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd, "an executable is needed")
		}
		executable, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		if info, err := os.Stat(executable); err != nil || info.IsDir() {
			return fault.New(fault.NotFound, "there is no executable %s", quoteWord(args[0])).WithHint("name the provider's program file")
		}
		cfg := conformance.Config{Command: append([]string{executable}, args[1:]...), Only: only, Dir: scratch}
		if sample != "" {
			cfg.Sample = &conformance.Sample{Path: sample}
		}
		if words := strings.Fields(fixture); len(words) > 0 {
			if cfg.Fixture, err = conformance.NewCommandFixture(words); err != nil {
				return fault.Wrap(err, fault.InvalidRequest, "the fixture command does not answer: %s", oneLine(err.Error()))
			}
		}
		return a.testPlugin(cmd, cfg)
	}
	cmd.Flags().StringArrayVar(&only, "only", nil, "only this `check` (repeatable)")
	cmd.Flags().StringVar(&fixture, "fixture", "", "`command` that writes histories of this provider (see the conformance kit)")
	cmd.Flags().StringVar(&sample, "sample", "", "`directory` with real history of this provider; it is only read")
	cmd.Flags().StringVar(&scratch, "scratch", "", "`directory` for what the checks write (default: a temporary one)")
	return a.formats(cmd, "text", "json")
}

func (a *App) testPlugin(cmd *cobra.Command, cfg conformance.Config) error {
	if a.format == "json" {
		report := conformance.Check(cmd.Context(), cfg)
		err := writeDocument(a.Stdout, map[string]any{"schema_version": 1, "ok": report.OK(), "checks": report.Checks})
		return conformanceOutcome(report, err)
	}
	p := a.page()
	cfg.Report = func(o conformance.Outcome) { printCheck(p, o) }
	report := conformance.Check(cmd.Context(), cfg)
	p.gap()
	p.printf("%d passed, %d failed, %d not run\n", report.Count(conformance.Passed), report.Count(conformance.Failed), report.Count(conformance.NotRun))
	return conformanceOutcome(report, p.err)
}

func conformanceOutcome(report conformance.Report, err error) error {
	if err == nil && !report.OK() {
		return reported{exitFailed}
	}
	return err
}

func printCheck(p *page, o conformance.Outcome) {
	p.begun = true
	switch o.Status {
	case conformance.Passed:
		p.printf("%s %s  %s\n", p.style.mark(markDone), o.Name, p.style.dim(took(o.Duration)))
	case conformance.Failed:
		p.printf("%s %s: %s\n", p.style.mark(markFailed), o.Name, o.About)
		p.body(2, oneLineOf(o.Detail))
	default:
		p.printf("- %s: not run: %s\n", o.Name, oneLineOf(o.Detail))
	}
}

func oneLineOf(text string) string { return fmt.Sprintf("%.400s", oneLine(text)) }
