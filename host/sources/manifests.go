package sources

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agenthistory/ctx/host/config"
)

// manifestName is the file that declares a history plugin without any code: histories that it names are durable JSONL.
const manifestName = "ctx-history-plugin.json"

// Bounds of the manifest walk.
const (
	maxManifestBytes = 1 << 20
	maxPluginEntries = 1024 // directory entries looked at in one place
)

// Plugin row constants.
const (
	pluginProvider = "custom"
	pluginKind     = "history_source_plugin"
)

// manifests lists the history plugins of a data root and of CTX_HISTORY_PLUGIN_PATH. A manifest that cannot be read or is no JSON
// object is a row of its own with status invalid; the sources of a sound one are listed as unsupported, because no provider of this
// program reads them.
func manifests(c *config.Config) []PluginRow {
	var rows []PluginRow
	seen := map[string]bool{}
	for _, dir := range append([]string{filepath.Join(c.DataRoot, "plugins")}, c.PluginPath...) {
		for _, place := range manifestPlaces(dir) {
			if !seen[place] {
				seen[place] = true
				rows = append(rows, manifestRow(place))
			}
		}
	}
	return rows
}

// manifestPlaces returns the manifest of a directory itself, if it has one, and those of its direct children, by name.
func manifestPlaces(dir string) []string {
	var places []string
	look := func(d string) {
		if info, err := os.Lstat(filepath.Join(d, manifestName)); err == nil && !info.IsDir() {
			places = append(places, filepath.Join(d, manifestName))
		}
	}
	look(dir)
	f, err := os.Open(dir)
	if err != nil {
		return places
	}
	defer f.Close()
	names, err := f.Readdirnames(maxPluginEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return places
	}
	slices.Sort(names)
	for _, name := range names {
		look(filepath.Join(dir, name))
	}
	return places
}

func manifestRow(place string) PluginRow {
	row := PluginRow{Provider: pluginProvider, Kind: pluginKind, ManifestPath: &place, ImportSupport: pluginKind}
	var m struct {
		Name        *string `json:"name"`
		DisplayName *string `json:"display_name"`
		Version     *string `json:"version"`
	}
	if reason := readManifest(place, &m); reason != "" {
		row.Status, row.UnsupportedReason, row.Error = "invalid", &reason, &reason
		return row
	}
	name := filepath.Base(filepath.Dir(place))
	reason := "no provider of this program reads the histories of this plugin"
	row.Plugin, row.PluginDisplayName, row.PluginVersion = &name, m.DisplayName, m.Version
	if m.Name != nil {
		row.Plugin = m.Name
	}
	row.Status, row.UnsupportedReason = string(Unsupported), &reason
	return row
}

// readManifest decodes a manifest and returns a fixed sentence when that fails: the file may hold anything.
func readManifest(place string, into any) string {
	info, err := os.Stat(place)
	if err != nil || !info.Mode().IsRegular() {
		return "the manifest is not an ordinary file"
	}
	if info.Size() > maxManifestBytes {
		return "the manifest is too big"
	}
	text, err := os.ReadFile(place)
	if errors.Is(err, fs.ErrPermission) {
		return "the manifest cannot be read"
	}
	if err != nil || json.Unmarshal(text, into) != nil {
		return "the manifest is not valid JSON of the expected form"
	}
	return ""
}
