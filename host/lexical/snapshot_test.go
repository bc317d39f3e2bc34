package lexical

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/RoaringBitmap/roaring"
)

func TestSnapshotRoundTrip(t *testing.T) {
	t.Parallel()
	var many []Segment
	for id := range uint32(400) { // longer than the engine's read buffer
		many = append(many, Segment{ID: id * id, Docs: 10})
	}
	for _, c := range []struct {
		name     string
		segments []Segment
		deleted  map[uint32]*roaring.Bitmap
	}{
		{"none", nil, nil},
		{"one", []Segment{{ID: 1, Docs: 5}}, nil},
		{"deletions", []Segment{{ID: 7, Docs: 100_000}, {ID: 1 << 31, Docs: 3}},
			map[uint32]*roaring.Bitmap{7: roaring.BitmapOf(1, 99_999), 1 << 31: roaring.New(), 5: roaring.BitmapOf(1)}},
		{"many", many, map[uint32]*roaring.Bitmap{9: roaring.BitmapOf(9)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), SnapshotFile)
			if err := WriteSnapshot(path, c.segments, c.deleted); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := decodeSnapshot(content)
			if err != nil || len(entries) != len(c.segments) {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
			for i, e := range entries {
				want := c.deleted[e.id]
				if want != nil && want.IsEmpty() {
					want = nil
				}
				if e.id != c.segments[i].ID || (e.deleted == nil) != (want == nil) || want != nil && !want.Equals(e.deleted) {
					t.Errorf("entry %d: %v %v", i, e.id, e.deleted)
				}
			}
			for n := range content {
				if _, err := decodeSnapshot(content[:n]); err == nil {
					t.Fatalf("accepted when cut to %d bytes", n)
				}
				damaged := append([]byte(nil), content...)
				damaged[n] ^= 0x41
				if _, err := decodeSnapshot(damaged); err == nil {
					t.Fatalf("accepted with byte %d changed", n)
				}
			}
			files, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(files) != 1 {
				t.Errorf("left behind: %v %v", files, err)
			}
		})
	}
}

func TestSnapshotReplacesAtomically(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, SnapshotFile)
	if err := WriteSnapshot(path, []Segment{{ID: 1, Docs: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	// A deletion that the segment cannot have is an error and leaves the old file.
	err := WriteSnapshot(path, []Segment{{ID: 1, Docs: 1}}, map[uint32]*roaring.Bitmap{1: roaring.BitmapOf(1)})
	if err == nil {
		t.Error("deleted document outside the segment is accepted")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := decodeSnapshot(content); err != nil || entries[0].deleted != nil {
		t.Errorf("old snapshot is gone: %v %v", entries, err)
	}
	if err := WriteSnapshot(filepath.Join(dir, "missing", SnapshotFile), nil, nil); err == nil {
		t.Error("missing directory: no error")
	}
}

func FuzzSnapshot(f *testing.F) {
	for _, segments := range [][]Segment{nil, {{ID: 1, Docs: 4}}, {{ID: 1, Docs: 4}, {ID: 300, Docs: 9}}} {
		content, err := encodeSnapshot(segments, map[uint32]*roaring.Bitmap{1: roaring.BitmapOf(0, 2)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content[:len(content)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := decodeSnapshot(appendChecksum(body))
		if err != nil {
			return
		}
		var segments []Segment
		deleted := map[uint32]*roaring.Bitmap{}
		for _, e := range entries {
			segments = append(segments, Segment{ID: e.id, Docs: 1<<32 - 1})
			if e.deleted != nil {
				deleted[e.id] = e.deleted
			}
		}
		if len(deleted) > 0 && len(segments) > 1 {
			return // a repeated id has one bitmap only
		}
		content, err := encodeSnapshot(segments, deleted)
		if err != nil {
			return // number 1<<32 - 1 is deleted
		}
		again, err := decodeSnapshot(content)
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%d entries, %v; want %d", len(again), err, len(entries))
		}
		for i, e := range again {
			if e.id != entries[i].id {
				t.Fatalf("entry %d is %d, want %d", i, e.id, entries[i].id)
			}
		}
	})
}
