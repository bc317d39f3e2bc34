package lexical

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring"
	"github.com/blugelabs/bluge"
	"github.com/blugelabs/bluge/index"
	segment "github.com/blugelabs/bluge_segment_api"
)

// openStock opens a directory with the engine alone: its own access to files, its own reading of the snapshot and of deletions.
func openStock(t *testing.T, dir string) *index.Snapshot {
	t.Helper()
	snapshot, err := index.OpenReader(index.DefaultConfig(dir).WithSegmentPlugin(segmentPlugin))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { snapshot.Close() })
	return snapshot
}

// stockSearch runs a query of the engine and returns the numbers of the matches, ascending.
func stockSearch(snapshot *index.Snapshot, query bluge.Query) (numbers []uint64, err error) {
	request := bluge.NewAllMatches(query)
	searcher, err := request.Searcher(snapshot, bluge.DefaultConfig(""))
	if err != nil {
		return nil, err
	}
	matches, err := request.Collector().Collect(context.Background(), request.Aggregations(), searcher)
	if err != nil {
		return nil, err
	}
	for {
		match, err := matches.Next()
		if err != nil || match == nil {
			slices.Sort(numbers)
			return numbers, err
		}
		numbers = append(numbers, match.Number)
	}
}

// compareStock lets the engine read an index of the samples, cut into segments of the sizes, and compares all that it sees: the
// matches, frequencies and lengths of every term, the dictionaries and the statistics.
func compareStock(t *testing.T, samples []sample, dead map[int]bool, sizes ...int) {
	t.Helper()
	deleted, from := map[uint32]*roaring.Bitmap{}, 0
	for i, n := range sizes {
		deleted[uint32(i+1)] = roaring.New()
		for doc := range n {
			if dead[from+doc] {
				deleted[uint32(i+1)].Add(uint32(doc))
			}
		}
		from += n
	}
	dir := t.TempDir()
	buildIndex(t, dir, deleted, func(b *Builder, n int) { b.Add([]byte(samples[n].text), samples[n].terms, samples[n].row) }, sizes...)
	snapshot := openStock(t, dir)
	if n, err := snapshot.Count(); err != nil || n != uint64(len(samples)-len(dead)) {
		t.Fatalf("%d documents, %v", n, err)
	}
	for f, terms := range expected(samples) {
		field := Field(f).String()
		lengths, tokens := map[uint32]uint32{}, uint64(0)
		for _, list := range terms {
			for _, p := range list {
				lengths[p.doc] += p.frequency
				tokens += uint64(p.frequency)
			}
		}
		stats, err := snapshot.CollectionStats(field)
		if err != nil || stats.TotalDocumentCount() != uint64(len(samples)) || stats.DocumentCount() != uint64(len(lengths)) ||
			stats.SumTotalTermFrequency() != tokens {
			t.Fatalf("%s: statistics %+v, %v", field, stats, err)
		}
		for term, list := range terms {
			list = slices.DeleteFunc(slices.Clone(list), func(p posting) bool { return dead[int(p.doc)] })
			compareStockTerm(t, snapshot, field, term, list, lengths)
		}
		it, err := snapshot.DictionaryIterator(field, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for ; ; seen++ {
			entry, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			if entry == nil {
				break
			}
			if entry.Count() != uint64(len(terms[entry.Term()])) {
				t.Fatalf("%s: %q is in %d documents", field, entry.Term(), entry.Count())
			}
		}
		if seen != len(terms) {
			t.Fatalf("%s: %d terms, want %d", field, seen, len(terms))
		}
	}
}

func compareStockTerm(t *testing.T, snapshot *index.Snapshot, field, term string, want []posting, lengths map[uint32]uint32) {
	t.Helper()
	numbers, err := stockSearch(snapshot, bluge.NewTermQuery(term).SetField(field))
	if err != nil || !slices.EqualFunc(numbers, want, func(n uint64, p posting) bool { return n == uint64(p.doc) }) {
		t.Fatalf("%s: %q: %d matches, want %d, %v", field, term, len(numbers), len(want), err)
	}
	it, err := snapshot.PostingsIterator([]byte(term), field, true, true, true)
	if err != nil || it.Count() != uint64(len(want)) {
		t.Fatalf("%s: %q: count %d, want %d, %v", field, term, it.Count(), len(want), err)
	}
	for i := 0; i < len(want); i++ {
		next := it.Next
		if i%5 == 4 { // skip what lies between
			i = min(i+i%7, len(want)-1)
			next = func() (segment.Posting, error) { return it.Advance(uint64(want[i].doc)) }
		}
		p, err := next()
		if err != nil || p == nil {
			t.Fatalf("%s: %q: posting %d: %v", field, term, i, err)
		}
		got := posting{uint32(p.Number()), uint32(p.Frequency())}
		if length := math.Float32bits(float32(p.Norm())); got != want[i] || length != lengths[got.doc] {
			t.Fatalf("%s: %q: posting %d is %+v of length %d, want %+v of %d", field, term, i, got, length, want[i], lengths[got.doc])
		}
	}
	if p, err := it.Next(); p != nil || err != nil {
		t.Fatalf("%s: %q: %v, %v after the end", field, term, p, err)
	}
}

func TestEngineReadsOurSegments(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 8))
		samples := randomSamples(r, 300, 1+r.IntN(30))
		dead := map[int]bool{}
		for range r.IntN(60) {
			dead[r.IntN(len(samples))] = true
		}
		compareStock(t, samples, dead, 120, 1, 179)
	}
}

