// Package codex reads the history of Codex CLI.
//
// Vocabulary. The home is the directory that Codex keeps everything in. A thread is one conversation, named by a UUID; a rollout
// is the file of a thread, raw JSON Lines or compressed with Zstandard, below `sessions` or, once archived, in
// `archived_sessions`. A home may hold several copies of one rollout; one of them is read. The owner of a file is the thread it
// belongs to: its own session_meta line says so, lines of other threads come with a history that was copied in.
//
// A line is an envelope: a time, a type and a payload. A terminal record is any record that ends a tool call; the first one of a
// call id carries the body of its result. A pending call is one whose result has not come. The inherited prefix is the history
// of the parent that a fork or resumed thread begins with; what equals the parent line by line is a copy of it. A wrapper is text
// that Codex itself puts into the user's place. The prompt log (history.jsonl) has one row for every prompt of every thread and
// counts only where no rollout exists.
package codex

import (
	"context"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
)

// Labels of what is stored. A new parser revision makes the host read every source again; ids stay.
const (
	treeFormat     = "codex_session_jsonl_tree"
	leafFormat     = "codex_session_jsonl"
	bareFormat     = "codex_bare_header_jsonl" // a name only: its sources carry leafFormat
	promptFormat   = "codex_history_jsonl"
	rolloutVariant = "codex-nativepath-jsonl-v0"
	bareVariant    = "codex-bare-header-jsonl-v0"
	promptVariant  = "codex-prompt-history-jsonl-v1"
	parserRevision = "codex-rollout-activity-v1"
	sessionsRole   = "codex-sessions"
	archivedRole   = "codex-archived-sessions"
	promptRole     = "codex-prompt-history"
	version        = "1.0.0"
)

// scanners keeps the memory of scans for the next.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// provider implements sdkplugin.Provider.
type provider struct {
	work *jsonl.Work // counts files and bytes, for tests

	mu    sync.Mutex
	homes map[homeKey]*home // as the last inventory saw them
}

// New returns the provider of Codex CLI.
func New() sdkplugin.Provider { return &provider{} }

// Describe says where Codex keeps its history and what it is called.
func (p *provider) Describe(_ context.Context, _ sdkplugin.DescribeRequest, resp *sdkplugin.DescribeResponse) {
	tree := &sdkplugin.Probe{Globs: []string{"**/*" + rawSuffix, "**/*" + packedSuffix}}
	places := []*sdkplugin.Location{
		{Suffix: sessionsDir, Format: treeFormat, Role: sessionsRole, PathKind: sdkplugin.PathDirectory, Probe: tree},
		{Suffix: archivedDir, Format: treeFormat, Role: archivedRole, PathKind: sdkplugin.PathDirectory, Probe: tree},
		{Suffix: promptFile, Format: promptFormat, Role: promptRole, PathKind: sdkplugin.PathFile},
	}
	root := &sdkplugin.RootCapability{PathKind: sdkplugin.PathDirectory, Expander: "codex_home_v1"}
	var locations []*sdkplugin.Location
	for _, l := range places {
		root.Children = append(root.Children,
			&sdkplugin.RootChild{Suffix: l.Suffix, Format: l.Format, Role: l.Role, PathKind: l.PathKind})
		locations = append(locations, &sdkplugin.Location{
			Env: "CODEX_HOME", Suffix: l.Suffix, Format: l.Format, Role: l.Role, PathKind: l.PathKind, Probe: l.Probe,
			Mode: sdkplugin.OverrideLocation, Relative: sdkplugin.FromWorkingDir, MustExist: true,
		}, &sdkplugin.Location{
			Base: sdkplugin.HomeDir, Suffix: ".codex/" + l.Suffix, Format: l.Format, Role: l.Role, PathKind: l.PathKind, Probe: l.Probe,
		})
	}
	format := func(name, leaf, variant string) *sdkplugin.Format {
		return &sdkplugin.Format{
			Name: name, Leaf: leaf, SchemaVariant: variant, IdentityVersion: 1, ParserRevision: parserRevision,
			Family: sdkplugin.JSONLTranscript, ImportSupport: sdkplugin.ImportNative,
		}
	}
	*resp = sdkplugin.DescribeResponse{
		Id: "codex", CliName: "codex", Aliases: []string{"codex-cli"}, DisplayName: "Codex", Version: version,
		ParserRevision: parserRevision,
		Formats: []*sdkplugin.Format{
			format(treeFormat, leafFormat, rolloutVariant),
			format(leafFormat, leafFormat, rolloutVariant),
			format(bareFormat, leafFormat, bareVariant),
			format(promptFormat, promptFormat, promptVariant),
		},
		Root:           root,
		Locations:      locations,
		CurrentSession: &sdkplugin.CurrentSession{SessionEnv: "CODEX_THREAD_ID"},
		Resume:         &sdkplugin.ResumeCommand{Argv: []string{"codex", "resume", "{provider_session_id}"}, InCwd: true, PrimaryOnly: true},
		Limits:         listing.Limits(),
		ExactPaths: []*sdkplugin.PathRule{
			{NameGlob: "*" + packedSuffix, PathKind: sdkplugin.PathFile, Format: leafFormat, Role: sessionsRole},
			{NameGlob: "*" + rawSuffix, PathKind: sdkplugin.PathFile, Role: sessionsRole},
			{NameGlob: "*", PathKind: sdkplugin.PathDirectory, Format: treeFormat, Role: sessionsRole},
		},
	}
}
