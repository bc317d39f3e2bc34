package status

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/usage"
)

func inputs(a *fixture.Archive) Inputs {
	return Inputs{
		DataRoot: a.Root, Store: a.Store, Executable: "/usr/bin/ctx", Daemon: Daemon{Status: "disabled"},
		Config: config.Config{DataRoot: a.Root, Path: filepath.Join(a.Root, "config.toml"), Indexing: config.Indexing{Mode: config.ModeManual},
			LocalUsage: config.Switch{On: true}},
	}
}

func observe(t *testing.T, in Inputs) *Report {
	t.Helper()
	r, err := Observe(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func members(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func session(name, route string, state core.State) fixture.Session {
	return fixture.Session{Name: name, Route: route, State: state, Events: []fixture.Event{{Key: "1", Text: "one"}, {Key: "2", Sequence: 1, Text: "two"}}}
}

func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReady(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, session("a", "", core.Present), session("b", "", core.Gone), session("c", "old", core.Present), session("d", "old", core.Gone))
	before := tree(t, a.Root)
	r := observe(t, inputs(a))
	if !reflect.DeepEqual(before, tree(t, a.Root)) {
		t.Error("the report changed a file")
	}
	m := members(t, r)
	want := map[string]any{
		"schema_version": 3.0, "initialized": true, "data_root": a.Root, "config_path": filepath.Join(a.Root, "config.toml"),
		"indexing": map[string]any{"mode": "manual"}, "indexed_items": 8.0, "indexed_sessions": 4.0, "indexed_events": 8.0, "indexed_sources": 4.0,
		"sources":    map[string]any{"selected": 2.0, "retained": 2.0, "gone": 2.0},
		"local_only": true, "read_only": true,
		"local_usage": map[string]any{"schema_version": 3.0, "enabled": true, "state": "empty", "definition_version": 2.0, "retention_days": 400.0, "error": nil},
		"attribution": map[string]any{
			"schema_version": 3.0, "status": "disabled", "reason": nil, "available": false, "path": a.Store.Dir(), "attribution_generation": nil,
			"core_generation_id": nil, "generation_matches": nil, "coverage": nil, "last_error": nil,
		},
		"upgrade": map[string]any{"auto": "off", "auto_enabled": false, "install": map[string]any{"managed": false, "marker": "absent", "install_path": "/usr/bin/ctx"}},
		"refresh": map[string]any{"status": "unavailable", "reason": "refresh_not_observed", "generation_matches": false, "generation_id": a.Pin(t).ID()},
		"semantic": map[string]any{"status": "disabled", "enabled": false, "config_source": "",
			"flat_f32": map[string]any{"status": "disabled", "path": a.Store.Dir()}},
	}
	for name, value := range want {
		if !reflect.DeepEqual(m[name], value) {
			t.Errorf("%s: %v, want %v", name, m[name], value)
		}
	}
	lexical := m["lexical"].(map[string]any)
	if lexical["status"] != "ready" || lexical["generation_id"] != a.Pin(t).ID() || lexical["indexed_documents"] != 8.0 || lexical["certified_sources"] != 4.0 ||
		lexical["reason"] != nil || lexical["policy"].(map[string]any)["matches_current"] != true {
		t.Errorf("lexical %v", lexical)
	}
	epoch := m["history_epoch"].(map[string]any)
	path := epoch["generation_path"].(string)
	if _, err := os.Stat(filepath.Join(path, "manifest.json")); err != nil || epoch["name"] != "self_contained_core" || epoch["status"] != "ready" ||
		epoch["activation_authority"] != "verified_lexical_generation" || epoch["lexical_generation_id"] != lexical["generation_id"] {
		t.Errorf("epoch %v, %v", epoch, err)
	}
	if daemon := m["daemon"].(map[string]any); daemon["status"] != "disabled" || daemon["jobs"] == nil {
		t.Errorf("daemon %v", daemon)
	}
	if findings := r.Findings(); len(findings) != 0 {
		t.Errorf("findings %q", findings)
	}
	noNulls(t, m, "")
}

// noNulls: only local_usage.error and the members of attribution may be null.
func noNulls(t *testing.T, m map[string]any, path string) {
	t.Helper()
	for name, value := range m {
		at := path + "." + name
		switch v := value.(type) {
		case nil:
			if at != ".local_usage.error" && !strings.HasPrefix(at, ".attribution.") {
				t.Errorf("%s is null", at)
			}
		case map[string]any:
			noNulls(t, v, at)
		}
	}
}

func TestMissingRoot(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	a.Root = filepath.Join(a.Root, "absent")
	a.Store = core.Open(filepath.Join(a.Root, "core"), core.Options{})
	r := observe(t, inputs(a))
	if _, err := os.Stat(a.Root); !os.IsNotExist(err) {
		t.Errorf("the data root exists now: %v", err)
	}
	m := members(t, r)
	for _, name := range []string{"indexed_items", "indexed_sessions", "indexed_events", "indexed_sources"} {
		if m[name] != nil {
			t.Errorf("%s is present", name)
		}
	}
	if r.Initialized || r.Lexical.Status != "unavailable" || r.Lexical.Reason != "generation_not_published" || r.HistoryEpoch.Reason != "generation_not_published" {
		t.Errorf("report %+v", r.Lexical)
	}
	if findings := r.Findings(); len(findings) != 1 || findings[0].Command != "ctx setup --wait" {
		t.Errorf("findings %q", findings)
	}
	noNulls(t, m, "")
}

func TestDamagedPointer(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, session("a", "", core.Present))
	if err := os.WriteFile(filepath.Join(a.Store.Dir(), "active.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := observe(t, inputs(a))
	if r.Initialized || r.Lexical.Reason != "publication_authority_invalid" || r.Lexical.PublicationAuthorityError == "" || r.IndexedEvents != nil {
		t.Errorf("lexical %+v", r.Lexical)
	}
	if findings := r.Findings(); len(findings) != 1 {
		t.Errorf("findings %q", findings)
	}
}

func TestLexicalReasons(t *testing.T) {
	t.Parallel()
	store := core.Open(t.TempDir(), core.Options{})
	for code, want := range map[string]string{
		fault.SourceUnavailable: "generation_not_published", fault.PublicationAuthorityInvalid: "publication_authority_invalid",
		fault.IndexIncompatible: "generation_policy_mismatch", fault.IndexCorruption: "generation_verification_failed",
		fault.ResourceUnavailable: "generation_verification_failed",
	} {
		x := &index{failure: fault.New(code, "what happened"), foreign: "other"}
		l := x.lexical(store)
		if l.Status != "unavailable" || l.Reason != want {
			t.Errorf("%s: %+v", code, l)
		}
		if (l.Policy.MatchesCurrent != nil) != (code == fault.IndexIncompatible) {
			t.Errorf("%s: policy %+v", code, l.Policy)
		}
	}
}

func TestRefreshStates(t *testing.T) {
	t.Parallel()
	open, closed := &index{open: true, id: "g1"}, &index{}
	for name, tt := range map[string]struct {
		index   *index
		receipt *refresh.Receipt
		err     error
		want    string
		matches bool
	}{
		"never":         {open, nil, nil, "unavailable refresh_not_observed", false},
		"unreadable":    {open, nil, os.ErrPermission, "unavailable refresh_state_missing", false},
		"published":     {open, &refresh.Receipt{State: "published", Outcome: refresh.Success, Generation: "g1"}, nil, "ready ", true},
		"rejections":    {open, &refresh.Receipt{State: "published", Outcome: refresh.WithRejections, Generation: "g1"}, nil, "ready ", true},
		"other since":   {open, &refresh.Receipt{State: "published", Outcome: refresh.Success, Generation: "g0"}, nil, "ready ", false},
		"failures":      {open, &refresh.Receipt{State: "published", Outcome: refresh.WithFailures, ReceiptCounts: refresh.ReceiptCounts{Failed: 2}}, nil, "partial completed_with_source_failures", false},
		"failed":        {open, &refresh.Receipt{State: "failed"}, nil, "stale core_refresh_failed", false},
		"failed, empty": {closed, &refresh.Receipt{State: "failed"}, nil, "unavailable core_refresh_failed", false},
		"unknown state": {open, &refresh.Receipt{State: "dreaming"}, nil, "unavailable refresh_state_unrecognized", false},
	} {
		r := observeRefresh(tt.index, tt.receipt, tt.err)
		if tt.receipt != nil && tt.receipt.Outcome == refresh.Success && r.Standing.Outcome != "completed" {
			t.Errorf("%s: structured outcome %q", name, r.Standing.Outcome)
		}
		if got := r.Status + " " + r.Reason; got != tt.want || r.GenerationMatches != tt.matches {
			t.Errorf("%s: %q matches %v", name, got, r.GenerationMatches)
		}
		noNulls(t, members(t, r), "")
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, session("a", "", core.Present))
	in := inputs(a)
	in.Config.Semantic = config.Switch{On: true, Origin: config.FromFile}
	in.Config.InvalidEnvironment = []string{"CTX_DAEMON_MODE"}
	in.Config.UnknownKeys = []int{2, 7}
	in.Config.InstalledErr = fault.New(fault.ResourceUnavailable, "the list of trusted plugins cannot be read").WithHint("Put back a copy")
	if err := os.WriteFile(filepath.Join(a.Root, usage.FileName), []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	in.Daemon = Daemon{Enabled: true, Status: "stale_lock"}
	r := observe(t, in)
	text := fmt.Sprint(r.Findings())
	for _, word := range []string{"list of trusted plugins", "Semantic", "CTX_DAEMON_MODE", "on line 2 7;", "usage_store_unavailable", "stale_lock"} {
		if !strings.Contains(text, word) {
			t.Errorf("no finding about %s in %s", word, text)
		}
	}
	if r.Semantic.Status != "unavailable" || r.Semantic.ConfigSource != "config" || r.Daemon.Status != "stale_lock" {
		t.Errorf("semantic %+v, daemon %s", r.Semantic, r.Daemon.Status)
	}
	r.Refresh = observeRefresh(&index{open: true}, &refresh.Receipt{State: "published", Outcome: refresh.WithFailures, ReceiptCounts: refresh.ReceiptCounts{Failed: 3}}, nil)
	if text := fmt.Sprint(r.Findings()); !strings.Contains(text, ": 3. Mend or remove them first; run ctx import --all") {
		t.Errorf("no finding about failed sources in %s", text)
	}
}

func TestSetupAndSnapshot(t *testing.T) {
	t.Parallel()
	a := fixture.Build(t, session("a", "", core.Present))
	in := inputs(a)
	in.Config.Indexing.Mode = config.ModeAuto
	r := observe(t, in)
	setup := members(t, r.Setup())
	for _, name := range []string{"read_only", "indexing", "upgrade", "local_usage"} {
		if _, ok := setup[name]; ok {
			t.Errorf("setup has %s", name)
		}
	}
	if !r.ReadOnly || r.Indexing == nil {
		t.Error("Setup changed the report")
	}
	snapshot := members(t, r.Snapshot())
	lexical := snapshot["lexical"].(map[string]any)
	if snapshot["schema_version"] != 1.0 || lexical["status"] != "ready" || lexical["indexed_events"] != 2.0 || snapshot["read_only"] != true ||
		snapshot["indexing"].(map[string]any)["mode"] != "auto" || snapshot["semantic"].(map[string]any)["coverage"] == nil {
		t.Errorf("snapshot %v", snapshot)
	}
	noNulls(t, snapshot, "")
}
