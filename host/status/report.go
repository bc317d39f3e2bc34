package status

import (
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/usage"
)

// Report is the status object, schema 3. Members that are unknown are left out.
type Report struct {
	SchemaVersion   int            `json:"schema_version"`
	Initialized     bool           `json:"initialized"`
	DataRoot        string         `json:"data_root"`
	ConfigPath      string         `json:"config_path"`
	Indexing        *Indexing      `json:"indexing,omitempty"`
	HistoryEpoch    HistoryEpoch   `json:"history_epoch"`
	Lexical         Lexical        `json:"lexical"`
	Refresh         Refresh        `json:"refresh"`
	Semantic        Semantic       `json:"semantic"`
	Daemon          Daemon         `json:"daemon"`
	IndexedItems    *uint64        `json:"indexed_items,omitempty"`
	IndexedSessions *uint64        `json:"indexed_sessions,omitempty"`
	IndexedEvents   *uint64        `json:"indexed_events,omitempty"`
	IndexedSources  *uint64        `json:"indexed_sources,omitempty"`
	Sources         Sources        `json:"sources"`
	Upgrade         *Upgrade       `json:"upgrade,omitempty"`
	LocalUsage      *usage.Compact `json:"local_usage,omitempty"`
	Attribution     Attribution    `json:"attribution"`
	LocalOnly       bool           `json:"local_only"`
	ReadOnly        bool           `json:"read_only,omitempty"`

	// For findings only.
	invalidEnvironment []string
	unknownKeys        []int
	untrusted          *fault.Error // why no plugin is trusted
	failures           string       // the first failed sources of the last refresh, for findings
}

// Indexing is the configured mode: auto or manual.
type Indexing struct {
	Mode string `json:"mode"`
}

// HistoryEpoch names the authority that activates a generation.
type HistoryEpoch struct {
	Name                string `json:"name"`
	Status              string `json:"status"`
	Reason              string `json:"reason,omitempty"`
	ActivationAuthority string `json:"activation_authority"`
	LexicalGenerationID string `json:"lexical_generation_id,omitempty"`
	GenerationPath      string `json:"generation_path"`
}

// Lexical is the state of the text index: ready, pending, stale or unavailable.
type Lexical struct {
	Status                    string  `json:"status"`
	Reason                    string  `json:"reason,omitempty"`
	Path                      string  `json:"path"`
	GenerationID              string  `json:"generation_id,omitempty"`
	IndexedDocuments          *uint64 `json:"indexed_documents,omitempty"`
	CertifiedSources          *uint64 `json:"certified_sources,omitempty"`
	CertifiedSourceBytes      *uint64 `json:"certified_source_bytes,omitempty"`
	PublicationAuthorityError string  `json:"publication_authority_error,omitempty"`
	ManifestVersion           int     `json:"manifest_version"`
	IdentityVersion           int     `json:"identity_version"`
	SchemaVersion             int     `json:"lexical_schema_version"`
	AnalyzerVersion           int     `json:"lexical_analyzer_version"`
	Policy                    Policy  `json:"policy"`
	LastError                 string  `json:"last_error,omitempty"`
}

// Policy compares the contract of this program with the one of the published generation.
type Policy struct {
	CurrentHash    string `json:"current_hash"`
	Current        string `json:"current"`
	PublishedHash  string `json:"published_hash,omitempty"`
	MatchesCurrent *bool  `json:"matches_current,omitempty"`
}

// Standing is where a request for a refresh stands: the members that progress events and reports repeat.
type Standing struct {
	RequestState string `json:"request_state,omitempty"`
	RequestID    string `json:"request_id,omitempty"`
	LogicalID    string `json:"logical_request_id,omitempty"`
	Phase        string `json:"logical_phase,omitempty"`
	AttemptID    string `json:"physical_attempt_id,omitempty"`
	AttemptState string `json:"physical_attempt_state,omitempty"`
	OwnerID      string `json:"progress_owner_request_id,omitempty"`
	OwnerState   string `json:"progress_owner_attempt_state,omitempty"`
	Outcome      string `json:"structured_outcome,omitempty"`
}

// Refresh is the state of the last refresh: ready, partial, pending, stale or unavailable.
type Refresh struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Standing
	PublishedGeneration  string           `json:"published_generation,omitempty"`
	GenerationID         string           `json:"generation_id,omitempty"`
	GenerationMatches    bool             `json:"generation_matches"`
	Outcome              string           `json:"outcome,omitempty"`
	SourceCount          *uint64          `json:"source_count,omitempty"`
	CertifiedSourceCount *uint64          `json:"certified_source_count,omitempty"`
	CertifiedSourceBytes *uint64          `json:"certified_source_bytes,omitempty"`
	ScannedRoutes        *uint64          `json:"scanned_routes,omitempty"`
	UnsupportedRoutes    *uint64          `json:"unsupported_routes,omitempty"`
	TimingsMicros        *refresh.Timings `json:"timings_us,omitempty"`
	Progress             any              `json:"progress,omitempty"`
	Trigger              string           `json:"trigger,omitempty"`
	LastError            string           `json:"last_error,omitempty"`
	SourceFailureTotal   *uint64          `json:"source_failure_total,omitempty"`
	RejectedRecordTotal  *uint64          `json:"rejected_record_total,omitempty"`
}

// Semantic is the state of semantic search: disabled, pending, ready or unavailable.
type Semantic struct {
	Status       string  `json:"status"`
	Reason       string  `json:"reason,omitempty"`
	Enabled      bool    `json:"enabled"`
	ConfigSource string  `json:"config_source"`
	FlatF32      FlatF32 `json:"flat_f32"`
}

// FlatF32 is the vector store of semantic search.
type FlatF32 struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Path   string `json:"path"`
}

// Sources counts the indexed sources: selected and retained add up to all of them; gone ones are among both.
type Sources struct {
	Selected uint64 `json:"selected"`
	Retained uint64 `json:"retained"`
	Gone     uint64 `json:"gone"`
}

// Upgrade reports that this program never upgrades itself.
type Upgrade struct {
	Auto        string  `json:"auto"`
	AutoEnabled bool    `json:"auto_enabled"`
	Install     Install `json:"install"`
}

// Install describes an unmanaged installation.
type Install struct {
	Managed     bool   `json:"managed"`
	Marker      string `json:"marker"`
	InstallPath string `json:"install_path,omitempty"`
}

// Attribution is the schema-3 observation; nulls are kept.
type Attribution struct {
	SchemaVersion         int     `json:"schema_version"`
	Status                string  `json:"status"`
	Reason                *string `json:"reason"`
	Available             bool    `json:"available"`
	Path                  string  `json:"path"`
	AttributionGeneration *string `json:"attribution_generation"`
	CoreGenerationID      *string `json:"core_generation_id"`
	GenerationMatches     *bool   `json:"generation_matches"`
	Coverage              any     `json:"coverage"`
	LastError             *string `json:"last_error"`
}
