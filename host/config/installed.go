package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
)

// Installed is a provider plugin that the user decided about. It stays known after its trust was taken back, so that a config
// file that names it stays valid.
type Installed struct {
	Name     string `json:"name"`
	Trusted  bool   `json:"trusted"`
	Manifest string `json:"manifest"` // path
	// The pins: lower-case hex SHA-256 of the manifest and of the executable.
	ManifestSHA256 string   `json:"manifest_sha256"`
	SHA256         string   `json:"sha256"`
	Environment    []string `json:"environment"` // variables that it may know
	Provider       Provider `json:"provider"`    // as it described itself when it was trusted
}

const maxInstalledBytes = 4 << 20

func installedFile(root string) string { return filepath.Join(root, "plugins", "trusted.json") }

// readInstalled returns what was decided. With a file that cannot be read nothing is trusted, and status says so.
func readInstalled(root string) (list []Installed, err error) {
	text, err := durable.ReadFile(installedFile(root), maxInstalledBytes)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.ResourceUnavailable, "the list of trusted plugins, plugins/trusted.json in the data root, cannot be read").
			WithHint("Put back a copy, or delete the file and trust your plugins again with ctx plugins trust")
	}
	return list, nil
}

// EditInstalled replaces the decision about one plugin, under the lock of the config file.
func EditInstalled(root string, decided Installed) error {
	file := installedFile(root)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return notWritable(err)
	}
	unlock, err := lockConfig(root)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := readInstalled(root)
	if err != nil {
		return err
	}
	list = append(slices.DeleteFunc(list, func(i Installed) bool { return i.Name == decided.Name }), decided)
	slices.SortFunc(list, func(a, b Installed) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.Replace(file, append(text, '\n'), 0o600); err != nil {
		return notWritable(err)
	}
	return nil
}

// Distrust forgets in this Config that a plugin is trusted. It stays known.
func (c *Config) Distrust(name string) {
	for i := range c.Installed {
		if c.Installed[i].Name == name {
			c.Installed[i].Trusted = false
		}
	}
}

// ProviderNamed returns the provider of a public spelling: its id, its command line name or an alias, of the known providers and
// then of installed plugins. The match is exact.
func (c *Config) ProviderNamed(spelling string) (*Provider, bool) {
	if p, ok := ProviderNamed(spelling); ok || c == nil {
		return p, ok
	}
	for i := range c.Installed {
		p := &c.Installed[i].Provider
		if spelling != "" && (p.ID == spelling || p.CLIName == spelling || slices.Contains(p.Aliases, spelling)) {
			return p, true
		}
	}
	return nil, false
}
