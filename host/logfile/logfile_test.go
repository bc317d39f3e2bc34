package logfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestNothingIsCreatedBeforeTheFirstLine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	f := New(root)
	logger := f.Logger(hclog.Info)
	logger.Debug("below the level")
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Fatalf("%v, %v", entries, err)
	}
	logger.Info("started", "provider", "acme")
	text := read(t, f.Path())
	if !strings.Contains(text, "ctx: started: provider=acme\n") || strings.Count(text, "\n") != 1 {
		t.Errorf("logged %q", text)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, mode := range map[string]os.FileMode{f.Path(): 0o600, filepath.Dir(f.Path()): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", filepath.Base(path), info.Mode(), err)
		}
	}
}

func TestWiderPermissionsAreTakenBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	f := New(t.TempDir())
	fmt.Fprintln(f, "one")
	if err := os.Chmod(f.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "two")
	if info, err := os.Stat(f.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	f := New(t.TempDir())
	f.limit = 100
	for i := range 50 {
		if n, err := fmt.Fprintf(f, "line %02d of 20 bytes", i); n != 19 || err != nil {
			t.Fatal(n, err)
		}
	}
	// Five lines of 20 bytes fit each file: the newest file and its two predecessors hold the last fifteen.
	for suffix, first := range map[string]int{".2": 35, ".1": 40, "": 45} {
		var want strings.Builder
		for i := first; i < first+5; i++ {
			fmt.Fprintf(&want, "line %02d of 20 bytes\n", i)
		}
		if got := read(t, f.Path()+suffix); got != want.String() {
			t.Errorf("ctx.log%s holds %q", suffix, got)
		}
	}
	if _, err := os.Stat(f.Path() + ".3"); err == nil {
		t.Error("a fourth file was left")
	}
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	f := New(t.TempDir())
	long := bytes.Repeat([]byte("x"), MaxLine+5)
	if n, err := f.Write(long); n != len(long) || err != nil {
		t.Fatal(n, err)
	}
	if got := read(t, f.Path()); len(got) != MaxLine+1 || got[MaxLine] != '\n' {
		t.Errorf("%d bytes", len(got))
	}
	if got := string(long); len(got) != MaxLine+5 {
		t.Error("the caller's bytes were changed")
	}
}

// Several writers of one log, as several processes are, lose no line while they rotate.
func TestWritersTogether(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const writers, lines = 4, 60
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			f := New(root)
			f.limit = 2000 // 240 lines of 22 bytes fit three files
			for i := range lines {
				fmt.Fprintf(f, "writer %d wrote line %02d", w, i)
			}
		})
	}
	group.Wait()
	var all string
	for _, suffix := range []string{".2", ".1", ""} {
		all += read(t, New(root).Path()+suffix)
	}
	for w := range writers {
		for i := range lines {
			if line := fmt.Sprintf("writer %d wrote line %02d\n", w, i); strings.Count(all, line) != 1 {
				t.Fatalf("%q stands %d times", line, strings.Count(all, line))
			}
		}
	}
}

func TestUnwritableDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "logs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := New(root).Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}
