package sources

// Scope of a listing.
const (
	ScopeDefault = "default"
	ScopeAll     = "all"
)

// alwaysShown are the providers whose missing rows the default listing shows.
var alwaysShown = map[string]bool{"claude": true, "codex": true, "cursor": true, "pi": true, "copilot_cli": true, "opencode": true}

// Listing is the JSON document of `ctx sources` (and, with scope all, of the MCP tool).
type Listing struct {
	SchemaVersion        int     `json:"schema_version"`
	Scope                string  `json:"scope"`
	AutomaticDiscovery   bool    `json:"automatic_discovery"`
	HiddenMissingSources int     `json:"hidden_missing_sources"`
	Sources              []any   `json:"sources"` // Row, then PluginRow
	Issues               []Issue `json:"issues"`
	IssuesTruncated      bool    `json:"issues_truncated"`
}

// Listing shapes the discovery for output. all shows every row.
func (d *Discovery) Listing(all bool) Listing {
	l := Listing{SchemaVersion: 1, Scope: ScopeDefault, AutomaticDiscovery: d.AutomaticDiscovery, Sources: []any{}, Issues: []Issue{}}
	if all {
		l.Scope = ScopeAll
	}
	for _, r := range d.Rows {
		if !all && !Visible(r) {
			l.HiddenMissingSources++
			continue
		}
		l.Sources = append(l.Sources, r)
	}
	for _, p := range d.Plugins {
		l.Sources = append(l.Sources, p)
	}
	l.Issues = append(l.Issues, d.Issues...)
	if len(l.Issues) > MaxIssues {
		l.Issues, l.IssuesTruncated = l.Issues[:MaxIssues], true
	}
	return l
}

// Visible reports whether the default scope shows a row: all but missing automatic rows of the less common providers.
func Visible(r Row) bool {
	return r.Status != Missing || r.Configured() || alwaysShown[r.Provider]
}
