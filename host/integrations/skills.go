package integrations

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/nullable"
)

//go:embed skill/SKILL.md
var skillText []byte

// Names of the files of an installed skill.
const (
	skillFile    = "SKILL.md"
	metadataFile = ".ctx-skill.json"
)

// Stale and Modified are the further states of a skill; Current and Missing are those of a client.
const (
	Stale    Status = "stale"    // the text of another version of ctx
	Modified Status = "modified" // somebody has edited it
)

// skillAgents are the known folders. The first one is read by several agents and always a target.
var skillAgents = []folderAgent{
	{id: "universal", name: "All agents", base: ".agents", project: ".agents"},
	{id: "codex", name: "Codex", env: "CODEX_HOME", base: ".codex", project: ".codex"},
	{id: "grok-build", name: "Grok Build", env: "GROK_HOME", base: ".grok", project: ".grok"},
	{id: "claude-code", name: "Claude Code", env: "CLAUDE_CONFIG_DIR", base: ".claude", project: ".claude"},
	{id: "cursor", name: "Cursor", base: ".cursor", project: ".cursor"},
	{id: "opencode", name: "OpenCode", base: ".config/opencode", project: ".opencode"},
	{id: "mimocode", name: "MiMo Code", env: "MIMOCODE_CONFIG_DIR", base: ".config/mimocode", project: ".mimocode"},
	{id: "amp", name: "Amp", base: ".config/amp", project: ".amp"},
	{id: "gemini-cli", name: "Gemini CLI", base: ".gemini", project: ".gemini"},
	{id: "antigravity", name: "Antigravity", base: ".gemini/antigravity", project: ".agent"},
	{id: "antigravity-cli", name: "Antigravity CLI", base: ".gemini/antigravity-cli", project: ".agent"},
	{id: "github-copilot", name: "GitHub Copilot", env: "COPILOT_HOME", base: ".copilot", project: ".github"},
	{id: "pi", name: "Pi", base: ".pi/agent", project: ".pi"},
	{id: "goose", name: "Goose", base: ".config/goose", project: ".goose"},
}

// Metadata is what an installed skill remembers about itself.
type Metadata struct {
	Schema  int    `json:"schema_version"`
	Name    string `json:"skill_name"`
	Hash    string `json:"skill_hash"`
	Version string `json:"ctx_cli_version"`
}

// SkillState is one row of `status skills`.
type SkillState struct {
	Agent        string        `json:"agent"`
	Name         string        `json:"agent_display_name"`
	Scope        Scope         `json:"scope"`
	Status       Status        `json:"status"`
	Path         string        `json:"path"`
	Installed    nullable.Text `json:"installed_hash"`
	Bundled      string        `json:"bundled_hash"`
	LegacyPath   nullable.Text `json:"legacy_path"`
	LegacyStatus nullable.Text `json:"legacy_status"`
	Metadata     *Metadata     `json:"metadata"`
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// skillFolders are the wanted folders: without ids the universal one and those of detected agents.
func (r *Request) skillFolders() ([]*folderAgent, error) {
	if r.Scope == Global && r.Home == "" {
		return nil, fault.New(fault.ResourceUnavailable, "the home directory is not known").WithHint("set HOME, or use --project")
	}
	return r.folders(skillAgents, "universal", func(id string) error {
		return fault.New(fault.InvalidRequest, "there is no agent %q with a folder for skills", id).
			WithHint("see ctx integrations status skills --all-agents")
	})
}

// StatusSkills tells how the skill stands in the folders of agents.
func (r *Request) StatusSkills() ([]SkillState, error) {
	agents, err := r.skillFolders()
	rows := []SkillState{}
	for _, a := range agents {
		rows = append(rows, r.skill(a))
	}
	return rows, err
}

func (w Where) skill(a *folderAgent) SkillState {
	s := SkillState{Agent: a.id, Name: a.name, Scope: w.Scope, Bundled: hashOf(skillText), Status: Missing,
		Path: filepath.Join(w.dir(a), "skills", serverName)}
	text, err := os.ReadFile(filepath.Join(s.Path, skillFile))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.Status = Modified // something is there that we cannot read: not ours to replace
		}
		return s
	}
	hash := hashOf(text)
	s.Installed = nullable.Text(hash)
	var m Metadata
	if text, err := os.ReadFile(filepath.Join(s.Path, metadataFile)); err == nil && json.Unmarshal(text, &m) == nil {
		s.Metadata = &m
	}
	switch {
	case hash == s.Bundled:
		s.Status = Current
	case s.Metadata != nil && m.Hash == hash:
		s.Status = Stale
	default:
		s.Status = Modified
	}
	return s
}

// InstallSkills writes the skill into the folders of agents. An edited one is kept unless that is forced.
func (r *Request) InstallSkills() ([]Change, error) {
	states, err := r.StatusSkills()
	rows := []Change{}
	for _, s := range states {
		idle := s.Status == Current && s.Metadata != nil && s.Metadata.Hash == s.Bundled
		rows = append(rows, r.write(Change{Agent: s.Agent, Name: s.Name, Path: nullable.Text(s.Path), Status: s.Status}, idle,
			"the skill was edited; --force replaces it", func() error { return writeSkill(s.Path, r.Version) }))
	}
	return rows, err
}

func writeSkill(dir, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return plainPathError(err)
	}
	metadata := jsonText(Metadata{Schema: 1, Name: serverName, Hash: hashOf(skillText), Version: version}) + "\n"
	if err := durable.Replace(filepath.Join(dir, skillFile), skillText, 0o644); err != nil {
		return plainPathError(err)
	}
	return plainPathError(durable.Replace(filepath.Join(dir, metadataFile), []byte(metadata), 0o644))
}
