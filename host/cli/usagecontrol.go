package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
)

// usageStore is the file that holds the local usage counters.
const usageStore = "usage.sqlite"

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

func (a *App) usageControl(action, format string) error {
	s, err := a.place()
	if err == nil {
		err = s.controlUsage(action, format)
	}
	var output *outputError
	if err == nil || format != "json" || errors.As(err, &output) {
		return err
	}
	code := "usage_control_failed"
	if action == "reset" {
		code = "usage_reset_failed"
	}
	failed := usageAction{Action: action, Error: map[string]string{"code": code, "message": err.Error()}}
	if werr := writeLine(a.Stderr, map[string]any{"schema_version": 1, "local_usage_action": failed, "local_only": true, "read_only": false}); werr != nil {
		return werr
	}
	return reported{exitFailed}
}

func (s *session) controlUsage(action, format string) error {
	done := usageAction{Action: action, OK: true}
	var err error
	if action == "reset" {
		done.Store, err = s.resetUsage()
	} else {
		err = s.switchUsage(&done, action == "enable")
	}
	if err != nil {
		return err
	}
	if format == "json" {
		return writeDocument(s.app.Stdout, map[string]any{"schema_version": 1, "local_usage_action": done, "local_only": true, "read_only": false})
	}
	if s.app.quiet {
		return nil
	}
	p := s.app.page()
	switch {
	case action == "reset":
		p.outcome(markDone, "Local usage counters: %s", done.Store)
	case *done.Effective != *done.Persisted:
		p.outcome(markWarning, "Local usage is %s in the config, but CTX_LOCAL_USAGE_ENABLED says otherwise", onOff(*done.Persisted))
	default:
		p.outcome(markDone, "Local usage is %s", onOff(*done.Persisted))
	}
	return p.err
}

func (s *session) switchUsage(done *usageAction, on bool) error {
	_, err := config.Edit(s.dataRoot, s.env, func(text []byte) ([]byte, error) {
		return config.SetBool(text, "local_usage", "enabled", on)
	})
	if err != nil {
		return err
	}
	if s.config, err = config.Load(s.dataRoot, s.env); err != nil {
		return err
	}
	usage := s.config.LocalUsage
	done.Persisted, done.Effective, done.Environment = &usage.Persisted, &usage.On, "none"
	switch {
	case usage.Invalid:
		done.Environment = "invalid"
	case usage.Origin == config.FromEnvironment && usage.On:
		done.Environment = "enabled"
	case usage.Origin == config.FromEnvironment:
		done.Environment = "disabled"
	}
	return nil
}

// resetUsage removes the counters.
func (s *session) resetUsage() (state string, err error) {
	state = "missing"
	for _, name := range []string{usageStore, usageStore + "-wal", usageStore + "-shm"} {
		switch err := os.Remove(filepath.Join(s.dataRoot, name)); {
		case err == nil:
			state = "cleared"
		case !errors.Is(err, fs.ErrNotExist):
			return "", fault.Wrap(err, fault.ResourceUnavailable, "the usage counters cannot be removed").
				WithHint("check the owner and the permissions of the data root")
		}
	}
	return state, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
