package durable

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"first", "", "second and longer"} {
		if err := Replace(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Fatalf("read %q, %v; want %q", got, err, content)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Fatalf("%d entries beside the file, %v", len(entries), err)
	}
}

func TestReplaceKeepsTheOldFileWhenItFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "taken")
	if err := os.MkdirAll(filepath.Join(dir, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(dir, []byte("x"), 0o600); err == nil {
		t.Fatal("a directory was replaced by a file")
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Fatalf("%d entries left behind, %v", len(entries), err)
	}
}

func TestTryLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	lock := func(f *os.File, exclusive bool) bool {
		ok, err := TryLock(f, exclusive)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !lock(first, true) || lock(second, true) || lock(second, false) {
		t.Fatal("an exclusive lock must exclude every other")
	}
	if held, err := Lock(t.Context(), second, time.Millisecond); held || err != nil {
		t.Fatalf("waiting for a lock that is held: %v, %v", held, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if held, err := Lock(ended, second, time.Hour); held || !errors.Is(err, context.Canceled) {
		t.Fatalf("waiting without a reason to: %v, %v", held, err)
	}
	time.AfterFunc(10*time.Millisecond, func() { first.Close() })
	if held, err := Lock(t.Context(), second, time.Hour); !held || err != nil {
		t.Fatalf("a lock that is let go: %v, %v", held, err)
	}
	if !lock(second, false) || !lock(open(), false) {
		t.Fatal("shared locks must live together once the exclusive one is gone")
	}
}

func TestMkdirAllSyncsEveryParent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var synced []string
	record := func(dir string) error { synced = append(synced, dir); return nil }
	path := filepath.Join(root, "a", "b", "c")
	if err := mkdirAll(path, 0o700, record); err != nil {
		t.Fatal(err)
	}
	if want := []string{root, filepath.Join(root, "a"), filepath.Join(root, "a", "b")}; !slices.Equal(synced, want) {
		t.Fatalf("synced %q, want %q", synced, want)
	}
	synced = nil
	if err := mkdirAll(path, 0o700, record); err != nil || len(synced) > 0 {
		t.Fatalf("an existing directory: synced %q, %v", synced, err)
	}
	if err := MkdirAll(filepath.Join(root, "x", "y"), 0o700); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(root, "x", "y")); err != nil || !info.IsDir() {
		t.Fatal(err)
	}
}
