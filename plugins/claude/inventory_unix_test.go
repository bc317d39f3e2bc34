//go:build unix

package claude

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

// TestLinksAndPipes: links below the route are counted and never followed, pipes are never opened, hard links come once.
func TestLinksAndPipes(t *testing.T) {
	tr := newTree(t)
	tr.write("-w/S1.jsonl", line1+"\n")
	tr.write("-w/S1/subagents/agent-x.jsonl", line1+"\n")
	outside := newTree(t)
	outside.write("-w/S9.jsonl", line1+"\n")
	for link, target := range map[string]string{
		"-w/S2.jsonl": filepath.Join(outside.root, "-w/S9.jsonl"), "-linked": filepath.Join(outside.root, "-w"),
	} {
		if err := os.Symlink(target, filepath.Join(tr.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"-z/S1.jsonl": "-w/S1.jsonl", "-w/S1/subagents/p/agent-x.jsonl": "-w/S1/subagents/agent-x.jsonl",
	} {
		path := filepath.Join(tr.root, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(filepath.Join(tr.root, target), path); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(tr.root, "-w/agent-pipe.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	inv := tr.list(tr.route())
	compareLines(t, "sources", listed(inv), []string{
		"0 -w/S1.jsonl = S1", "0 -w/S1/subagents/agent-x.jsonl = S1/subagents/agent-x",
	})
	if inv.SkippedLinks != 2 || len(inv.Diagnostics) != 0 || inv.States[0] != sdkplugin.RouteComplete {
		t.Errorf("%d links skipped, diagnostics %+v, state %d", inv.SkippedLinks, inv.Diagnostics, inv.States[0])
	}

	linked := tr.route()
	linked.Path = filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(tr.root, linked.Path); err != nil {
		t.Fatal(err)
	}
	if inv := tr.list(linked); len(inv.found) != 2 {
		t.Errorf("through a linked root %q", listed(inv))
	}
}

// TestStrangeNames: a name that cannot travel is told and hides no other.
func TestStrangeNames(t *testing.T) {
	tr := newTree(t)
	tr.write("-w/S1.jsonl", line1+"\n")
	if err := os.WriteFile(filepath.Join(tr.root, "-w", "bad\xff.jsonl"), []byte(line1+"\n"), 0o600); err != nil {
		t.Skip("the file system wants UTF-8 names")
	}
	inv := tr.list(tr.route())
	compareLines(t, "sources", listed(inv), []string{"0 -w/S1.jsonl = S1"})
	if len(inv.Diagnostics) != 1 || inv.Diagnostics[0].Code != "skipped_names" {
		t.Errorf("diagnostics %+v", inv.Diagnostics)
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	tr := newTree(t)
	tr.write("-w/S1.jsonl", line1+"\n")
	tr.write("-w/agent-x.jsonl", line1+"\n")
	tr.write("-closed/S2.jsonl", line1+"\n")
	for _, path := range []string{"-w/agent-x.jsonl", "-closed"} {
		if err := os.Chmod(filepath.Join(tr.root, path), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(tr.root, "-closed"), 0o700) })
	inv := tr.list(tr.route())
	compareLines(t, "sources", listed(inv), []string{"0 -w/S1.jsonl = S1"})
	if inv.States[0] != sdkplugin.RouteIncomplete || len(inv.Diagnostics) != 2 {
		t.Errorf("state %d, diagnostics %+v", inv.States[0], inv.Diagnostics)
	}
}