func TestEngineReadsLargeSegments(t *testing.T) {
	t.Parallel()
	samples, dead := largeSamples(), map[int]bool{0: true, 65_535: true, 65_536: true}
	for i := 3; i < len(samples); i += 11 {
		dead[i] = true
	}
	compareStock(t, samples, dead, len(samples))
}

func TestEngineSegment(t *testing.T) {
	t.Parallel()
	b := NewBuilder(nil)
	for _, text := range []string{"apple pear", "pear", "plum plum"} {
		b.Add([]byte(text), []Term{{EventType, []byte("message")}}, Row{Eligible: true})
	}
	var file, copied bytes.Buffer
	if _, err := b.Flush(&file, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	s, err := segmentPlugin.Load(segment.NewDataBytes(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %d %d %v", s.Type(), s.Version(), s.Count(), s.Fields()); got != "ctx 2 3 [body event_type]" {
		t.Error(got)
	}
	if _, err := s.WriteTo(&copied, nil); err != nil || !bytes.Equal(copied.Bytes(), file.Bytes()) {
		t.Errorf("copy differs, %v", err)
	}
	docs, err := s.DocsMatchingTerms([]segment.Term{term{"body", "apple"}, term{"body", "plum"}, term{"none", "x"}})
	if err != nil || !docs.Equals(roaring.BitmapOf(0, 2)) {
		t.Errorf("matching: %v, %v", docs, err)
	}
	d, err := s.Dictionary("body")
	if err != nil {
		t.Fatal(err)
	}
	it := d.Iterator(nil, []byte("b"), []byte("plum"))
	if e, err := it.Next(); err != nil || e == nil || e.Term() != "pear" || e.Count() != 2 {
		t.Errorf("first term of the range: %v, %v", e, err)
	}
	if e, err := it.Next(); e != nil || err != nil {
		t.Errorf("after the range: %v, %v", e, err)
	}
	for _, c := range []struct {
		term string
		want bool
	}{{"apple", true}, {"appl", false}} {
		if found, err := d.Contains([]byte(c.term)); err != nil || found != c.want {
			t.Errorf("contains %q: %v, %v", c.term, found, err)
		}
	}
	for n := range segmentFooter {
		if _, err := segmentPlugin.Load(segment.NewDataBytes(file.Bytes()[:n])); err == nil {
			t.Errorf("%d bytes are a segment", n)
		}
	}
	if _, _, err := segmentPlugin.New(nil, nil); !errors.Is(err, errReadOnly) {
		t.Errorf("new: %v", err)
	}
	if _, err := segmentPlugin.Merge(nil, nil, 0).WriteTo(nil, nil); !errors.Is(err, errReadOnly) {
		t.Errorf("merge: %v", err)
	}
}

type term struct{ field, text string }

func (t term) Field() string { return t.field }
func (t term) Term() []byte  { return []byte(t.text) }
