package lexical

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring"
	segment "github.com/blugelabs/bluge_segment_api"
	"github.com/blugelabs/ice"
)

// sample is one document of a test.
type sample struct {
	text  string
	terms []Term
	row   Row
}

// iceDocument presents a sample to the reference implementation.
type iceDocument []iceField

type iceField struct {
	name   string
	length int
	terms  map[string]int
}

func (d iceDocument) Analyze() {}
func (d iceDocument) EachField(visit segment.VisitField) {
	for i := range d {
		visit(&d[i])
	}
}
func (f *iceField) Name() string         { return f.name }
func (f *iceField) Length() int          { return f.length }
func (f *iceField) Value() []byte        { return nil }
func (f *iceField) Index() bool          { return true }
func (f *iceField) Store() bool          { return false }
func (f *iceField) IndexDocValues() bool { return false }
func (f *iceField) EachTerm(visit segment.VisitTerm) {
	for term, n := range f.terms {
		visit(iceTerm{term, n})
	}
}

type iceTerm struct {
	term string
	n    int
}

func (t iceTerm) Term() []byte                       { return []byte(t.term) }
func (t iceTerm) Frequency() int                     { return t.n }
func (t iceTerm) EachLocation(segment.VisitLocation) {}

// iceDocumentOf says what the builder should make of a sample.
func iceDocumentOf(s sample) iceDocument {
	fields := map[Field]*iceField{}
	note := func(f Field, term string) *iceField {
		if fields[f] == nil {
			fields[f] = &iceField{name: f.String(), terms: map[string]int{}}
		}
		fields[f].terms[term]++
		fields[f].length++
		return fields[f]
	}
	if s.row.Eligible {
		for _, token := range slowTokens([]byte(s.text)) {
			note(Body, token)
		}
	}
	for _, term := range s.terms {
		if len(term.Value) == 0 {
			continue
		}
		if f := fields[term.Field]; f != nil && f.terms[string(term.Value)] > 0 {
			continue // repetitions of keyword values count once
		}
		note(term.Field, string(term.Value))
	}
	var d iceDocument
	for _, f := range fields {
		d = append(d, *f)
	}
	return d
}

