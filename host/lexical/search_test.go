package lexical

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/fault"
)

func find(t *testing.T, r *Reader, q Query) Result {
	t.Helper()
	result, err := r.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestSearchByTheBook(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		samples := randomSamples(r, 1+r.IntN(600), 25)
		deleted := map[int]bool{}
		if seed%2 == 0 {
			for i := range samples {
				if r.IntN(5) == 0 {
					deleted[i] = true
				}
			}
		}
		l := newLibrary(t, samples, deleted, 1+r.IntN(200), 1+r.IntN(100), 1+r.IntN(300))
		weights := &[256]float32{1, 0.6, 0, 0.8, 0.9}
		for range 12 {
			terms := randomQuery(r)
			limit := 1 + r.IntN(400)
			provider := uint32(r.IntN(3))
			set := l.reader.Where(ByProvider, func(v uint32) bool { return v == provider })
			byProvider := func(i int) bool { return uint32(samples[i].row.Provider) == provider }
			l.checkResult(t, find(t, l.reader, Query{Terms: terms, Limit: limit}), l.rank(terms, nil, nil), limit)
			l.checkResult(t, find(t, l.reader, Query{Terms: terms, Limit: limit, Weights: weights}), l.rank(terms, weights, nil), limit)
			l.checkResult(t, find(t, l.reader, Query{Terms: terms, Limit: limit, Filter: set}), l.rank(terms, nil, byProvider), limit)
			l.checkResult(t, find(t, l.reader, Query{Terms: terms, Limit: 5, Filter: set, Weights: weights}), l.rank(terms, weights, byProvider), 5)
		}
	}
}

// TestSpreadDoesNotMatter: the same documents give the same answer bit by bit however they lie in segments, and whether others were
// deleted or never there.
func TestSpreadDoesNotMatter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(77, 1))
	samples := randomSamples(r, 900, 30)
	deleted := map[int]bool{}
	var kept []sample
	for i, s := range samples {
		if i%4 == 1 {
			deleted[i] = true
		} else {
			kept = append(kept, s)
		}
	}
	shuffled := slices.Clone(kept)
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	libraries := []*library{
		newLibrary(t, kept, nil), newLibrary(t, kept, nil, 100, 1, 64, 65), newLibrary(t, samples, deleted, 300, 5), newLibrary(t, shuffled, nil, 450),
	}
	type answer struct {
		id       uint64
		coverage int
		score    float32
	}
	for range 60 {
		terms := randomQuery(r)
		limit := r.IntN(120)
		var first []answer
		matches := 0
		for n, l := range libraries {
			result := find(t, l.reader, Query{Terms: terms, Limit: limit})
			var got []answer
			for _, hit := range result.Hits {
				got = append(got, answer{l.samples[l.sample[hit.Doc]].row.ID, hit.Coverage, hit.Score})
			}
			if n == 0 {
				first, matches = got, result.Matches
			} else if !reflect.DeepEqual(got, first) || result.Matches != matches {
				t.Fatalf("%q: library %d answers\n%v, the first\n%v", terms, n, got, first)
			}
		}
	}
}

func TestOrderOfTies(t *testing.T) {
	t.Parallel()
	rows := []Row{ // in the expected order; the text is the same
		{ID: 9, Time: 300, Timed: true, Sequence: 1},
		{ID: 8, Time: 200, Timed: true, Sequence: 7},
		{ID: 1, Time: 200, Timed: true, Sequence: 5},
		{ID: 2, Time: 200, Timed: true, Sequence: 5},
		{ID: 5, Time: -1, Timed: true, Sequence: 99},
		{ID: 6, Sequence: 50},
		{ID: 3, Time: 999, Sequence: 4}, // the time of an untimed document means nothing
		{ID: 4, Sequence: 4},
	}
	var samples []sample
	for _, i := range []int{3, 0, 6, 2, 7, 4, 1, 5} {
		row := rows[i]
		row.Eligible = true
		samples = append(samples, sample{text: "alpha beta", row: row})
	}
	l := newLibrary(t, samples, nil, 3, 2)
	for limit := 1; limit <= len(rows); limit++ {
		for i, hit := range find(t, l.reader, Query{Terms: QueryTerms("alpha"), Limit: limit}).Hits {
			if got := samples[l.sample[hit.Doc]].row.ID; got != rows[i].ID {
				t.Errorf("limit %d: place %d has id %d, want %d", limit, i, got, rows[i].ID)
			}
		}
	}
}

