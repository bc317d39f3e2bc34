package integrations

import "slices"

// client is one row of the table below.
type client struct {
	id, name string
	aliases  []string
	syntax   syntax
	table    string
	entry    []member
	global   place
	project  place
}

// place tells where the file of a client lies in one scope. Paths are slash-separated and relative to the home, the working
// directory (project scope) or the directory that a variable names.
type place struct {
	env      string   // variable of a directory that replaces base
	base     string   // below the home; "" = the home or the working directory itself
	files    []string // the first one that exists counts, else the first; none = the client has no place in this scope
	detect   []string // the client is there when one of these exists, beside the file itself
	mustHave bool     // the client makes the file; without it there is nothing to add to
}

var (
	stdio   = launch(member{key: "type", value: "stdio", implied: true})
	argv    = []member{{key: "type", value: "local"}, {key: "command", value: []string{"ctx", "mcp", "serve"}}, {key: "enabled", value: true, implied: true}}
	cline   = launch(member{key: "disabled", value: false, implied: true}, member{key: "autoApprove", value: []string{}, implied: true})
	copilot = launch(member{key: "type", value: "local", implied: true}, member{key: "tools", value: []string{"*"}, implied: true})
	goose   = []member{
		{key: "enabled", value: true, implied: true}, {key: "type", value: "stdio"}, {key: "name", value: serverName, implied: true},
		{key: "cmd", value: "ctx"}, {key: "args", value: []string{"mcp", "serve"}}, {key: "timeout", value: 300, implied: true},
	}
)

var continueYAML = yamlSyntax{list: true, head: "name: ctx\nversion: 0.0.1\nschema: v1\n"}

func one(file string) []string { return []string{file} }

var mimocodeFiles = []string{"mimocode.jsonc", "mimocode.json", "config.json"}

// clients are the programs whose files are known, in the order of listings.
var clients = []client{
	{id: "codex", name: "Codex", syntax: tomlSyntax{}, table: "mcp_servers", entry: launch(),
		global:  place{env: "CODEX_HOME", base: ".codex", files: one("config.toml"), detect: one("")},
		project: place{files: one(".codex/config.toml"), detect: one(".codex")}},
	{id: "grok-build", name: "Grok Build", aliases: one("grok"), syntax: tomlSyntax{}, table: "mcp_servers", entry: launch(),
		global:  place{env: "GROK_HOME", base: ".grok", files: one("config.toml"), detect: one("")},
		project: place{files: one(".grok/config.toml"), detect: one(".grok")}},
	{id: "claude-code", name: "Claude Code", aliases: one("claude"), syntax: jsonSyntax{}, table: "mcpServers", entry: stdio,
		global:  place{env: "CLAUDE_CONFIG_DIR", files: one(".claude.json"), detect: one(".claude")},
		project: place{files: one(".mcp.json"), detect: one(".claude")}},
	{id: "cursor", name: "Cursor", syntax: jsonSyntax{}, table: "mcpServers", entry: stdio,
		global:  place{base: ".cursor", files: one("mcp.json"), detect: one("")},
		project: place{files: one(".cursor/mcp.json"), detect: one(".cursor")}},
	{id: "opencode", name: "OpenCode", syntax: jsonSyntax{}, table: "mcp", entry: argv,
		global:  place{base: ".config/opencode", files: []string{"opencode.json", "opencode.jsonc"}, detect: one("")},
		project: place{files: []string{"opencode.json", "opencode.jsonc"}, detect: one(".opencode")}},
	{id: "mimocode", name: "MiMo Code", syntax: jsonSyntax{}, table: "mcp", entry: argv,
		global: place{env: "MIMOCODE_CONFIG_DIR", base: ".config/mimocode", files: mimocodeFiles, detect: one("")},
		project: place{files: []string{".mimocode/mimocode.jsonc", ".mimocode/mimocode.json", ".mimocode/config.json", "mimocode.json", "mimocode.jsonc"},
			detect: one(".mimocode")}},
	{id: "gemini-cli", name: "Gemini CLI", syntax: jsonSyntax{}, table: "mcpServers", entry: launch(),
		global:  place{base: ".gemini", files: one("settings.json"), detect: one("")},
		project: place{files: one(".gemini/settings.json"), detect: one(".gemini")}},
	{id: "qwen-code", name: "Qwen Code", syntax: jsonSyntax{}, table: "mcpServers", entry: launch(),
		global:  place{base: ".qwen", files: one("settings.json"), detect: one("")},
		project: place{files: one(".qwen/settings.json"), detect: one(".qwen")}},
	{id: "goose", name: "Goose", syntax: yamlSyntax{}, table: "extensions", entry: goose,
		global: place{base: ".config/goose", files: one("config.yaml"), detect: one("")}},
	{id: "kiro", name: "Kiro", syntax: jsonSyntax{}, table: "mcpServers", entry: launch(),
		global:  place{base: ".kiro", files: one("settings/mcp.json"), detect: one("")},
		project: place{files: one(".kiro/settings/mcp.json"), detect: one(".kiro")}},
	{id: "warp", name: "Warp", syntax: jsonSyntax{}, table: "mcpServers", entry: launch(),
		global:  place{base: ".warp", files: one(".mcp.json"), detect: one("")},
		project: place{files: one(".warp/.mcp.json"), detect: one(".warp")}},
	{id: "continue", name: "Continue", syntax: continueYAML, table: "mcpServers", entry: launch(),
		global:  place{base: ".continue", files: one("config.yaml"), mustHave: true},
		project: place{files: one(".continue/mcpServers/ctx.yaml"), detect: one(".continue")}},
	{id: "cline", name: "Cline", syntax: jsonSyntax{}, table: "mcpServers", entry: cline,
		global: place{base: ".cline", files: one("mcp.json"), detect: one("")}},
	{id: "github-copilot", name: "GitHub Copilot", syntax: jsonSyntax{}, table: "mcpServers", entry: copilot,
		global: place{env: "COPILOT_HOME", base: ".copilot", files: one("mcp-config.json"), detect: one("")}},
	{id: "zed", name: "Zed", syntax: jsonSyntax{}, table: "context_servers", entry: launch(),
		global:  place{base: ".config/zed", files: one("settings.json"), detect: one("")},
		project: place{files: one(".zed/settings.json"), detect: one(".zed")}},
	{id: "roo-code", name: "Roo Code", syntax: jsonSyntax{}, table: "mcpServers", entry: launch(),
		project: place{files: one(".roo/mcp.json"), detect: one(".roo")}},
}

func (c *client) place(s Scope) *place {
	if s == Project {
		return &c.project
	}
	return &c.global
}

// Clients are the ids of all MCP clients, in the order of listings.
func Clients() []string {
	var ids []string
	for _, c := range clients {
		ids = append(ids, c.id)
	}
	return ids
}

// named are ids with their aliases resolved.
func named(ids []string) []string {
	ids = slices.Clone(ids)
	for i, id := range ids {
		if c := clientNamed(id); c != nil {
			ids[i] = c.id
		}
	}
	return ids
}

// clientNamed finds a client by id or alias.
func clientNamed(name string) *client {
	for i := range clients {
		if c := &clients[i]; c.id == name || slices.Contains(c.aliases, name) {
			return c
		}
	}
	return nil
}
