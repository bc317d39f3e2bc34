package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/daemon"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/nullable"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/host/status"
)

type setupFlags struct {
	catalogOnly, noImport, semantic, noDaemon, wait bool
	progress                                        string
}

func (a *App) setupCommand() *cobra.Command {
	f := &setupFlags{}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Create the data root and index what is found on this machine",
		Long: `Create the data root, start the background process that keeps the index current, and let it index what is found on this
machine. In manual mode, or with --no-daemon, only the data root is made.`,
		Args: noArguments,
	}
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, _ []string) error { return a.runSetup(cmd, s, f) })
	flags := cmd.Flags()
	flags.BoolVar(&f.catalogOnly, "catalog-only", false, "old, has no effect")
	flags.BoolVar(&f.noImport, "no-import", false, "old, has no effect")
	_ = flags.MarkHidden("catalog-only")
	_ = flags.MarkHidden("no-import")
	flags.BoolVar(&f.semantic, "semantic", false, "switch local semantic search on")
	flags.BoolVar(&f.noDaemon, "no-daemon", false, "no background process and no refresh in this run")
	flags.BoolVar(&f.wait, "wait", false, "wait until the index is published")
	choiceFlag(cmd.Flags(), &f.progress, "progress", "auto", "progress on stderr", "auto", "plain", "json", "none")
	return a.formats(cmd, "text", "json")
}

func (a *App) runSetup(cmd *cobra.Command, s *session, f *setupFlags) error {
	if f.semantic {
		return semanticRefused(s, f)
	}
	if err := os.MkdirAll(s.dataRoot, 0o700); err != nil {
		return fault.Wrap(err, fault.ResourceUnavailable, "the data root cannot be created").
			WithHint("choose a directory that you may write to with --data-root")
	}
	request := refreshRequest{Mode: "background", Status: "unavailable"}
	if f.wait {
		request.Mode = "wait"
	}
	autostart := daemonAutostart{Status: "not_requested", StatusCommand: "ctx status"}
	var report *refresh.Report
	var err error
	switch {
	case f.noDaemon:
		request.Reason, autostart.Reason = "explicit_opt_out", "explicit_opt_out"
	case !s.control().Automatic():
		request.Reason, autostart.Reason = "daemon_disabled", "daemon_disabled"
	default:
		if report, err = a.setUp(cmd.Context(), s, f, &request, &autostart); err != nil {
			return err
		}
	}
	observed, err := s.observe(cmd.Context())
	if err != nil {
		return err
	}
	request.SourceCount = observed.Sources.Selected
	if request.Status == "pending" && observed.Initialized { // what is published answers meanwhile
		request.Reason = ""
	}
	autostart.Supervisor = observed.Daemon.Supervisor
	lexical := &observed.Lexical
	answer := setupAnswer{
		Report: observed.Setup(), RefreshRequest: request, DaemonAutostart: autostart, CatalogOnly: f.catalogOnly || f.noImport,
		Mode: setupMode(observed, request), Catalog: setupCatalog{
			Status: lexical.Status, Reason: lexical.Reason, Authority: "verified_lexical_generation",
			ExplicitImportAuthority: "not_persisted", GenerationID: lexical.GenerationID, CertifiedSources: lexical.CertifiedSources,
		},
	}
	answer.SchemaVersion = 2
	// Who waits wants to know that nothing came.
	failed := request.Status == "failed" || f.wait && request.LastError != "" && s.control().Suppressed() == ""
	err = a.answer(answer, func(p *page) {
		if !p.quiet || failed {
			printSetup(cmd.Context(), p, s, observed, answer, report)
		}
	})
	if err != nil || !failed {
		return err
	}
	a.complain(markFailed, string(request.LastError))
	return reported{exitFailed}
}

// setUp starts the background process and hands it the refresh of everything. It waits for the end when the user wants that, and
// where there is nothing to read: an empty index is published in a moment.
func (a *App) setUp(ctx context.Context, s *session, f *setupFlags, request *refreshRequest, autostart *daemonAutostart) (*refresh.Report, error) {
	c := s.control()
	autostart.Requested, autostart.Status = true, "verified"
	h, err := c.Start(ctx, "setup")
	if err != nil {
		if fault.Code(err) != daemon.Unavailable {
			return nil, err
		}
		autostart.Status, autostart.Reason = "unavailable", nullable.Text(cmp.Or(c.Suppressed(), daemon.Unavailable))
		request.Reason, request.LastError = daemon.Unavailable, nullable.Text(fault.From(err).Message)
		return nil, nil
	}
	autostart.PID, autostart.Persistent = &h.PID, true
	if !h.Supervised {
		autostart.Status, autostart.Reason = "degraded", "native_supervisor_unavailable"
	}
	request.DaemonAvailable = true
	r := c.NewRequest("setup")
	r.All, request.RequestID = true, nullable.Text(r.ID)
	if !f.wait && !s.nothingToRead(ctx) {
		standing, err := c.Submit(ctx, r)
		request.Status, request.RequestState, request.Reason = "pending", nullable.Text(standing.RequestState), "refresh_queued_without_published_generation"
		return nil, err
	}
	sink, end := a.progressSink(f.progress)
	report, standing, err := c.Refresh(ctx, r, sink)
	end()
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		request.Status, request.RequestState, request.Reason = "failed", "failed", "refresh_failed"
		request.LastError = nullable.Text(fault.From(err).Message)
		return nil, nil
	}
	request.finished(report, standing)
	return report, nil
}

