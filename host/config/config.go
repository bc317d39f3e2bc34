// Package config holds what a user decided about ctx: where its data lies, what config.toml says, and what the environment
// overrides.
//
// Words: the data root is the one directory that ctx writes to. A setting has a value and an origin (default, the config file
// or the environment). A root is a provider directory that the user named in config.toml. The environment is a snapshot of a
// fixed list of variables and platform directories, taken once and handed down; nothing below reads variables on its own.
//
// A config file is taken whole or not at all: one bad root refuses the file. No error repeats a value, a name or a path from
// the file, because the file may hold private names and errors end up in logs and in other programs.
package config

import (
	"errors"
	"path/filepath"
	"slices"
)

// FileName is the name of the config file inside the data root.
const FileName = "config.toml"

// Origin says where the value of a setting comes from.
type Origin string

// Origins in rising precedence.
const (
	FromDefault     Origin = "default"
	FromFile        Origin = "config"
	FromEnvironment Origin = "environment"
)

// IndexMode is the indexing mode: a persistent background process, or finite workers on request.
type IndexMode string

// The two modes.
const (
	ModeAuto   IndexMode = "auto"
	ModeManual IndexMode = "manual"
)

// Indexing is the [indexing] table.
type Indexing struct {
	Mode      IndexMode // in effect
	Requested IndexMode // what the file asks for; auto when it is silent
	Origin    Origin    // of Mode
}

// Switch is a setting that is on or off.
type Switch struct {
	On     bool
	Origin Origin
	// Persisted is the value of the file, or the default when the file is silent.
	Persisted bool
	// Invalid is true when the environment names a value that is neither true nor false. Such a value turns local usage off and
	// leaves any other switch as the file has it.
	Invalid bool
}

// DaemonScope limits what the background process does.
type DaemonScope string

// Scopes of the background process.
const (
	DaemonFull          DaemonScope = "full"
	DaemonSourceRefresh DaemonScope = "source-refresh-only"
)

// Daemon is the [daemon] table and its environment controls.
type Daemon struct {
	Scope        DaemonScope
	ScopeOrigin  Origin
	AutostartOff bool // CTX_DAEMON_AUTOSTART_OFF: nothing starts a background process
}

// Retention says what happens to the records of sources that are gone from disk.
type Retention string

// The two policies.
const (
	RetentionKeep Retention = "keep"
	RetentionDrop Retention = "drop"
)

// Root is one named root of [sources.roots], validated.
type Root struct {
	Name     string // durable identity; 1..64 of [A-Za-z0-9_-]
	Provider string // id, for example "grok_build"
	Path     string // physical path when the root exists, else the path as written
	Written  string // the path as written in the file
	Group    string // "" = none
	Kind     string // OpenHands only
	Exists   bool   // the path could be resolved when the file was read
}

// Config is everything a command needs to know about settings.
type Config struct {
	DataRoot string // absolute, clean
	Path     string // of config.toml
	Exists   bool   // the file exists

	Indexing   Indexing
	Semantic   Switch
	LocalUsage Switch
	Daemon     Daemon
	Retention  Retention
	Redact     bool // [output] redact: secrets are taken out of what is printed

	// Automatic is the global switch for inferred provider roots.
	Automatic bool
	// Roots is sorted by name; at most 64.
	Roots []Root

	// PluginPath holds the absolute entries of CTX_HISTORY_PLUGIN_PATH, in order.
	PluginPath []string
	// UnknownKeys are the lines of keys that ctx does not know, outside the tables that are ignored on purpose.
	UnknownKeys []int
	// InvalidEnvironment names control variables whose value means nothing.
	InvalidEnvironment []string

	Environment Environment
	// Installed are the provider plugins that the user decided about, by name.
	Installed []Installed
	// InstalledErr tells why that is not known: no plugin is trusted then.
	InstalledErr error
}

// Load reads the settings of a data root. A missing file gives the defaults. Faults: config_malformed, and resource_unavailable for
// a data root that is no directory or may not be read.
func Load(root string, env Environment) (*Config, error) {
	path := filepath.Join(root, FileName)
	text, exists, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parse(root, text, exists, env)
}

// Parse is Load for a text that is not (yet) on disk, for example an edited file that is checked before it replaces the old one.
func Parse(root string, text []byte, env Environment) (*Config, error) {
	return parse(root, text, true, env)
}

func parse(root string, text []byte, exists bool, env Environment) (*Config, error) {
	c, err := decode(root, text, exists, env)
	var bad *broken
	if errors.As(err, &bad) {
		return nil, bad.fault(text)
	}
	return c, err
}

func decode(root string, text []byte, exists bool, env Environment) (*Config, error) {
	file, err := decodeFile(text)
	if err != nil {
		return nil, err
	}
	c := &Config{
		DataRoot: root, Path: filepath.Join(root, FileName), Exists: exists,
		Automatic: file.automatic, Retention: file.retention, Redact: file.redact,
		Environment: env,
	}
	for _, key := range file.unknown {
		c.UnknownKeys = append(c.UnknownKeys, lineOf(text, key))
	}
	slices.Sort(c.UnknownKeys)
	c.Installed, c.InstalledErr = readInstalled(root)
	if c.Roots, err = c.validateRoots(file.roots); err != nil {
		return nil, err
	}
	for _, i := range c.Installed {
		if i.Trusted {
			c.Environment = c.Environment.with(i.Environment)
		}
	}
	c.applyControls(file, env)
	return c, nil
}
