package integrations

import (
	"bytes"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/nullable"
)

//go:embed skill/command.md
var commandText string

// slashAgents have a folder of prompt files that become slash commands.
var slashAgents = []folderAgent{
	{id: "codex", name: "Codex", env: "CODEX_HOME", base: ".codex", folder: "prompts"},
	{id: "claude-code", name: "Claude Code", env: "CLAUDE_CONFIG_DIR", base: ".claude", folder: "commands", project: ".claude"},
	{id: "cursor", name: "Cursor", base: ".cursor", folder: "commands", project: ".cursor"},
	{id: "opencode", name: "OpenCode", base: ".config/opencode", folder: "command", project: ".opencode"},
	{id: "gemini-cli", name: "Gemini CLI", base: ".gemini", folder: "commands", project: ".gemini", toml: true},
	{id: "qwen-code", name: "Qwen Code", base: ".qwen", folder: "commands", project: ".qwen", toml: true},
}

// SlashAgents are the ids of the agents that read slash commands in the scope.
func (w Where) SlashAgents() []string {
	var ids []string
	for _, a := range slashAgents {
		if w.Scope == Global || a.project != "" {
			ids = append(ids, a.id)
		}
	}
	return ids
}

func (a *folderAgent) command() (file string, text []byte) {
	if !a.toml {
		return "ctx.md", []byte(commandText)
	}
	prompt := strings.ReplaceAll(commandText, "$ARGUMENTS", "{{args}}")
	return "ctx.toml", []byte("description = \"Search earlier agent sessions with ctx\"\nprompt = " + jsonText(prompt) + "\n")
}

// InstallSlash writes the slash command /ctx for agents. A file of that name with another text is kept unless that is forced.
func (r *Request) InstallSlash() ([]Change, error) {
	agents, err := r.folders(slashAgents, "", func(id string) error {
		return fault.New(fault.InvalidRequest, "there is no %s folder of slash commands for agent %q", r.Scope, id).
			WithHint("known: %s", strings.Join(r.SlashAgents(), ", "))
	})
	rows := []Change{}
	for _, a := range agents {
		file, text := a.command()
		path := filepath.Join(r.dir(a), a.folder, file)
		row := Change{Agent: a.id, Name: a.name, Path: nullable.Text(path), Status: Modified}
		if found, err := os.ReadFile(path); err == nil && bytes.Equal(found, text) {
			row.Status = Current
		} else if errors.Is(err, fs.ErrNotExist) {
			row.Status = Missing
		}
		rows = append(rows, r.write(row, row.Status == Current, "another command has the name ctx; --force replaces it", func() error {
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			if err == nil {
				err = durable.Replace(path, text, 0o644)
			}
			return plainPathError(err)
		}))
	}
	return rows, err
}