// nothingToRead reports whether no index exists and no history is there to make one of.
func (s *session) nothingToRead(ctx context.Context) bool {
	if p, err := s.store.Pointer(); err != nil || p.Active != nil {
		return false
	}
	found, err := s.discover(ctx, "")
	return err == nil && !slices.ContainsFunc(found.Routes, func(r sources.Route) bool { return r.Status == sources.Available })
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
	Status              string        `json:"status"`
	Reason              nullable.Text `json:"reason"`
	Mode                string        `json:"mode"`
	DaemonAvailable     bool          `json:"daemon_available"`
	RequestID           nullable.Text `json:"request_id"`
	RequestState        nullable.Text `json:"request_state"`
	SourceCount         uint64        `json:"source_count"`
	PublishedGeneration nullable.Text `json:"published_generation"`
	Receipt             any           `json:"receipt"`
	LastError           nullable.Text `json:"last_error"`
}

type daemonAutostart struct {
	Status        string            `json:"status"`
	Reason        nullable.Text     `json:"reason"`
	Requested     bool              `json:"requested"`
	PID           *int              `json:"pid"`
	Persistent    bool              `json:"persistent"`
	Limitation    nullable.Text     `json:"limitation"`
	Supervisor    status.Supervisor `json:"supervisor"`
	StatusCommand string            `json:"status_command"`
}

// finished describes a refresh that ran to its end.
func (request *refreshRequest) finished(report *refresh.Report, standing daemon.Standing) {
	request.Status, request.RequestState, request.Receipt = "published", nullable.Text(standing.RequestState), report.Receipt
	request.PublishedGeneration = nullable.Text(report.Generation)
	if report.Outcome == refresh.Failure {
		request.Status, request.Reason, request.LastError = "failed", "refresh_failed", nullable.Text(firstFailure(report))
	}
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

func printSetup(ctx context.Context, p *page, s *session, observed *status.Report, answer setupAnswer, report *refresh.Report) {
	request := &answer.RefreshRequest
	switch {
	case request.Status == "failed":
		p.outcome(markFailed, "Nothing could be indexed: %s", request.LastError)
	case request.Status == "pending" && !observed.Initialized:
		p.outcome(markDone, "Indexing in the background for the first time; nothing answers before it is done")
	case request.Status == "pending":
		p.outcome(markDone, "Indexing in the background; what is indexed already answers")
	case request.Status == "unavailable" && !observed.Initialized:
		p.outcome(markWarning, "Not indexed: %s", notIndexed[request.Reason])
	case request.LastError != "":
		p.outcome(markWarning, "What is indexed answers, but nothing new was read: %s", request.LastError)
	case positive(observed.IndexedSources) == "":
		p.outcome(markWarning, "No agent history was found on this machine")
	case report != nil && report.Totals.FailedSources > 0:
		p.outcome(markWarning, "Ready, but %s could not be read", plural(report.Totals.FailedSources, "source"))
	case observed.Initialized:
		p.outcome(markDone, "%s", readyLine(report))
	default:
		p.outcome(markWarning, "Not ready: %s", answer.Mode)
	}
	background := "none; new sessions are read by ctx import --all"
	if observed.Daemon.Running {
		background = fmt.Sprintf("process %d keeps the index current", observed.Daemon.PID)
	}
	p.section("History", field{"Sources", sourcesLine(observed)}, field{"Sessions", optional(observed.IndexedSessions)},
		field{"Events", optional(observed.IndexedEvents)}, field{"Semantic", observed.Semantic.Status}, field{"Background", background})
	if report != nil {
		printFailures(p, report.Failures)
	}
	switch {
	case request.Status == "pending" && !observed.Initialized:
		p.next("ctx index watch")
	case !observed.Initialized:
		p.section("Data", field{"Root", observed.DataRoot})
		p.next("ctx import --all")
	case positive(observed.IndexedSources) == "":
		p.next("ctx sources --all")
	default:
		p.next(s.suggestions(ctx)...)
	}
}

// notIndexed says why setup asked for no refresh.
var notIndexed = map[nullable.Text]string{
	"explicit_opt_out": "--no-daemon asked for no refresh", "daemon_disabled": "indexing is in manual mode",
	daemon.Unavailable: "no background process runs",
}

// readyLine says what the refresh did.
func readyLine(report *refresh.Report) string {
	if report == nil {
		return "Ready"
	}
	if report.Totals.Change == refresh.NoOp {
		return "Ready: nothing new"
	}
	line := "Ready: indexed"
	if report.Receipt.Timings.Total > 0 {
		line += fmt.Sprintf(" in %.1f s", float64(report.Receipt.Timings.Total)/1e6)
	}
	return line
}
