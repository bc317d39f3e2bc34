package sources

import (
	"path/filepath"

	"github.com/agenthistory/ctx/host/config"
)

// Plugin row constants.
const (
	pluginProvider = "custom"
	pluginKind     = "history_source_plugin"
)

// pluginRows lists the manifests of both kinds. One that cannot be used is a row of its own with status invalid.
func pluginRows(c *config.Config) []PluginRow {
	var rows []PluginRow
	for _, place := range manifestPlaces(c) {
		if filepath.Base(place) == historyManifest {
			rows = append(rows, historyRows(place)...)
		}
	}
	for _, p := range Plugins(c) {
		row := newPluginRow(p.Manifest)
		if row.Plugin = &p.Name; p.Trust == Invalid {
			row.invalid(p.Reason)
		} else {
			row.PluginDisplayName, row.PluginVersion = &p.DisplayName, &p.Version
			row.unless(p.Trust == Trusted, p.Reason)
		}
		rows = append(rows, row)
	}
	return rows
}

func newPluginRow(place string) PluginRow {
	return PluginRow{Provider: pluginProvider, Kind: pluginKind, ManifestPath: &place, ImportSupport: pluginKind}
}

func (r *PluginRow) invalid(reason string) {
	r.Plugin, r.Status, r.UnsupportedReason, r.Error = nil, string(Invalid), &reason, &reason
}

// unless makes the row one of a plugin in use, or else says why it is not.
func (r *PluginRow) unless(used bool, reason string) {
	if r.Status, r.Enabled = string(Available), used; !used {
		r.Status, r.UnsupportedReason = string(Unsupported), &reason
	}
}

// historyRows lists the histories of a manifest without code. They are shown only: no provider of this program reads them.
func historyRows(place string) []PluginRow {
	row := newPluginRow(place)
	var m struct {
		Name        *string `json:"name"`
		DisplayName *string `json:"display_name"`
		Version     *string `json:"version"`
		Sources     []struct {
			ID string `json:"id"`
			declared
			Refresh *string `json:"refresh"`
		} `json:"sources"`
	}
	if _, reason := readManifest(place, &m); reason != "" {
		row.invalid(reason)
		return []PluginRow{row}
	}
	name := filepath.Base(filepath.Dir(place))
	if m.Name != nil {
		name = *m.Name
	}
	bad := !config.ValidName(name)
	for _, s := range m.Sources {
		bad = bad || !config.ValidName(s.ID)
	}
	if bad {
		row.invalid(badName)
		return []PluginRow{row}
	}
	row.Plugin, row.PluginDisplayName, row.PluginVersion = &name, m.DisplayName, m.Version
	row.unless(false, "no provider of this program reads the histories of this plugin")
	var rows []PluginRow
	for _, s := range m.Sources[:min(len(m.Sources), maxHistories)] {
		one, plugin := row, name+"/"+s.ID
		one.PluginSource, one.HistorySourceID, one.declared, one.Refresh = &plugin, &s.ID, s.declared, s.Refresh
		if s.ProviderKey != nil && s.SourceID != nil {
			source := *s.ProviderKey + "/" + *s.SourceID
			one.HistorySource = &source
		}
		rows = append(rows, one)
	}
	if len(rows) == 0 {
		return []PluginRow{row}
	}
	return rows
}
