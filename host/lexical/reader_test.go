package lexical

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/RoaringBitmap/roaring"

	"github.com/agenthistory/ctx/host/fault"
)

func TestReaderAnswersForItsSegments(t *testing.T) {
	t.Parallel()
	l := filterLibrary(t)
	segments := l.reader.Segments()
	if len(segments) != 5 || segments[0].ID != 10 || segments[0].Docs != 64 {
		t.Fatalf("%+v", segments)
	}
	for i, s := range segments {
		at, ok := l.reader.Index(s.ID)
		if !ok || at != i || l.reader.Columns(i).Docs() != s.Docs {
			t.Errorf("segment %d", s.ID)
		}
		gone := 0
		if d := l.reader.Deleted(i); d != nil {
			gone = int(d.GetCardinality())
		}
		if int(s.Docs-s.Live) != gone {
			t.Errorf("segment %d: %d deleted, manifest %+v", s.ID, gone, s)
		}
	}
	if _, ok := l.reader.Index(1); ok {
		t.Error("unknown segment")
	}
	for i, d := range l.docs {
		row, ok := l.reader.Row(d)
		if ok == l.deleted[i] || ok && row.ID != l.samples[i].row.ID {
			t.Fatalf("row of sample %d: %+v %v", i, row, ok)
		}
	}
	if _, ok := l.reader.Row(Doc{10, 64}); ok {
		t.Error("row beyond the segment")
	}
	if err := l.reader.Verify(); err != nil {
		t.Error(err)
	}
}

// TestManySegments: the list of segments is longer than the engine's read buffer.
func TestManySegments(t *testing.T) {
	t.Parallel()
	var samples []sample
	var sizes []int
	for i := range 520 {
		samples = append(samples, sample{text: fmt.Sprintf("word n%d", i), row: Row{ID: uint64(i), Eligible: true}})
		sizes = append(sizes, 1)
	}
	l := newLibrary(t, samples, nil, sizes...)
	if result := find(t, l.reader, Query{Terms: QueryTerms("word n511"), Limit: 1}); result.Matches != 520 || l.sample[result.Hits[0].Doc] != 511 {
		t.Errorf("%+v", result)
	}
}

// damagedIndex writes a small index and returns its directory and manifest entries.
func damagedIndex(t *testing.T) (string, []Segment) {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 9))
	samples := randomSamples(r, 90, 12)
	deleted := map[uint32]*roaring.Bitmap{2: roaring.BitmapOf(1)}
	segments := buildIndex(t, dir, deleted, func(b *Builder, n int) {
		samples[n].row.Eligible = true
		b.Add([]byte("often "+samples[n].text), samples[n].terms, samples[n].row)
	}, 50, 40)
	return dir, segments
}

// exercise opens the index and reads everything; the first error is returned. A panic fails the test by itself.
func exercise(dir string, segments []Segment) error {
	r, err := OpenReader(dir, segments)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.Search(context.Background(), Query{Terms: QueryTerms("often w1 w2 w3 stretches again"), Limit: 100}); err != nil {
		return err
	}
	if _, err := r.MatchSet(context.Background(), QueryTerms("often w5"), 2); err != nil {
		return err
	}
	for f := Body; f < fieldCount; f++ {
		if _, err := r.MatchTerms([]Field{f}, func([]byte) bool { return true }); err != nil {
			return err
		}
	}
	return r.Verify()
}

func TestDamageIsAnError(t *testing.T) {
	dir, segments := damagedIndex(t)
	var logged bytes.Buffer
	log.SetOutput(&logged) // the engine logs there what it cannot open
	defer log.SetOutput(os.Stderr)
	if err := exercise(dir, segments); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{SnapshotFile, SegmentFile(1), ColumnFile(2)} {
		path := filepath.Join(dir, name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, damaged []byte) {
			t.Helper()
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := exercise(dir, segments); fault.Code(err) != fault.IndexCorruption {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
		}
		step := 1 + len(content)/300
		for n := 0; n < len(content); n += step {
			check(fmt.Sprintf("cut to %d of %d bytes", n, len(content)), content[:n])
		}
		for n := len(content) - 1; n >= 0; n -= step {
			damaged := bytes.Clone(content)
			damaged[n] ^= byte(1 + n%255)
			check(fmt.Sprintf("byte %d of %d changed", n, len(content)), damaged)
		}
		for n := max(0, len(content)-segmentFooter); n < len(content); n++ {
			damaged := bytes.Clone(content)
			damaged[n] ^= 0xFF
			check(fmt.Sprintf("byte %d of %d inverted", n, len(content)), damaged)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := exercise(dir, segments); fault.Code(err) != fault.IndexCorruption {
			t.Fatalf("%s missing: %v", name, err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if logged.Len() > 0 {
		t.Errorf("logged: %s", logged.Bytes())
	}
}

func TestNoFallBackToAnotherSnapshot(t *testing.T) {
	t.Parallel()
	dir, segments := damagedIndex(t)
	path := filepath.Join(dir, SnapshotFile)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"000000000000.snp", "000000000002.snp"} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := exercise(dir, segments); err != nil {
		t.Errorf("other snapshots disturb: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := exercise(dir, segments); fault.Code(err) != fault.IndexCorruption {
		t.Errorf("another snapshot is used: %v", err)
	}
}

func TestManifestMustMatch(t *testing.T) {
	t.Parallel()
	dir, segments := damagedIndex(t)
	for name, change := range map[string]func(s []Segment) []Segment{
		"one missing":        func(s []Segment) []Segment { return s[:1] },
		"one more":           func(s []Segment) []Segment { return append(s, Segment{ID: 3, Docs: 1, Live: 1}) },
		"other order":        func(s []Segment) []Segment { return []Segment{s[1], s[0]} },
		"other documents":    func(s []Segment) []Segment { s[0].Docs++; s[0].Live++; return s },
		"other deletions":    func(s []Segment) []Segment { s[1].Live--; return s },
		"forgotten deletion": func(s []Segment) []Segment { s[1].Live++; return s },
		"invented deletion":  func(s []Segment) []Segment { s[0].Live--; return s },
	} {
		changed := change(append([]Segment(nil), segments...))
		if err := exercise(dir, changed); fault.Code(err) != fault.IndexCorruption {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenReaderTouchesNothing: a published directory stays as it is.
func TestOpenReaderTouchesNothing(t *testing.T) {
	t.Parallel()
	dir, segments := damagedIndex(t)
	list := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, fmt.Sprint(e.Name(), info.Size(), info.ModTime()))
		}
		return names
	}
	before := list()
	if err := exercise(dir, segments); err != nil {
		t.Fatal(err)
	}
	if after := list(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v became %v", before, after)
	}
}
