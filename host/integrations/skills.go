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
	"slices"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
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

// skillAgent is a folder of skills: below the home, below the directory of a variable, or below the project.
type skillAgent struct {
	id, name, env, base, inEnv, project string
}

// skillAgents are the known folders. The first one is read by several agents and always a target.
var skillAgents = []skillAgent{
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
	Agent        string    `json:"agent"`
	Name         string    `json:"agent_display_name"`
	Scope        Scope     `json:"scope"`
	Status       Status    `json:"status"`
	Path         string    `json:"path"`
	Installed    *string   `json:"installed_hash"`
	Bundled      string    `json:"bundled_hash"`
	LegacyPath   *string   `json:"legacy_path"`
	LegacyStatus *Status   `json:"legacy_status"`
	Metadata     *Metadata `json:"metadata"`
}

// SkillChange is one row of `install skills`. Migrated is false always: no earlier layout exists.
type SkillChange struct {
	Agent    string  `json:"agent"`
	Name     string  `json:"agent_display_name"`
	Scope    Scope   `json:"scope"`
	Path     string  `json:"path"`
	Success  bool    `json:"success"`
	Previous Status  `json:"previous_status"`
	Status   Status  `json:"status"`
	Already  bool    `json:"already_installed"`
	Updated  bool    `json:"updated"`
	Migrated bool    `json:"migrated"`
	Error    *string `json:"error"`
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// dir is the folder of the agent itself.
func (a *skillAgent) dir(w Where, scope Scope) string {
	if scope == Project {
		return filepath.Join(w.WorkDir, a.project)
	}
	if dir := w.variable(a.env); dir != "" {
		return dir
	}
	return filepath.Join(w.Home, filepath.FromSlash(a.base))
}

// SkillTargets resolves ids; none of them means the universal folder and those of detected agents.
func SkillTargets(w Where, scope Scope, ids []string, all bool) ([]string, error) {
	if scope == Global && w.Home == "" {
		return nil, fault.New(fault.ResourceUnavailable, "the home directory is not known").WithHint("set HOME, or use --project")
	}
	var out []string
	for i := range skillAgents {
		a := &skillAgents[i]
		if all || slices.Contains(ids, a.id) || len(ids) == 0 && (i == 0 || exists(a.dir(w, scope))) {
			out = append(out, a.id)
		}
	}
	for _, id := range ids {
		if !slices.Contains(out, id) {
			return nil, fault.New(fault.InvalidRequest, "there is no agent %q with a folder for skills", id).
				WithHint("see ctx integrations status skills --all-agents")
		}
	}
	return out, nil
}

// StatusSkills tells how the skill stands in the folders of agents.
func StatusSkills(w Where, scope Scope, ids []string) []SkillState {
	rows := []SkillState{}
	for i := range skillAgents {
		if a := &skillAgents[i]; slices.Contains(ids, a.id) {
			rows = append(rows, a.state(w, scope))
		}
	}
	return rows
}

func (a *skillAgent) state(w Where, scope Scope) SkillState {
	s := SkillState{Agent: a.id, Name: a.name, Scope: scope, Bundled: hashOf(skillText), Status: Missing,
		Path: filepath.Join(a.dir(w, scope), "skills", serverName)}
	text, err := os.ReadFile(filepath.Join(s.Path, skillFile))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.Status = Modified // something is there that we cannot read: not ours to replace
		}
		return s
	}
	hash := hashOf(text)
	s.Installed = &hash
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

// InstallSkills writes the skill into the folders of agents. An edited one is kept unless force is set.
func InstallSkills(w Where, scope Scope, ids []string, force bool, version string) []SkillChange {
	rows := []SkillChange{}
	for _, s := range StatusSkills(w, scope, ids) {
		row := SkillChange{Agent: s.Agent, Name: s.Name, Scope: scope, Path: s.Path, Previous: s.Status, Status: s.Status}
		switch {
		case s.Status == Current && s.Metadata != nil && s.Metadata.Hash == s.Bundled:
			row.Success, row.Already = true, true
		case s.Status == Modified && !force:
			row.Error = pointer("the skill was edited; --force replaces it")
		default:
			if err := writeSkill(s.Path, version); err != nil {
				row.Error = pointer(err.Error())
				break
			}
			row.Success, row.Updated, row.Status = true, s.Status != Missing, Current
		}
		rows = append(rows, row)
	}
	return rows
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
