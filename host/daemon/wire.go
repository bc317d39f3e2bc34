package daemon

import (
	"slices"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/status"
)

// protocol numbers the language of the endpoint. A caller that speaks another one gets an error and may only stop the daemon.
const protocol = 2

// Sizes of the lines of the endpoint. A call and every answer but the report of a refresh fit into maxLine.
const (
	maxLine   = 16 << 10
	maxReport = 64 << 20
)

// The calls.
const (
	opHealth  = "health"  // what the daemon does
	opWake    = "wake"    // somebody is about to search
	opRefresh = "refresh" // admit a request and follow it
	opFollow  = "follow"  // follow what is under way, ask for nothing
	opStop    = "stop"    // end after the present step
)

// call is the one line that a caller sends.
type call struct {
	Protocol int      `json:"protocol"`
	Op       string   `json:"op"`
	Contract string   `json:"contract"` // of the generations that the caller can read
	Trigger  string   `json:"trigger,omitempty"`
	Request  *Request `json:"request,omitempty"`
	Detach   bool     `json:"detach,omitempty"` // the answer to a request ends with its admission
}

// Request is a refresh that somebody asked for. All, Provider and Path choose what is read, as in a refresh.
type Request struct {
	ID       string `json:"request_id"`
	Intent   string `json:"intent"`  // selected_import, automatic_maintenance
	Trigger  string `json:"trigger"` // setup, search, import
	All      bool   `json:"all,omitempty"`
	Provider string `json:"provider,omitempty"`
	Path     string `json:"exact_source,omitempty"` // absolute
	Resume   bool   `json:"resume,omitempty"`
	Reset    bool   `json:"reset,omitempty"`
	// Environment is what the caller's shell says about the places of histories, for this request.
	Environment *Surroundings `json:"environment,omitempty"`
}

// Intents of a request.
const (
	Import      = "selected_import"
	Maintenance = "automatic_maintenance"
)

// Surroundings are the parts of an environment that decide where histories lie. None of the variables holds a secret.
type Surroundings struct {
	Home      string            `json:"home"`
	WorkDir   string            `json:"work_dir"`
	Variables map[string]string `json:"variables,omitempty"`
}

// SurroundingsOf takes what a request carries from an environment.
func SurroundingsOf(e config.Environment) *Surroundings {
	s := &Surroundings{Home: e.Home, WorkDir: e.WorkDir, Variables: map[string]string{}}
	for _, name := range config.ProviderVariables {
		if value, ok := e.Provider(name); ok {
			s.Variables[name] = value
		}
	}
	return s
}

// environment lays the surroundings over the environment of this process; controls of ctx stay those of the daemon.
func (s *Surroundings) environment(own func(string) (string, bool), like config.Environment) config.Environment {
	return config.NewEnvironment(like.Platform, s.Home, s.WorkDir, like.UserID, func(name string) (string, bool) {
		if slices.Contains(config.ProviderVariables, name) {
			value, ok := s.Variables[name]
			return value, ok
		}
		return own(name)
	})
}

// States of a request and of the attempt that serves it.
const (
	stateQueued    = "queued"
	stateRunning   = "running"
	statePublished = "published"
	stateFailed    = "failed"
)

// Phases of a request.
const (
	phaseWaiting   = "waiting"         // nothing runs yet
	phaseAttached  = "attached"        // follows an attempt that began before the request
	phaseSuccessor = "exact_successor" // served by the attempt after that one
	phaseDirect    = "direct"          // served by an attempt of its own
	phaseTerminal  = "terminal"
)

// Standing is where a request stands.
type Standing struct {
	status.Standing
	Maintenance bool `json:"maintenance_wake,omitempty"`
}

// Progress is a progress event of a refresh in the daemon.
type Progress struct {
	refresh.Progress
	Standing
}

// Attempt is one finished or running attempt.
type Attempt struct {
	ID           string   `json:"physical_attempt_id"`
	Requests     []string `json:"request_ids,omitempty"`
	Trigger      string   `json:"trigger"`
	Scope        string   `json:"scope"` // all, a provider, or "path"
	State        string   `json:"state"`
	Outcome      string   `json:"outcome,omitempty"` // an outcome of a refresh, or the code of a fault
	Generation   string   `json:"published_generation,omitempty"`
	Changed      bool     `json:"changed"`
	StartedAtMS  int64    `json:"started_at_ms"`
	FinishedAtMS int64    `json:"finished_at_ms,omitempty"`
	LastError    string   `json:"last_error,omitempty"`
	// Looked tells, of a maintenance attempt after changes, at what of each provider it looked.
	Looked map[string]string `json:"looked_at,omitempty"`
}

// Identity says which daemon it is, while it lives and afterwards.
type Identity struct {
	PID         int    `json:"pid"`
	Version     string `json:"version"`
	Address     string `json:"address,omitempty"` // of the endpoint, while running
	StartMode   string `json:"start_mode"`        // auto, manual
	Trigger     string `json:"trigger_command,omitempty"`
	StartedAtMS int64  `json:"started_at_ms"`
}

// Health is what a living daemon says about itself.
type Health struct {
	Identity
	Contract   string            `json:"contract"`
	NowMS      int64             `json:"now_ms"`
	Supervised bool              `json:"supervised"`
	Running    *Attempt          `json:"running,omitempty"`
	Last       *Attempt          `json:"last,omitempty"`
	Pending    int               `json:"pending"` // requests that wait
	Marked     []string          `json:"marked,omitempty"`
	Retrying   map[string]int64  `json:"retry_in_ms,omitempty"`
	Standing   Standing          `json:"standing"`
	Progress   *refresh.Progress `json:"progress,omitempty"`
	Blocked    bool              `json:"blocked,omitempty"` // the last attempt failed as a whole; the next one waits
	Merging    bool              `json:"merging"`
	Watch      Watch             `json:"watch"`
	Config     Reload            `json:"config"`
	Ending     bool              `json:"ending,omitempty"` // it hands over or stops; whoever needs a daemon starts the next one
}

// Watch says how changes are noticed.
type Watch struct {
	Mode        string   `json:"mode"` // native, polling, mixed
	Directories int      `json:"directories"`
	Routes      int      `json:"routes"`
	Polled      []Polled `json:"polled,omitempty"` // at most 16
}

// Polled is a route that cannot be watched.
type Polled struct {
	Provider string `json:"provider"`
	Path     string `json:"path"`
	Reason   string `json:"reason"`
}

// Reload says how the last change of the configuration went.
type Reload struct {
	Failed      string `json:"failed,omitempty"`
	AttemptAtMS int64  `json:"last_attempt_at_ms,omitempty"`
	AppliedAtMS int64  `json:"last_applied_at_ms,omitempty"`
}

// answer is one line that the daemon sends. Exactly one of Progress, Report and Fault is set, or none in a plain acknowledgement.
type answer struct {
	Health   *Health         `json:"health,omitempty"`
	Standing *Standing       `json:"standing,omitempty"`
	Progress *Progress       `json:"progress,omitempty"`
	Report   *refresh.Report `json:"report,omitempty"`
	Fault    *fault.Error    `json:"fault,omitempty"`
	End      bool            `json:"end,omitempty"`
}
