package search

import (
	"github.com/agenthistory/ctx/host/lineage"
	"github.com/agenthistory/ctx/host/record"
)

// Answer is a search result. It marshals to the search_results object; members that are unknown are left out.
type Answer struct {
	SchemaVersion    int              `json:"schema_version"`
	PayloadType      string           `json:"payload_type"`
	Query            string           `json:"query"`
	Filters          Filters          `json:"filters"`
	Freshness        Freshness        `json:"freshness"`
	Retrieval        Retrieval        `json:"retrieval"`
	Coverage         Coverage         `json:"coverage"`
	PhaseAttribution PhaseAttribution `json:"phase_attribution"`
	GeneratedAt      string           `json:"generated_at"`
	Results          []Row            `json:"results"`
	Window           Window           `json:"result_window"`
	Truncation       Truncation       `json:"truncation"`
	Corrections      []Correction     `json:"corrections,omitempty"`
	Relaxed          []string         `json:"relaxed,omitempty"` // near, phrases, fields, exclusions: read as plain words, as nothing passed
	Expansions       []Expansion      `json:"expansions,omitempty"`
	Explain          *Explanation     `json:"explain,omitempty"`

	blank   bool         // an alternative without text was left out
	unknown []fieldValue // were read as words
}

// Filters repeats the resolved request.
type Filters struct {
	ContentScope   string   `json:"content_scope"`
	Provider       string   `json:"provider,omitempty"`
	SourceRoots    []string `json:"source_roots,omitempty"`
	SourceGroups   []string `json:"source_groups,omitempty"`
	HistorySource  string   `json:"history_source,omitempty"`
	ProviderKey    string   `json:"provider_key,omitempty"`
	SourceID       string   `json:"source_id,omitempty"`
	SourceFormat   string   `json:"source_format,omitempty"`
	Workspace      string   `json:"workspace,omitempty"`
	Since          string   `json:"since,omitempty"`
	EventType      string   `json:"event_type,omitempty"`
	File           string   `json:"file,omitempty"`
	Session        string   `json:"session,omitempty"`
	Exclude        []string `json:"exclude_session,omitempty"`
	PrimaryOnly    bool     `json:"primary_only,omitempty"`
	IncludeCurrent bool     `json:"include_current_session,omitempty"`
}

// Freshness says how current the searched generation is.
type Freshness struct {
	Mode        string `json:"mode"`   // off, background, wait
	Status      string `json:"status"` // existing_generation, daemon_background, daemon_unavailable, completed
	SourceCount int    `json:"source_count"`
}

// Retrieval says how candidates were found.
type Retrieval struct {
	RequestedMode    Backend          `json:"requested_mode"`
	EffectiveMode    Backend          `json:"effective_mode"`
	SemanticWeight   Decimal          `json:"semantic_weight"`
	SemanticStatus   string           `json:"semantic_status"` // skipped, unsupported, disabled, unavailable, partial, ready
	FallbackCode     string           `json:"semantic_fallback_code,omitempty"`
	Fallback         string           `json:"semantic_fallback,omitempty"`
	Index            string           `json:"index"`
	GenerationID     string           `json:"generation_id"`
	IndexedDocuments uint64           `json:"indexed_documents"`
	PhaseAttribution PhaseAttribution `json:"phase_attribution"`
}

// PhaseAttribution holds the timings of the search in seconds.
type PhaseAttribution struct {
	QuerySeconds Decimal `json:"query_seconds"`
}

// Coverage tells what was really searched.
type Coverage struct {
	Sources           int          `json:"sources"`
	SourcesUnselected int          `json:"sources_unselected"`
	SourcesStale      *int         `json:"sources_stale,omitempty"`
	SourcesFailed     *int         `json:"sources_failed,omitempty"`
	Sessions          int          `json:"sessions"`
	Events            int          `json:"events"`
	UnknownWorkspace  *int         `json:"unknown_workspace_sessions,omitempty"`
	Relaxations       *Relaxations `json:"relaxations,omitempty"`
}

// Relaxations is present on empty answers only; it may be empty itself.
type Relaxations []Relaxation

// Relaxation names one filter that alone kept results away.
type Relaxation struct {
	Drop       string `json:"drop"`
	WouldMatch int    `json:"would_match"`
}

// Window describes the returned rows.
type Window struct {
	Limit         int  `json:"limit"`
	Returned      int  `json:"returned"`
	MoreAvailable bool `json:"more_available"`
}

// Truncation describes the candidate pool.
type Truncation struct {
	CandidatePool          int  `json:"candidate_pool"`
	CandidatePoolTruncated bool `json:"candidate_pool_truncated"`
}

// Row is one result.
type Row struct {
	ItemID            string          `json:"item_id"`
	ResultType        string          `json:"result_type"`  // session_result, event
	ResultScope       string          `json:"result_scope"` // session, event
	EventID           string          `json:"ctx_event_id"`
	SessionID         string          `json:"ctx_session_id"`
	CompatEventID     string          `json:"event_id"`
	CompatSessionID   string          `json:"session_id"`
	EventSeq          uint64          `json:"event_seq"`
	Title             string          `json:"title"`
	SessionTitle      string          `json:"session_title,omitempty"`
	SourceState       string          `json:"source_state"`
	Snippet           string          `json:"snippet"`
	SnippetTruncated  bool            `json:"snippet_truncated"`
	SnippetMaxChars   int             `json:"snippet_max_chars"`
	Rank              int             `json:"rank"`
	Score             Decimal32       `json:"retrieval_score"`
	SessionImportance *Decimal32      `json:"session_importance,omitempty"`
	MoreMatches       *int            `json:"more_matches_in_session,omitempty"`
	Why               []string        `json:"why_matched"`
	Provider          string          `json:"provider"`
	SourceFormat      string          `json:"source_format"`
	ProviderSession   string          `json:"provider_session_id,omitempty"`
	Parent            string          `json:"parent_ctx_session_id,omitempty"`
	Root              string          `json:"root_ctx_session_id,omitempty"`
	Relationship      string          `json:"session_relationship,omitempty"`
	Copy              *Copy           `json:"event_copy,omitempty"`
	Lineage           *lineage.Report `json:"copied_lineage"`
	AgentScope        string          `json:"agent_scope,omitempty"`
	Timestamp         string          `json:"timestamp,omitempty"`
	CWD               string          `json:"cwd,omitempty"`
	Commands          []string        `json:"suggested_next_commands"`
	Citations         []Citation      `json:"citations"`
	Visibility        string          `json:"visibility"`

	// For text output only.
	Readable       string        `json:"-"` // the snippet with the escapes of JSON decoded
	Type           string        `json:"-"` // event type
	Role           string        `json:"-"`
	ShortSession   string        `json:"-"` // compact ids, set when Request.ShortIDs was
	ShortEvent     string        `json:"-"`
	Session, Event record.Digest `json:"-"`
	// ShortCommands are Commands with compact ids.
	ShortCommands []string `json:"-"`
}

// Copy is the proof that an event was copied from another session.
type Copy struct {
	Session string `json:"ancestor_ctx_session_id"`
	Event   string `json:"ancestor_ctx_event_id"`
	Proof   string `json:"proof"`
}

// Citation names the evidence of a row.
type Citation struct {
	ItemID     string `json:"item_id"`
	TargetType string `json:"target_type"`
	EventID    string `json:"ctx_event_id"`
	SessionID  string `json:"ctx_session_id"`
	Provider   string `json:"provider"`
	Session    string `json:"session_id"`
	EventSeq   uint64 `json:"event_seq"`
}
