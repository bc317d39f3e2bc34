package sources

import (
	"cmp"
	"path/filepath"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/internal/nullable"
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
		if p.Trust == Invalid {
			row.invalid(p.Reason)
		} else {
			row.Plugin, row.PluginDisplayName, row.PluginVersion = nullable.Text(p.Name), nullable.Text(p.DisplayName), nullable.Text(p.Version)
			row.unless(p.Trust == Trusted, p.Reason)
		}
		rows = append(rows, row)
	}
	return rows
}

func newPluginRow(place string) PluginRow {
	return PluginRow{Provider: pluginProvider, Kind: pluginKind, ManifestPath: nullable.Text(place), ImportSupport: pluginKind}
}

func (r *PluginRow) invalid(reason string) {
	r.Status, r.UnsupportedReason, r.Error = string(Invalid), nullable.Text(reason), reason
}

// unless makes the row one of a plugin in use, or else says why it is not.
func (r *PluginRow) unless(used bool, reason string) {
	if r.Status, r.Enabled = string(Available), used; !used {
		r.Status, r.UnsupportedReason = string(Unsupported), nullable.Text(reason)
	}
}

// historyRows lists the histories of a manifest without code. They are shown only: no provider of this program reads them.
func historyRows(place string) []PluginRow {
	row := newPluginRow(place)
	var m struct {
		Name        string        `json:"name"`
		DisplayName nullable.Text `json:"display_name"`
		Version     nullable.Text `json:"version"`
		Sources     []struct {
			ID string `json:"id"`
			declared
			Refresh nullable.Text `json:"refresh"`
		} `json:"sources"`
	}
	if _, reason := readManifest(place, &m); reason != "" {
		row.invalid(reason)
		return []PluginRow{row}
	}
	name := cmp.Or(m.Name, filepath.Base(filepath.Dir(place)))
	bad := !config.ValidName(name)
	for _, s := range m.Sources {
		bad = bad || !config.ValidName(s.ID)
	}
	if bad {
		row.invalid(badName)
		return []PluginRow{row}
	}
	row.Plugin, row.PluginDisplayName, row.PluginVersion = nullable.Text(name), m.DisplayName, m.Version
	row.unless(false, "no provider of this program reads the histories of this plugin")
	var rows []PluginRow
	for _, s := range m.Sources[:min(len(m.Sources), maxHistories)] {
		one := row
		one.PluginSource, one.HistorySourceID, one.declared, one.Refresh =
			nullable.Text(name+"/"+s.ID), nullable.Text(s.ID), s.declared, s.Refresh
		if s.ProviderKey != "" && s.SourceID != "" {
			one.HistorySource = s.ProviderKey + "/" + s.SourceID
		}
		rows = append(rows, one)
	}
	if len(rows) == 0 {
		return []PluginRow{row}
	}
	return rows
}
