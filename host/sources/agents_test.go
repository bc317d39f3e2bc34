package sources

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/config"
)

// delivered are the agents whose providers are part of the program: they say themselves where their histories are.
var delivered = []string{"claude", "codex", "cursor"}

// listed discovers one agent, without any provider, and returns its rows ("path below the home: status") and issue codes.
func (w *world) listed(id string, platform config.Platform) (rows, codes []string) {
	w.t.Helper()
	c := w.config()
	c.Environment = config.NewEnvironment(platform, w.home, filepath.Join(w.home, "work"), os.Geteuid(), func(name string) (string, bool) {
		v, ok := w.vars[name]
		return v, ok
	})
	d, err := Discover(context.Background(), Input{Config: c, Descriptions: w.described, Provider: id, Agents: true})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(d.Routes) > 0 {
		w.t.Errorf("%s: a route without a provider", id)
	}
	for _, r := range d.Rows {
		rel, err := filepath.Rel(w.home, r.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		told := filepath.ToSlash(rel) + ": " + string(r.Status)
		if r.StatusReason != "" {
			told += " " + string(r.StatusReason)
		}
		if r.Importable || r.NativeImport || r.SourceFormat == "" {
			w.t.Errorf("%s: %+v", id, r)
		}
		rows = append(rows, told)
	}
	for _, i := range d.Issues {
		codes = append(codes, i.Code)
	}
	return rows, codes
}

func TestAgentTable(t *testing.T) {
	t.Parallel()
	var strict []agent
	dec := json.NewDecoder(bytes.NewReader(agentTable))
	if dec.DisallowUnknownFields(); dec.Decode(&strict) != nil {
		t.Fatal("the table has a key that nothing reads")
	}
	seen := map[string]bool{}
	for i, a := range agents() {
		_, known := config.ProviderNamed(a.ID)
		if seen[a.ID] || a.Name == "" || a.Extra == known || known && config.Providers[i].ID != a.ID || !known && a.Format == "" {
			t.Errorf("row %d, %s: not unique, without a name or format, or not in the order of the providers", i, a.ID)
		}
		seen[a.ID] = true
		if without := a.Nowhere || slices.Contains(delivered, a.ID); without != (len(a.At) == 0) {
			t.Errorf("%s: places %d", a.ID, len(a.At))
		}
		env := config.NewEnvironment(config.Windows, "/h", "/h", 0, func(string) (string, bool) { return "", false })
		for _, s := range a.At {
			for _, base := range alternatives(s.Base) {
				if (s.Env == "") == (s.Base == "") || s.Env != "" && !slices.Contains(config.ProviderVariables, s.Env) ||
					base != "" && base != "state" && base != "project" && baseOf(env, base, "") == "" {
					t.Errorf("%s: a place of neither a known base nor a variable: %+v", a.ID, s)
				}
			}
		}
		for _, s := range a.Settings {
			if s.Env != "" && !slices.Contains(config.ProviderVariables, s.Env) {
				t.Errorf("%s: the variable %s is not captured", a.ID, s.Env)
			}
		}
	}
	for _, p := range config.Providers {
		if !seen[p.ID] {
			t.Errorf("%s has no row", p.ID)
		}
	}
}

func TestDefaultsOfEveryAgent(t *testing.T) {
	w := newWorld(t)
	w.dir(filepath.Join(w.home, "work"))
	// These live in the project of the working directory, or where they were registered.
	placeless := append([]string{"firebender", "nanoclaw"}, delivered...)
	for _, platform := range []config.Platform{config.Linux, config.MacOS, config.Windows} {
		for _, p := range config.Providers {
			rows, codes := w.listed(p.ID, platform)
			nowhere := slices.Contains(placeless, p.ID) || platform == config.Windows && (p.ID == "kiro_cli" || p.ID == "shelley")
			if (len(rows) == 0) != nowhere || len(codes) > 0 {
				t.Errorf("%s on %s: rows %q, issues %q", p.ID, platform, rows, codes)
			}
			for _, row := range rows {
				if !strings.HasSuffix(row, ": missing") {
					t.Errorf("%s on %s: %s", p.ID, platform, row)
				}
			}
		}
	}
	if rows, codes := w.listed("warp", config.OtherUnix); len(rows) > 0 || !slices.Equal(codes, []string{Unreconstructible}) {
		t.Errorf("a platform without an established default: %q, %q", rows, codes)
	}
	c := w.config()
	c.Environment = config.NewEnvironment(config.Linux, "", "", 0, func(string) (string, bool) { return "", false })
	d, err := Discover(context.Background(), Input{Config: c, Agents: true})
	if err != nil || len(d.Rows) > 0 || len(d.Issues) > 0 {
		t.Errorf("without a home: %+v, %v", d, err)
	}
	if d, err := Discover(context.Background(), Input{Config: w.config()}); err != nil || len(d.Rows) > 0 {
		t.Errorf("a refresh sees agents without a provider: %+v, %v", d, err)
	}
}

func TestPlacesOfAgents(t *testing.T) {
	for _, c := range []struct {
		name, agent string
		files       []string
		vars        string
		rows        []string
		codes       []string
	}{
		{"present, no provider", "grok_build", []string{".grok/sessions/s/updates.jsonl"}, "", []string{".grok/sessions: unsupported"}, nil},
		{"nothing in it", "grok_build", []string{".grok/sessions/s/other.txt"}, "", []string{".grok/sessions: empty"}, nil},
		{"override", "grok_build", []string{"g/sessions/s/updates.jsonl"}, "GROK_HOME=H/g", []string{"g/sessions: unsupported"}, nil},
		{"empty override", "grok_build", nil, "GROK_HOME=", nil, []string{Unreconstructible}},
		{"relative override", "deepseek_harness", nil, "DSH_HOME=rel", nil, []string{Unreconstructible}},
		{"blank override", "deepseek_harness", nil, "DSH_HOME= ", []string{".dsh/sessions: missing"}, nil},
		{"in memory", "opencode", nil, "OPENCODE_DB=:memory:", nil, []string{NoDiskHistory}},
		{"XDG data", "opencode", nil, "XDG_DATA_HOME=H/d", []string{"d/opencode/opencode.db: missing"}, nil},
		{"stateless", "zed", nil, "ZED_STATELESS=1", nil, []string{NoDiskHistory}},
		{"flatpak before XDG", "zed", nil, "FLATPAK_XDG_DATA_HOME=H/f XDG_DATA_HOME=H/d", []string{"f/zed/threads/threads.db: missing"}, nil},
		{"legacy name", "kilo", []string{".local/share/kilo/opencode.db"}, "", []string{".local/share/kilo/opencode.db: unsupported"}, nil},
		{"unsupported beside", "kiro_cli", []string{".kiro/sessions/x.json"}, "", []string{".local/share/kiro-cli/data.sqlite3: missing", ".kiro/sessions: unsupported"}, nil},
		{"project", "crush", []string{".git/config", ".crush/crush.db"}, "", []string{".crush/crush.db: unsupported"}, nil},
		{"outside the repository", "crush", []string{"work/.git/config", ".crush/crush.db"}, "", []string{"work/.crush/crush.db: missing"}, nil},
		{"registered projects", "crush", []string{".local/share/crush/projects.json"}, "", []string{"work/.crush/crush.db: missing"}, []string{Unreconstructible}},
		{"first existing home", "forgecode", []string{"forge/x"}, "", []string{"forge/.forge.db: missing"}, nil},
		{"second home", "forgecode", nil, "", []string{".forge/.forge.db: missing"}, nil},
		{"development", "mux", nil, "NODE_ENV=development", []string{".mux-dev/sessions: missing"}, nil},
		{"former home", "mux", []string{".cmux/sessions/a/chat.jsonl"}, "", []string{".cmux/sessions: unsupported"}, nil},
		{"new home wins", "mux", []string{".cmux/sessions/a/chat.jsonl", ".mux/x"}, "", []string{".mux/sessions: missing"}, nil},
		{"settings move it", "pi", []string{".pi/agent/settings.json=sessionDir"}, "", nil, []string{Unreconstructible}},
		{"settings say nothing", "pi", []string{".pi/agent/settings.json=theme"}, "", []string{".pi/agent/sessions: missing"}, nil},
		{"override beats settings", "pi", []string{".pi/agent/settings.json=sessionDir"}, "PI_CODING_AGENT_DIR=H/p", []string{"p/sessions: missing"}, nil},
		{"empty settings file", "rovodev", []string{".rovodev/config.yml="}, "", nil, []string{Unreconstructible}},
		{"scoped variable", "qoder", nil, "QODER_CONFIG_DIR=/x", nil, []string{Unreconstructible}},
		{"remote store", "openhands", nil, "FILE_STORE=s3", []string{".openhands/conversations: missing"}, []string{NoDiskHistory}},
		{"local store", "openhands", nil, "FILE_STORE=local FILE_STORE_PATH=H/o", []string{".openhands/conversations: missing", "o: missing"}, nil},
		{"profiles", "cline", []string{".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json", ".config/Code/User/profiles/p/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json"}, "", []string{".cline/data: missing", ".config/Code/User/globalStorage/saoudrizwan.claude-dev: unsupported", ".config/Code/User/profiles/p/globalStorage/saoudrizwan.claude-dev: unsupported"}, nil},
		{"sandbox", "cline", nil, "CLINE_SANDBOX=1 CLINE_SANDBOX_DATA_DIR=H/s", []string{"s: missing"}, nil},
		{"split roots", "cline", nil, "CLINE_DB_DATA_DIR=/x", []string{".cline/data: missing"}, []string{Unreconstructible}},
		{"working directory", "nanoclaw", []string{"work/data/v2.db", "work/data/v2-sessions/a/b/inbound.db"}, "", []string{"work: unsupported"}, nil},
		{"service registrations", "nanoclaw", []string{".config/systemd/user/nanoclaw-v2-ab.service"}, "", nil, []string{Unreconstructible}},
		{"instances", "astrbot", []string{".astrbot_launcher/instances/1/core/data/data_v4.db"}, "", []string{".astrbot/data/data_v4.db: missing", ".astrbot_launcher/instances/1/core/data/data_v4.db: unsupported"}, nil},
		{"surfaces", "warp", []string{".local/state/warp-terminal/warp.sqlite", ".local/state/warp-terminal/tui/warp.sqlite"}, "", []string{".local/state/warp-terminal/warp.sqlite: unsupported", ".local/state/warp-terminal/tui/warp.sqlite: unsupported"}, nil},
		{"beyond the providers, absent", "amp", nil, "", nil, nil},
		{"beyond the providers", "amp", []string{".local/share/amp/threads/T-1.json"}, "", []string{".local/share/amp/threads: unsupported"}, nil},
		{"a place of others", "vscode_copilot", []string{".config/Code/User/workspaceStorage/a/state.vscdb"}, "", nil, nil},
		{"several hosts", "vscode_copilot", []string{".config/Code/User/workspaceStorage/a/chatSessions/x.json", ".config/VSCodium/User/workspaceStorage/a/chatSessions/x.jsonl"}, "", []string{".config/Code/User/workspaceStorage: unsupported", ".config/VSCodium/User/workspaceStorage: unsupported"}, nil},
		{"sealed", "windsurf", []string{".codeium/windsurf/cascade/a.pb"}, "", []string{".codeium/windsurf/cascade: unsupported blocked_auth_or_encryption"}, nil},
		{"sealed database", "trae", []string{".config/Trae/ModularData/ai-agent/database.db=0123456789abcdef0123"}, "", []string{".config/Trae/ModularData/ai-agent/database.db: unsupported blocked_auth_or_encryption"}, nil},
		{"plain database", "trae", []string{".config/Trae/ModularData/ai-agent/database.db=SQLite format 3\x00more"}, "", []string{".config/Trae/ModularData/ai-agent/database.db: unsupported"}, nil},
		{"known, place not established", "xopc", nil, "", nil, []string{InsufficientEvidence}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.dir(filepath.Join(w.home, "work"))
			for _, file := range c.files {
				name, content, given := strings.Cut(file, "=")
				path := w.write(name)
				if given {
					if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, pair := range strings.Split(strings.ReplaceAll(c.vars, "= ", "=~"), " ") {
				if name, value, ok := strings.Cut(pair, "="); ok {
					w.vars[name] = strings.ReplaceAll(strings.ReplaceAll(value, "~", " "), "H/", w.home+"/")
				}
			}
			rows, codes := w.listed(c.agent, config.Linux)
			if !slices.Equal(rows, c.rows) || !slices.Equal(codes, c.codes) {
				t.Errorf("rows %q, issues %q; want %q, %q", rows, codes, c.rows, c.codes)
			}
		})
	}
}

func TestAgentWithAProviderDescribesItself(t *testing.T) {
	w := newWorld(t, kilo())
	c := w.config()
	d, err := Discover(context.Background(), Input{Config: c, Descriptions: w.described, Provider: "kilo", Agents: true})
	if err != nil || len(d.Rows) != 1 || d.Rows[0].ImportSupport != Native {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestAlternatives(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"a": "a", "{a,b}/c": "a/c b/c", "x{,/y}z": "xz x/yz", "{a,b}{c,d}": "ac ad bc bd", "{a": "{a",
	} {
		if got := strings.Join(alternatives(pattern), " "); got != want {
			t.Errorf("%s: %s", pattern, got)
		}
	}
}
