package refresh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
)

// age makes the active generation look as if another version of ctx had written it.
func (w *world) age() {
	w.t.Helper()
	pointer, err := w.store.Pointer()
	if err != nil {
		w.t.Fatal(err)
	}
	place := filepath.Join(w.data, "core", "generations", pointer.Active.Directory, "manifest.json")
	manifest, err := os.ReadFile(place)
	if err != nil {
		w.t.Fatal(err)
	}
	changed := strings.Replace(string(manifest), core.Contract(), strings.Repeat("0", 64), 1)
	active := filepath.Join(w.data, "core", "active.json")
	text, err := os.ReadFile(active)
	if err != nil {
		w.t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(changed))
	pointed := strings.Replace(string(text), pointer.Active.Manifest, hex.EncodeToString(sum[:]), 1)
	for path, content := range map[string]string{place: changed, active: pointed} {
		if err := os.Chmod(path, 0o600); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	if _, err := w.store.Pin(context.Background()); fault.Code(err) != fault.IndexIncompatible {
		w.t.Fatalf("the aged generation: %v", err)
	}
}

func TestRebuildKeepsWhatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 gone")
	w.put(projects+"c", "k1 failing")
	w.put(".config/claude/projects/p/d", "k1 retained")
	first := w.run()
	w.remove(projects + "b")
	w.run()
	before := w.certificate("a").Source
	w.age()
	w.provider.broken = map[string]string{"c": classUnreadable}
	w.config = "[sources]\nautomatic = false\n[sources.roots.main]\nprovider = \"claude\"\npath = " + quoted(filepath.Join(w.home, ".claude")) + "\n"
	rep := w.run()
	w.opened("full a")
	w.expect("a present: one", "b gone: gone", "c present: failing", "d present: retained")
	if rep.Outcome != WithFailures || rep.Generation == first.Generation || w.certificate("a").Source != before {
		t.Errorf("%+v", rep)
	}
	w.provider.broken = nil
	w.run()
	w.run()
	if w.opened(); w.wrote != 0 {
		t.Errorf("after the rebuild a run without news wrote %d bytes", w.wrote)
	}
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}