func TestWholeRanksBeforeScore(t *testing.T) {
	t.Parallel()
	eligible := func(kind uint8) Row { return Row{Type: kind, Eligible: true} }
	samples := []sample{
		{text: "rare rare rare rare common", row: eligible(0)},
		{text: "rare common other filler filler filler filler filler filler filler", row: eligible(1)},
	}
	for range 20 {
		samples = append(samples, sample{text: "common other filler", row: eligible(0)})
	}
	l := newLibrary(t, samples, nil, 4)
	result := find(t, l.reader, Query{Terms: QueryTerms("rare common other"), Weights: &[256]float32{1, 0.6}, Limit: 3})
	if len(result.Hits) != 3 || l.sample[result.Hits[0].Doc] != 1 || result.Hits[0].Coverage != 3 || l.sample[result.Hits[1].Doc] != 0 {
		t.Fatalf("%+v", result.Hits)
	}
	if result.Hits[0].Score >= result.Hits[1].Score {
		t.Error("the example shows nothing: the first has the higher score as well")
	}
	// In a long question the rare word decides: a text that has only the small ones does not win by their number.
	result = find(t, l.reader, Query{Terms: QueryTerms("rare why did the common"), Limit: 3})
	if l.sample[result.Hits[0].Doc] != 0 || result.Hits[0].Whole || result.Hits[0].Coverage != 2 {
		t.Fatalf("%+v", result.Hits)
	}
}

func TestSearchEdges(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, []sample{{text: "one two", row: Row{Eligible: true}}, {text: "one", row: Row{}}}, nil)
	for _, c := range []struct {
		name  string
		query Query
		hits  int
		match int
	}{
		{"no terms", Query{Limit: 5}, 0, 0},
		{"unknown term", Query{Terms: QueryTerms("nothing"), Limit: 5}, 0, 0},
		{"text of other documents is not indexed", Query{Terms: QueryTerms("one"), Limit: 5}, 1, 1},
		{"repeated terms count once", Query{Terms: [][]byte{[]byte("one"), []byte("one")}, Limit: 5}, 1, 1},
		{"limit 0 counts", Query{Terms: QueryTerms("one")}, 0, 1},
		{"negative limit counts", Query{Terms: QueryTerms("one"), Limit: -1}, 0, 1},
		{"empty filter", Query{Terms: QueryTerms("one"), Limit: 5, Filter: l.reader.Empty()}, 0, 0},
		{"all classes out", Query{Terms: QueryTerms("one"), Limit: 5, Weights: &[256]float32{}}, 0, 0},
	} {
		result := find(t, l.reader, c.query)
		if len(result.Hits) != c.hits || result.Matches != c.match {
			t.Errorf("%s: %d hits, %d matches", c.name, len(result.Hits), result.Matches)
		}
		if c.hits > 0 && result.Hits[0].Coverage != 1 {
			t.Errorf("%s: coverage %d", c.name, result.Hits[0].Coverage)
		}
	}
	var many [][]byte
	for i := range MaxQueryTerms + 1 {
		many = append(many, fmt.Appendf(nil, "t%d", i))
	}
	if _, err := l.reader.Search(context.Background(), Query{Terms: many, Limit: 1}); fault.Code(err) != fault.InvalidRequest {
		t.Errorf("too many terms: %v", err)
	}
	terms := [][]byte{[]byte("two"), []byte("one")}
	if result := find(t, l.reader, Query{Terms: terms, Limit: 1}); result.Hits[0].Coverage != 2 || !bytes.Equal(terms[0], []byte("two")) {
		t.Error("unsorted terms: wrong coverage, or the caller's terms were changed")
	}
}

func TestEmptyLibrary(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil, nil)
	if result := find(t, l.reader, Query{Terms: QueryTerms("word"), Limit: 5}); result.Matches != 0 {
		t.Errorf("%+v", result)
	}
	if set, err := l.reader.MatchSet(context.Background(), QueryTerms("word"), 1); err != nil || set.Count() != 0 || l.reader.Live().Count() != 0 {
		t.Errorf("%v", err)
	}
}

