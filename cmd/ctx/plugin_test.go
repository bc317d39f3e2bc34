package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agenthistory/ctx/plugins/claude"
	"github.com/agenthistory/ctx/sdkplugin"
)

// servePlugin is the first argument that makes the test program a third-party plugin.
const servePlugin = "serve-plugin"

// parrot is a third-party provider: it reads files as the Claude provider does, at a place of its own.
type parrot struct{ sdkplugin.Provider }

func (p parrot) Describe(ctx context.Context, req sdkplugin.DescribeRequest, d *sdkplugin.DescribeResponse) {
	p.Provider.Describe(ctx, req, d)
	format, role, probe := d.Locations[0].Format, d.Locations[0].Role, d.Locations[0].Probe
	d.Id, d.CliName, d.DisplayName, d.Aliases = "parrot", "parrot", "Parrot", []string{"polly"}
	d.Environment = []string{"PARROT_HOME", "PARROT_API_KEY"}
	d.Locations = []*sdkplugin.Location{
		{Env: "PARROT_HOME", Suffix: "projects", Format: format, Role: role, Probe: probe, Mode: sdkplugin.OverrideLocation},
		{Base: sdkplugin.HomeDir, Suffix: ".parrot/projects", Format: format, Role: role, Probe: probe},
	}
}

// seeker is a parrot that finds its places by itself, well or badly.
type seeker struct {
	parrot
	manner string
}

func (s seeker) Resolve(ctx context.Context, req *sdkplugin.ResolveRequest, resp *sdkplugin.ResolveResponse) error {
	found := filepath.Join(req.GetHome(), "nest", "projects")
	switch s.manner {
	case "crash":
		os.Exit(3)
	case "hang":
		<-ctx.Done()
		select {}
	case "flood":
		for range 100_000 {
			resp.Issues = append(resp.Issues, &sdkplugin.Issue{Code: "selector_unreconstructible", Message: strings.Repeat("x", 100)})
		}
	case "lie":
		resp.Candidates = []*sdkplugin.Candidate{{Path: found, Format: "undeclared"}, {Path: "/proc", Format: "claude_projects_jsonl_tree"}}
		resp.Issues = []*sdkplugin.Issue{{Code: "made_up", Message: "see " + found}}
	default:
		resp.Candidates = []*sdkplugin.Candidate{{Path: found, Format: "claude_projects_jsonl_tree", Role: "parrot-nest"}}
	}
	return nil
}

// playPlugin serves the plugin of a mode and reports whether it was asked to.
func playPlugin() bool {
	if len(os.Args) != 3 || os.Args[1] != servePlugin {
		return false
	}
	plain := parrot{claude.New()}
	switch os.Args[2] {
	case "parrot":
		sdkplugin.Serve(plain)
	case "claude":
		sdkplugin.Serve(claude.New()) // a name that is taken
	default:
		sdkplugin.Serve(seeker{plain, os.Args[2]})
	}
	return true
}

// installPlugin: plugin NAME MODE puts a manifest for the test program into the data root, as an installation would.
func installPlugin(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: plugin name mode")
	}
	program, err := os.Executable()
	ts.Check(err)
	text, err := json.Marshal(map[string]any{
		"schema_version": 1, "name": args[0], "display_name": "The " + args[0], "version": "1.0", "protocol": 1,
		"executable": program, "args": []string{servePlugin, args[1]},
	})
	ts.Check(err)
	dir := filepath.Join(ts.Getenv("CTX_DATA_ROOT"), "plugins", args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "ctx-provider.json"), text, 0o600))
}
