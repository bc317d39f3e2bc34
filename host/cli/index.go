package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/daemon"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/status"
)

func (a *App) indexCommand() *cobra.Command {
	cmd := reporting(a, &cobra.Command{
		Use:   "index",
		Short: "Tell how current the index is, wait for it, or choose who keeps it current",
		Long: `Tell how current the index is. The commands below wait for it, or choose who keeps it current: a background process (automatic
mode) or the commands import and search --refresh wait (manual mode). None of them imports anything itself.`,
		Args: noArguments,
	}, func(cmd *cobra.Command, s *session, _ []string) (*observed, error) {
		r, err := s.observe(cmd.Context())
		if err != nil {
			return nil, err
		}
		return &observed{r.Snapshot(), r}, nil
	}, printSnapshot)
	cmd.AddCommand(a.indexModeCommand(), a.indexWatchCommand(), a.indexWaitCommand())
	return cmd
}

// observed is a snapshot as JSON shows it, with the report that its text is made from.
type observed struct {
	status.Snapshot
	report *status.Report
}

func printSnapshot(p *page, o *observed) {
	if p.quiet {
		return
	}
	r := o.report
	mark, text := indexLine(r)
	p.outcome(mark, "%s", text)
	p.section("Index",
		field{"Search", joinNonEmpty(", ", r.Lexical.Status, r.Lexical.Reason)},
		field{"Sources", optional(r.IndexedSources)}, field{"Sessions", optional(r.IndexedSessions)}, field{"Events", optional(r.IndexedEvents)},
		field{"Refresh", joinNonEmpty(", ", r.Refresh.Status, r.Refresh.Reason)},
		field{"Mode", r.Indexing.Mode}, field{"Daemon", daemonLine(r)})
	p.next(helping(r)...)
}

// standingOf is how the index stands, with how much is in it.
func standingOf(r *status.Report) (mark, string) {
	mark, text := indexLine(r)
	switch {
	case r.IndexedSessions == nil || r.IndexedEvents == nil:
	case *r.IndexedEvents == 0 && mark == markDone && text == "Ready":
		return markWarning, "Ready, but no session is indexed"
	default:
		text += ": " + plural(*r.IndexedSessions, "session") + ", " + plural(*r.IndexedEvents, "event")
	}
	return mark, text
}

func indexLine(r *status.Report) (mark, string) {
	switch {
	case !r.Initialized && r.Lexical.Status == "pending":
		return markDone, "Indexing for the first time; nothing answers yet"
	case r.Lexical.Reason == "generation_not_published":
		return markWarning, "No index yet"
	case !r.Initialized:
		return markFailed, "The index cannot be used"
	case r.Refresh.Status == "pending":
		return markDone, "Indexing; what is indexed already answers"
	case converged(r):
		return markDone, "Ready"
	}
	return markWarning, "Not current"
}

// modeDaemon is what a change of the mode did to the background process.
type modeDaemon struct {
	Running    bool              `json:"running"`
	PID        int               `json:"pid,omitempty"`
	Persistent bool              `json:"persistent"`
	Supervisor status.Supervisor `json:"supervisor"`
}

// modeAnswer is the JSON object of index mode.
type modeAnswer struct {
	SchemaVersion int          `json:"schema_version"`
	Indexing      modeIndexing `json:"indexing"`
	Daemon        *modeDaemon  `json:"daemon,omitempty"`
	ConfigPath    string       `json:"config_path"`
	LocalOnly     bool         `json:"local_only"`
	ReadOnly      bool         `json:"read_only"`
}

type modeIndexing struct {
	Mode       config.IndexMode `json:"mode"`
	Requested  config.IndexMode `json:"requested_mode"`
	Overridden bool             `json:"overridden"`
}

func (a *App) indexModeCommand() *cobra.Command {
	var install bool
	cmd := reporting(a, &cobra.Command{
		Use:   "mode [auto|manual]",
		Short: "Tell or choose who keeps the index current",
		Args:  atMostOne("mode"),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			mode := config.IndexMode(strings.Join(args, ""))
			if len(args) > 0 && mode != config.ModeAuto && mode != config.ModeManual {
				return usage(cmd, quoteWord(args[0])+" is not one of auto, manual")
			}
			if install && mode != config.ModeAuto {
				return usage(cmd, "--install-service needs the mode auto")
			}
			return nil
		},
	}, func(cmd *cobra.Command, s *session, args []string) (answer modeAnswer, err error) {
		var state *modeDaemon
		if len(args) > 0 {
			if state, err = s.setMode(cmd.Context(), config.IndexMode(args[0]), install); err != nil {
				return answer, err
			}
		}
		mode := s.config.Indexing
		return modeAnswer{1, modeIndexing{mode.Mode, mode.Requested, mode.Origin == config.FromEnvironment}, state, s.config.Path, true, state == nil}, nil
	}, printMode)
	cmd.Flags().BoolVar(&install, "install-service", false, "with auto: start the background process at every login (systemd, launchd)")
	return cmd
}

