package claude

import (
	"context"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
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

// parallelSources bounds the files read at once, and with it the memory.
const parallelSources = 4

// provider implements sdkplugin.Provider.
type provider struct {
	scanners sync.Pool
	work     *jsonl.Work // counts files and bytes, for tests
}

// New returns the provider of Claude Code.
func New() sdkplugin.Provider { return newProvider(nil) }

func newProvider(work *jsonl.Work) *provider {
	p := &provider{work: work}
	p.scanners.New = func() any { return new(scanner) }
	return p
}

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
		Limits: &sdkplugin.ProviderLimits{
			MaxRecordBytes: jsonl.MaxLine, MaxSources: jsonl.MaxFiles, MaxDirectories: jsonl.MaxDirectories, MaxDepth: jsonl.MaxDepth,
			ParallelSources: parallelSources, MemoryBytes: 200 << 20,
		},
		ExactPaths: []*sdkplugin.PathRule{
			{NameGlob: "*" + transcriptSuffix, PathKind: sdkplugin.PathFile, Format: formatName, Role: routeRole},
			{NameGlob: "*", PathKind: sdkplugin.PathDirectory, Suffix: projectsDir, Format: formatName, Role: routeRole},
		},
	}
}
