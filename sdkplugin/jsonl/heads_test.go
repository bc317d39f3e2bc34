package jsonl

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestHeads(t *testing.T) {
	route := t.TempDir()
	var entries []Entry
	for i := range 200 {
		locator := fmt.Sprintf("d%d/f%03d", i/50, i)
		path := filepath.Join(route, filepath.FromSlash(locator))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "%03d and more", i), 0o600); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, Entry{Locator: locator})
	}
	entries = append(entries, Entry{Locator: "d0/missing"}, Entry{Locator: "no/such"}, Entry{Locator: "d1"})
	var mutex sync.Mutex
	var work Work
	got := map[int]string{}
	err := Heads(t.Context(), route, entries, 3, &work, func(place int, head []byte) {
		mutex.Lock()
		defer mutex.Unlock()
		got[place] = string(head)
	})
	if err != nil || len(got) != 200 || work.FilesOpened.Load() != 200 || work.BytesRead.Load() != 600 {
		t.Errorf("%d heads, %d files, %d bytes: %v", len(got), work.FilesOpened.Load(), work.BytesRead.Load(), err)
	}
	for place, head := range got {
		if head != fmt.Sprintf("%03d", place) {
			t.Errorf("head %d is %q", place, head)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Heads(ctx, route, entries, 3, nil, func(int, []byte) { t.Error("a head after the end") }); err == nil {
		t.Error("no error of a cancelled context")
	}
}