func printMode(p *page, answer modeAnswer) {
	if p.quiet {
		return
	}
	mode := answer.Indexing
	p.outcome(markDone, "Indexing mode: %s", string(mode.Mode))
	if mode.Mode != mode.Requested {
		p.diagnostic("CTX_DAEMON_ENABLED overrides the configured mode "+string(mode.Requested), "unset it")
	}
}

// setMode writes the mode and makes the background process follow.
func (s *session) setMode(ctx context.Context, mode config.IndexMode, install bool) (_ *modeDaemon, err error) {
	if s.config, err = config.Set(s.dataRoot, s.env, "indexing", "mode", string(mode)); err != nil {
		return nil, err
	}
	c := s.control()
	state := &modeDaemon{}
	switch {
	case mode == config.ModeManual:
		if err := c.RemoveService(ctx); err != nil {
			return nil, err
		}
		if err := c.Stop(ctx); err != nil {
			return nil, err
		}
	case install:
		if err := c.InstallService(ctx); err != nil {
			return nil, err
		}
	case c.Suppressed() == "":
		if _, err := c.Start(ctx, "setup"); err != nil {
			return nil, err
		}
	}
	observed, _ := c.Observe(ctx)
	state.Running, state.PID, state.Supervisor = observed.Running, observed.LivePID, observed.Supervisor
	state.Persistent = observed.Running
	if mode == config.ModeManual {
		state.Supervisor = status.Supervisor{Status: "removed"}
	}
	return state, nil
}

// awaited is what index wait waits for.
type awaited struct {
	Lexical  bool `json:"lexical"`
	Semantic bool `json:"semantic"`
	converge bool
}

// converged tells whether nothing that was asked for is outstanding.
func converged(r *status.Report) bool {
	switch r.Refresh.Status {
	case "ready":
		return true
	case "partial":
		return r.Refresh.RequestState == "published" && r.Refresh.GenerationMatches
	case "unavailable":
		return r.Refresh.Reason == daemon.Unavailable || r.Refresh.Reason == "refresh_not_observed"
	}
	return false
}

// stand judges a report: ready, waiting, or blocked with the reason and what to do about it.
func (w awaited) stand(r *status.Report) (state, why, action string) {
	working := r.Refresh.Status == "pending" || r.Lexical.Status == "pending"
	switch {
	case w.Lexical && r.Lexical.Status != "ready" && !working:
		if r.Lexical.Reason == "generation_not_published" {
			return "blocked", "there is no index yet", "ctx setup"
		}
		return "blocked", "the index cannot be used: " + joinNonEmpty(", ", r.Lexical.Status, r.Lexical.Reason), "ctx doctor"
	case w.Semantic && r.Semantic.Status != "ready":
		return "blocked", "semantic search is " + joinNonEmpty(", ", r.Semantic.Status, r.Semantic.Reason), "ctx status"
	case w.converge && !converged(r) && !working:
		return "blocked", "indexing stopped early: " + joinNonEmpty(", ", r.Refresh.Status, r.Refresh.Reason), "ctx doctor"
	case working && (w.converge || w.Lexical && r.Lexical.Status != "ready"):
		return "waiting", "indexing", ""
	}
	return "ready", "", ""
}

// await looks until the index is ready or blocked, or the deadline has passed. Between two looks it follows what the background
// process does, so that it is not late by an interval. each is called with every look, show (if any) with what is followed.
func (s *session) await(
	ctx context.Context, w awaited, interval time.Duration, each func(*status.Report) error, show func(daemon.Progress),
) (string, *status.Report, error) {
	for {
		r, err := s.observe(ctx)
		if err != nil && ctx.Err() == nil {
			return "", nil, err
		}
		if err == nil {
			state, _, _ := w.stand(r)
			if err := each(r); err != nil || state != "waiting" {
				return state, r, err
			}
		}
		pause, cancel := context.WithTimeout(ctx, interval)
		began := time.Now()
		if !s.control().Follow(pause, show) || time.Since(began) < 100*time.Millisecond {
			<-pause.Done() // nothing to follow
		}
		cancel()
		if ctx.Err() != nil {
			// One last look tells how far it came.
			r, err := s.observe(context.WithoutCancel(ctx))
			return "timeout", r, err
		}
	}
}

