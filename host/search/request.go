package search

import "github.com/agenthistory/ctx/host/lexical"

// Request is one search as the command line or the MCP server received it. Values are as given; the service trims, resolves and
// checks them. The zero value of every filter means "not given".
type Request struct {
	Query   string   // the positional query, may be empty
	Terms   []string // further OR alternatives
	Limit   int      // rows wanted, 1..200; 0 means DefaultLimit
	Backend Backend  // "" means the configured default: hybrid when semantic search is on, else lexical
	// Weight is the semantic weight 0..1; nil means DefaultWeight.
	Weight *float64

	Provider      string // a CLI spelling, an alias or the internal id
	SourceRoots   []string
	SourceGroups  []string
	HistorySource string // provider_key/source_id
	ProviderKey   string
	SourceID      string
	SourceFormat  string
	Workspace     string
	Since         string // RFC 3339 or <n>d
	PrimaryOnly   bool
	ContentScope  string // all, transcript, calls, outputs; "" is all
	EventType     string // one of the nine searchable types
	File          string
	Session       string   // full id or prefix; implies Events
	Exclude       []string // sessions to leave out, full ids or prefixes
	Events        bool     // event rows instead of session rows

	// IncludeCurrent switches the automatic exclusion off. It is reported in the filters when true.
	IncludeCurrent bool
	// Environment is the caller's environment, consulted for the automatic exclusion of the caller's own session. nil (the MCP
	// server) means: exclude nothing.
	Environment func(name string) (value string, ok bool)

	// Freshness is reported as it is; the service adds the number of sources.
	Freshness Freshness
	// Snippet is the most grapheme clusters of a snippet; 0 means 320.
	Snippet int
	// Explain asks how the query was read and what every score is made of.
	Explain bool
	// ShortIDs asks for Answer.Short to know the compact ids of every row (text output).
	ShortIDs bool
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

// Words returns the distinct words of a query as the index knows them; none: the query cannot match anything.
func Words(query string) [][]byte { return lexical.QueryTerms(query) }
