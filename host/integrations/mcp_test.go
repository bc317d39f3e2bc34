package integrations

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func place1(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return name
}

func where(t *testing.T, env ...string) Where {
	t.Helper()
	return Where{Home: t.TempDir(), WorkDir: t.TempDir(), Getenv: func(name string) string {
		for i := 0; i+1 < len(env); i += 2 {
			if env[i] == name {
				return env[i+1]
			}
		}
		return ""
	}}
}

// Every client in every scope: add, add again, remove, remove again.
func TestEveryClient(t *testing.T) {
	t.Parallel()
	for _, scope := range []Scope{Global, Project} {
		for _, id := range Clients() {
			w := where(t)
			p := clientNamed(id).place(scope)
			path, detected := w.file(p, scope)
			state := StatusMCP(w, scope, []string{id})[0]
			if path == "" {
				if state.Supported || state.Status != Unsupported || InstallMCP(w, scope, []string{id}, Options{})[0].Success {
					t.Errorf("%s has no %s file: %+v", id, scope, state)
				}
				continue
			}
			if detected || state.Status != Missing {
				t.Errorf("%s in an empty home: %+v", id, state)
			}
			if p.mustHave {
				if row := InstallMCP(w, scope, []string{id}, Options{})[0]; row.Success || exists(path) {
					t.Errorf("%s: a file was made: %+v", id, row)
				}
				place1(t, path, "name: mine\n")
			}
			for i, want := range []bool{true, false} {
				row := InstallMCP(w, scope, []string{id}, Options{})[0]
				if !row.Success || row.Modified != want || *row.Already == want || row.Status != Current {
					t.Errorf("%s, install %d: %+v %s", id, i, row, text(row.Error))
				}
			}
			for i, want := range []bool{true, false} {
				row := RemoveMCP(w, scope, []string{id}, Options{})[0]
				if !row.Success || row.Modified != want || *row.Removed != want || row.Status != Missing {
					t.Errorf("%s, remove %d: %+v %s", id, i, row, text(row.Error))
				}
			}
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestModeLinkAndBackup(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links and modes of Unix")
	}
	w := where(t)
	real := place1(t, filepath.Join(w.Home, "dotfiles", "cursor.json"), "{}\n")
	link := filepath.Join(w.Home, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second backup gets another name
		if row := InstallMCP(w, Global, []string{"cursor"}, Options{Backup: true})[0]; !row.Success {
			t.Fatal(text(row.Error))
		}
		if row := RemoveMCP(w, Global, []string{"cursor"}, Options{Backup: true})[0]; !row.Success {
			t.Fatal(text(row.Error))
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v %v", info, err)
	}
	if kept, err := os.ReadFile(real + ".ctx-backup"); err != nil || string(kept) != "{}\n" {
		t.Errorf("backup %q %v", kept, err)
	}
	if backups, _ := filepath.Glob(real + ".ctx-backup*"); len(backups) != 4 {
		t.Errorf("backups %v", backups)
	}
}

func TestAChangedFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := place1(t, filepath.Join(t.TempDir(), "a.json"), "{}")
	if err := replaceFile(path, []byte("{ }"), true, []byte("{1}"), false); err == nil {
		t.Error("a file that changed since it was read was overwritten")
	}
	if now, _ := os.ReadFile(path); string(now) != "{}" {
		t.Errorf("%q", now)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := where(t, "CODEX_HOME", dir, "CLAUDE_CONFIG_DIR", dir, "COPILOT_HOME", "relative", "MIMOCODE_HOME", dir)
	for id, want := range map[string]string{
		"codex": filepath.Join(dir, "config.toml"), "claude-code": filepath.Join(dir, ".claude.json"),
		"github-copilot": filepath.Join(w.Home, ".copilot", "mcp-config.json"), "mimocode": filepath.Join(dir, "config", "mimocode.jsonc"),
	} {
		if got := text(StatusMCP(w, Global, []string{id})[0].Path); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if ids, err := Targets(w, Global, nil, false); err != nil || !slices.Equal(ids, []string{"codex"}) { // its directory exists
		t.Errorf("detected %v %v", ids, err)
	}
}

func TestOurEntry(t *testing.T) {
	t.Parallel()
	want := clientNamed("cursor").entry
	args := []any{"mcp", "serve"}
	for _, tc := range []struct {
		entry any
		ours  bool
	}{
		{map[string]any{"type": "stdio", "command": "ctx", "args": args}, true},
		{map[string]any{"command": "ctx", "args": args, "env": map[string]any{"A": "b"}}, true},
		{map[string]any{"command": "/opt/ctx", "args": args}, false},
		{map[string]any{"command": "ctx", "args": []any{"mcp"}}, false},
		{map[string]any{"type": "http", "command": "ctx", "args": args}, false},
		{"ctx", false},
	} {
		if got := ours(want, tc.entry); got != tc.ours {
			t.Errorf("%v: %v", tc.entry, got)
		}
	}
}

func TestSkills(t *testing.T) {
	t.Parallel()
	w := where(t)
	one := func() SkillState { return StatusSkills(w, Global, []string{"claude-code"})[0] }
	if s := one(); s.Status != Missing || s.Installed != nil {
		t.Errorf("%+v", s)
	}
	for i := range 2 {
		row := InstallSkills(w, Global, []string{"claude-code"}, false, "1.2.3")[0]
		if !row.Success || row.Already != (i == 1) || row.Updated {
			t.Errorf("%+v", row)
		}
	}
	s := one()
	if s.Status != Current || s.Metadata == nil || s.Metadata.Version != "1.2.3" || s.Metadata.Hash != *s.Installed {
		t.Errorf("%+v", s)
	}
	// the text of an older version is replaced, an edited one is not
	older := []byte("---\nname: ctx\n---\nolder\n")
	place1(t, filepath.Join(s.Path, skillFile), string(older))
	if got := one().Status; got != Modified {
		t.Errorf("edited: %s", got)
	}
	if row := InstallSkills(w, Global, []string{"claude-code"}, false, "2")[0]; row.Success || row.Error == nil {
		t.Errorf("%+v", row)
	}
	place1(t, filepath.Join(s.Path, metadataFile), jsonText(Metadata{Schema: 1, Name: "ctx", Hash: hashOf(older), Version: "1"}))
	if got := one().Status; got != Stale {
		t.Errorf("older: %s", got)
	}
	if row := InstallSkills(w, Global, []string{"claude-code"}, false, "2")[0]; !row.Success || !row.Updated || one().Status != Current {
		t.Errorf("%+v", row)
	}
}

func TestSlashCommands(t *testing.T) {
	t.Parallel()
	w := where(t)
	ids, err := SlashTargets(w, Global, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range InstallSlash(w, Global, ids, false) {
		if written, err := os.ReadFile(row.Path); !row.Success || err != nil || len(written) == 0 {
			t.Errorf("%d: %+v %v", i, row, err)
		}
	}
	path := filepath.Join(w.Home, ".gemini", "commands", "ctx.toml")
	if document, err := (tomlSyntax{}).decode(read(t, path)); err != nil || document["prompt"] == nil {
		t.Errorf("%v %v", document, err)
	}
	place1(t, path, "prompt = \"mine\"\n")
	if row := InstallSlash(w, Global, []string{"gemini-cli"}, false)[0]; row.Success {
		t.Errorf("somebody's command was replaced: %+v", row)
	}
	if _, err := SlashTargets(w, Project, []string{"codex"}, false); err == nil {
		t.Error("Codex has no commands of a project")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