func (a *App) indexWaitCommand() *cobra.Command {
	var w awaited
	var all bool
	var timeout, interval int
	cmd := &cobra.Command{Use: "wait", Short: "Wait until the index is current", Args: noArguments}
	flags := cmd.Flags()
	flags.BoolVar(&w.Lexical, "lexical", false, "only until text search answers")
	flags.BoolVar(&w.Semantic, "semantic", false, "only until semantic search answers")
	flags.BoolVar(&all, "all", false, "both, and nothing outstanding")
	boundedFlag(cmd, &timeout, "timeout-seconds", 0, 1, 86400, "give up after this many seconds; never by default")
	boundedFlag(cmd, &interval, "interval-seconds", 2, 1, 86400, "seconds between two looks")
	a.formats(cmd, "text", "json")
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, _ []string) error {
		switch {
		case all:
			w = awaited{true, true, true}
		case !w.Lexical && !w.Semantic:
			w = awaited{true, s.config.Semantic.On, true}
		}
		ctx := cmd.Context()
		if timeout > 0 {
			limited, cancel := context.WithTimeout(ctx, time.Duration(timeout)*time.Second)
			defer cancel()
			ctx = limited
		}
		state, r, err := s.await(ctx, w, time.Duration(interval)*time.Second, func(*status.Report) error { return nil }, nil)
		if err == nil {
			err = cmd.Context().Err()
		}
		if err != nil {
			return err
		}
		return a.printWait(state, w, r)
	})
	return cmd
}

func (a *App) printWait(state string, w awaited, r *status.Report) error {
	_, why, action := w.stand(r)
	if a.format == "json" {
		err := writeDocument(a.Stdout, struct {
			SchemaVersion int             `json:"schema_version"`
			Status        string          `json:"status"`
			Selection     awaited         `json:"selection"`
			Readiness     status.Snapshot `json:"readiness"`
			LocalOnly     bool            `json:"local_only"`
			ReadOnly      bool            `json:"read_only"`
		}{1, state, w, r.Snapshot(), true, true})
		if err == nil && state != "ready" {
			err = reported{exitFailed}
		}
		return err
	}
	switch {
	case state == "blocked":
		return fault.New("index_blocked", "not ready: %s", why).WithHint("%s", action)
	case state == "timeout":
		return fault.New("index_timeout", "not ready in time: %s", why).WithHint("ctx index watch")
	case a.quiet:
		return nil
	}
	p := a.page()
	p.outcome(markDone, "Ready")
	return p.err
}

func (a *App) indexWatchCommand() *cobra.Command {
	var interval int
	cmd := &cobra.Command{Use: "watch", Short: "Show how the index becomes current", Args: noArguments}
	boundedFlag(cmd, &interval, "interval-seconds", 2, 1, 86400, "seconds between two lines")
	a.formats(cmd, "text", "jsonl", "json") // json is what the parent calls it
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, _ []string) error {
		w := awaited{true, s.config.Semantic.On, true}
		each, show, end := a.watcher()
		state, r, err := s.await(cmd.Context(), w, time.Duration(interval)*time.Second, each, show)
		end()
		if err == nil {
			err = cmd.Context().Err()
		}
		if err != nil || state == "ready" {
			return err
		}
		if a.format != "text" {
			return reported{exitFailed}
		}
		_, why, action := w.stand(r)
		return fault.New("index_blocked", "not ready: %s", why).WithHint("%s", action)
	})
	return cmd
}

// watcher shows an index that becomes current, and lets every line go at once: a snapshot of each look for programs; for people how it
// stands whenever that changes, and the progress between, as a bar where there is a terminal.
func (a *App) watcher() (each func(*status.Report) error, show func(daemon.Progress), end func()) {
	flush := func() error { return nil }
	if f, ok := a.Stdout.(interface{ Flush() error }); ok {
		flush = f.Flush
	}
	if a.format != "text" {
		return func(r *status.Report) error { return cmp.Or(writeLine(a.Stdout, r.Snapshot()), flush()) }, nil, func() {}
	}
	if a.quiet {
		return func(*status.Report) error { return nil }, nil, func() {}
	}
	if show, end = a.progressSink("auto"); show == nil {
		lines := &progressLines{w: a.Stdout}
		show = func(p daemon.Progress) {
			lines.show(p.Progress)
			_ = flush() // the next look tells
		}
	}
	last := ""
	return func(r *status.Report) error {
		mark, line := standingOf(r)
		if line == last {
			return nil
		}
		last = line
		end()
		a.page().outcome(mark, "%s", line)
		return flush()
	}, show, end
}
