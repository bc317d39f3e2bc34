package sources

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/pluginhost"
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// The two kinds of manifests: a program that reads the history of an agent, and durable JSONL without any code.
const (
	providerManifest = "ctx-provider.json"
	historyManifest  = "ctx-history-plugin.json"
)

// Bounds of the manifest walk.
const (
	maxManifestBytes = 1 << 20
	maxPluginEntries = 1024 // directory entries looked at in one place
	maxHistories     = 128  // of one manifest
)

// badName is why a manifest with another name is refused.
const badName = "the names of a plugin and its histories are 1 to 64 letters, digits, '-' or '_'"

// Trust says whether a plugin is started.
type Trust string

// The states of a plugin. Only a trusted one is ever run.
const (
	Trusted   Trust = "trusted"
	Untrusted Trust = "untrusted" // nobody said that it may run
	Changed   Trust = "changed"   // its program or its manifest is not the one that was trusted
	Invalid   Trust = "invalid"   // the manifest cannot be used
)

// Plugin is an installed provider: a program that a manifest names. Installing one runs nothing.
type Plugin struct {
	Name, DisplayName, Version string
	Manifest                   string // path
	Command                    []string
	SHA256                     string // pinned, of a trusted plugin
	Trust                      Trust
	Reason                     string // why it is not trusted; a fixed sentence
	declared                   string // SHA-256 that the manifest demands
	text                       []byte
}

// Plugins lists the provider plugins of the data root and of CTX_HISTORY_PLUGIN_PATH, in this order, by directory.
func Plugins(c *config.Config) []Plugin {
	var all []Plugin
	names := map[string]bool{}
	for _, place := range manifestPlaces(c) {
		if filepath.Base(place) != providerManifest {
			continue
		}
		p := readPlugin(place)
		switch {
		case p.Trust == Invalid:
		case names[p.Name]:
			p.Trust, p.Reason = Invalid, "another plugin has this name"
		default:
			p.decide(c)
		}
		names[p.Name] = true
		all = append(all, p)
	}
	return all
}

func readPlugin(place string) Plugin {
	p := Plugin{Manifest: place, Name: filepath.Base(filepath.Dir(place)), Trust: Invalid}
	var m struct {
		SchemaVersion uint32   `json:"schema_version"`
		Name          string   `json:"name"`
		DisplayName   string   `json:"display_name"`
		Version       string   `json:"version"`
		Executable    string   `json:"executable"`
		Args          []string `json:"args"`
		SHA256        string   `json:"sha256"`
		Protocol      uint32   `json:"protocol"`
	}
	if p.text, p.Reason = readManifest(place, &m); p.Reason != "" {
		return p
	}
	program := filepath.FromSlash(m.Executable)
	switch {
	case !config.ValidName(m.Name):
		p.Reason = badName
		return p
	case m.SchemaVersion != 1 || m.Protocol != sdkplugin.ProtocolVersion:
		p.Reason = "the plugin is made for another version of ctx"
		return p
	case !filepath.IsAbs(program) && !filepath.IsLocal(program):
		p.Reason = "the executable lies outside the directory of the plugin"
		return p
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(filepath.Dir(place), program)
	}
	if runtime.GOOS == "windows" && filepath.Ext(program) == "" {
		program += ".exe"
	}
	p.Name, p.DisplayName, p.Version = m.Name, cmp.Or(m.DisplayName, m.Name), m.Version
	p.Command, p.declared = append([]string{program}, m.Args...), strings.ToLower(m.SHA256)
	p.Trust, p.Reason = Untrusted, "not trusted; ctx plugins trust "+p.Name
	return p
}

// decide compares a plugin with what the user decided about it.
func (p *Plugin) decide(c *config.Config) {
	i := slices.IndexFunc(c.Installed, func(i config.Installed) bool { return i.Name == p.Name && i.Trusted })
	if i < 0 {
		return
	}
	pinned := c.Installed[i]
	program, err := fileSum(p.Command[0])
	p.Trust, p.Reason, p.SHA256 = Trusted, "", pinned.SHA256
	if err != nil || pinned.Manifest != p.Manifest || pinned.ManifestSHA256 != sum(p.text) || pinned.SHA256 != program {
		p.Trust, p.Reason = Changed, "changed since it was trusted; ctx plugins trust "+p.Name
	}
}

