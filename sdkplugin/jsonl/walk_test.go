package jsonl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func isTranscript(locator string) bool { return strings.HasSuffix(locator, ".jsonl") }

// plant writes empty files and returns their route.
func plant(t testing.TB, locators ...string) string {
	t.Helper()
	route := t.TempDir()
	for _, l := range locators {
		path := filepath.Join(route, filepath.FromSlash(l))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(l), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return route
}

func TestWalk(t *testing.T) {
	t.Parallel()
	route := plant(t, "b/s.jsonl", "b.jsonl", "b/deep/er/t.jsonl", "a/notes.txt", "skip/x.jsonl", "Z.jsonl")
	var work Work
	w := Walk{Route: route, Match: isTranscript, Descend: func(l string) bool { return l != "skip" }, Work: &work}
	tree, err := w.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range tree.Entries {
		got = append(got, e.Locator)
		if seen, err := Observe(route, e.Locator, nil); err != nil || seen != e.Observation {
			t.Errorf("%s: walk saw %+v, Observe %+v, %v", e.Locator, e.Observation, seen, err)
		}
	}
	if want := "Z.jsonl b.jsonl b/deep/er/t.jsonl b/s.jsonl"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if tree.Directories != 5 || tree.Seen != 10 || len(tree.Problems) != 0 {
		t.Errorf("counts %+v", tree)
	}
	// Only matching files are looked at, none is opened.
	if work.FilesObserved.Load() != 4 || work.FilesOpened.Load() != 0 || work.DirectoriesRead.Load() != 5 {
		t.Errorf("%d observed, %d opened, %d directories", work.FilesObserved.Load(), work.FilesOpened.Load(), work.DirectoriesRead.Load())
	}
}

func TestWalkRefusesRoutes(t *testing.T) {
	t.Parallel()
	route := plant(t, "s.jsonl")
	for path, class := range map[string]string{"missing": Vanished, "s.jsonl": Unreadable} {
		if _, err := (Walk{Route: filepath.Join(route, path), Match: isTranscript}).Run(context.Background()); classOf(err) != class {
			t.Errorf("%s: %v, want %s", path, err, class)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Walk{Route: route, Match: isTranscript}).Run(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestWalkBounds(t *testing.T) {
	t.Parallel()
	route := plant(t, "1/2/3/s.jsonl", "1/t.jsonl") // four directories, depth 4, two files, five entries
	for name, tt := range map[string]struct {
		fits, breaks Walk
	}{
		"directories": {Walk{MaxDirectories: 4}, Walk{MaxDirectories: 3}},
		"depth":       {Walk{MaxDepth: 4}, Walk{MaxDepth: 3}},
		"files":       {Walk{MaxFiles: 2}, Walk{MaxFiles: 1}},
		"entries":     {Walk{MaxEntries: 5}, Walk{MaxEntries: 4}},
	} {
		tt.fits.Route, tt.fits.Match = route, isTranscript
		tt.breaks.Route, tt.breaks.Match = route, isTranscript
		if tree, err := tt.fits.Run(context.Background()); err != nil || len(tree.Entries) != 2 {
			t.Errorf("%s: the exact bound is refused: %v", name, err)
		}
		if _, err := tt.breaks.Run(context.Background()); classOf(err) != Unreadable {
			t.Errorf("%s: beyond the bound: %v", name, err)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	var locators []string
	for i := range 10_000 {
		locators = append(locators, fmt.Sprintf("project-%03d/0b03403c-ae54-8cc9-bbaa-%012d.jsonl", i/50, i))
	}
	route := plant(b, locators...)
	for b.Loop() {
		tree, err := Walk{Route: route, Match: isTranscript}.Run(context.Background())
		if err != nil || len(tree.Entries) != len(locators) {
			b.Fatal(err)
		}
	}
}
