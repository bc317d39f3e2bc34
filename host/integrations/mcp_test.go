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
	return Where{Scope: Global, Home: t.TempDir(), WorkDir: t.TempDir(), Getenv: func(name string) string {
		for i := 0; i+1 < len(env); i += 2 {
			if env[i] == name {
				return env[i+1]
			}
		}
		return ""
	}}
}

// row is the one row of an operation about one agent.
func row[T any](t *testing.T, operation func() ([]T, error)) T {
	t.Helper()
	rows, err := operation()
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	return rows[0]
}

// Every client in every scope: add, add again, remove, remove again.
func TestEveryClient(t *testing.T) {
	t.Parallel()
	for _, scope := range []Scope{Global, Project} {
		for _, id := range Clients() {
			r := Request{Where: where(t), Agents: []string{id}}
			r.Scope = scope
			p := clientNamed(id).place(scope)
			path, detected := r.file(p)
			state := row(t, r.StatusMCP)
			if path == "" {
				if state.Supported || state.Status != Unsupported || row(t, r.InstallMCP).Success {
					t.Errorf("%s has no %s file: %+v", id, scope, state)
				}
				if done := row(t, r.RemoveMCP); !done.Success || *done.Modified || *done.Removed || done.Error != "" || done.Status != Unsupported {
					t.Errorf("%s has no entry in a %s file: %+v", id, scope, done)
				}
				continue
			}
			if detected || state.Status != Missing {
				t.Errorf("%s in an empty home: %+v", id, state)
			}
			if p.mustHave {
				if done := row(t, r.InstallMCP); done.Success || exists(path) {
					t.Errorf("%s: a file was made: %+v", id, done)
				}
				place1(t, path, "name: mine\n")
			}
			for i, want := range []bool{true, false} {
				done := row(t, r.InstallMCP)
				if !done.Success || *done.Modified != want || *done.Already == want || done.Status != Current {
					t.Errorf("%s, install %d: %+v", id, i, done)
				}
			}
			for i, want := range []bool{true, false} {
				done := row(t, r.RemoveMCP)
				if !done.Success || *done.Modified != want || *done.Removed != want || done.Status != Missing {
					t.Errorf("%s, remove %d: %+v", id, i, done)
				}
			}
		}
	}
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
	r := Request{Where: w, Agents: []string{"cursor"}, Backup: true}
	for range 2 { // the second backup gets another name
		if done := row(t, r.InstallMCP); !done.Success {
			t.Fatal(done.Error)
		}
		if done := row(t, r.RemoveMCP); !done.Success {
			t.Fatal(done.Error)
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

// A file that cannot be read as the client reads it is invalid, and the reason is one line that names no type of this program.
func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ id, text, why string }{
		{"cursor", "[]", "not valid: the document is no object"},
		{"cursor", "null", "not valid: the document is no object"},
		{"cursor", "{", "not valid: line 2, column 1: parsing value: unexpected EOF"},
		{"cursor", `{"mcpServers": [{"name": "ctx", "command": "ctx", "args": ["mcp", "serve"], "type": "stdio"}]}`, "mcpServers is not a table of servers"},
		{"codex", "[[mcp_servers]]\nname = \"ctx\"\ncommand = \"ctx\"\nargs = [\"mcp\", \"serve\"]\n", "mcp_servers is not a table of servers"},
		{"codex", "a = 1\na = 2\n", "not valid: line 2: toml: key a is already defined"},
		{"goose", "- a\n", "not valid: the document is no object"},
		{"goose", "a: 1\na: 2\n", `not valid: yaml: unmarshal errors: line 2: mapping key "a" already defined at line 1`},
		{"continue", "mcpServers:\n  ctx: {command: ctx, args: [mcp, serve]}\n", "mcpServers is not a table of servers"},
	} {
		r := Request{Where: where(t), Agents: []string{tc.id}, Force: true}
		path, _ := r.file(clientNamed(tc.id).place(Global))
		place1(t, path, tc.text)
		if s := row(t, r.StatusMCP); s.Status != Invalid || string(s.Error) != tc.why {
			t.Errorf("%s %q: %s %s", tc.id, tc.text, s.Status, s.Error)
		}
		if done := row(t, r.InstallMCP); done.Success || string(read(t, path)) != tc.text {
			t.Errorf("%s %q was changed: %+v", tc.id, tc.text, done)
		}
	}
}

// Replacing a file needs no right to write to it: what its owner protected, or linked to a place that is not there, stays.
func TestProtectedFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links and modes of Unix")
	}
	r := Request{Where: where(t), Agents: []string{"cursor"}, Force: true}
	readOnly := place1(t, filepath.Join(r.Home, ".cursor", "mcp.json"), "{}\n")
	if err := os.Chmod(readOnly, 0o400); err != nil {
		t.Fatal(err)
	}
	if done := row(t, r.InstallMCP); done.Success || string(read(t, readOnly)) != "{}\n" {
		t.Errorf("a read-only file was changed: %+v", done)
	}
	link := filepath.Join(r.Home, ".qwen", "settings.json")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(r.Home, "not", "mounted"), link); err != nil {
		t.Fatal(err)
	}
	r.Agents = []string{"qwen-code"}
	done := row(t, r.InstallMCP)
	if info, err := os.Lstat(link); done.Success || err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("a link was replaced: %+v %v", done, err)
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
		r := Request{Where: w, Agents: []string{id}}
		if got := string(row(t, r.StatusMCP).Path); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	r := Request{Where: w}
	if ids, err := r.clients(); err != nil || !slices.Equal(ids, []string{"codex", "claude-code"}) { // their directory exists
		t.Errorf("detected %v %v", ids, err)
	}
	r.Agents = []string{"claude", "codex", "claude-code"}
	if ids, err := r.clients(); err != nil || !slices.Equal(ids, []string{"claude-code", "codex"}) {
		t.Errorf("named twice: %v %v", ids, err)
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
	r := Request{Where: w, Agents: []string{"claude-code"}, Version: "1.2.3"}
	one := func() SkillState { return row(t, r.StatusSkills) }
	if s := one(); s.Status != Missing || s.Installed != "" {
		t.Errorf("%+v", s)
	}
	for i := range 2 {
		done := row(t, r.InstallSkills)
		if !done.Success || *done.Already != (i == 1) || *done.Updated {
			t.Errorf("%+v", done)
		}
	}
	s := one()
	if s.Status != Current || s.Metadata == nil || s.Metadata.Version != "1.2.3" || s.Metadata.Hash != string(s.Installed) {
		t.Errorf("%+v", s)
	}
	alias := Request{Where: w, Agents: []string{"claude"}}
	if state := row(t, alias.StatusSkills); state.Agent != "claude-code" {
		t.Errorf("an alias: %+v", state)
	}
	// the text of an older version is replaced, an edited one is not
	older := []byte("---\nname: ctx\n---\nolder\n")
	place1(t, filepath.Join(s.Path, skillFile), string(older))
	if got := one().Status; got != Modified {
		t.Errorf("edited: %s", got)
	}
	if done := row(t, r.InstallSkills); done.Success || done.Error == "" {
		t.Errorf("%+v", done)
	}
	place1(t, filepath.Join(s.Path, metadataFile), jsonText(Metadata{Schema: 1, Name: "ctx", Hash: hashOf(older), Version: "1"}))
	if got := one().Status; got != Stale {
		t.Errorf("older: %s", got)
	}
	if done := row(t, r.InstallSkills); !done.Success || !*done.Updated || one().Status != Current {
		t.Errorf("%+v", done)
	}
}

func TestSlashCommands(t *testing.T) {
	t.Parallel()
	w := where(t)
	r := Request{Where: w, All: true}
	rows, err := r.InstallSlash()
	if err != nil || len(rows) != len(slashAgents) {
		t.Fatal(rows, err)
	}
	for i, row := range rows {
		if written, err := os.ReadFile(string(row.Path)); !row.Success || err != nil || len(written) == 0 {
			t.Errorf("%d: %+v %v", i, row, err)
		}
	}
	path := filepath.Join(w.Home, ".gemini", "commands", "ctx.toml")
	if document, err := (tomlSyntax{}).decode(read(t, path)); err != nil || document["prompt"] == nil {
		t.Errorf("%v %v", document, err)
	}
	place1(t, path, "prompt = \"mine\"\n")
	r = Request{Where: w, Agents: []string{"gemini-cli"}}
	if done := row(t, r.InstallSlash); done.Success {
		t.Errorf("somebody's command was replaced: %+v", done)
	}
	r.Scope, r.Agents = Project, []string{"codex"}
	if _, err := r.InstallSlash(); err == nil {
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
