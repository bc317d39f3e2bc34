//go:build unix

package sources

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
)

// A pipe in place of a manifest, a program or a file of settings is refused; nobody waits for its writer.
func TestPipes(t *testing.T) {
	w := newWorld(t)
	w.install("notes", `,"executable":"pipe"`)
	dir := filepath.Join(w.data, "plugins", "notes")
	for _, name := range []string{filepath.Join(dir, "pipe"), filepath.Join(w.dir(filepath.Join(w.data, "plugins", "other")), providerManifest)} {
		if err := syscall.Mkfifo(name, 0o700); err != nil {
			t.Skip("no pipes here")
		}
	}
	p := w.plugin("notes")
	if _, err := p.Pin(); fault.Code(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	if p := w.plugin("other"); p.Trust != Invalid {
		t.Errorf("%+v", p)
	}
	file := &setting{Key: "moved"}
	if !file.found(filepath.Join(dir, "pipe")) {
		t.Error("settings that cannot be read say nothing for the usual place")
	}
}
