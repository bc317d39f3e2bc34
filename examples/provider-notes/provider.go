package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Names that are part of public ids, or stored with every event. They never
// change; when the mapping does, parserRevision does.
const (
	format         = "notes_jsonl_tree"
	role           = "notes-notebooks"
	sessionKind    = "notes-session"
	eventKind      = "notes-event"
	sessionSpace   = "notes.session"
	eventSpace     = "notes.event"
	parserRevision = "notes-jsonl-1"
)

type provider struct{}

// Describe says what the provider reads and where it lies.
func (provider) Describe(_ context.Context, _ sdkplugin.DescribeRequest, d *sdkplugin.DescribeResponse) {
	d.Id, d.DisplayName, d.Version, d.ParserRevision = "notes", "Notes", "1.0.0", parserRevision
	d.Formats = []*sdkplugin.Format{{Name: format, SchemaVariant: "notes-jsonl-v1", Family: sdkplugin.JSONLTranscript}}
	anyNote := &sdkplugin.Probe{Globs: []string{"*/*.jsonl"}, MaxDepth: 2}
	d.Locations = []*sdkplugin.Location{
		// $NOTES_HOME wins over the home directory.
		{Env: "NOTES_HOME", Suffix: "notebooks", Format: format, Role: role, Mode: sdkplugin.OverrideLocation, Probe: anyNote},
		{Base: sdkplugin.HomeDir, Suffix: ".notes/notebooks", Format: format, Role: role, Probe: anyNote},
	}
	// `ctx sources add work --provider notes --root /some/notebooks`
	d.Root = &sdkplugin.RootCapability{
		PathKind: sdkplugin.PathDirectory,
		Children: []*sdkplugin.RootChild{{Format: format, Role: role, PathKind: sdkplugin.PathDirectory}},
	}
	d.CurrentSession = &sdkplugin.CurrentSession{SessionEnv: "NOTES_SESSION_ID"}
	d.Resume = &sdkplugin.ResumeCommand{Argv: []string{"notes", "--continue", "{provider_session_id}"}, InCwd: true}
}

// Inventory lists <notebook>/<session>.jsonl below every route.
func (provider) Inventory(ctx context.Context, req sdkplugin.InventoryRequest, out *sdkplugin.InventoryWriter) error {
	for index, route := range req.Routes {
		state, err := list(ctx, index, route, out)
		if err != nil {
			return err
		}
		out.Route(index, state)
	}
	return nil
}

func list(ctx context.Context, index int, route sdkplugin.Route, out *sdkplugin.InventoryWriter) (sdkplugin.RouteState, error) {
	if _, err := os.Stat(route.Path); errors.Is(err, fs.ErrNotExist) {
		return sdkplugin.RouteMissing, nil
	}
	tree, err := jsonl.Walk{
		Route:   route.Path,
		Match:   func(locator string) bool { return strings.Count(locator, "/") == 1 && path.Ext(locator) == ".jsonl" },
		Descend: func(locator string) bool { return !strings.Contains(locator, "/") },
	}.Run(ctx)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil { // not a directory, not readable, or too big
		out.Diagnostics.AddError("notebooks_unreadable", "the notebooks could not be listed")
		return sdkplugin.RouteUnreadable, nil
	}
	out.Walked(tree.Directories, uint64(len(tree.Entries)), tree.SkippedLinks)
	for _, entry := range tree.Entries {
		id := sessionID(entry.Locator)
		err := out.Source(sdkplugin.Source{
			Route: index, Anchor: sdkplugin.NativeAnchor(sessionSpace, sdkplugin.Utf8(id)), Format: format,
			Locator: entry.Locator, Observation: entry.Observation.Token(), Size: entry.Observation.Size,
			ModTimeNS: entry.Observation.MtimeNS, FileID: entry.Observation.FileID, ProviderSessionID: id,
		})
		if errors.Is(err, sdkplugin.ErrTooManySources) {
			return sdkplugin.RouteIncomplete, nil
		}
		if err != nil {
			return 0, err
		}
	}
	if len(tree.Problems) > 0 {
		return sdkplugin.RouteIncomplete, nil
	}
	return sdkplugin.RouteComplete, nil
}

// sessionID is the agent's own id of a session: the name of its file. It is
// unique over all notebooks, so a file that moves to another notebook stays the
// same session.
func sessionID(locator string) string { return strings.TrimSuffix(path.Base(locator), ".jsonl") }
