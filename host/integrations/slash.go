package integrations

import (
	"bytes"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
)

//go:embed skill/command.md
var commandText string

// slashAgent is a client with a folder of prompt files that become slash commands.
type slashAgent struct {
	id, name, env, base, folder, project string
	toml                                 bool // the prompt is a string of a TOML file, and arguments are written {{args}}
}

var slashAgents = []slashAgent{
	{id: "codex", name: "Codex", env: "CODEX_HOME", base: ".codex", folder: "prompts"},
	{id: "claude-code", name: "Claude Code", env: "CLAUDE_CONFIG_DIR", base: ".claude", folder: "commands", project: ".claude"},
	{id: "cursor", name: "Cursor", base: ".cursor", folder: "commands", project: ".cursor"},
	{id: "opencode", name: "OpenCode", base: ".config/opencode", folder: "command", project: ".opencode"},
	{id: "gemini-cli", name: "Gemini CLI", base: ".gemini", folder: "commands", project: ".gemini", toml: true},
	{id: "qwen-code", name: "Qwen Code", base: ".qwen", folder: "commands", project: ".qwen", toml: true},
}

// SlashTargets resolves ids; none of them means the detected agents.
func SlashTargets(w Where, scope Scope, ids []string, all bool) ([]string, error) {
	var out []string
	for _, a := range slashAgents {
		if a.dir(w, scope) != "" && (all || slices.Contains(ids, a.id) || len(ids) == 0 && exists(a.dir(w, scope))) {
			out = append(out, a.id)
		}
	}
	for _, id := range ids {
		if !slices.Contains(out, id) {
			return nil, fault.New(fault.InvalidRequest, "there is no %s folder of slash commands for agent %q", scope, id)
		}
	}
	return out, nil
}

func (a *slashAgent) dir(w Where, scope Scope) string {
	if scope == Project {
		if a.project == "" {
			return ""
		}
		return filepath.Join(w.WorkDir, a.project)
	}
	if dir := w.variable(a.env); dir != "" {
		return dir
	}
	if w.Home == "" {
		return ""
	}
	return filepath.Join(w.Home, filepath.FromSlash(a.base))
}

func (a *slashAgent) text() (file string, text []byte) {
	if !a.toml {
		return "ctx.md", []byte(commandText)
	}
	prompt := strings.ReplaceAll(commandText, "$ARGUMENTS", "{{args}}")
	return "ctx.toml", []byte("description = \"Search earlier agent sessions with ctx\"\nprompt = " + jsonText(prompt) + "\n")
}

// InstallSlash writes the slash command /ctx for agents. A file of that name with another text is kept unless force is set.
func InstallSlash(w Where, scope Scope, ids []string, force bool) []SkillChange {
	rows := []SkillChange{}
	for i := range slashAgents {
		a := &slashAgents[i]
		if !slices.Contains(ids, a.id) {
			continue
		}
		file, text := a.text()
		path := filepath.Join(a.dir(w, scope), a.folder, file)
		row := SkillChange{Agent: a.id, Name: a.name, Scope: scope, Path: path, Status: Missing}
		found, err := os.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(found, text):
			row.Status = Current
		case err == nil || !errors.Is(err, fs.ErrNotExist):
			row.Status = Modified
		}
		row.Previous = row.Status
		switch {
		case row.Status == Current:
			row.Success, row.Already = true, true
		case row.Status == Modified && !force:
			row.Error = pointer("another command has the name ctx; --force replaces it")
		default:
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			if err == nil {
				err = durable.Replace(path, text, 0o644)
			}
			if err != nil {
				row.Error = pointer(plainPathError(err).Error())
				break
			}
			row.Success, row.Updated, row.Status = true, row.Previous == Modified, Current
		}
		rows = append(rows, row)
	}
	return rows
}
