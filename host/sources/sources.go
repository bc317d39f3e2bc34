// Package sources finds out which places hold agent histories: the configured roots of the user and the locations that the
// providers' descriptions declare.
//
// Words: a description is what a provider says about itself at its handshake; it is static, so it is kept on disk and listing
// sources starts no provider. A location is one declared place; the winning locations of a provider become rows. A row is
// what `ctx sources` shows: a path with a format, a status and a selection (configured by name, or automatic). A route is a row
// that a refresh may read. An issue is a place that could not be selected safely, with a stable code.
//
// Nothing here reads history: a probe looks at names and kinds of directory entries only, and at a bounded number of them.
package sources

import (
	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/internal/nullable"
)

// Status of a row.
type Status string

// The five states of a row.
const (
	Available   Status = "available"   // present, and the probe found something to import
	Empty       Status = "empty"       // present, completely probed, nothing to import
	Missing     Status = "missing"     // proven absent
	Unknown     Status = "unknown"     // not settled: bounds, permissions, input errors
	Unsupported Status = "unsupported" // no importer, or an unsafe root
)

// Support says how rows of a format are imported.
type Support string

// Kinds of import support.
const (
	Native   Support = "native"      // by discovery and by --all
	Explicit Support = "explicit"    // only when named
	NoImport Support = "unsupported" // listed, never read
)

// Selection says why a row is there. Root and Group are null for automatic rows.
type Selection struct {
	Kind  string        `json:"kind"` // configured or automatic
	Root  nullable.Text `json:"root"`
	Group nullable.Text `json:"group"`
}

// Row is one built-in row of the listing. Null members are kept.
type Row struct {
	Provider          string        `json:"provider"`
	Path              string        `json:"path"`
	Exists            bool          `json:"exists"`
	SourceFormat      string        `json:"source_format"`
	Status            Status        `json:"status"`
	StatusReason      nullable.Text `json:"status_reason"`
	ImportSupport     Support       `json:"import_support"`
	NativeImport      bool          `json:"native_import"`
	Importable        bool          `json:"importable"`
	UnsupportedReason nullable.Text `json:"unsupported_reason"`
	Selection         Selection     `json:"selection"`
}

// Configured reports whether the row belongs to a named root.
func (r Row) Configured() bool { return r.Selection.Kind == "configured" }

// PluginRow is a row of a history plugin. It has no selection: plugins take no part in the selection of roots.
type PluginRow struct {
	Provider          string        `json:"provider"` // always custom
	Kind              string        `json:"kind"`     // always history_source_plugin
	Plugin            nullable.Text `json:"plugin"`
	PluginDisplayName nullable.Text `json:"plugin_display_name"`
	PluginVersion     nullable.Text `json:"plugin_version"`
	HistorySource     nullable.Text `json:"history_source"`
	PluginSource      nullable.Text `json:"plugin_source"`
	HistorySourceID   nullable.Text `json:"history_source_id"`
	declared
	ManifestPath            nullable.Text `json:"manifest_path"`
	Enabled                 bool          `json:"enabled"`
	Refresh                 nullable.Text `json:"refresh"`
	Status                  string        `json:"status"`
	ImportSupport           string        `json:"import_support"`
	NativeImport            bool          `json:"native_import"`
	Importable              bool          `json:"importable"`
	ImportMode              nullable.Text `json:"import_mode"`
	ProviderSourceAuthority nullable.Text `json:"provider_source_authority"`
	UnsupportedReason       nullable.Text `json:"unsupported_reason"`
	Error                   string        `json:"error,omitempty"`
}

// declared is what the manifest of a history plugin says about one history.
type declared struct {
	DisplayName  nullable.Text `json:"display_name"`
	ProviderKey  nullable.Text `json:"provider_key"`
	SourceID     nullable.Text `json:"source_id"`
	SourceFormat nullable.Text `json:"source_format"`
	Path         nullable.Text `json:"path"`
}

// Codes of issues.
const (
	NoDiskHistory         = "no_disk_history"
	Unreconstructible     = "selector_unreconstructible"
	InsufficientEvidence  = "insufficient_official_evidence"
	ConfiguredRootClash   = "configured_root_conflict"
	ConfiguredRootMissing = "configured_root_missing"
)

// NoProvider is the reason of a row that no provider of this program can read.
const NoProvider = "no provider installed"

// MaxIssues is the most issues a listing shows; MaxIssueMessage the longest message in bytes.
const (
	MaxIssues       = 64
	MaxIssueMessage = 512
)

// Issue is a place that could not be selected. Messages hold neither paths nor errors of the operating system.
type Issue struct {
	Provider         string        `json:"provider"`
	Path             nullable.Text `json:"path"`
	Code             string        `json:"code"`
	Message          string        `json:"message"`
	MessageTruncated bool          `json:"message_truncated"`
	*Conflict                      // only for configured_root_conflict
	*Lost                          // only for configured_root_missing
}

// Conflict is the additional content of a configured_root_conflict.
type Conflict struct {
	Kind  string      `json:"conflict_kind"` // configured_configured or automatic_configured
	Roots []NamedPath `json:"configured_roots"`
}

// NamedPath is a root by name.
type NamedPath struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Lost is the additional content of a configured_root_missing.
type Lost struct {
	Root MissingRoot `json:"configured_root"`
}

// MissingRoot is a named root that gives no route.
type MissingRoot struct {
	NamedPath
	Group nullable.Text `json:"group"`
}

// Route is a place that a refresh may read.
type Route struct {
	// ID is 64 hex digits over provider, format, selection authority and the path as asked for; meaningful on this machine only.
	ID       string
	Provider string
	Format   string // "" for an explicit path whose format the provider finds out
	Role     string
	Path     string // physical
	// Authority is what selected the route.
	Authority Authority
	// Root is the named root, nil for automatic and explicit routes. The root of an annotated automatic winner is named too.
	Root *config.Root
	// Additional is true for a named root that is not the automatic winner: ids below it may carry the root's lineage.
	Additional bool
	Status     Status
	// Variant, IdentityVersion and ParserRevision of the format come from the description at scan time.
}

// Authority is what selected a route.
type Authority string

// The three authorities.
const (
	Automatic  Authority = "automatic"
	Configured Authority = "configured"
	Named      Authority = "explicit" // --path
)

// Input is what discovery works from.
type Input struct {
	Config       *config.Config
	Descriptions []Described // of every provider that is delivered
	// Provider limits discovery to one provider id; "" = all.
	Provider string
	// Agents adds the agents that this program knows and has no provider for. Only listings want them.
	Agents bool
	// Resolve asks a provider for the places that its description cannot tell; nil = it is not asked.
	Resolve Resolver
}

// Discovery is the result of one pass.
type Discovery struct {
	Rows    []Row
	Plugins []PluginRow
	Issues  []Issue // all of them, in order
	Routes  []Route // of rows that a refresh takes: native support, not missing by proof of another row's choice
	// Unresolved are the providers that could not find their places: nothing is known about their routes.
	Unresolved []string
	// AutomaticDiscovery is the global switch as configured.
	AutomaticDiscovery bool
}
