package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/status"
)

type setupFlags struct {
	catalogOnly, noImport, semantic, noDaemon, wait bool
	format, progress                                string
}

func (a *App) setupCommand() *cobra.Command {
	f := &setupFlags{}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Create the data root and index what is found on this machine",
		Long: `Create the data root and index what is found on this machine. The work is done in the foreground by a worker that ends
with it; no background process is started.`,
		Args: noArguments,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.runSetup(cmd, f) }
	flags := cmd.Flags()
	flags.BoolVar(&f.catalogOnly, "catalog-only", false, "old, has no effect")
	flags.BoolVar(&f.noImport, "no-import", false, "old, has no effect")
	_ = flags.MarkHidden("catalog-only")
	_ = flags.MarkHidden("no-import")
	flags.BoolVar(&f.semantic, "semantic", false, "switch local semantic search on")
	flags.BoolVar(&f.noDaemon, "no-daemon", false, "no background process and no refresh in this run")
	flags.BoolVar(&f.wait, "wait", false, "wait until the index is published")
	choiceFlag(cmd, &f.progress, "progress", "auto", "progress on stderr", "auto", "plain", "json", "none")
	a.formatFlag(cmd, &f.format, "text", "text", "json")
	return cmd
}

func (a *App) runSetup(cmd *cobra.Command, f *setupFlags) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	if f.semantic {
		return semanticRefused(s, f)
	}
	if err := os.MkdirAll(s.dataRoot, 0o700); err != nil {
		return fault.Wrap(err, fault.ResourceUnavailable, "the data root cannot be created").
			WithHint("choose a directory that you may write to with --data-root")
	}
	request := refreshRequest{Mode: "background", Reason: reason("explicit_opt_out"), Status: "unavailable"}
	var report *refresh.Report
	if !f.noDaemon {
		sink, end := a.progressSink(f.progress, f.format)
		report, err = s.refresh(cmd.Context(), refresh.Request{All: true, Trigger: "setup", Progress: sink})
		end()
		if err != nil {
			return err
		}
		request = finishedRequest(report)
	}
	if f.wait {
		request.Mode = "wait"
	}
	observed, err := s.observe(cmd)
	if err != nil {
		return err
	}
	request.SourceCount = observed.Sources.Selected
	answer := newSetupAnswer(observed, request, f)
	switch {
	case f.format == "json":
		err = writeDocument(a.Stdout, answer)
	case !a.quiet || report != nil && report.Outcome == refresh.Failure:
		err = a.printSetup(observed, answer, report)
	}
	if err != nil || report == nil {
		return err
	}
	return a.importOutcome(report)
}

// semanticRefused says why semantic search cannot be switched on.
func semanticRefused(s *session, f *setupFlags) error {
	why := "semantic search is not part of this version"
	switch {
	case f.noDaemon:
		why = "--semantic needs the background process that --no-daemon forbids"
	case s.config.Indexing.Mode == config.ModeManual:
		why = "--semantic needs automatic indexing, and the configured mode is manual"
	}
	return fault.New("semantic_unsupported", "%s", why).With("detail", why).WithRetry(false)
}

// setupAnswer is the JSON object of setup: the status report with a few members of its own.
type setupAnswer struct {
	status.Report
	Mode            string          `json:"mode"`
	Catalog         setupCatalog    `json:"catalog"`
	RefreshRequest  refreshRequest  `json:"refresh_request"`
	DaemonAutostart daemonAutostart `json:"daemon_autostart"`
	CatalogOnly     bool            `json:"deprecated_catalog_only_ignored"`
	NetworkRequired bool            `json:"network_required"`
	RepoWrites      bool            `json:"repo_writes"`
	SourceRebuild   bool            `json:"source_rebuild_required"`
}

type setupCatalog struct {
	Status                  string  `json:"status"`
	Reason                  string  `json:"reason,omitempty"`
	Authority               string  `json:"authority"`
	ExplicitImportAuthority string  `json:"explicit_import_authority"`
	PersistedExplicitRoots  int     `json:"persisted_explicit_roots"`
	GenerationID            string  `json:"generation_id,omitempty"`
	CertifiedSources        *uint64 `json:"certified_sources,omitempty"`
}

// refreshRequest tells what became of the refresh that setup asked for. Nulls are kept.
type refreshRequest struct {
	Status              string  `json:"status"`
	Reason              *string `json:"reason"`
	Mode                string  `json:"mode"`
	DaemonAvailable     bool    `json:"daemon_available"`
	RequestID           *string `json:"request_id"`
	RequestState        *string `json:"request_state"`
	SourceCount         uint64  `json:"source_count"`
	PublishedGeneration *string `json:"published_generation"`
	Receipt             any     `json:"receipt"`
	LastError           *string `json:"last_error"`
}

