package cli

import (
	"github.com/agenthistory/ctx/host/config"
	localusage "github.com/agenthistory/ctx/host/usage"
)

// usageAction is the JSON of a usage control.
type usageAction struct {
	Action      string `json:"action"`
	OK          bool   `json:"ok"`
	Persisted   *bool  `json:"persisted_enabled,omitempty"`
	Effective   *bool  `json:"effective_enabled,omitempty"`
	Environment string `json:"environment_override,omitempty"` // none, enabled, disabled, invalid
	Store       string `json:"store_state,omitempty"`          // cleared, missing
	Error       any    `json:"error,omitempty"`
}

// envelope is the JSON around a usage action.
func (u usageAction) envelope() map[string]any {
	return map[string]any{"schema_version": 1, "local_usage_action": u, "local_only": true, "read_only": false}
}

func (a *App) usageControl(action string) error {
	done := usageAction{Action: action, OK: true}
	s, err := a.place()
	switch {
	case err != nil:
	case action == "reset":
		done.Store, err = localusage.Reset(s.dataRoot)
	default:
		err = s.switchUsage(&done, action == "enable")
	}
	switch {
	case err != nil && a.format != "json":
		return err
	case err != nil:
		code := "usage_control_failed"
		if action == "reset" {
			code = "usage_reset_failed"
		}
		failed := usageAction{Action: action, Error: map[string]string{"code": code, "message": err.Error()}}
		if err := writeLine(a.Stderr, failed.envelope()); err != nil {
			return err
		}
		return reported{exitFailed}
	}
	return a.answer(done.envelope(), done.print)
}

func (u usageAction) print(p *page) {
	switch {
	case p.quiet:
	case u.Action == "reset":
		p.outcome(markDone, "Local usage counters: %s", u.Store)
	case *u.Effective != *u.Persisted:
		p.outcome(markWarning, "Local usage is %s in the config, but CTX_LOCAL_USAGE_ENABLED says otherwise", onOff(*u.Persisted))
	default:
		p.outcome(markDone, "Local usage is %s", onOff(*u.Persisted))
	}
}

func (s *session) switchUsage(done *usageAction, on bool) (err error) {
	if s.config, err = config.Set(s.dataRoot, s.env, "local_usage", "enabled", on); err != nil {
		return err
	}
	control := s.config.LocalUsage
	done.Persisted, done.Effective, done.Environment = &control.Persisted, &control.On, "none"
	switch {
	case control.Invalid:
		done.Environment = "invalid"
	case control.Origin == config.FromEnvironment && control.On:
		done.Environment = "enabled"
	case control.Origin == config.FromEnvironment:
		done.Environment = "disabled"
	}
	return nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
