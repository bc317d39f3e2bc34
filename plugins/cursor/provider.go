package cursor

import (
	"context"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Labels of what is stored. A new parser revision makes the host read every source again; ids stay.
const (
	transcriptFormat   = "cursor_agent_transcript_jsonl_tree"
	transcriptLeaf     = "cursor_agent_transcript_jsonl"
	transcriptVariant  = "cursor-agent-transcript-jsonl-v1"
	transcriptRevision = "cursor-shared-jsonl-core-activity-v1"
	storeFormat        = "cursor_cli_store_sqlite"
	storeVariant       = "cursor-cli-store-sqlite-v1"
	stateFormat        = "cursor_ide_state_vscdb"
	stateVariant       = "cursor-ide-state-vscdb-v1"
	storeRevision      = "cursor-sqlite-core-activity-v1"
	transcriptsRole    = "cursor-projects"
	storeRole          = "cursor-cli-store"
	stateRole          = "cursor-ide-state"
	version            = "1.0.0"
)

// parallelSources bounds the sources read at once, and with it the memory.
const parallelSources = 4

// provider implements sdkplugin.Provider.
type provider struct {
	scanners sync.Pool
	work     *jsonl.Work // counts files and bytes, for tests

	mutex   sync.Mutex
	library *library // of the last inventory
}

// New returns the provider of Cursor.
func New() sdkplugin.Provider { return newProvider(nil) }

func newProvider(work *jsonl.Work) *provider {
	p := &provider{work: work}
	p.scanners.New = func() any { return new(scanner) }
	return p
}

func (p *provider) keep(l *library) {
	p.mutex.Lock()
	p.library = l
	p.mutex.Unlock()
}

// libraryOf returns what the last inventory of the same routes found, or looks again.
func (p *provider) libraryOf(ctx context.Context, routes []sdkplugin.Route) (*library, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	same := func(a, b sdkplugin.Route) bool { return a.Path == b.Path && string(a.Lineage) == string(b.Lineage) }
	if p.library != nil && slices.EqualFunc(p.library.routes, routes, same) {
		return p.library, nil
	}
	l, err := p.look(ctx, routes)
	if err == nil {
		p.library = l
	}
	return l, err
}

// places are the directories of Cursor, by what overrides what.
func places(suffix, format, role, slot string, globs ...string) []*sdkplugin.Location {
	all := []*sdkplugin.Location{
		{Env: "CURSOR_DATA_DIR", Suffix: suffix}, {Env: "CURSOR_CONFIG_DIR", Suffix: suffix},
		{Base: sdkplugin.HomeDir, Suffix: ".cursor/" + suffix},
	}
	for _, l := range all {
		l.Format, l.Role, l.Slot, l.PathKind = format, role, slot, sdkplugin.PathDirectory
		l.Probe = &sdkplugin.Probe{Globs: globs}
		if l.Env != "" {
			l.Mode, l.BlankIsUnset, l.Relative = sdkplugin.OverrideLocation, true, sdkplugin.FromWorkingDir
		}
	}
	return all
}

// Describe says where Cursor keeps its histories and what it is called.
func (p *provider) Describe(_ context.Context, _ sdkplugin.DescribeRequest, resp *sdkplugin.DescribeResponse) {
	format := func(name, leaf, variant, revision string, d *sdkplugin.Format) *sdkplugin.Format {
		d.Name, d.Leaf, d.SchemaVariant, d.ParserRevision = name, leaf, variant, revision
		d.IdentityVersion, d.ImportSupport = 1, sdkplugin.ImportNative
		return d
	}
	*resp = sdkplugin.DescribeResponse{
		Id: providerID, CliName: providerID, DisplayName: "Cursor", Version: version, ParserRevision: transcriptRevision,
		Formats: []*sdkplugin.Format{
			format(transcriptFormat, transcriptLeaf, transcriptVariant, transcriptRevision, &sdkplugin.Format{Family: sdkplugin.JSONLTranscript}),
			format(storeFormat, storeFormat, storeVariant, storeRevision, &sdkplugin.Format{Family: sdkplugin.SQLiteEncoded}),
			format(stateFormat, stateFormat, stateVariant, storeRevision, &sdkplugin.Format{Family: sdkplugin.SQLiteMessages}),
		},
		Root: &sdkplugin.RootCapability{
			PathKind: sdkplugin.PathDirectory,
			Children: []*sdkplugin.RootChild{{Format: transcriptFormat, Role: transcriptsRole, PathKind: sdkplugin.PathDirectory}},
		},
		Limits: &sdkplugin.ProviderLimits{
			MaxRecordBytes: jsonl.MaxLine, MaxSources: jsonl.MaxFiles, MaxDirectories: jsonl.MaxDirectories, MaxDepth: jsonl.MaxDepth,
			ParallelSources: parallelSources, MemoryBytes: 200 << 20,
		},
	}
	resp.Locations = slices.Concat(
		places(projectsDir, transcriptFormat, transcriptsRole, transcriptsRole,
			"*/"+transcriptsDir+"/**/*"+lineSuffix, "*/"+transcriptsDir+"/**/*"+plainSuffix),
		places(chatsDir, storeFormat, storeRole, storeRole+"-"+chatsDir, "*/*/"+storeName),
		[]*sdkplugin.Location{linuxChats()},
		places(acpDir, storeFormat, storeRole, storeRole+"-"+acpDir, "*/"+storeName),
		[]*sdkplugin.Location{{
			Base: sdkplugin.ConfigDir, Suffix: "Cursor/User", Format: stateFormat, Role: stateRole, PathKind: sdkplugin.PathDirectory,
			Probe: &sdkplugin.Probe{Globs: []string{globalDir + "/" + stateName, workspacesDir + "/*/" + stateName}},
		}},
	)
	for _, rule := range [...][3]string{
		{"*" + lineSuffix, transcriptFormat, transcriptsRole}, {"*" + plainSuffix, transcriptFormat, transcriptsRole},
		{storeName, storeFormat, storeRole}, {stateName, stateFormat, stateRole},
	} {
		resp.ExactPaths = append(resp.ExactPaths, &sdkplugin.PathRule{
			NameGlob: rule[0], PathKind: sdkplugin.PathFile, Format: rule[1], Role: rule[2],
		})
	}
	resp.ExactPaths = append(resp.ExactPaths, &sdkplugin.PathRule{
		NameGlob: "*", PathKind: sdkplugin.PathDirectory, Suffix: projectsDir, Format: transcriptFormat, Role: transcriptsRole,
	})
}

// linuxChats is where some builds for Linux keep the chats of the command line.
func linuxChats() *sdkplugin.Location {
	l := &sdkplugin.Location{
		Base: sdkplugin.ConfigDir, Suffix: "cursor/" + chatsDir, Format: storeFormat, Role: storeRole, Slot: storeRole + "-" + chatsDir,
		Mode: sdkplugin.BesideLocation, PathKind: sdkplugin.PathDirectory, Probe: &sdkplugin.Probe{Globs: []string{"*/*/" + storeName}},
	}
	l.Platforms = append(l.Platforms, sdkplugin.Linux)
	return l
}