func TestSearchWork(t *testing.T) {
	t.Parallel()
	var samples []sample
	for i := range 400 {
		text := "common"
		if i == 250 {
			text = "common needle"
		}
		samples = append(samples, sample{text: text, row: Row{ID: uint64(i), Session: uint32(i / 10), Eligible: true}})
	}
	l := newLibrary(t, samples, nil, 100, 100, 100, 100)
	one := l.reader.InSessions([]uint32{25})
	for _, c := range []struct {
		name  string
		query Query
		want  Work
	}{
		{"rare term", Query{Terms: QueryTerms("needle"), Limit: 10}, Work{Segments: 1, SegmentsSkipped: 3, Lookups: 4, Postings: 1, Rows: 1}},
		{"filter", Query{Terms: QueryTerms("common"), Limit: 20, Filter: one}, Work{Segments: 1, SegmentsSkipped: 3, Lookups: 4, Postings: 100, Rows: 10}},
		{"common term", Query{Terms: QueryTerms("common needle"), Limit: 1}, Work{Segments: 4, Lookups: 8, Postings: 401}},
	} {
		got := find(t, l.reader, c.query).Work
		if c.name == "common term" {
			got.Rows = 0 // depends on the order in which ties come
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if total := l.reader.Work(); total.Lookups != 16 {
		t.Errorf("total %+v", total)
	}
}

func TestSearchIsCancelled(t *testing.T) {
	t.Parallel()
	var samples []sample
	for i := range 60_000 {
		samples = append(samples, sample{text: "a b c d", row: Row{ID: uint64(i), Eligible: true}})
	}
	l := newLibrary(t, samples, nil, 30_000)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.reader.Search(done, Query{Terms: QueryTerms("a"), Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	if _, err := l.reader.MatchSet(done, QueryTerms("a b"), 2); !errors.Is(err, context.Canceled) {
		t.Errorf("MatchSet: %v", err)
	}
	// Cancelled on the way: the context is looked at within a posting list, not only between lists.
	during := &countdownContext{Context: context.Background(), looks: 3}
	before := l.reader.Work().Postings
	if _, err := l.reader.Search(during, Query{Terms: QueryTerms("a b c d"), Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled during: %v", err)
	}
	if read := l.reader.Work().Postings - before; read > 2*checkEvery*batchPostings {
		t.Errorf("%d postings read after cancellation", read)
	}
	// Nothing is left behind in reused memory.
	if result := find(t, l.reader, Query{Terms: QueryTerms("a b"), Limit: 1}); result.Matches != len(samples) || result.Hits[0].Coverage != 2 {
		t.Errorf("after cancellation: %+v", result)
	}
}

// countdownContext is cancelled at the n-th look.
type countdownContext struct {
	context.Context
	mu    sync.Mutex
	looks int
}

func (c *countdownContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestRankersAgree: one search spread over several goroutines answers as one that is not, and searches may run side by side.
func TestRankersAgree(t *testing.T) {
	t.Parallel()
	g := newSynthetic(5)
	var samples []sample
	for i := range 2000 {
		samples = append(samples, sample{text: string(g.document()), row: g.row(i)})
	}
	l := newLibrary(t, samples, map[int]bool{5: true, 1500: true}, 700, 700)
	q := Query{Terms: QueryTerms("the to file error"), Limit: 300}
	alone := find(t, l.reader, q)
	if len(alone.Hits) != 300 {
		t.Fatalf("%d hits", len(alone.Hits))
	}
	plan, err := l.reader.lookUp(context.Background(), q.Terms, nil, new(Work))
	if err != nil {
		t.Fatal(err)
	}
	rankers := make([]ranker, 3)
	share := []float32{0, 0.25, 0.5, 0.75, 1}
	scores := make([]termScore, len(q.Terms))
	for i := range scores {
		scores[i] = l.reader.live.score(plan.found[i])
	}
	for i := range rankers {
		rankers[i] = ranker{reader: l.reader, query: &q, plan: plan, scores: scores, share: share, best: topK{k: q.Limit}}
	}
	if err := runRankers(context.Background(), rankers, len(l.reader.parts)); err != nil {
		t.Fatal(err)
	}
	if together := mergeRankers(rankers); !reflect.DeepEqual(l.reader.hits(together), alone.Hits) {
		t.Error("several rankers answer otherwise")
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if result, err := l.reader.Search(context.Background(), q); err != nil || !reflect.DeepEqual(result.Hits, alone.Hits) {
					t.Errorf("side by side: %v", err)
				}
				if set, err := l.reader.MatchSet(context.Background(), q.Terms, 2); err != nil || set.Count() == 0 {
					t.Errorf("MatchSet: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestMatchSet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 1))
	samples := randomSamples(r, 500, 20)
	deleted := map[int]bool{3: true, 77: true, 400: true}
	l := newLibrary(t, samples, deleted, 130, 131)
	for range 40 {
		terms := randomQuery(r)
		all := l.rank(terms, nil, nil)
		for coverage := range len(terms) + 2 {
			want := map[int]bool{}
			for _, hit := range all {
				if hit.coverage >= coverage {
					want[hit.sample] = true
				}
			}
			set, err := l.reader.MatchSet(context.Background(), terms, coverage)
			if err != nil {
				t.Fatal(err)
			}
			checkSet(t, l, set, func(i int) bool { return want[i] })
		}
	}
}

func TestScoresAreFinite(t *testing.T) {
	t.Parallel()
	samples := []sample{{text: "only", row: Row{Eligible: true, Time: time.Now().UnixMilli(), Timed: true}}}
	l := newLibrary(t, samples, nil)
	hit := find(t, l.reader, Query{Terms: QueryTerms("only"), Limit: 1}).Hits[0]
	if hit.Score <= 0 || hit.Score > 1 {
		t.Errorf("score %v", hit.Score)
	}
}
