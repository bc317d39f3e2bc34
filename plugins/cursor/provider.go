// Package cursor reads the history of Cursor: of its editor and of its command line.
//
// Vocabulary. Cursor keeps a conversation, a session, in up to three stores. The transcripts are files below a project's
// `agent-transcripts` directory: JSON Lines now, plain text in older versions; the subagents of a session lie beside it. The CLI
// store is a small database a session, `store.db`, whose blobs are JSON messages, listed in order by root blobs. The editor's
// state is one large database, `state.vscdb`, with a head (`composerData`) for each session and one row for each bubble, a
// message or tool call. Databases of the workspaces tell which directory a session of the editor belongs to. A companion is
// what the other stores know of a session whose events come from one of them: a title, a directory, times, a model.
//
// A session is taken from exactly one store; the inventory, which sees all routes at once, decides which: the transcript, unless
// the editor's state holds more prompts, then the CLI store, then the editor's state. The ids of sessions are the same in all
// stores, those of events are not.
//
// Cursor documents none of this. Every field is optional and every vocabulary is open. The databases hold logins as well: only
// the rows of conversations are asked for, by their keys.
package cursor

import (
	"context"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
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

// scanners keeps the memory of scans for the next.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// provider implements sdkplugin.Provider.
type provider struct {
	work *jsonl.Work // counts files and bytes, for tests

	mutex   sync.Mutex
	library *library // of the last inventory
}

// New returns the provider of Cursor.
func New() sdkplugin.Provider { return &provider{} }

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
		Limits: listing.Limits(),
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
