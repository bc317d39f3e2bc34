package config

// PathKind is what the path of a named root has to be.
type PathKind uint8

// The zero PathKind means that the provider takes no named root.
const (
	NoNamedRoot PathKind = iota
	Directory
	File
)

// exactSource is the expander of providers whose named root is the history itself.
const exactSource = "exact_source"

// Child is one route that a named root expands to.
type Child struct {
	Suffix string // below the root; "" = the root itself
	Format string // source format
	Role   string // tells the routes of one root apart; part of stored route identities, never changed
	Kind   string // only for roots of this kind; "" = always
	File   bool   // the child is a file, not a directory
}

// Provider is what the host knows about a provider without starting it: its public spellings and what a named root of it
// looks like. Where the history lies by default is told by the provider's own description.
type Provider struct {
	ID       string // snake case, stored and shown in JSON
	CLIName  string // kebab case
	Aliases  []string
	Formats  []string // source formats, the main one first
	Expander string
	RootIs   PathKind
	Children []Child // empty: only the provider can expand its root
}

// Providers is the table of known providers in their public order. A provider may be known without being delivered.
var Providers = []Provider{
	{
		ID: "codex", CLIName: "codex", Formats: []string{"codex_session_jsonl_tree", "codex_history_jsonl"},
		Expander: "codex_home_v1", RootIs: Directory,
		Children: []Child{
			{Suffix: "sessions", Format: "codex_session_jsonl_tree", Role: "codex-sessions"},
			{Suffix: "archived_sessions", Format: "codex_session_jsonl_tree", Role: "codex-archived-sessions"},
			{Suffix: "history.jsonl", Format: "codex_history_jsonl", Role: "codex-prompt-history", File: true},
		},
	},
	{
		ID: "grok_build", CLIName: "grok-build", Aliases: []string{"grok"},
		Formats: []string{"grok_build_session_updates_jsonl_tree"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "grok_build_session_updates_jsonl_tree", Role: "grok-build-sessions"}},
	},
	{
		ID: "deepseek_harness", CLIName: "deepseek-harness", Aliases: []string{"dsh"},
		Formats: []string{"deepseek_harness_session_jsonl_tree"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "deepseek_harness_session_jsonl_tree", Role: "deepseek-harness-sessions"}},
	},
	{
		ID: "pi", CLIName: "pi", Formats: []string{"pi_session_jsonl"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "pi_session_jsonl", Role: "pi-sessions"}},
	},
	{
		ID: "claude", CLIName: "claude", Aliases: []string{"claude-code"},
		Formats: []string{"claude_projects_jsonl_tree"}, Expander: "claude_home_v1", RootIs: Directory,
		Children: []Child{
			{Suffix: "projects", Format: "claude_projects_jsonl_tree", Role: "claude-projects"},
		},
	},
	{
		ID: "opencode", CLIName: "opencode", Aliases: []string{"open-code"}, Formats: []string{"opencode_sqlite"},
		Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "opencode_sqlite", Role: "opencode-database", File: true}},
	},
	{
		ID: "kilo", CLIName: "kilo", Aliases: []string{"kilo-code", "kilo_code", "kilocode"},
		Formats: []string{"kilo_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "kilo_sqlite", Role: "kilo-database", File: true}},
	},
	{
		ID: "mimocode", CLIName: "mimocode", Aliases: []string{"mimo-code", "mimo_code"},
		Formats: []string{"mimocode_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "mimocode_sqlite", Role: "mimocode-database", File: true}},
	},
	{
		ID: "kiro_cli", CLIName: "kiro-cli", Aliases: []string{"kiro"}, Formats: []string{"kiro_cli_sqlite"},
		Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "kiro_cli_sqlite", Role: "kiro-cli-database", File: true}},
	},
	{
		ID: "crush", CLIName: "crush", Formats: []string{"crush_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "crush_sqlite", Role: "crush-project-database", File: true}},
	},
	{
		ID: "goose", CLIName: "goose", Formats: []string{"goose_sessions_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "goose_sessions_sqlite", Role: "goose-sessions-database", File: true}},
	},
	{
		ID: "antigravity", CLIName: "antigravity", Aliases: []string{"antigravity-cli"},
		Formats: []string{"antigravity_cli_transcript_jsonl_tree"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "antigravity_cli_transcript_jsonl_tree", Role: "antigravity-brain"}},
	},
	{
		ID: "gemini", CLIName: "gemini", Aliases: []string{"gemini-cli"},
		Formats: []string{"gemini_cli_chat_recording_jsonl"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "gemini_cli_chat_recording_jsonl", Role: "gemini-chats"}},
	},
	{
		ID: "tabnine", CLIName: "tabnine", Aliases: []string{"tabnine-cli"},
		Formats: []string{"tabnine_cli_chat_recording_jsonl"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "tabnine_cli_chat_recording_jsonl", Role: "tabnine-agent-history"}},
	},
	{
		ID: "cursor", CLIName: "cursor",
		Formats:  []string{"cursor_agent_transcript_jsonl_tree", "cursor_cli_store_sqlite", "cursor_ide_state_vscdb"},
		Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "cursor_agent_transcript_jsonl_tree", Role: "cursor-projects"}},
	},
	{
		ID: "zed", CLIName: "zed", Formats: []string{"zed_threads_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "zed_threads_sqlite", Role: "zed-threads-database", File: true}},
	},
	{
		ID: "copilot_cli", CLIName: "copilot-cli", Aliases: []string{"copilot", "github-copilot"},
		Formats: []string{"copilot_cli_session_events_jsonl"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "copilot_cli_session_events_jsonl", Role: "copilot-session-state"}},
	},
	{
		ID: "factory_ai_droid", CLIName: "factory-ai-droid",
		Aliases: []string{"factoryai-droid", "factory-droid", "droid"},
		Formats: []string{"factory_ai_droid_sessions_jsonl"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "factory_ai_droid_sessions_jsonl", Role: "factory-droid-sessions"}},
	},
	{
		ID: "qwen_code", CLIName: "qwen-code", Aliases: []string{"qwen"}, Formats: []string{"qwen_code_chat_jsonl_tree"},
		Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "qwen_code_chat_jsonl_tree", Role: "qwen-projects"}},
	},
	{
		ID: "kimi_code_cli", CLIName: "kimi-code-cli", Aliases: []string{"kimi"},
		Formats: []string{"kimi_code_cli_wire_jsonl_tree"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "kimi_code_cli_wire_jsonl_tree", Role: "kimi-history"}},
	},
	{
		ID: "auggie", CLIName: "auggie", Aliases: []string{"augment", "augment-code"},
		Formats: []string{"auggie_session_json"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "auggie_session_json", Role: "auggie-sessions"}},
	},
	{
		ID: "junie", CLIName: "junie", Formats: []string{"junie_session_events_jsonl_tree"}, Expander: exactSource,
		RootIs: Directory, Children: []Child{{Format: "junie_session_events_jsonl_tree", Role: "junie-sessions"}},
	},
	{
		ID: "firebender", CLIName: "firebender", Aliases: []string{"firebender-jetbrains", "firebender_jetbrains"},
		Formats: []string{"firebender_chat_history_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "firebender_chat_history_sqlite", Role: "firebender-chat-history-database", File: true}},
	},
	{
		ID: "forgecode", CLIName: "forgecode", Aliases: []string{"forge", "forge-code", "forge_code"},
		Formats: []string{"forgecode_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "forgecode_sqlite", Role: "forgecode-database", File: true}},
	},
	{
		ID: "deepagents", CLIName: "deepagents", Aliases: []string{"deep-agents", "dcode"},
		Formats: []string{"deepagents_sessions_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "deepagents_sessions_sqlite", Role: "deepagents-sessions-database", File: true}},
	},
	{
		ID: "mistral_vibe", CLIName: "mistral-vibe", Aliases: []string{"mistral"},
		Formats: []string{"mistral_vibe_session_jsonl_tree"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "mistral_vibe_session_jsonl_tree", Role: "mistral-vibe-sessions"}},
	},
	{
		ID: "mux", CLIName: "mux", Formats: []string{"mux_session_jsonl_tree"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "mux_session_jsonl_tree", Role: "mux-sessions"}},
	},
	{
		ID: "rovodev", CLIName: "rovodev", Aliases: []string{"rovo-dev", "rovo_dev"},
		Formats: []string{"rovodev_session_json_tree"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "rovodev_session_json_tree", Role: "rovodev-sessions"}},
	},
	{
		ID: "openclaw", CLIName: "openclaw", Aliases: []string{"open-claw", "open_claw"},
		Formats: []string{"openclaw_agent_sqlite", "openclaw_session_jsonl_tree"}, Expander: "openclaw_state_root_v1",
		RootIs: Directory,
	},
	{
		ID: "hermes", CLIName: "hermes", Formats: []string{"hermes_state_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "hermes_state_sqlite", Role: "hermes-profile-database", File: true}},
	},
	{ID: "nanoclaw", CLIName: "nanoclaw", Aliases: []string{"nano-claw", "nano_claw"}, Formats: []string{"nanoclaw_project"}},
	{
		ID: "astrbot", CLIName: "astrbot", Aliases: []string{"astr-bot", "astr_bot"},
		Formats: []string{"astrbot_data_v4_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "astrbot_data_v4_sqlite", Role: "astrbot-instance-database", File: true}},
	},
	{ID: "shelley", CLIName: "shelley", Formats: []string{"shelley_sqlite"}},
	{
		ID: "continue", CLIName: "continue", Aliases: []string{"continue-cli"},
		Formats: []string{"continue_cli_sessions_json"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "continue_cli_sessions_json", Role: "continue-sessions"}},
	},
	{
		ID: "openhands", CLIName: "openhands", Aliases: []string{"open-hands", "open_hands"},
		Formats: []string{"openhands_file_events", "openhands_cli_file_events"}, Expander: "openhands_kind_v1",
		RootIs: Directory,
		Children: []Child{
			{Format: "openhands_cli_file_events", Role: "openhands-current-conversations", Kind: "current-conversations"},
			{Format: "openhands_file_events", Role: "openhands-legacy-persistence", Kind: "legacy-persistence"},
		},
	},
	{
		ID: "cline", CLIName: "cline", Formats: []string{"cline_sdk_session_store", "cline_task_directory_json"},
		Expander: "cline_common_data_root_v1", RootIs: Directory,
		Children: []Child{
			{Format: "cline_task_directory_json", Role: "cline-tasks"},
			{Format: "cline_sdk_session_store", Role: "cline-sdk"},
		},
	},
	{
		ID: "roo_code", CLIName: "roo", Aliases: []string{"roo-code"}, Formats: []string{"roo_task_directory_json"},
		Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "roo_task_directory_json", Role: "roo-task-store"}},
	},
	{
		ID: "lingma", CLIName: "lingma", Aliases: []string{"qoder-cn", "qoder_cn"}, Formats: []string{"lingma_sqlite"},
		Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "lingma_sqlite", Role: "lingma-client-profile-database", File: true}},
	},
	{
		ID: "qoder", CLIName: "qoder", Formats: []string{"qoder_transcript_jsonl_tree"}, Expander: exactSource,
		RootIs: Directory, Children: []Child{{Format: "qoder_transcript_jsonl_tree", Role: "qoder-projects"}},
	},
	{
		ID: "warp", CLIName: "warp", Formats: []string{"warp_sqlite"}, Expander: exactSource, RootIs: File,
		Children: []Child{{Format: "warp_sqlite", Role: "warp-surface-database", File: true}},
	},
	{
		ID: "codebuddy", CLIName: "codebuddy", Aliases: []string{"code-buddy", "code_buddy"},
		Formats: []string{"codebuddy_history_json"}, Expander: exactSource, RootIs: Directory,
		Children: []Child{{Format: "codebuddy_history_json", Role: "codebuddy-history"}},
	},
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