// compareWithIce builds a segment of the samples with our encoder and with ice.New and compares everything that readers can see.
func compareWithIce(t *testing.T, samples []sample) {
	t.Helper()
	b := NewBuilder(nil)
	var documents []segment.Document
	for i, s := range samples {
		if doc := b.Add([]byte(s.text), s.terms, s.row); doc != uint32(i) {
			t.Fatalf("document %d got number %d", i, doc)
		}
		documents = append(documents, iceDocumentOf(s))
	}
	var file bytes.Buffer
	if _, err := b.Flush(&file, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := verifyChecksum(file.Bytes()); err != nil {
		t.Fatal(err)
	}
	ours, err := ice.Load(segment.NewDataBytes(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	theirs, _, err := ice.New(documents, func(string, int) float32 { return math.Float32frombits(postingNorm) })
	if err != nil {
		t.Fatal(err)
	}
	if ours.Count() != theirs.Count() || !slices.Equal(ours.Fields(), theirs.Fields()) {
		t.Fatalf("%d documents, fields %v; want %d, %v", ours.Count(), ours.Fields(), theirs.Count(), theirs.Fields())
	}
	parsed, err := parseSegment(file.Bytes(), uint32(len(samples)))
	if err != nil {
		t.Fatal(err)
	}
	except := roaring.BitmapOf(0, 1, uint32(len(samples)/2), uint32(len(samples)-1))
	for f := Body; f < fieldCount; f++ {
		compareField(t, f, ours, theirs, parsed, except)
	}
	for _, doc := range []uint64{0, uint64(len(samples) - 1)} {
		err := ours.VisitStoredFields(doc, func(string, []byte) bool { t.Error("stored field"); return true })
		if err != nil {
			t.Fatal(err)
		}
	}
}

func compareField(t *testing.T, f Field, ours, theirs segment.Segment, parsed *postingsFile, except *roaring.Bitmap) {
	t.Helper()
	ourStats, err := ours.CollectionStats(f.String())
	if err != nil {
		t.Fatal(err)
	}
	theirStats, err := theirs.CollectionStats(f.String())
	if err != nil {
		t.Fatal(err)
	}
	if ourStats.DocumentCount() != theirStats.DocumentCount() || ourStats.SumTotalTermFrequency() != theirStats.SumTotalTermFrequency() ||
		ourStats.TotalDocumentCount() != theirStats.TotalDocumentCount() {
		t.Fatalf("%s: statistics %+v, want %+v", f, ourStats, theirStats)
	}
	ourDictionary, err := ours.Dictionary(f.String())
	if err != nil {
		t.Fatal(err)
	}
	theirDictionary, err := theirs.Dictionary(f.String())
	if err != nil {
		t.Fatal(err)
	}
	own, err := parsed.dictionary(f)
	if err != nil {
		t.Fatal(err)
	}
	ourTerms, theirTerms := ourDictionary.Iterator(nil, nil, nil), theirDictionary.Iterator(nil, nil, nil)
	for i := 0; ; i++ {
		a, errA := ourTerms.Next()
		b, errB := theirTerms.Next()
		if errA != nil || errB != nil {
			t.Fatalf("%s: %v %v", f, errA, errB)
		}
		if a == nil || b == nil {
			if a != b {
				t.Fatalf("%s: dictionaries differ in length at %d", f, i)
			}
			return
		}
		if a.Term() != b.Term() || a.Count() != b.Count() {
			t.Fatalf("%s: term %d is %q in %d documents, want %q in %d", f, i, a.Term(), a.Count(), b.Term(), b.Count())
		}
		term := []byte(a.Term())
		want := readPostings(t, theirDictionary, term, nil)
		if got := readPostings(t, ourDictionary, term, nil); !slices.Equal(got, want) {
			t.Fatalf("%s: postings of %q differ", f, term)
		}
		if got := decodePostings(t, own, term); !slices.Equal(got, want) {
			t.Fatalf("%s: decoded postings of %q differ from the engine's", f, term)
		}
		if i%7 == 0 && !slices.Equal(readPostings(t, ourDictionary, term, except), readPostings(t, theirDictionary, term, except)) {
			t.Fatalf("%s: postings of %q differ with deletions", f, term)
		}
	}
}

type posting struct {
	doc       uint32
	frequency uint32
	norm      uint32
}

func readPostings(t *testing.T, d segment.Dictionary, term []byte, except *roaring.Bitmap) (out []posting) {
	t.Helper()
	list, err := d.PostingsList(term, except, nil)
	if err != nil {
		t.Fatal(err)
	}
	it, err := list.Iterator(true, true, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			if uint64(len(out)) != list.Count() {
				t.Fatalf("%q: %d postings, count %d", term, len(out), list.Count())
			}
			return out
		}
		out = append(out, posting{uint32(p.Number()), uint32(p.Frequency()), math.Float32bits(float32(p.Norm()))})
	}
}

// decodePostings reads a list with our own decoder.
func decodePostings(t *testing.T, d dictionary, term []byte) (out []posting) {
	t.Helper()
	list, found, err := d.lookup(term)
	if err != nil || !found {
		t.Fatalf("%q: found %v, %v", term, found, err)
	}
	count := list.count
	var batch postingBatch
	for {
		n, err := list.next(&batch)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		for i := range n {
			out = append(out, posting{batch.docs[i], batch.frequencies[i], postingNorm})
		}
	}
	if uint32(len(out)) != count {
		t.Fatalf("%q: decoded %d postings, count %d", term, len(out), count)
	}
	return out
}

// randomSamples makes documents whose terms range from everywhere to once.
func randomSamples(r *rand.Rand, n, tokens int) []sample {
	samples := make([]sample, n)
	for i := range samples {
		var text strings.Builder
		for range r.IntN(tokens + 1) {
			fmt.Fprintf(&text, "w%d ", int(math.Exp(r.Float64()*9)))
		}
		if r.IntN(3) > 0 {
			text.WriteString("often ")
		}
		if i/1000%2 == 0 {
			text.WriteString("stretches ")
		}
		if r.IntN(200) == 0 {
			text.WriteString(strings.Repeat("again ", 50+r.IntN(900)))
		}
		s := sample{text: text.String(), row: Row{
			ID: r.Uint64(), Time: int64(r.IntN(1000)), Timed: r.IntN(8) > 0, Sequence: uint64(r.IntN(50)), Session: uint32(i / 20),
			Source: uint32(i / 40), Provider: uint16(r.IntN(3)), Type: uint8(r.IntN(5)), Role: uint8(r.IntN(4)), Scope: uint8(r.IntN(2)),
			Eligible: r.IntN(10) > 0, Copy: r.IntN(30) == 0,
		}}
		if r.IntN(4) > 0 {
			s.terms = append(s.terms, Term{EventType, fmt.Appendf(nil, "type%d", s.row.Type)})
		}
		for range r.IntN(4) {
			s.terms = append(s.terms, Term{FactFile, fmt.Appendf(nil, "/src/Dir%d/file%d.go", r.IntN(5), r.IntN(40))})
		}
		if r.IntN(20) == 0 {
			s.terms = append(s.terms, Term{FactSessionCWD, fmt.Appendf(nil, `C:\work\%d`, r.IntN(6))}, Term{Field: FactBranch}) // an empty value is none
		}
		samples[i] = s
	}
	return samples
}

func TestSegmentEqualsIce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 3))
		samples := randomSamples(r, 1+r.IntN(1200), 1+r.IntN(40))
		samples[0].row.Eligible = true
		compareWithIce(t, samples)
	}
}

