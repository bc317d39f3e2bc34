package main

import (
	"context"
	"path"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
)

// Names that are part of public ids, or stored with every event. They never change; when the mapping does, parserRevision does.
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
	inventory := listing.Listing{Ctx: ctx}
	var found []sdkplugin.Source
	for index, route := range req.Routes {
		entries, state, err := inventory.Tree(index, jsonl.Walk{
			Route:   route.Path,
			Match:   func(locator string) bool { return strings.Count(locator, "/") == 1 && path.Ext(locator) == ".jsonl" },
			Descend: func(locator string) bool { return !strings.Contains(locator, "/") },
		})
		if err != nil {
			return err
		}
		inventory.States = append(inventory.States, state)
		for _, entry := range entries {
			id, seen := sessionID(entry.Locator), entry.Observation
			found = append(found, sdkplugin.Source{
				Route: index, Anchor: sdkplugin.NativeAnchor(sessionSpace, sdkplugin.Utf8(id)), Format: format, Locator: entry.Locator,
				Observation: seen.Token(), Size: seen.Size, ModTimeNS: seen.MtimeNS, FileID: seen.FileID, ProviderSessionID: id,
			})
		}
	}
	return inventory.Give(out, len(found), func(i int) sdkplugin.Source { return found[i] })
}

// sessionID is the agent's own id of a session: the name of its file. It is unique over all notebooks, so a file that moves to
// another notebook stays the same session.
func sessionID(locator string) string { return strings.TrimSuffix(path.Base(locator), ".jsonl") }
