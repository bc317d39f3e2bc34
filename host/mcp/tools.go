package mcp

import (
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/plain"
	"github.com/agenthistory/ctx/host/search"
)

// tool is one entry of the announcement and what runs behind it.
type tool struct {
	name, title, about string
	properties         []property
	exclusive          []string // arguments that exclude each other
	recorded           bool     // it gives out what was recorded
	run                func(*Server, context.Context, arguments, *frame) (*answer, error)
}

const private = " The result is private local history; the host may log or forward it."

// tools in their public order.
var tools = []tool{
	{
		name: "status", title: "Status", run: (*Server).status,
		about: "Status of the local history index: what is indexed, how current it is, what serves it. The same object as `ctx status --format json`. Changes nothing." + private,
	},
	{
		name: "sources", title: "Sources", run: (*Server).sources,
		about: "The agent history sources found on this machine, with the names that search.source_roots and search.source_groups take." + private,
	},
	{
		name: "search", title: "Search", run: (*Server).search, recorded: true,
		about: "Search the indexed history of coding agents: messages, tool calls and tool results, of primary and subagent sessions. Rare words count more, and in short queries events with every word come first. " +
			"Read on with show_session or show_event. Pass compact:true for short rows (ids, title, time, a snippet of 160 characters)." + private,
		exclusive: []string{"content_scope", "event_type"},
		properties: []property{
			{name: "query", kind: text, preset: "", about: "Words to find; required unless file is given. Narrowed by \"exact words\", a NEAR b, -word, begin*, and file: cmd: tool: role: provider: branch: before a value; any other text is plain words."},
			{name: "limit", kind: integer, low: 1, high: search.MaxLimit, preset: search.DefaultLimit, about: "Most results. Left out, the answer also stays within 40,000 bytes (12,000 when compact); result_window tells whether there are more."},
			{name: "provider", kind: text, enum: providerNames(), open: true, about: "Only this provider."},
			{name: "source_roots", kind: names, about: "Only these named roots; one OR set with source_groups. Names as in the sources tool."},
			{name: "source_groups", kind: names, about: "Only these groups of named roots; one OR set with source_roots."},
			{name: "history_source", kind: text, about: "Only this custom source, provider_key/source_id."},
			{name: "provider_key", kind: text, about: "Only this custom provider key."},
			{name: "source_id", kind: text, about: "Only this custom source id."},
			{name: "source_format", kind: text, about: "Only this source format."},
			{name: "workspace", kind: text, about: "Only sessions in directories whose path contains this text."},
			{name: "since", kind: text, about: "Only events since an RFC 3339 time or this many days back, such as 7d."},
			{name: "primary_only", kind: boolean, preset: false, about: "Leave the work of subagents out; only for a deliberately narrow search."},
			{name: "content_scope", kind: text, enum: []string{"all", "transcript", "calls", "outputs"}, preset: "all", about: "Part of the history to search; not together with event_type."},
			{name: "event_type", kind: text, enum: search.EventTypes, about: "Only events of this type; not together with content_scope."},
			{name: "file", kind: text, about: "Only events about files whose path contains this text; required unless query is given."},
			{name: "session", kind: text, about: "Only this session: a ctx session id or its first 8 to 32 hex digits. Gives event rows."},
			{name: "events", kind: boolean, preset: false, about: "One row an event instead of one a session."},
			{name: "include_current_session", kind: boolean, preset: false, about: "Accepted and without effect: no session is left out here."},
			{name: "backend", kind: text, enum: []string{"hybrid", "semantic", "lexical"}, about: "Retrieval; left out: hybrid where local semantic search is on, else lexical."},
			{name: "semantic_weight", kind: number, high: 1, preset: search.DefaultWeight, about: "Weight of the semantic part of hybrid retrieval."},
			{name: "compact", kind: boolean, hidden: true, about: "Short rows: no compatibility members, lineage and suggested commands, snippets of 160 characters."},
		},
	},
	{
		name: "show_session", title: "Show Session", run: (*Server).showSession, recorded: true,
		about: "Read one page of a stored session transcript. While pagination.has_more is true, call again with the same ctx_session_id and mode and cursor set to pagination.next_cursor. " +
			"After cursor_stale start again without a cursor." + private,
		properties: []property{
			{name: "ctx_session_id", kind: text, required: true, about: "ctx session id, or its first 8 to 32 hex digits."},
			{name: "mode", kind: text, enum: []string{"full", "lite", "log"}, preset: "lite", about: "lite: what was asked and the last answer to it; full: every message; log: every event with tool calls and results."},
			{name: "limit", kind: integer, low: 1, high: history.MaxPageEvents, preset: history.DefaultPageEvents, about: "Most events of this page."},
			{name: "cursor", kind: text, longest: history.MaxSessionCursor, about: "next_cursor of the page before. Opaque: copy it, never build it."},
			maxBytes,
		},
	},
	{
		name: "show_event", title: "Show Event", run: (*Server).showEvent, recorded: true,
		about: "Read one stored event completely, with its neighbours in the same session if wanted." + private,
		properties: []property{
			{name: "ctx_event_id", kind: text, required: true, about: "ctx event id, or its first 8 to 32 hex digits."},
			{name: "before", kind: integer, high: history.MaxNeighbours, preset: 0, about: "Events before it."},
			{name: "after", kind: integer, high: history.MaxNeighbours, preset: 0, about: "Events after it."},
			{name: "window", kind: integer, high: history.MaxNeighbours, about: "Events on both sides, in place of before and after."},
		},
	},
	{
		name: "query_events", title: "Query Events", run: (*Server).queryEvents, recorded: true,
		about: "Read one page of the stored events in order of time, with exact filters. While next_cursor is not null, call again with the same filters and cursor set to it. " +
			"Where an event is too large, use content text or none, or the command `ctx list events --format jsonl`." + private,
		properties: []property{
			{name: "since", kind: text, about: "First time, RFC 3339 in whole milliseconds; only together with until."},
			{name: "until", kind: text, about: "End of the range, not included; only together with since."},
			{name: "providers", kind: list, about: "Only these internal provider ids."},
			{name: "source", kind: text, about: "Full ctx source id."},
			{name: "history_source", kind: text, about: "Custom source, provider_key/source_id."},
			{name: "provider_key", kind: text, about: "Custom provider key."},
			{name: "source_id", kind: text, about: "Custom source id."},
			{name: "source_format", kind: text, about: "Source format."},
			{name: "provider_session", kind: text, about: "The provider's own session id."},
			{name: "session", kind: text, about: "Full ctx session id."},
			{name: "parent_session", kind: text, about: "Full ctx id of the parent session."},
			{name: "root_session", kind: text, about: "Full ctx id of the root session."},
			{name: "branch", kind: text, about: "Branch, exact."},
			{name: "workspace", kind: text, about: "Part of a directory."},
			{name: "event_type", kind: text, about: "Event type, exact."},
			{name: "role", kind: text, about: "Role, exact."},
			{name: "agent_type", kind: text, about: "primary, subagent, or the provider's own agent name, exact."},
			{name: "file", kind: text, about: "Part of a file path."},
			{name: "scope", kind: text, enum: []string{"all", "primary", "subagent"}, preset: "all", about: "Sessions."},
			{name: "direction", kind: text, enum: []string{"ascending", "descending"}, preset: "ascending", about: "Order of time."},
			{name: "cursor", kind: text, about: "next_cursor of the page before. Opaque: copy it, never build it."},
			{name: "limit", kind: integer, low: 1, high: 10_000_000, preset: 10_000, about: "Most events; a page has at most 100."},
			{name: "content", kind: text, enum: []string{"full", "text", "none"}, preset: "full", about: "How much of each event."},
			maxBytes,
		},
	},
}

var maxBytes = property{name: "max_bytes", kind: integer, low: 4096, high: maxLine, preset: maxLine, about: "Most bytes of the response line; pages end earlier to keep it."}

// providerNames are the public names and the internal ids of all providers.
func providerNames() []string {
	var all []string
	for _, p := range config.Providers {
		all = append(all, p.ID, p.CLIName)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// announcement is the entry of tools/list.
func (t *tool) announcement() *sdk.Tool {
	schema := map[string]any{"type": "object", "additionalProperties": false}
	properties, required := map[string]any{}, []string{}
	for i := range t.properties {
		p := &t.properties[i]
		if p.hidden {
			schema["patternProperties"] = map[string]any{"^" + p.name + "$": p.schema()}
			continue
		}
		properties[p.name] = p.schema()
		if p.required {
			required = append(required, p.name)
		}
	}
	schema["properties"], schema["required"] = properties, required
	if t.exclusive != nil {
		schema["not"] = map[string]any{"required": t.exclusive}
	}
	raw, err := plain.JSON(schema)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.about, InputSchema: json.RawMessage(raw),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}
}
