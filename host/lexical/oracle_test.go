package lexical

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring"
)

// library is an index of samples spread over segments, some of them deleted, and the same samples in memory.
type library struct {
	samples []sample
	deleted map[int]bool
	docs    []Doc // by sample
	sample  map[Doc]int
	reader  *Reader

	// what rank needs, counted at first use
	counts            []map[string]int // by sample
	lengths           []int
	found             map[string]int // samples by token
	documents, tokens int
}

// newLibrary writes the samples into segments of the given sizes (the last takes the rest).
func newLibrary(tb testing.TB, samples []sample, deleted map[int]bool, sizes ...int) *library {
	tb.Helper()
	l := &library{samples: samples, deleted: deleted, docs: make([]Doc, len(samples)), sample: map[Doc]int{}}
	dir := tb.TempDir()
	b := NewBuilder(nil)
	bitmaps := map[uint32]*roaring.Bitmap{}
	var segments []Segment
	next := 0
	for i := 0; next < len(samples); i++ {
		size := len(samples) - next
		if i < len(sizes) {
			size = min(size, sizes[i])
		}
		id := uint32(10 + 3*i)
		for range size {
			doc := b.Add([]byte(samples[next].text), samples[next].terms, samples[next].row)
			l.docs[next] = Doc{id, doc}
			l.sample[Doc{id, doc}] = next
			if deleted[next] {
				if bitmaps[id] == nil {
					bitmaps[id] = roaring.New()
				}
				bitmaps[id].Add(doc)
			}
			next++
		}
		segments = append(segments, flushTo(tb, b, dir, id, bitmaps))
	}
	if err := WriteSnapshot(filepath.Join(dir, SnapshotFile), segments, bitmaps); err != nil {
		tb.Fatal(err)
	}
	var err error
	if l.reader, err = OpenReader(dir, segments); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.reader.Close() })
	return l
}

// ranked is the expected hit.
type ranked struct {
	sample   int
	coverage int
	whole    bool
	score    float32
}

// count fills in the token counts of the searchable samples.
func (l *library) count() {
	l.counts = make([]map[string]int, len(l.samples))
	l.lengths = make([]int, len(l.samples))
	l.found = map[string]int{}
	for i, s := range l.samples {
		l.counts[i] = map[string]int{}
		if !s.row.Eligible || l.deleted[i] {
			continue
		}
		for _, token := range slowTokens([]byte(s.text)) {
			if l.counts[i][token]++; l.counts[i][token] == 1 {
				l.found[token]++
			}
			l.lengths[i]++
		}
		if l.lengths[i] > 0 {
			l.documents++
			l.tokens += l.lengths[i]
		}
	}
}

// rank computes by the book what a query should find, in order.
func (l *library) rank(terms [][]byte, weights *[256]float32, filter func(i int) bool) []ranked {
	if l.counts == nil {
		l.count()
	}
	terms = slices.Clone(terms)
	slices.SortFunc(terms, bytes.Compare)
	var out []ranked
	for i := range l.samples {
		hit := ranked{sample: i}
		score := 0.0
		for _, term := range terms {
			n := l.counts[i][string(term)]
			if n == 0 {
				continue
			}
			df := l.found[string(term)]
			hit.coverage++
			idf := math.Log(1 + (float64(l.documents-df)+0.5)/(float64(df)+0.5))
			average := float64(l.tokens) / float64(l.documents)
			score += idf * float64(n) * 2.2 / (float64(n) + 1.2*(1-0.75+0.75*float64(l.lengths[i])/average))
		}
		weight := float32(1)
		if weights != nil {
			weight = weights[l.samples[i].row.Type]
		}
		if hit.coverage == 0 || weight == 0 || filter != nil && !filter(i) {
			continue
		}
		hit.score = float32(score) * weight * float32(hit.coverage) / float32(len(terms))
		hit.whole = hit.coverage == len(terms) && len(terms) <= 4
		out = append(out, hit)
	}
	return out
}

// first orders a before b when only a is true.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// checkResult compares a result with the book: the same documents, coverages and (nearly) scores, in the order that the actual scores ask
// for, and the first of them all.
func (l *library) checkResult(t *testing.T, result Result, want []ranked, limit int) {
	t.Helper()
	if result.Matches != len(want) || len(result.Hits) != min(limit, len(want)) {
		t.Fatalf("%d hits of %d matches, want %d of %d", len(result.Hits), result.Matches, min(limit, len(want)), len(want))
	}
	byBook := map[int]ranked{}
	for _, w := range want {
		byBook[w.sample] = w
	}
	before := func(a, b Hit) int {
		x, y := l.samples[l.sample[a.Doc]].row, l.samples[l.sample[b.Doc]].row
		xTime, yTime := int64(math.MinInt64), int64(math.MinInt64)
		if x.Timed {
			xTime = x.Time
		}
		if y.Timed {
			yTime = y.Time
		}
		return cmp.Or(first(a.Whole, b.Whole), cmp.Compare(b.Score, a.Score), cmp.Compare(yTime, xTime),
			cmp.Compare(y.Sequence, x.Sequence), cmp.Compare(x.ID, y.ID))
	}
	for i, hit := range result.Hits {
		w, ok := byBook[l.sample[hit.Doc]]
		if !ok || hit.Coverage != w.coverage || hit.Whole != w.whole || math.Abs(float64(hit.Score-w.score)) > 1e-4*float64(w.score) {
			t.Fatalf("hit %d is %+v, want %+v", i, hit, w)
		}
		if i > 0 && before(result.Hits[i-1], hit) >= 0 {
			t.Fatalf("hits %d and %d are in the wrong order", i-1, i)
		}
		delete(byBook, w.sample)
	}
	if len(result.Hits) == 0 {
		return
	}
	last := result.Hits[len(result.Hits)-1]
	for _, w := range byBook { // those left out
		if w.whole && !last.Whole || w.whole == last.Whole && float64(w.score) > float64(last.Score)*(1+1e-4) {
			t.Fatalf("%+v is missing; the last hit is %+v", w, last)
		}
	}
}

// randomQuery takes one to seven terms, frequent and rare ones, sometimes one that nothing has.
func randomQuery(r *rand.Rand) [][]byte {
	terms := map[string]bool{}
	for range 1 + r.IntN(7) {
		switch r.IntN(6) {
		case 0:
			terms["often"] = true
		case 1:
			terms["stretches"] = true
		case 2:
			terms["missing"] = true
		default:
			terms[fmt.Sprintf("w%d", int(math.Exp(r.Float64()*9)))] = true
		}
	}
	var out [][]byte
	for term := range terms {
		out = append(out, []byte(term))
	}
	return out
}