// TestLargeSegmentEqualsIce goes over the border between containers of 65,536 documents.
func TestLargeSegmentEqualsIce(t *testing.T) {
	t.Parallel()
	const documents = 65_536 + 3_000
	samples := make([]sample, documents)
	for i := range samples {
		text := "every"
		for _, n := range []int{2, 3, 17, 60_000, 65_536, 66_000} {
			if i%n == 0 {
				text += fmt.Sprintf(" by%d", n)
			}
		}
		if i > 65_000 && i < 66_000 {
			text += " border"
		}
		samples[i] = sample{text: text, row: Row{Eligible: true}, terms: []Term{{EventType, fmt.Appendf(nil, "t%d", i/9000)}}}
	}
	compareWithIce(t, samples)
}

func TestFlushIsDeterministicAndReusesMemory(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	first, second := randomSamples(r, 700, 30), randomSamples(r, 300, 30)
	write := func(b *Builder, samples []sample) (seg, col []byte) {
		for _, s := range samples {
			b.Add([]byte(s.text), s.terms, s.row)
		}
		if b.Docs() != len(samples) || b.Size() == 0 {
			t.Fatalf("%d documents, %d bytes", b.Docs(), b.Size())
		}
		var segFile, colFile bytes.Buffer
		if _, err := b.Flush(&segFile, &colFile); err != nil {
			t.Fatal(err)
		}
		if b.Docs() != 0 || b.Size() != 0 {
			t.Fatal("builder is not empty after Flush")
		}
		return segFile.Bytes(), colFile.Bytes()
	}
	pool := NewPool(1)
	used, fresh := NewBuilder(pool), NewBuilder(pool)
	write(used, first)
	segA, colA := write(used, second)
	segB, colB := write(fresh, second)
	if !bytes.Equal(segA, segB) || !bytes.Equal(colA, colB) {
		t.Error("files depend on what the builder wrote before")
	}
}

func TestEmptySegmentIsRefused(t *testing.T) {
	t.Parallel()
	var seg, col bytes.Buffer
	b := NewBuilder(nil)
	if _, err := b.Flush(&seg, &col); err != ErrEmptySegment {
		t.Errorf("empty builder: %v", err)
	}
	if seg.Len()+col.Len() > 0 {
		t.Error("something was written")
	}
	b.Add(nil, nil, Row{})
	segment, err := b.Flush(&seg, &col)
	if err != nil || segment.Live != 1 || segment.Searchable != 0 {
		t.Errorf("a document without text: %+v %v", segment, err)
	}
}

// failingWriter fails after some bytes.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestFlushReportsWriteErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ seg, col io.Writer }{{&failingWriter{}, io.Discard}, {io.Discard, &failingWriter{}}} {
		b := NewBuilder(nil)
		b.Add([]byte("some words"), nil, Row{Eligible: true})
		if _, err := b.Flush(c.seg, c.col); err == nil {
			t.Error("no error")
		}
		if b.Docs() != 0 {
			t.Error("builder keeps documents after an error")
		}
	}
}

// TestEngineOpensOurFiles opens our files with nothing but the engine's defaults.
func TestEngineOpensOurFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deleted := map[uint32]*roaring.Bitmap{2: roaring.BitmapOf(0, 2)}
	buildIndex(t, dir, deleted, func(b *Builder, n int) {
		b.Add(fmt.Appendf(nil, "word common doc%d", n), []Term{{EventType, []byte("message")}}, Row{Eligible: true})
	}, 3, 4)
	if got, err := stockSearch(dir, "common", Body); err != nil || !slices.Equal(got, []uint64{0, 1, 2, 4, 6}) {
		t.Errorf("common: %v %v", got, err)
	}
	if got, err := stockSearch(dir, "doc5", Body); err != nil || len(got) != 0 {
		t.Errorf("deleted document: %v %v", got, err)
	}
	if got, err := stockSearch(dir, "message", EventType); err != nil || len(got) != 5 {
		t.Errorf("keyword: %v %v", got, err)
	}
	for _, name := range []string{SegmentFile(1), ColumnFile(1), SnapshotFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
