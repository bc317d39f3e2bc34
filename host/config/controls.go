package config

import (
	"path/filepath"
	"strings"
)

// applyControls lays the environment over the file.
func (c *Config) applyControls(file *fileSettings, env Environment) {
	c.Indexing = Indexing{Mode: ModeAuto, Requested: ModeAuto, Origin: FromDefault}
	if file.mode != "" {
		c.Indexing = Indexing{Mode: file.mode, Requested: file.mode, Origin: FromFile}
	}
	if on, set := c.boolControl(env, "CTX_DAEMON_ENABLED"); set {
		c.Indexing.Origin, c.Indexing.Mode = FromEnvironment, ModeManual
		if on {
			c.Indexing.Mode = ModeAuto
		}
	}
	c.Semantic = c.overlay(env, "CTX_SEARCH_SEMANTIC", file.semantic, false)
	c.LocalUsage = c.overlay(env, "CTX_LOCAL_USAGE_ENABLED", file.localUsage, true)
	if c.LocalUsage.Invalid {
		// A value that cannot be read may have meant "off", and counting nothing is the side that harms nobody.
		c.LocalUsage.On = false
	}
	c.Daemon = Daemon{Scope: DaemonFull, ScopeOrigin: FromDefault, AutostartOff: Truthy(env.control("CTX_DAEMON_AUTOSTART_OFF"))}
	if file.daemonScope != "" {
		c.Daemon.Scope, c.Daemon.ScopeOrigin = file.daemonScope, FromFile
	}
	switch v := env.control("CTX_DAEMON_MODE"); DaemonScope(v) {
	case DaemonFull, DaemonSourceRefresh:
		c.Daemon.Scope, c.Daemon.ScopeOrigin = DaemonScope(v), FromEnvironment
	case "":
	default:
		c.InvalidEnvironment = append(c.InvalidEnvironment, "CTX_DAEMON_MODE")
	}
	for _, dir := range filepath.SplitList(env.control("CTX_HISTORY_PLUGIN_PATH")) {
		if filepath.IsAbs(dir) {
			c.PluginPath = append(c.PluginPath, filepath.Clean(dir))
		}
	}
}

func (c *Config) overlay(env Environment, name string, file *bool, fallback bool) Switch {
	s := Switch{On: fallback, Persisted: fallback, Origin: FromDefault}
	if file != nil {
		s.On, s.Persisted, s.Origin = *file, *file, FromFile
	}
	before := len(c.InvalidEnvironment)
	if on, set := c.boolControl(env, name); set {
		s.On, s.Origin = on, FromEnvironment
	}
	s.Invalid = len(c.InvalidEnvironment) > before
	return s
}

// boolControl reads a control variable that is true or false. An empty value counts as unset; a value that is neither is
// recorded and counts as unset.
func (c *Config) boolControl(env Environment, name string) (on, set bool) {
	switch strings.ToLower(strings.TrimSpace(env.control(name))) {
	case "":
		return false, false
	case "1", "true", "yes", "on":
		return true, true
	case "0", "false", "no", "off":
		return false, true
	}
	c.InvalidEnvironment = append(c.InvalidEnvironment, name)
	return false, false
}

// Truthy is the loose reading of a flag variable: anything but empty, 0, false, no and off.
func Truthy(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}
