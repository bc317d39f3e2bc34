package codex

import (
	"context"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
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

// parallelSources bounds the files read at once, and with it the memory.
const parallelSources = 4

// provider implements sdkplugin.Provider.
type provider struct {
	scanners sync.Pool
	work     *jsonl.Work // counts files and bytes, for tests

	mu    sync.Mutex
	homes map[homeKey]*home // as the last inventory saw them
}

// New returns the provider of Codex CLI.
func New() sdkplugin.Provider { return newProvider(nil) }

func newProvider(work *jsonl.Work) *provider {
	p := &provider{work: work}
	p.scanners.New = func() any { return new(scanner) }
	return p
}

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
		Limits: &sdkplugin.ProviderLimits{
			MaxRecordBytes: jsonl.MaxLine, MaxSources: jsonl.MaxFiles, MaxDirectories: jsonl.MaxDirectories, MaxDepth: jsonl.MaxDepth,
			ParallelSources: parallelSources, MemoryBytes: 200 << 20,
		},
		ExactPaths: []*sdkplugin.PathRule{
			{NameGlob: "*" + packedSuffix, PathKind: sdkplugin.PathFile, Format: leafFormat, Role: sessionsRole},
			{NameGlob: "*" + rawSuffix, PathKind: sdkplugin.PathFile, Role: sessionsRole},
			{NameGlob: "*", PathKind: sdkplugin.PathDirectory, Format: treeFormat, Role: sessionsRole},
		},
	}
}
