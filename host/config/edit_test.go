package config

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
)

func TestSetKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, after string }{
		{"empty file", "", "[local_usage]\nenabled = true\n"},
		{"other table", "[indexing]\nmode = \"manual\" # mine", "[indexing]\nmode = \"manual\" # mine\n\n[local_usage]\nenabled = true\n"},
		{"value is replaced", "# top\n[local_usage]\nenabled   =  false   # why\nx = 1\n", "# top\n[local_usage]\nenabled   =  true   # why\nx = 1\n"},
		{"key is added", "[local_usage] # here\n[search]\nsemantic = false\n", "[local_usage] # here\nenabled = true\n[search]\nsemantic = false\n"},
		{"header without line end", "[local_usage]", "[local_usage]\nenabled = true\n"},
		{"dotted key", "local_usage.enabled = false\n", "local_usage.enabled = true\n"},
		{"same value", "[local_usage]\nenabled = true\n", "[local_usage]\nenabled = true\n"},
	} {
		got, err := setKey([]byte(c.before), []string{"local_usage"}, "enabled", "true")
		if err != nil || string(got) != c.after {
			t.Errorf("%s:\n%s\nwant\n%s\n(%v)", c.name, got, c.after, err)
		}
	}
}

func TestSetKeyRefusesInlineTables(t *testing.T) {
	t.Parallel()
	if _, err := setKey([]byte("local_usage = { enabled = false }\n"), []string{"local_usage"}, "enabled", "true"); fault.Code(err) != fault.InvalidRequest {
		t.Fatalf("got %v", err)
	}
}

func TestEditWritesNothingWhenTheResultIsRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, FileName)
	before := "[indexing]\nmode = \"manual\"\n"
	if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	_, err := Edit(root, Environment{}, func(*Config, []byte) ([]byte, error) { return []byte("not [ toml"), nil })
	if fault.Code(err) != fault.InvalidRequest {
		t.Fatalf("got %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != before {
		t.Fatalf("the file became %q", after)
	}
}

func TestEditorsDoNotLoseEachOthersChanges(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tables := []string{"local_usage", "search", "analytics"}
	keys := map[string]string{"local_usage": "enabled", "search": "semantic", "analytics": "on"}
	var wg sync.WaitGroup
	for _, table := range tables {
		wg.Go(func() {
			if _, err := Set(root, Environment{}, table, keys[table], true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(filepath.Join(root, FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		again, err := setKey(text, []string{table}, keys[table], "true")
		if err != nil || string(again) != string(text) {
			t.Errorf("the change of [%s] is lost in %q (%v)", table, text, err)
		}
	}
}
