// Package claude reads the history of Claude Code.
//
// Vocabulary. The projects container is the directory `projects` of a Claude home; each directory in it holds the sessions of
// one project and is named after the encoded working directory, the slug. A transcript is one `.jsonl` file: the main session
// of a root id, or an agent of that root (a subagent, or a workflow subagent that belongs to a run). A record is one JSON
// object of a transcript, normally one line. Chain records (user, assistant, system, attachment, progress) carry the
// conversation; bookkeeping records carry titles, modes and other state. A block is one element of message.content.
// A sidecar is a small file beside a transcript: the description of an agent (`agent-<id>.meta.json`), the title of a session
// (`<session id>/custom-title.json`).
//
// Claude Code publishes no contract for these files. Every field is optional here and every vocabulary is open: what is
// unknown and carries text becomes a notice, what is unknown and carries none is ignored.
//
// One line is parsed once, into one reusable document. Text that a structured value holds travels as a span of that value;
// client-side copies of results (whole files before and after an edit) are passed over without being touched.
package claude

import (
	"context"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
)

// Labels of what is stored. A new parser revision makes the host read every source again; ids stay.
const (
	formatName     = "claude_projects_jsonl_tree"
	schemaVariant  = "claude-nativepath-jsonl-v6"
	parserRevision = "claude-shared-jsonl-core-activity-v1"
	routeRole      = "claude-projects"
	configDirEnv   = "CLAUDE_CONFIG_DIR"
	sessionEnv     = "CLAUDE_CODE_SESSION_ID"
	version        = "1.0.0"
)

// scanners keeps the memory of scans for the next.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// provider implements sdkplugin.Provider.
type provider struct {
	work *jsonl.Work // counts files and bytes, for tests
}

// New returns the provider of Claude Code.
func New() sdkplugin.Provider { return &provider{} }

// Describe says where Claude Code keeps its history and what it is called.
func (p *provider) Describe(_ context.Context, _ sdkplugin.DescribeRequest, resp *sdkplugin.DescribeResponse) {
	probe := &sdkplugin.Probe{Globs: []string{"*/**/*.jsonl"}}
	place := func(l *sdkplugin.Location) *sdkplugin.Location {
		l.Format, l.Role, l.PathKind, l.Probe = formatName, routeRole, sdkplugin.PathDirectory, probe
		return l
	}
	*resp = sdkplugin.DescribeResponse{
		Id:             providerID,
		CliName:        "claude",
		Aliases:        []string{"claude-code"},
		DisplayName:    "Claude Code",
		Version:        version,
		ParserRevision: parserRevision,
		Formats: []*sdkplugin.Format{{
			Name: formatName, SchemaVariant: schemaVariant, IdentityVersion: 1, ParserRevision: parserRevision,
			Family: sdkplugin.JSONLTranscript, ImportSupport: sdkplugin.ImportNative,
		}},
		Root: &sdkplugin.RootCapability{
			PathKind: sdkplugin.PathDirectory, Expander: "claude_home_v1",
			Children: []*sdkplugin.RootChild{{
				Suffix: projectsDir, Format: formatName, Role: routeRole, PathKind: sdkplugin.PathDirectory,
			}},
		},
		Locations: []*sdkplugin.Location{
			place(&sdkplugin.Location{
				Env: configDirEnv, EnvList: true, Suffix: projectsDir, Mode: sdkplugin.OverrideLocation,
			}),
			place(&sdkplugin.Location{
				Base: sdkplugin.HomeDir, Suffix: ".claude/" + projectsDir, Mode: sdkplugin.DefaultLocation,
			}),
			place(&sdkplugin.Location{
				Base: sdkplugin.HomeDir, Suffix: ".config/claude/" + projectsDir, Mode: sdkplugin.BesideLocation,
			}),
		},
		CurrentSession: &sdkplugin.CurrentSession{SessionEnv: sessionEnv},
		Resume: &sdkplugin.ResumeCommand{
			Argv: []string{"claude", "--resume", "{provider_session_id}"}, InCwd: true, PrimaryOnly: true,
		},
		Limits: listing.Limits(),
		ExactPaths: []*sdkplugin.PathRule{
			{NameGlob: "*" + transcriptSuffix, PathKind: sdkplugin.PathFile, Format: formatName, Role: routeRole},
			{NameGlob: "*", PathKind: sdkplugin.PathDirectory, Suffix: projectsDir, Format: formatName, Role: routeRole},
		},
	}
}
