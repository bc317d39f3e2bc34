package status

// Daemon is the state of the background process.
type Daemon struct {
	Enabled               bool          `json:"enabled"`
	Status                string        `json:"status"` // unknown, disabled, running, stopped, completed, failed, stale_lock
	Running               bool          `json:"running"`
	Mode                  string        `json:"mode,omitempty"`
	PID                   int           `json:"pid,omitempty"`
	LivePID               int           `json:"live_pid,omitempty"`
	StartedAtMS           int64         `json:"started_at_ms,omitempty"`
	HeartbeatAtMS         int64         `json:"heartbeat_at_ms,omitempty"`
	FinishedAtMS          int64         `json:"finished_at_ms,omitempty"`
	LastError             string        `json:"last_error,omitempty"`
	StartMode             string        `json:"start_mode,omitempty"`
	TriggerCommand        string        `json:"trigger_command,omitempty"`
	TriggerProvenance     string        `json:"trigger_provenance,omitempty"`
	SemanticRuntimeActive bool          `json:"semantic_runtime_active"`
	ConfigReload          ConfigReload  `json:"config_reload"`
	LockPath              string        `json:"lock_path"`
	StatusPath            string        `json:"status_path"`
	LockIdentity          *LockIdentity `json:"lock_identity,omitempty"`
	Endpoint              *Endpoint     `json:"core_refresh_endpoint,omitempty"`
	Supervisor            Supervisor    `json:"supervisor"`
	Jobs                  Jobs          `json:"jobs"`
}

// ConfigReload says whether a running daemon uses the present configuration.
type ConfigReload struct {
	Status          string `json:"status"`
	OutOfSync       bool   `json:"out_of_sync"`
	Requested       string `json:"requested,omitempty"`
	Applied         string `json:"applied,omitempty"`
	LastAttemptAtMS int64  `json:"last_attempt_at_ms,omitempty"`
	LastAppliedAtMS int64  `json:"last_applied_at_ms,omitempty"`
	LastError       string `json:"last_error,omitempty"`
}

// LockIdentity names the holder of the daemon lock.
type LockIdentity struct {
	Path   string `json:"path"`
	Active bool   `json:"active"`
	PID    int    `json:"pid"`
}

// Endpoint is the control socket.
type Endpoint struct {
	Available bool   `json:"available"`
	Transport string `json:"transport"`
	Address   string `json:"address"`
	OwnerPID  int    `json:"owner_pid"`
}

// Supervisor is the service manager that keeps the daemon alive.
type Supervisor struct {
	Kind                 string `json:"kind,omitempty"`
	Status               string `json:"status"`
	RegistrationVerified bool   `json:"registration_verified"`
	LiveOwnerVerified    bool   `json:"live_owner_verified"`
	Limitation           string `json:"limitation,omitempty"`
}

// Jobs are the two kinds of background work.
type Jobs struct {
	CoreRefresh   CoreRefreshJob   `json:"core_refresh"`
	SemanticIndex SemanticIndexJob `json:"semantic_index"`
}

// CoreRefreshJob is the refresh of the index.
type CoreRefreshJob struct {
	Status        string `json:"status"`
	Reason        string `json:"reason,omitempty"`
	LastRunAtMS   int64  `json:"last_run_at_ms,omitempty"`
	LastRunStatus string `json:"last_run_status,omitempty"`
	LastRunReason string `json:"last_run_reason,omitempty"`
	// LastRunLookedAt tells, when the last run followed changes, at what of each provider it looked: "changed files", or "everything: why".
	LastRunLookedAt map[string]string `json:"last_run_looked_at,omitempty"`
	LastError       string            `json:"last_error,omitempty"`
	Watch           any               `json:"watch,omitempty"`       // how changes are noticed
	Retrying        map[string]int64  `json:"retry_in_ms,omitempty"` // providers with sources that failed
}

// SemanticIndexJob is the building of vectors.
type SemanticIndexJob struct {
	Status               string `json:"status"`
	Enabled              bool   `json:"enabled"`
	RuntimeActive        bool   `json:"runtime_active"`
	SemanticEnabled      bool   `json:"semantic_enabled"`
	DaemonConfigured     bool   `json:"daemon_configured"`
	SemanticConfigured   bool   `json:"semantic_configured"`
	ConfigReloadStatus   string `json:"config_reload_status"`
	ConfigurationPending bool   `json:"configuration_pending"`
	Reason               string `json:"reason,omitempty"`
}
