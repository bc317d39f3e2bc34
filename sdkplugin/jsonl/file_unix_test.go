//go:build unix

package jsonl

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLinksAndSpecialFilesAreNeverOpened(t *testing.T) {
	t.Parallel()
	route := write(t, "real/s.jsonl", "x\n")
	outside := write(t, "secret.jsonl", "secret\n")
	for name, target := range map[string]string{
		"file.jsonl": filepath.Join(outside, "secret.jsonl"), "inside.jsonl": "real/s.jsonl", "dir": outside, "loop": "loop", "dangling": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(route, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(route, "pipe.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "s") // socket paths are limited to about 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	socket, err := net.Listen("unix", filepath.Join(short, "sock.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	var work Work
	for _, at := range [][2]string{
		{route, "file.jsonl"}, {route, "inside.jsonl"}, {route, "dir/secret.jsonl"}, {route, "loop"}, {route, "dangling"}, {route, "pipe.jsonl"},
		{short, "sock.jsonl"}, {"/dev", "null"}, {"/dev/null", ""}, {route, ""},
	} {
		if f, err := Open(at[0], at[1], &work); classOf(err) != Unreadable {
			t.Errorf("Open(%s) = %v, %v", at[1], f, err)
		}
		if _, err := Observe(at[0], at[1], &work); classOf(err) != Unreadable {
			t.Errorf("Observe(%s): %v", at[1], err)
		}
	}
	if work.FilesOpened.Load() != 0 {
		t.Errorf("%d files were opened", work.FilesOpened.Load())
	}
	tree, err := Walk{Route: route, Match: func(string) bool { return true }}.Run(context.Background())
	if err != nil || len(tree.Entries) != 1 || tree.Entries[0].Locator != "real/s.jsonl" || tree.SkippedLinks != 5 || tree.SkippedSpecial != 1 || len(tree.Problems) != 0 {
		t.Errorf("walk: %+v, %v", tree, err)
	}
	// The route itself is the user's choice: a link to a directory or file is followed.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(route, link); err != nil {
		t.Fatal(err)
	}
	open(t, link, "real/s.jsonl", nil)
	open(t, filepath.Join(route, "inside.jsonl"), "", nil)
	if tree, err := (Walk{Route: link, Match: func(string) bool { return true }}).Run(context.Background()); err != nil || len(tree.Entries) != 1 {
		t.Errorf("walk through a linked route: %+v, %v", tree, err)
	}
}

func TestUnreadableParts(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	route := write(t, "closed/s.jsonl", "x\n")
	if err := os.Chmod(filepath.Join(route, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(route, "closed"), 0o700) })
	if _, err := Open(route, "closed/s.jsonl", nil); classOf(err) != Unreadable {
		t.Errorf("Open: %v", err)
	}
	tree, err := Walk{Route: route, Match: func(string) bool { return true }}.Run(context.Background())
	if err != nil || len(tree.Problems) != 1 || tree.Problems[0].Locator != "closed" {
		t.Errorf("walk: %+v, %v", tree, err)
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	route := write(t, "ok.jsonl", "x\n")
	if err := os.WriteFile(filepath.Join(route, "\xff.jsonl"), nil, 0o600); err != nil {
		t.Skipf("the file system refuses such names: %v", err)
	}
	tree, err := Walk{Route: route, Match: func(string) bool { return true }}.Run(context.Background())
	if err != nil || len(tree.Entries) != 1 || tree.SkippedNames != 1 || len(tree.Problems) != 0 {
		t.Errorf("walk: %+v, %v", tree, err)
	}
}
