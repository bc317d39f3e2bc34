package config

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Platform is the family of systems that default locations are described for.
type Platform string

// Platforms of default locations.
const (
	Linux     Platform = "linux"
	MacOS     Platform = "macos"
	Windows   Platform = "windows"
	OtherUnix Platform = "other_unix"
)

// ProviderVariables are the only variables that decide where a built-in provider keeps its history. No other variable is
// captured, and none of these ever holds a secret.
var ProviderVariables = []string{
	"APPDATA", "ASTRBOT_ROOT", "CLAUDE_CONFIG_DIR", "CLINE_DATA_DIR", "CLINE_DB_DATA_DIR", "CLINE_DIR", "CLINE_SANDBOX",
	"CLINE_SANDBOX_DATA_DIR", "CLINE_SESSION_DATA_DIR", "CODEBUDDY_CONFIG_DIR", "CODEX_HOME", "CONTINUE_GLOBAL_DIR",
	"COPILOT_HOME", "CRUSH_GLOBAL_CONFIG", "CRUSH_GLOBAL_DATA", "CURSOR_CONFIG_DIR", "CURSOR_DATA_DIR", "DSH_HOME",
	"FILE_STORE", "FILE_STORE_PATH", "FLATPAK_XDG_DATA_HOME", "FORGE_CONFIG", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT",
	"GROK_HOME", "HERMES_HOME", "JUNIE_HOME", "KILO_DB", "KIMI_CODE_HOME", "KIRO_HOME", "MIMOCODE_DB", "MIMOCODE_HOME",
	"MUX_ROOT", "NODE_ENV", "OH_PERSISTENCE_DIR", "OPENCLAW_HOME", "OPENCLAW_STATE_DIR", "OPENHANDS_CONVERSATIONS_DIR",
	"OPENHANDS_PERSISTENCE_DIR", "OPENHANDS_USER_ID", "OPENCODE_DB", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR",
	"QODER_CONFIG_DIR", "QWEN_CODE_SYSTEM_DEFAULTS_PATH", "QWEN_CODE_SYSTEM_SETTINGS_PATH",
	"QWEN_CODE_TRUSTED_FOLDERS_PATH", "QWEN_HOME", "QWEN_RUNTIME_DIR", "SHARED_EVENT_STORAGE_PROVIDER", "VIBE_HOME",
	"VIBE_SESSION_LOGGING", "VIBE_SESSION_LOGGING__SAVE_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"ZED_STATELESS",
}

// controlVariables steer ctx itself. They are not shown to providers.
var controlVariables = []string{
	"CTX_DATA_ROOT", "CTX_QUIET", "CTX_LOCAL_USAGE_ENABLED", "CTX_DAEMON_ENABLED", "CTX_DAEMON_MODE",
	"CTX_DAEMON_AUTOSTART_OFF", "CTX_SEARCH_SEMANTIC", "CTX_HISTORY_PLUGIN_PATH",
}

// Directories are the platform's places for application files; "" means that the place is not established there.
type Directories struct {
	Config    string // XDG_CONFIG_HOME or ~/.config; Application Support; %APPDATA%
	Data      string // XDG_DATA_HOME or ~/.local/share; Application Support; %APPDATA%
	State     string // XDG_STATE_HOME or ~/.local/state; none; none
	LocalData string // as Data; Application Support; AppData\Local
	Roaming   string // none; none; %APPDATA%
}

// Environment is what discovery may know about the process and the machine. The zero value knows nothing: every location that
// needs a home or a variable is then left out.
type Environment struct {
	Home      string // absolute, "" = unknown
	WorkDir   string // absolute, "" = unknown
	UserID    int    // effective uid, -1 where the platform has none
	Platform  Platform
	Dirs      Directories
	variables map[string]string
	lookup    func(string) (string, bool)
}

// System captures the environment of this process.
func System() Environment {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = ""
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	return NewEnvironment(hostPlatform(), home, dir, os.Geteuid(), os.LookupEnv)
}

// NewEnvironment captures an environment through lookup, which is asked for the known variables only.
func NewEnvironment(platform Platform, home, workDir string, uid int, lookup func(string) (string, bool)) Environment {
	e := Environment{Home: home, WorkDir: workDir, UserID: uid, Platform: platform, variables: map[string]string{}, lookup: lookup}
	for _, list := range [][]string{ProviderVariables, controlVariables} {
		for _, name := range list {
			if value, ok := lookup(name); ok {
				e.variables[name] = value
			}
		}
	}
	e.Dirs = directories(e)
	return e
}

// with adds variables that a trusted plugin asked for, as the user was told.
func (e Environment) with(names []string) Environment {
	if e.lookup == nil {
		return e
	}
	variables := maps.Clone(e.variables)
	for _, name := range names {
		if value, ok := e.lookup(name); ok {
			variables[name] = value
		}
	}
	e.variables = variables
	return e
}

// Provider returns a provider variable. Names outside ProviderVariables are set only when a trusted plugin wants them.
func (e Environment) Provider(name string) (string, bool) {
	if strings.HasPrefix(name, "CTX_") {
		return "", false
	}
	value, ok := e.variables[name]
	return value, ok
}

func (e Environment) control(name string) string { return e.variables[name] }

func hostPlatform() Platform {
	switch runtime.GOOS {
	case "linux", "android":
		return Linux
	case "darwin", "ios":
		return MacOS
	case "windows":
		return Windows
	}
	return OtherUnix
}

func directories(e Environment) Directories {
	under := func(parts ...string) string {
		if e.Home == "" {
			return ""
		}
		return filepath.Join(append([]string{e.Home}, parts...)...)
	}
	absolute := func(variable, fallback string) string {
		if v, ok := e.Provider(variable); ok && filepath.IsAbs(v) {
			return filepath.Clean(v)
		}
		return fallback
	}
	switch e.Platform {
	case MacOS:
		support := under("Library", "Application Support")
		return Directories{Config: support, Data: support, LocalData: support}
	case Windows:
		roaming := absolute("APPDATA", under("AppData", "Roaming"))
		return Directories{Config: roaming, Data: roaming, LocalData: under("AppData", "Local"), Roaming: roaming}
	}
	data := absolute("XDG_DATA_HOME", under(".local", "share"))
	return Directories{
		Config: absolute("XDG_CONFIG_HOME", under(".config")), Data: data, LocalData: data,
		State: absolute("XDG_STATE_HOME", under(".local", "state")),
	}
}
