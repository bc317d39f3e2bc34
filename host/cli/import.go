package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
)

type importFlags struct {
	provider, path, relocate, historySource, inputFormat string
	manifests                                            []string
	all, resume, resetCursor, noDaemon, partial          bool
	progress                                             string
}

func (a *App) importCommand() *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Bring the index up to date with the histories on disk",
		Long: `Bring the index up to date with the histories on disk: everything that is discovered (--all, the default), one provider, or
exactly one path. Only what is new is read. A source that fails keeps its old records and never stops the others.`,
		Example: "  ctx import --all\n  ctx import --provider claude --path /backup/claude/projects",
		Args:    noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return f.check(cmd) },
		RunE:    a.opened(func(cmd *cobra.Command, s *session, _ []string) error { return a.runImport(cmd, s, f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.provider, "provider", "", "only this `provider`")
	flags.StringVar(&f.path, "path", "", "exactly this `path`, once (with --provider)")
	flags.StringVar(&f.relocate, "relocate-from", "", "`path` where --path was before; ids never depend on paths, so nothing else changes")
	flags.StringVar(&f.historySource, "history-source", "", "one source of a history plugin, as `plugin/source`")
	flags.StringArrayVar(&f.manifests, "history-source-manifest", nil, "manifest `file` of a history plugin (repeatable)")
	flags.BoolVar(&f.resetCursor, "reset-cursor", false, "read the source from its beginning")
	choiceFlag(cmd.Flags(), &f.inputFormat, "input-format", "", "format of --path", "ctx-history-jsonl-v1", "custom-history-jsonl-v1")
	flags.BoolVar(&f.all, "all", false, "everything that is discovered")
	flags.BoolVar(&f.resume, "resume", false, "go on after an interrupted import; nothing is stored twice")
	flags.BoolVar(&f.noDaemon, "no-daemon", false, "use the background process only if it runs already")
	flags.BoolVar(&f.partial, "partial", false, "keep what was read when some sources fail (always so)")
	_ = flags.MarkHidden("partial")
	choiceFlag(cmd.Flags(), &f.progress, "progress", "auto", "progress on stderr", "auto", "plain", "json", "none")
	return a.formats(cmd, "text", "json")
}

// contradictions are the pairs of flags that exclude each other.
var contradictions = [][2]string{
	{"all", "provider"}, {"all", "path"}, {"all", "input-format"}, {"all", "history-source"}, {"all", "relocate-from"},
	{"relocate-from", "history-source"}, {"relocate-from", "history-source-manifest"},
	{"history-source", "provider"}, {"history-source", "path"}, {"history-source", "input-format"},
	{"history-source-manifest", "provider"}, {"history-source-manifest", "path"}, {"history-source-manifest", "input-format"},
	{"input-format", "provider"},
}

func (f *importFlags) check(cmd *cobra.Command) error {
	for _, pair := range contradictions {
		if err := exclusive(cmd, pair[0], pair[1]); err != nil {
			return err
		}
	}
	given := cmd.Flags().Changed
	switch {
	case given("path") && !given("provider") && !given("input-format"):
		return usage(cmd, "--path needs --provider")
	case given("relocate-from") && !given("path"):
		return usage(cmd, "--relocate-from needs --path")
	case given("input-format") && !given("path"):
		return usage(cmd, "--input-format needs --path")
	}
	return refuseBlank(cmd, fault.InvalidRequest)
}

// unserved names what the installed providers cannot read.
func (f *importFlags) unserved() error {
	if plugin, source, _ := strings.Cut(f.historySource, "/"); f.historySource != "" && (plugin == "" || source == "") {
		return fault.New(fault.InvalidRequest, "--history-source is the name of a plugin, a slash and the name of its source")
	}
	if f.historySource != "" || len(f.manifests) > 0 || f.inputFormat != "" {
		return fault.New("not_supported", "this version reads no exchange files; a provider plugin can read any history").
			WithHint("ctx docs show custom-history-import-format")
	}
	return nil
}

func (a *App) runImport(cmd *cobra.Command, s *session, f *importFlags) (err error) {
	if err := f.unserved(); err != nil {
		return err
	}
	if f.provider != "" {
		if f.provider, err = s.provider(f.provider); err != nil {
			return err
		}
	}
	sink, end := a.progressSink(f.progress)
	r := s.control().NewRequest("import")
	r.All, r.Provider, r.Resume, r.Reset = f.provider == "", f.provider, f.resume, f.resetCursor
	if r.Path = f.path; r.Path != "" && !filepath.IsAbs(r.Path) {
		r.Path = filepath.Join(s.env.WorkDir, r.Path)
	}
	report, err := s.bring(cmd.Context(), r, f.noDaemon, sink)
	end()
	if err != nil {
		return err
	}
	if err := a.answer(report.Document(), func(p *page) { printImport(p, s, report) }); err != nil {
		return err
	}
	return a.importOutcome(report)
}

func printImport(p *page, s *session, report *refresh.Report) {
	t := &report.Totals
	mark, text := importHeadline(report)
	p.outcome(mark, "%s", text)
	p.section("Imported",
		field{"Sources", count(t.ImportedSources)}, field{"Sessions", count(t.ImportedSessions)},
		field{"Events", count(t.ImportedEvents)}, field{"Edges", count(t.ImportedEdges)},
		field{"Failed sources", positive(&t.FailedSources)}, field{"Skipped records", count(t.RejectedRecords)})
	p.section("Current index",
		field{"Sources", optional(t.Current.Sources)}, field{"Events", optional(t.Current.IndexedDocuments)},
		field{"Gone", positive(&t.GoneSources)})
	printFailures(p, report.Failures)
	printSkipped(p, s.shortPath, report.Rejections)
	switch {
	case report.Totals.FailedSources > 0:
		p.next("ctx status")
	case report.Totals.ImportedEvents > 0:
		p.next(sampleSearch)
	case positive(t.Current.Sources) == "":
		p.next("ctx sources --all")
	}
}

func importHeadline(report *refresh.Report) (mark, string) {
	switch {
	case report.Outcome == refresh.Failure:
		return markFailed, "Nothing could be imported"
	case report.Totals.FailedSources > 0:
		return markWarning, "Imported, but some sources failed"
	case report.Totals.Change == refresh.NoOp && positive(report.Totals.Current.Sources) == "":
		return markWarning, "No agent history was found on this machine"
	case report.Totals.Change == refresh.NoOp:
		return markDone, "Nothing new"
	case report.Totals.RejectedRecords > 0:
		return markDone, "Imported, without " + plural(report.Totals.RejectedRecords, "record") + " that could not be understood"
	}
	return markDone, "Imported"
}

const failuresShown = 3

func printFailures(p *page, failures []*refresh.FailureRow) {
	if len(failures) == 0 {
		return
	}
	var fields []field
	for i, row := range failures {
		if i == failuresShown {
			fields = append(fields, field{"Additional", count(len(failures) - failuresShown)})
			break
		}
		fields = append(fields, field{row.Provider, fmt.Sprintf("%s: %s", oneLine(row.Selector), oneLine(row.Detail))})
	}
	p.section("Source failures", fields...)
}

// importOutcome turns an import in which everything failed into exit 1; the first failure is told on stderr.
func (a *App) importOutcome(report *refresh.Report) error {
	if report.Outcome != refresh.Failure {
		return nil
	}
	a.complain(markFailed, firstFailure(report))
	return reported{exitFailed}
}

// firstFailure names the first source that failed and says why.
func firstFailure(report *refresh.Report) string {
	if len(report.Failures) == 0 {
		return "nothing could be read"
	}
	row := report.Failures[0]
	return fmt.Sprintf("%s: %s: %s", row.Provider, oneLine(row.Selector), oneLine(row.Detail))
}
