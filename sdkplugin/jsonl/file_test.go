package jsonl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func classOf(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Class
	}
	return ""
}

func TestObservationToken(t *testing.T) {
	t.Parallel()
	o := Observation{Size: 1 << 40, MtimeNS: -5, Device: 7, FileID: 1<<64 - 1}
	token := o.Token()
	want := "\x01" + "\x00\x00\x01\x00\x00\x00\x00\x00" + "\xff\xff\xff\xff\xff\xff\xff\xfb" + "\x00\x00\x00\x00\x00\x00\x00\x07" + strings.Repeat("\xff", 8)
	if string(token) != want {
		t.Errorf("token %q", token)
	}
}

func TestOpenRefusesLocatorsThatAreNotBelow(t *testing.T) {
	t.Parallel()
	route := write(t, "a/s.jsonl", "x\n")
	for _, name := range []string{"../s", "/etc/hosts", "a/../a/s.jsonl", "a//s.jsonl", "a/", ".", "a/./s.jsonl", "a\x00", "a/\xff", strings.Repeat("x", MaxLocator+1)} {
		if f, err := Open(route, name, nil); err == nil || classOf(err) != Unreadable {
			t.Errorf("Open(%.20q) = %v, %v", name, f, err)
		}
		if _, err := Observe(route, name, nil); classOf(err) != Unreadable {
			t.Errorf("Observe(%.20q): %v", name, err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	route := write(t, "a/b/s.jsonl", "x\ny\n")
	var work Work
	f := open(t, route, "a/b/s.jsonl", &work)
	seen, err := Observe(route, "a/b/s.jsonl", &work)
	if err != nil || seen != f.Observation() || seen.Size != 4 || seen.FileID == 0 {
		t.Errorf("observed %+v, %v; opened %+v", seen, err, f.Observation())
	}
	itself := open(t, filepath.Join(route, "a", "b", "s.jsonl"), "", &work)
	if itself.Observation() != seen {
		t.Errorf("the route itself is %+v", itself.Observation())
	}
	if work.FilesOpened.Load() != 2 || work.FilesObserved.Load() != 1 {
		t.Errorf("%d opened, %d observed", work.FilesOpened.Load(), work.FilesObserved.Load())
	}
	for name, class := range map[string]string{"a/missing": Vanished, "missing/s": Vanished, "a/b/s.jsonl/x": Vanished, "a/b": Unreadable} {
		if _, err := Open(route, name, nil); classOf(err) != class {
			t.Errorf("Open(%s): %v, want %s", name, err, class)
		}
		if _, err := Observe(route, name, nil); classOf(err) != class {
			t.Errorf("Observe(%s): %v, want %s", name, err, class)
		}
	}
}

func TestRecheck(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		change func(t *testing.T, path string)
		class  string // empty: certified
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"grown", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("more\n")
			must(t, errors.Join(err, f.Close()))
		}, ""},
		{"cut", func(t *testing.T, path string) { must(t, os.Truncate(path, 2)) }, Changed},
		{"rewritten in place", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte("y\nx\n"), 0o600))
			must(t, os.Chtimes(path, later, later))
		}, Changed},
		{"replaced", func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", []byte("x\ny\n"), 0o600))
			must(t, os.Rename(path+".new", path))
		}, Changed},
		{"removed", func(t *testing.T, path string) { must(t, os.Remove(path)) }, Vanished},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			route := write(t, "s", "x\ny\n")
			f := open(t, route, "s", nil)
			tt.change(t, filepath.Join(route, "s"))
			seen, err := f.Recheck()
			if classOf(err) != tt.class || tt.class == "" && seen != f.Observation() {
				t.Errorf("Recheck = %+v, %v; want class %q", seen, err, tt.class)
			}
			var r Reader
			r.Reset(f)
			for r.Next() {
			}
			if tt.name == "grown" && (r.Checkpoint().Offset != 4 || r.Err() != nil) {
				t.Errorf("read %d bytes of 4, %v", r.Checkpoint().Offset, r.Err())
			}
		})
	}
}

func FuzzValidLocator(f *testing.F) {
	for _, seed := range []string{"", "a/b.txt", "../a", "/a", "a/../b", ".", "a\x00", "a//b", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, locator string) {
		root := string(filepath.Separator) + "route"
		place := filepath.Join(root, filepath.FromSlash(locator))
		if ValidLocator(locator) && place != root && !strings.HasPrefix(place, root+string(filepath.Separator)) {
			t.Fatalf("%q leads to %q", locator, place)
		}
	})
}
