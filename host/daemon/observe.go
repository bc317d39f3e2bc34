package daemon

import (
	"context"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/status"
)

// Observe describes the daemon for status. It changes nothing and waits at most 500 ms. Health is nil when none answers.
func (c *Control) Observe(ctx context.Context) (status.Daemon, *Health) {
	p := c.place()
	d := status.Daemon{
		Enabled: c.Automatic(), Status: "disabled", ConfigReload: status.ConfigReload{Status: "unknown"},
		LockPath: p.lock(), StatusPath: p.status(), Supervisor: c.supervisor(),
	}
	d.Jobs.CoreRefresh.Status = "not_running"
	if d.Enabled {
		d.Status = "stopped"
	}
	last := p.readState()
	d.PID, d.StartedAtMS, d.FinishedAtMS, d.HeartbeatAtMS = last.PID, last.StartedAtMS, last.FinishedAtMS, last.HeartbeatAtMS
	d.LastError, d.StartMode, d.TriggerCommand = last.LastError, last.StartMode, last.Trigger
	held := p.held()
	if last.PID > 0 {
		d.LockIdentity = &status.LockIdentity{Path: p.lock(), Active: held, PID: last.PID}
	}
	h, err := c.Health(ctx)
	switch {
	case h != nil:
		c.living(&d, h)
	case held:
		d.Status = "unknown"
		if err != nil { // else it ended between the two looks
			d.LastError = fault.From(err).Message
		}
	case last.Status == "running":
		d.Status = "stale_lock" // it was killed, or the machine stopped
	case last.Status != "" && d.Enabled:
		d.Status = last.Status
	}
	job := &d.Jobs.SemanticIndex
	job.Status, job.SemanticEnabled, job.SemanticConfigured = "disabled", c.Config.Semantic.On, c.Config.Semantic.On
	job.DaemonConfigured, job.ConfigReloadStatus = d.Enabled, d.ConfigReload.Status
	if c.Config.Semantic.On {
		job.Status, job.Reason = "unavailable", "semantic_unsupported"
	}
	return d, h
}

// living describes a daemon that answers.
func (c *Control) living(d *status.Daemon, h *Health) {
	d.Status, d.Running, d.Mode, d.PID, d.LivePID = "running", true, string(c.Config.Daemon.Scope), h.PID, h.PID
	d.StartedAtMS, d.HeartbeatAtMS, d.FinishedAtMS = h.StartedAtMS, h.NowMS, 0
	d.StartMode, d.TriggerCommand = h.StartMode, h.Trigger
	if h.Trigger != "" {
		d.TriggerProvenance = "explicit_command"
	}
	d.Endpoint = &status.Endpoint{Available: true, Transport: "unix", Address: h.Address, OwnerPID: h.PID}
	d.Supervisor.LiveOwnerVerified = h.Supervised
	d.ConfigReload = status.ConfigReload{
		Status: "applied", LastAttemptAtMS: h.Config.AttemptAtMS, LastAppliedAtMS: h.Config.AppliedAtMS, LastError: h.Config.Failed,
	}
	if h.Config.Failed != "" {
		d.ConfigReload.Status, d.ConfigReload.OutOfSync = "failed", true
	}
	if h.Contract != core.Contract() {
		d.LastError = otherVersion().Error()
	}
	job := &d.Jobs.CoreRefresh
	job.Status = "idle"
	switch {
	case h.Running != nil:
		job.Status = stateRunning
	case h.Pending > 0:
		job.Status = stateQueued
	case h.Merging:
		job.Status = "merging"
	case len(h.Marked) > 0:
		job.Status = "changes_seen"
	}
	job.Watch, job.Retrying = &h.Watch, h.Retrying
	if a := h.Last; a != nil {
		job.LastRunAtMS, job.LastRunStatus, job.LastRunReason, job.LastError = a.FinishedAtMS, a.State, a.Outcome, a.LastError
		job.LastRunLookedAt = a.Looked
	}
}

// Present lays what the daemon does now over what the last receipt says about the refresh.
func Present(r *status.Report, h *Health) {
	if h == nil {
		if r.Refresh.Reason == "refresh_not_observed" && r.Daemon.Enabled && !r.Daemon.Running {
			r.Refresh.Reason = Unavailable
		}
		return
	}
	s := h.Standing
	if h.Running == nil && h.Pending == 0 {
		if a := h.Last; a != nil {
			r.Refresh.AttemptID, r.Refresh.AttemptState = a.ID, a.State
			if a.State == stateFailed && a.LastError != "" {
				r.Refresh.LastError = a.LastError
			}
		}
		if h.Blocked { // the disk is full, for example: nothing more comes by itself soon
			r.Refresh.Status, r.Refresh.Reason, r.Refresh.RequestState = "stale", "core_refresh_failed", stateFailed
			return
		}
		if len(h.Marked) == 0 {
			return
		}
	}
	f := &r.Refresh
	s.RequestState, s.Outcome = stateQueued, f.Standing.Outcome
	if h.Running != nil {
		s.RequestState, f.Trigger = stateRunning, h.Running.Trigger
	}
	f.Status, f.Reason, f.Standing = "pending", "core_refresh_pending", s.Standing
	if h.Progress != nil {
		f.Progress = h.Progress
	}
	if r.Lexical.Reason == "generation_not_published" {
		r.Lexical.Status, r.HistoryEpoch.Status = "pending", "pending"
	}
}
