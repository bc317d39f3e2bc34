package docs

func page(id, audience, title, summary string, tags ...string) Topic {
	return Topic{ID: id, Title: title, Audience: audience, Summary: summary, Tags: tags, SourcePath: "docs/" + id + ".md"}
}

var topics = []Topic{
	page("getting-started", "users", "Getting started", "Install, index, search: the shortest way to a first answer.", "install", "setup"),
	page("first-10-minutes", "users", "The first ten minutes", "A walk through the daily commands with what they print.", "tutorial"),
	page("search", "users", "Search", "How a query is read, what the filters do, how hits are ranked and what the notes mean.", "query", "filters", "ranking"),
	page("event-queries", "users", "Event queries", "Exact lists of events by time, session, type or file, page by page.", "events", "export"),
	page("sources", "users", "Sources", "Which histories are read, how to add and remove roots, and what the diagnostics mean.", "roots", "discovery"),
	page("retention", "users", "Retention", "What happens when an agent deletes its files: gone records stay, until you prune gone ones or forget a session.", "prune", "forget"),
	page("storage", "users", "Storage and privacy", "Where the index lies, what it holds, who can read it and how to delete it.", "privacy", "data-root"),
	page("threat-model", "users", "Threat model", "What ctx defends against, and what it does not.", "security"),
	page("troubleshooting", "users", "Troubleshooting", "What a message means and the one command that helps.", "errors"),
	page("limitations", "users", "Limitations", "What ctx does not do, or does not do yet.", "limits"),
	page("performance", "users", "Performance", "Measured speed and size, with the commands that make the figures.", "speed"),
	page("relevance", "developers", "Relevance", "How good the ranking is, on judged queries, and how that is measured.", "ranking-quality", "evaluation"),
	page("reliability", "users", "Reliability", "What was killed, filled up and taken away, how often, and what happened.", "faults", "crashes"),
	page("upgrade", "users", "Upgrade", "Moving to another version of ctx.", "versions"),
	page("unmanaged-installs", "users", "Installs without a package manager", "One binary, where to put it and how to remove it.", "uninstall"),
	page("agent-usage", "agents", "For agents", "How an agent should ask ctx, read the answers and cite them.", "citations"),
	page("agent-skill-install", "users", "Installing the skill", "The text that teaches an agent when to ask ctx, and where it goes.", "skills"),
	page("slash-command-integrations", "users", "Slash commands", "The command /ctx for agents that read prompt files.", "slash-commands"),
	page("mcp", "agents", "The MCP server", "Tools, paging, cursors, errors and privacy of ctx mcp serve.", "server", "tools"),
	page("mcp-integrations", "users", "MCP integrations", "Which clients are supported, their files, and snippets to paste.", "clients"),
	page("mcp-exchange-capture", "developers", "Capture of MCP exchanges", "What is kept of an MCP call that an agent made.", "activity"),
	page("mcp-tool-call-attribution", "developers", "Attribution of MCP tool calls", "When a call counts as MCP, and when it does not.", "attribution"),
	page("blame", "users", "Blame", "Tracing a line, a commit or a pull request to the session that made it.", "git"),
	page("providers", "users", "Providers", "The agents whose histories ctx reads, and the exactness of each.", "agents"),
	page("provider-support", "users", "Provider support", "What is captured for which agent.", "matrix"),
	page("provider-import-policy", "developers", "Import policy", "What a provider may read, keep, reject and ignore.", "policy"),
	page("history-source-plugins", "developers", "Writing a provider", "A provider plugin from the first line to a trusted install.", "plugins", "sdk"),
	page("custom-history-import-format", "developers", "Histories of your own", "Reading a history that no provider knows.", "custom"),
	page("sdks", "developers", "SDKs", "The plugin SDK and how programs read the answers of ctx.", "go"),
	page("json-contracts", "developers", "JSON contracts", "The shapes of machine output, versions and rules for readers.", "schema"),
	page("docs", "users", "This documentation", "How to list, search and show these pages.", "help"),
	page("cli-reference", "users", "Command reference", "Every command and flag, made from the program itself.", "commands", "flags"),
}