type daemonAutostart struct {
	Status        string            `json:"status"`
	Reason        *string           `json:"reason"`
	Requested     bool              `json:"requested"`
	PID           *int              `json:"pid"`
	Persistent    bool              `json:"persistent"`
	Limitation    *string           `json:"limitation"`
	Supervisor    status.Supervisor `json:"supervisor"`
	StatusCommand string            `json:"status_command"`
}

func reason(text string) *string { return &text }

// finishedRequest describes a refresh that ran to its end in this process.
func finishedRequest(report *refresh.Report) refreshRequest {
	request := refreshRequest{Mode: "background", Status: "published", RequestState: reason("published"), Receipt: report.Receipt}
	if report.Generation != "" {
		request.PublishedGeneration = &report.Generation
	}
	if report.Outcome == refresh.Failure {
		request.Status, request.RequestState, request.Reason = "failed", reason("failed"), reason("refresh_failed")
		request.LastError = reason(firstFailure(report))
	}
	return request
}

func newSetupAnswer(observed *status.Report, request refreshRequest, f *setupFlags) setupAnswer {
	answer := setupAnswer{Report: observed.Setup(), RefreshRequest: request, CatalogOnly: f.catalogOnly || f.noImport}
	answer.SchemaVersion = 2
	answer.Mode = setupMode(observed, request)
	answer.Catalog = setupCatalog{
		Status: observed.Lexical.Status, Reason: observed.Lexical.Reason, Authority: "verified_lexical_generation",
		ExplicitImportAuthority: "not_persisted", GenerationID: observed.Lexical.GenerationID, CertifiedSources: observed.Lexical.CertifiedSources,
	}
	answer.DaemonAutostart = daemonAutostart{Status: "not_requested", Reason: reason("not_requested"),
		Supervisor: observed.Daemon.Supervisor, StatusCommand: "ctx status"}
	if f.noDaemon {
		answer.DaemonAutostart.Reason = reason("explicit_opt_out")
	}
	return answer
}

func setupMode(observed *status.Report, request refreshRequest) string {
	switch {
	case observed.Lexical.Status == "ready" && observed.Refresh.Status == "ready":
		return "ready"
	case observed.Lexical.Status == "pending", observed.Lexical.Status == "stale":
		return observed.Lexical.Status
	case request.Status == "pending":
		return "pending"
	}
	return "unavailable"
}

func (a *App) printSetup(observed *status.Report, answer setupAnswer, report *refresh.Report) error {
	p := a.page()
	switch {
	case report == nil && !observed.Initialized:
		p.outcome(markWarning, "Not indexed: --no-daemon asked for no refresh")
	case report != nil && report.Outcome == refresh.Failure:
		p.outcome(markFailed, "Nothing could be indexed: %s", p.style.safe(firstFailure(report)))
	case observed.IndexedSources == nil || *observed.IndexedSources == 0:
		p.outcome(markWarning, "No agent history was found on this machine")
	case report != nil && report.Totals.FailedSources > 0:
		p.outcome(markWarning, "Ready, but %s could not be read", plural(report.Totals.FailedSources, "source"))
	case observed.Initialized:
		p.outcome(markDone, "%s", readyLine(report))
	default:
		p.outcome(markWarning, "Not ready: %s", answer.Mode)
	}
	p.section("History", field{"Sources", sourcesLine(observed)}, field{"Sessions", optional(observed.IndexedSessions)},
		field{"Events", optional(observed.IndexedEvents)}, field{"Semantic", observed.Semantic.Status},
		field{"Background", "none; new sessions are read by ctx import --all"})
	if report != nil {
		printFailures(p, report.Failures())
	}
	switch {
	case !observed.Initialized:
		p.section("Data", field{"Root", observed.DataRoot})
		p.next("ctx import --all")
	case observed.IndexedSources == nil || *observed.IndexedSources == 0:
		p.next("ctx sources --all")
	default:
		p.next(`ctx search "why did the test fail"`)
	}
	return p.err
}

// readyLine says what the worker did.
func readyLine(report *refresh.Report) string {
	if report == nil {
		return "Ready"
	}
	if report.Totals.Change == refresh.NoOp {
		return "Ready: nothing new"
	}
	line := "Ready: indexed in the foreground"
	if report.Receipt.Timings.Total > 0 {
		line += fmt.Sprintf(" in %.1f s", float64(report.Receipt.Timings.Total)/1e6)
	}
	return line
}
