package listing

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

func TestLook(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		state     sdkplugin.RouteState
		directory bool
	}{
		dir: {sdkplugin.RouteComplete, true}, file: {sdkplugin.RouteComplete, false},
		filepath.Join(dir, "missing"): {sdkplugin.RouteMissing, false},
	} {
		if state, directory := look(path); state != want.state || directory != want.directory {
			t.Errorf("%s: %v, %v", path, state, directory)
		}
	}
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.x", "b.y", "c.x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := &Listing{Ctx: context.Background()}
	match := func(name string) bool { return filepath.Ext(name) == ".x" }
	entries, state, err := l.Tree(0, jsonl.Walk{Route: dir, Match: match})
	if err != nil || state != sdkplugin.RouteComplete || len(entries) != 2 || l.Files != 2 || l.Directories != 1 {
		t.Errorf("%d entries, state %v, %+v, %v", len(entries), state, l, err)
	}
	if _, state, err := l.Tree(1, jsonl.Walk{Route: filepath.Join(dir, "missing"), Match: match}); err != nil || state != sdkplugin.RouteMissing {
		t.Errorf("a missing route: %v, %v", state, err)
	}
	_, state, err = l.Tree(2, jsonl.Walk{Route: dir, Match: match, MaxFiles: 1})
	if err != nil || state != sdkplugin.RouteUnreadable || len(l.Diagnostics) != 1 || l.Diagnostics[0].Route != 2 {
		t.Errorf("a tree beyond a bound: %v, %+v, %v", state, l.Diagnostics, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := (&Listing{Ctx: ctx}).Tree(0, jsonl.Walk{Route: dir, Match: match}); err == nil {
		t.Error("no error of a cancelled context")
	}
}
