package cli

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/daemon"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/logfile"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/status"
)

// control reaches the background process of this data root.
func (s *session) control() *daemon.Control {
	return &daemon.Control{Config: s.config, Executable: s.app.Self}
}

// bring makes a refresh happen where it belongs: in the background process, which is started when it is missing, or in this process in
// manual mode and where starting one is switched off. Borrowed only uses a process that runs already.
func (s *session) bring(ctx context.Context, r daemon.Request, borrowed bool, show func(daemon.Progress)) (*refresh.Report, error) {
	c := s.control()
	if !c.Automatic() {
		return s.work(ctx, r, show)
	}
	c.Borrowed = borrowed
	_, err := c.Start(ctx, r.Trigger)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, err
	case borrowed:
		return nil, fault.Wrap(err, daemon.Unavailable, "--no-daemon uses a background process that runs already, and none answers").
			WithHint("leave --no-daemon out, or choose ctx index mode manual")
	case c.Suppressed() == "":
		return nil, err
	default:
		return s.work(ctx, r, show)
	}
	report, _, err := c.Refresh(ctx, r, show)
	return report, err
}

// work serves a request in this process.
func (s *session) work(ctx context.Context, r daemon.Request, show func(daemon.Progress)) (*refresh.Report, error) {
	req := refresh.Request{All: r.All, Provider: r.Provider, Path: r.Path, Resume: r.Resume, Reset: r.Reset, Trigger: r.Trigger}
	if show != nil {
		req.Progress = func(p refresh.Progress) { show(daemon.Progress{Progress: p}) }
	}
	return s.refresh(ctx, req)
}

func (a *App) daemonCommand() *cobra.Command {
	run := a.daemonRunCommand()
	show := &cobra.Command{Use: "status", Hidden: true, Short: "Tell how the background process is", Args: noArguments, RunE: a.runDaemonStatus}
	return group("daemon", "The background process that keeps the index current", run, a.formats(show, "text", "json"),
		a.daemonSwitch("enable", config.ModeAuto), a.daemonSwitch("disable", config.ModeManual))
}

func (a *App) daemonRunCommand() *cobra.Command {
	var interval, chunks int
	var force, detached bool
	var trigger string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep the index current until stopped",
		Long: `Keep the index current until stopped: what changes in the histories is searchable within seconds. Commands start this process
themselves in automatic mode; it is run by hand or by a service manager where that is not wanted.`,
		Args: noArguments,
	}
	flags := cmd.Flags()
	boundedFlag(cmd, &interval, "loop-interval-seconds", 30, 1, 3600, "seconds between two looks where changes cannot be watched")
	boundedFlag(cmd, &chunks, "max-chunks", 1000, 1, 1000000, "bound of one step of semantic indexing")
	flags.BoolVar(&force, "force", false, "run in manual mode too")
	flags.BoolVar(&detached, "detached", false, "")
	flags.StringVar(&trigger, "trigger", "", "")
	_ = flags.MarkHidden("detached")
	_ = flags.MarkHidden("trigger")
	a.formats(cmd, "text", "json")
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, _ []string) error {
		opt := s.daemonOptions()
		opt.Force, opt.Trigger, opt.Poll = force, trigger, time.Duration(interval)*time.Second
		if detached {
			opt.StartMode = "auto"
		} else if a.format == "text" && !a.quiet && (force || s.control().Automatic()) {
			fmt.Fprintf(a.Stderr, "Keeping the index of %s current; stop with Ctrl-C\n", s.dataRoot)
		}
		if err := daemon.Run(cmd.Context(), opt); err != nil || a.format != "json" {
			return err
		}
		observed, _ := s.control().Observe(cmd.Context())
		return writeDocument(a.Stdout, observed)
	})
	return cmd
}

func (s *session) daemonOptions() daemon.Options {
	s.app.fellBack = true // a refresh builds a damaged index again instead of warning about it
	log := logfile.New(s.dataRoot).Logger(hclog.Info)
	return daemon.Options{
		DataRoot: s.dataRoot, Environment: s.env, Store: s.store, Executable: s.app.Self, Version: version, StartMode: "manual",
		Log:    func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) },
		Memory: s.app.daemonMemory,
		Plugins: func(c *config.Config) daemon.Plugins {
			now := *s
			now.config = c
			return now.plugins()
		},
	}
}

// daemonMemory bounds a resting process tightly and stops the collection that runs every two minutes for nothing.
func (a *App) daemonMemory(resting bool) {
	if resting {
		debug.SetGCPercent(-1)
		if a.Getenv("GOMEMLIMIT") == "" {
			debug.SetMemoryLimit(64 << 20)
		}
		debug.FreeOSMemory()
		return
	}
	debug.SetGCPercent(100)
	a.writerMemory()
}

// runDaemonStatus answers with a malformed config file too, from the defaults.
func (a *App) runDaemonStatus(cmd *cobra.Command, _ []string) error {
	s, err := a.place()
	if err != nil {
		return err
	}
	if s.config, err = config.Load(s.dataRoot, s.env); err != nil {
		if s.config, err = config.Parse(s.dataRoot, nil, s.env); err != nil {
			return err
		}
	}
	observed, _ := s.control().Observe(cmd.Context())
	answer := struct {
		SchemaVersion int           `json:"schema_version"`
		Daemon        status.Daemon `json:"daemon"`
		LocalOnly     bool          `json:"local_only"`
	}{1, observed, true}
	return a.answer(answer, func(p *page) {
		p.outcome(markDone, "Background process: %s", daemonLine(&status.Report{Daemon: observed}))
	})
}

// daemonLine tells the state of the background process, and what it cannot watch.
func daemonLine(r *status.Report) string {
	line := r.Daemon.Status
	if w, ok := r.Daemon.Jobs.CoreRefresh.Watch.(*daemon.Watch); ok && len(w.Polled) > 0 {
		line += fmt.Sprintf(", looks at %s from time to time (%s)", plural(len(w.Polled), "place"), w.Polled[0].Reason)
	}
	return line
}

// daemonSwitch is index mode under its older name.
func (a *App) daemonSwitch(name string, mode config.IndexMode) *cobra.Command {
	type switched struct {
		SchemaVersion int  `json:"schema_version"`
		Enabled       bool `json:"daemon_enabled"`
		*modeDaemon
		ConfigPath string `json:"config_path"`
		LocalOnly  bool   `json:"local_only"`
	}
	cmd := &cobra.Command{Use: name, Hidden: true, Short: "The same as ctx index mode " + string(mode), Args: noArguments}
	return reporting(a, cmd, func(cmd *cobra.Command, s *session, _ []string) (switched, error) {
		state, err := s.setMode(cmd.Context(), mode, false)
		return switched{1, s.config.Indexing.Mode == config.ModeAuto, state, s.config.Path, true}, err
	}, func(*page, switched) {})
}
