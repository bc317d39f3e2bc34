package search

// Request is one search as the command line or the MCP server received it. Values are as given; the service trims, resolves and
// checks them. The zero value of every filter means "not given". The names of members are those of the arguments of a tool.
type Request struct {
	Query   string   `json:"query"`   // the positional query, may be empty
	Terms   []string `json:"terms"`   // further OR alternatives
	Limit   int      `json:"limit"`   // rows wanted, 1..200; 0 means DefaultLimit
	Backend Backend  `json:"backend"` // "" means the configured default: hybrid when semantic search is on, else lexical
	// Weight is the semantic weight 0..1; nil means DefaultWeight.
	Weight *float64 `json:"semantic_weight"`

	Provider      string   `json:"provider"` // a CLI spelling, an alias or the internal id
	SourceRoots   []string `json:"source_roots"`
	SourceGroups  []string `json:"source_groups"`
	HistorySource string   `json:"history_source"` // provider_key/source_id
	ProviderKey   string   `json:"provider_key"`
	SourceID      string   `json:"source_id"`
	SourceFormat  string   `json:"source_format"`
	Workspace     string   `json:"workspace"`
	Since         string   `json:"since"` // RFC 3339 or <n>d
	PrimaryOnly   bool     `json:"primary_only"`
	ContentScope  string   `json:"content_scope"` // all, transcript, calls, outputs; "" is all
	EventType     string   `json:"event_type"`    // one of the nine searchable types
	File          string   `json:"file"`
	Session       string   `json:"session"`         // full id or prefix; implies Events
	Exclude       []string `json:"exclude_session"` // sessions to leave out, full ids or prefixes
	Events        bool     `json:"events"`          // event rows instead of session rows

	// IncludeCurrent switches the automatic exclusion off. It is reported in the filters when true.
	IncludeCurrent bool `json:"include_current_session"`
	// Environment is the caller's environment, consulted for the automatic exclusion of the caller's own session. nil (the MCP
	// server) means: exclude nothing.
	Environment func(name string) (value string, ok bool) `json:"-"`

	// Freshness is reported as it is; the service adds the number of sources.
	Freshness Freshness `json:"-"`
	// Snippet is the most grapheme clusters of a snippet; 0 means 320.
	Snippet int `json:"-"`
	// Explain asks how the query was read and what every score is made of.
	Explain bool `json:"-"`
	// ShortIDs asks for Answer.Short to know the compact ids of every row (text output).
	ShortIDs bool `json:"-"`
}

// Backend chooses the retrieval.
type Backend string

const (
	Lexical  Backend = "lexical"
	Hybrid   Backend = "hybrid"
	Semantic Backend = "semantic"
)

const (
	DefaultLimit  = 20
	MaxLimit      = 200
	DefaultWeight = 0.35
)