// Pin returns the digest of the program as it is now, for its first start.
func (p *Plugin) Pin() (string, error) {
	if p.Trust == Invalid {
		return "", fault.New(fault.InvalidRequest, "the plugin cannot be used: %s", p.Reason).WithHint("correct %s", providerManifest)
	}
	program, err := fileSum(p.Command[0])
	if err != nil {
		return "", fault.Wrap(err, fault.NotFound, "the executable of the plugin cannot be read").WithHint("check executable in %s", providerManifest)
	}
	if p.declared != "" && p.declared != program {
		return "", fault.New(fault.InvalidRequest, "the executable is not the one that the manifest was made for").
			WithHint("install the plugin again")
	}
	return program, nil
}

// Accept turns the description of a plugin into a decision to trust it. delivered are the ids of the providers of this program.
// Variables whose names look like secrets are left out and returned.
func (p *Plugin) Accept(c *config.Config, pin string, d *historyv1.DescribeResponse, delivered []string) (decided config.Installed, refused []string, err error) {
	taken := func(spelling string) bool {
		known, ok := c.ProviderNamed(spelling)
		return spelling != "" && ok && known.ID != d.GetId()
	}
	decided = config.Installed{
		Name: p.Name, Trusted: true, Manifest: p.Manifest, ManifestSHA256: sum(p.text), SHA256: pin, Environment: []string{},
		Provider: providerOf(d),
	}
	other := func(i config.Installed) bool { return i.Trusted && i.Name != p.Name && i.Provider.ID == d.GetId() }
	if slices.Contains(delivered, d.GetId()) || slices.Contains(delivered, p.Name) || slices.ContainsFunc(c.Installed, other) ||
		slices.ContainsFunc(append(d.GetAliases(), d.GetId(), d.GetCliName()), taken) {
		return decided, nil, fault.New(fault.InvalidRequest, "the plugin gives itself a name that another provider has").WithHint("ctx plugins list")
	}
	for _, name := range d.GetEnvironment() {
		if pluginhost.SecretName(name) || strings.HasPrefix(name, "CTX_") {
			refused = append(refused, name)
		} else {
			decided.Environment = append(decided.Environment, name)
		}
	}
	return decided, refused, nil
}

// providerOf is what package config has to know about a plugin without starting it.
func providerOf(d *historyv1.DescribeResponse) config.Provider {
	p := config.Provider{ID: d.GetId(), CLIName: d.GetCliName(), Aliases: d.GetAliases()}
	for _, f := range d.GetFormats() {
		p.Formats = append(p.Formats, f.GetName())
	}
	switch d.GetRoot().GetPathKind() {
	case historyv1.PathKind_PATH_KIND_DIRECTORY:
		p.RootIs = config.Directory
	case historyv1.PathKind_PATH_KIND_FILE:
		p.RootIs = config.File
	}
	for _, child := range d.GetRoot().GetChildren() {
		p.Children = append(p.Children, config.Child{
			Suffix: child.GetSuffix(), Format: child.GetFormat(), Role: child.GetRole(), Kind: child.GetKind(),
			File: child.GetPathKind() == historyv1.PathKind_PATH_KIND_FILE,
		})
	}
	return p
}

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

func fileSum(name string) (string, error) {
	f, err := openOrdinary(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// manifestPlaces returns the manifests of the plugin directories: of each directory itself, and of its direct children by name.
func manifestPlaces(c *config.Config) []string {
	var places []string
	look := func(dir string) {
		for _, name := range []string{historyManifest, providerManifest} {
			place := filepath.Join(dir, name)
			if info, err := os.Lstat(place); err == nil && !info.IsDir() && !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	for _, dir := range append([]string{filepath.Join(c.DataRoot, "plugins")}, c.PluginPath...) {
		look(dir)
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		names, _ := f.Readdirnames(maxPluginEntries) // what can be listed is looked at
		f.Close()
		slices.Sort(names)
		for _, name := range names {
			look(filepath.Join(dir, name))
		}
	}
	return places
}

// readManifest decodes a manifest; the reason is a fixed sentence for why that fails: the file may hold anything.
func readManifest(place string, into any) (text []byte, reason string) {
	info, err := os.Stat(place)
	if err != nil || !info.Mode().IsRegular() {
		return nil, "the manifest is not an ordinary file"
	}
	if info.Size() > maxManifestBytes {
		return nil, "the manifest is too big"
	}
	text, err = readBounded(place, maxManifestBytes)
	if err != nil {
		return nil, "the manifest cannot be read"
	}
	if json.Unmarshal(text, into) != nil {
		return nil, "the manifest is not valid JSON of the expected form"
	}
	return text, ""
}
