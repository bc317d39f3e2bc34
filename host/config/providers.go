package config

import "strings"

// PathKind is what the path of a named root has to be.
type PathKind uint8

// The zero PathKind means that the provider takes no named root.
const (
	NoNamedRoot PathKind = iota
	Directory
	File
)

// Child is one route that a named root expands to.
type Child struct {
	Suffix string `json:"suffix,omitempty"` // below the root; "" = the root itself
	Format string `json:"format"`           // source format
	Role   string `json:"role"`             // tells the routes of one root apart; part of stored route identities, never changed
	Kind   string `json:"kind,omitempty"`   // only for roots of this kind; "" = always
	File   bool   `json:"file,omitempty"`   // the child is a file, not a directory
}

// Provider is what the host knows about a provider without starting it: its public spellings and what a named root of it
// looks like. Where the history lies by default is told by the provider's own description.
type Provider struct {
	ID       string   `json:"id"`       // snake case, stored and shown in JSON
	CLIName  string   `json:"cli_name"` // kebab case
	Aliases  []string `json:"aliases,omitempty"`
	Formats  []string `json:"formats"` // source formats, the main one first
	RootIs   PathKind `json:"root_is"`
	Children []Child  `json:"children,omitempty"` // empty: only the provider can expand its root
}

// Providers is the table of known providers in their public order. A provider may be known without being delivered.
var Providers = []Provider{
	{
		ID: "codex", CLIName: "codex", Formats: []string{"codex_session_jsonl_tree", "codex_history_jsonl"}, RootIs: Directory,
		Children: []Child{
			{Suffix: "sessions", Format: "codex_session_jsonl_tree", Role: "codex-sessions"},
			{Suffix: "archived_sessions", Format: "codex_session_jsonl_tree", Role: "codex-archived-sessions"},
			{Suffix: "history.jsonl", Format: "codex_history_jsonl", Role: "codex-prompt-history", File: true},
		},
	},
	exact("grok_build", Directory, "grok_build_session_updates_jsonl_tree", "grok-build-sessions", "grok"),
	exact("deepseek_harness", Directory, "deepseek_harness_session_jsonl_tree", "deepseek-harness-sessions", "dsh"),
	exact("pi", Directory, "pi_session_jsonl", "pi-sessions"),
	{
		ID: "claude", CLIName: "claude", Aliases: []string{"claude-code"},
		Formats: []string{"claude_projects_jsonl_tree"}, RootIs: Directory,
		Children: []Child{
			{Suffix: "projects", Format: "claude_projects_jsonl_tree", Role: "claude-projects"},
		},
	},
	exact("opencode", File, "opencode_sqlite", "opencode-database", "open-code"),
	exact("kilo", File, "kilo_sqlite", "kilo-database", "kilo-code", "kilo_code", "kilocode"),
	exact("mimocode", File, "mimocode_sqlite", "mimocode-database", "mimo-code", "mimo_code"),
	exact("kiro_cli", File, "kiro_cli_sqlite", "kiro-cli-database", "kiro"),
	exact("crush", File, "crush_sqlite", "crush-project-database"),
	exact("goose", File, "goose_sessions_sqlite", "goose-sessions-database"),
	exact("antigravity", Directory, "antigravity_cli_transcript_jsonl_tree", "antigravity-brain", "antigravity-cli"),
	exact("gemini", Directory, "gemini_cli_chat_recording_jsonl", "gemini-chats", "gemini-cli"),
	exact("tabnine", Directory, "tabnine_cli_chat_recording_jsonl", "tabnine-agent-history", "tabnine-cli"),
	{
		ID: "cursor", CLIName: "cursor",
		Formats: []string{"cursor_agent_transcript_jsonl_tree", "cursor_cli_store_sqlite", "cursor_ide_state_vscdb"}, RootIs: Directory,
		Children: []Child{{Format: "cursor_agent_transcript_jsonl_tree", Role: "cursor-projects"}},
	},
	exact("zed", File, "zed_threads_sqlite", "zed-threads-database"),
	exact("copilot_cli", Directory, "copilot_cli_session_events_jsonl", "copilot-session-state", "copilot", "github-copilot"),
	exact("factory_ai_droid", Directory, "factory_ai_droid_sessions_jsonl", "factory-droid-sessions", "factoryai-droid",
		"factory-droid", "droid"),
	exact("qwen_code", Directory, "qwen_code_chat_jsonl_tree", "qwen-projects", "qwen"),
	exact("kimi_code_cli", Directory, "kimi_code_cli_wire_jsonl_tree", "kimi-history", "kimi"),
	exact("auggie", Directory, "auggie_session_json", "auggie-sessions", "augment", "augment-code"),
	exact("junie", Directory, "junie_session_events_jsonl_tree", "junie-sessions"),
	exact("firebender", File, "firebender_chat_history_sqlite", "firebender-chat-history-database",
		"firebender-jetbrains", "firebender_jetbrains"),
	exact("forgecode", File, "forgecode_sqlite", "forgecode-database", "forge", "forge-code", "forge_code"),
	exact("deepagents", File, "deepagents_sessions_sqlite", "deepagents-sessions-database", "deep-agents", "dcode"),
	exact("mistral_vibe", Directory, "mistral_vibe_session_jsonl_tree", "mistral-vibe-sessions", "mistral"),
	exact("mux", Directory, "mux_session_jsonl_tree", "mux-sessions"),
	exact("rovodev", Directory, "rovodev_session_json_tree", "rovodev-sessions", "rovo-dev", "rovo_dev"),
	{
		ID: "openclaw", CLIName: "openclaw", Aliases: []string{"open-claw", "open_claw"},
		Formats: []string{"openclaw_agent_sqlite", "openclaw_session_jsonl_tree"},
		RootIs:  Directory,
	},
	exact("hermes", File, "hermes_state_sqlite", "hermes-profile-database"),
	{ID: "nanoclaw", CLIName: "nanoclaw", Aliases: []string{"nano-claw", "nano_claw"}, Formats: []string{"nanoclaw_project"}},
	exact("astrbot", File, "astrbot_data_v4_sqlite", "astrbot-instance-database", "astr-bot", "astr_bot"),
	{ID: "shelley", CLIName: "shelley", Formats: []string{"shelley_sqlite"}},
	exact("continue", Directory, "continue_cli_sessions_json", "continue-sessions", "continue-cli"),
	{
		ID: "openhands", CLIName: "openhands", Aliases: []string{"open-hands", "open_hands"},
		Formats: []string{"openhands_file_events", "openhands_cli_file_events"},
		RootIs:  Directory,
		Children: []Child{
			{Format: "openhands_cli_file_events", Role: "openhands-current-conversations", Kind: "current-conversations"},
			{Format: "openhands_file_events", Role: "openhands-legacy-persistence", Kind: "legacy-persistence"},
		},
	},
	{
		ID: "cline", CLIName: "cline", Formats: []string{"cline_sdk_session_store", "cline_task_directory_json"}, RootIs: Directory,
		Children: []Child{
			{Format: "cline_task_directory_json", Role: "cline-tasks"},
			{Format: "cline_sdk_session_store", Role: "cline-sdk"},
		},
	},
	{
		ID: "roo_code", CLIName: "roo", Aliases: []string{"roo-code"}, Formats: []string{"roo_task_directory_json"}, RootIs: Directory,
		Children: []Child{{Format: "roo_task_directory_json", Role: "roo-task-store"}},
	},
	exact("lingma", File, "lingma_sqlite", "lingma-client-profile-database", "qoder-cn", "qoder_cn"),
	exact("qoder", Directory, "qoder_transcript_jsonl_tree", "qoder-projects"),
	exact("warp", File, "warp_sqlite", "warp-surface-database"),
	exact("codebuddy", Directory, "codebuddy_history_json", "codebuddy-history", "code-buddy", "code_buddy"),
}

// exact describes a provider whose named root is the history itself: one directory or file of one format.
func exact(id string, root PathKind, format, role string, aliases ...string) Provider {
	return Provider{
		ID: id, CLIName: strings.ReplaceAll(id, "_", "-"), Aliases: aliases, Formats: []string{format}, RootIs: root,
		Children: []Child{{Format: format, Role: role, File: root == File}},
	}
}

var providerBySpelling = func() map[string]*Provider {
	m := map[string]*Provider{}
	for i := range Providers {
		p := &Providers[i]
		for _, name := range append([]string{p.ID, p.CLIName}, p.Aliases...) {
			m[name] = p
		}
	}
	return m
}()

// ProviderNamed returns the provider of a public spelling: its id, its command line name or an alias. The match is exact.
func ProviderNamed(spelling string) (*Provider, bool) {
	p, ok := providerBySpelling[spelling]
	return p, ok
}
