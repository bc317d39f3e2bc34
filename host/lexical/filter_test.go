package lexical

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// checkSet compares a set with a predicate over the live samples.
func checkSet(t *testing.T, l *library, set *Set, want func(i int) bool) {
	t.Helper()
	count := 0
	for i, doc := range l.docs {
		expected := !l.deleted[i] && want(i)
		if set.Has(doc) != expected {
			t.Fatalf("sample %d: in the set %v, want %v", i, set.Has(doc), expected)
		}
		if expected {
			count++
		}
	}
	if set.Count() != count {
		t.Fatalf("count %d, want %d", set.Count(), count)
	}
	visited := 0
	set.Each(func(d Doc) bool {
		if i, ok := l.sample[d]; !ok || !want(i) {
			t.Fatalf("visited %v", d)
		}
		visited++
		return true
	})
	if visited != count {
		t.Fatalf("visited %d, want %d", visited, count)
	}
}

func filterLibrary(t *testing.T) *library {
	r := rand.New(rand.NewPCG(31, 1))
	samples := randomSamples(r, 700, 10)
	for i := range samples {
		samples[i].row.Time = int64(i * 10) // times ascend over the segments
	}
	deleted := map[int]bool{}
	for range 80 {
		deleted[r.IntN(len(samples))] = true
	}
	return newLibrary(t, samples, deleted, 64, 200, 1, 63)
}

func hasTerm(s sample, field Field, match func(value []byte) bool) bool {
	return slices.ContainsFunc(s.terms, func(t Term) bool { return t.Field == field && len(t.Value) > 0 && match(t.Value) })
}

func TestFilters(t *testing.T) {
	t.Parallel()
	l := filterLibrary(t)
	r := l.reader
	row := func(i int) Row { return l.samples[i].row }
	checkSet(t, l, r.Live(), func(int) bool { return true })
	checkSet(t, l, r.Empty(), func(int) bool { return false })
	eligible := func() *Set { return r.Live().KeepEligible() }
	checkSet(t, l, eligible(), func(i int) bool { return row(i).Eligible })
	if docs, sessions := r.Eligible(); docs != eligible().Count() || sessions != eligible().Sessions() {
		t.Errorf("%d eligible documents of %d sessions", docs, sessions)
	}
	checkSet(t, l, r.Live().KeepCopies(), func(i int) bool { return row(i).Copy })
	is := func(n uint32) func(uint32) bool { return func(v uint32) bool { return v == n } }
	checkSet(t, l, r.Where(ByScope, is(1)).Keep(ByRole, is(2)), func(i int) bool { return row(i).Scope == 1 && row(i).Role == 2 })
	checkSet(t, l, r.Where(ByType, is(3)), func(i int) bool { return row(i).Type == 3 })
	for _, n := range []uint32{0, 1, 7, 9999} {
		checkSet(t, l, r.Where(BySource, is(n)), func(i int) bool { return row(i).Source == n })
		checkSet(t, l, eligible().Keep(ByProvider, is(n)), func(i int) bool { return row(i).Eligible && uint32(row(i).Provider) == n })
	}
	scoped, distinct := r.Where(ByScope, is(1)), map[uint32]bool{}
	for i, doc := range l.docs {
		if scoped.Has(doc) {
			distinct[row(i).Session] = true
		}
	}
	if got := scoped.Sessions(); got != len(distinct) {
		t.Errorf("%d sessions, want %d", got, len(distinct))
	}
	for _, span := range [][2]int64{{0, 10}, {0, 1}, {640, 2650}, {-5, 0}, {6990, 1 << 60}, {50, 50}, {90, 20}} {
		checkSet(t, l, r.Live().KeepBetween(span[0], span[1]), func(i int) bool { return row(i).Timed && row(i).Time >= span[0] && row(i).Time < span[1] })
	}
	for _, sessions := range [][]uint32{nil, {0}, {3, 3, 17}, {34, 2, 9999}, {1 << 20}} {
		checkSet(t, l, r.InSessions(sessions), func(i int) bool { return slices.Contains(sessions, row(i).Session) })
	}
}

func TestFiltersSkipSegments(t *testing.T) {
	t.Parallel()
	l := filterLibrary(t)
	for _, c := range []struct {
		name string
		run  func()
		max  uint64 // segments read
	}{
		{"between", func() { l.reader.Live().KeepBetween(0, 100) }, 1},
		{"nowhere", func() { l.reader.Live().KeepBetween(1<<50, 1<<51) }, 0},
		{"what is empty", func() { l.reader.Empty().Keep(BySource, func(uint32) bool { return true }) }, 0},
		{"first sessions", func() { l.reader.InSessions([]uint32{0, 1}) }, 1},
		{"no such session", func() { l.reader.InSessions([]uint32{77_777}) }, 0},
	} {
		before := l.reader.Work()
		c.run()
		after := l.reader.Work()
		read, skipped := after.Segments-before.Segments, after.SegmentsSkipped-before.SegmentsSkipped
		if read != c.max || read+skipped != uint64(len(l.reader.Segments())) {
			t.Errorf("%s: %d segments read, %d skipped", c.name, read, skipped)
		}
		if c.max == 0 && after.Rows != before.Rows {
			t.Errorf("%s: rows were read", c.name)
		}
	}
}

// Without deleted documents a segment knows how many a search may find, and of which sessions.
func TestEligibleIsKnown(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, randomSamples(rand.New(rand.NewPCG(5, 6)), 300, 10), nil, 64, 200, 1)
	docs, sessions := l.reader.Eligible()
	if work := l.reader.Work(); work.Rows != 0 || work.Segments != 0 {
		t.Errorf("%+v", work)
	}
	if want := l.reader.Live().KeepEligible(); docs != want.Count() || sessions != want.Sessions() {
		t.Errorf("%d documents of %d sessions, want %d of %d", docs, sessions, want.Count(), want.Sessions())
	}
}

// What a filter leaves out is not decoded: segments without one of its documents are not ranked.
func TestFiltersSaveWork(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, randomSamples(rand.New(rand.NewPCG(5, 5)), 700, 10), nil, 64, 200, 1, 63)
	work := func(filter *Set) Work {
		return find(t, l.reader, Query{Terms: QueryTerms("often stretches"), Limit: 10, Filter: filter}).Work
	}
	whole, few, nothing := work(nil), work(l.reader.InSessions([]uint32{0, 1})), work(l.reader.Empty())
	if segments := uint64(len(l.reader.Segments())); few.Segments != 1 || few.SegmentsSkipped != segments-1 || nothing.SegmentsSkipped != segments {
		t.Errorf("few: %+v, nothing: %+v", few, nothing)
	}
	if few.Postings > 2*64 || whole.Postings < 700 || nothing.Postings != 0 || few.Rows > 40 {
		t.Errorf("whole: %+v, few: %+v, nothing: %+v", whole, few, nothing)
	}
}

func TestTermSet(t *testing.T) {
	t.Parallel()
	l := filterLibrary(t)
	for _, c := range []struct {
		field Field
		value string
	}{
		{EventType, "type3"}, {EventType, "type"}, {FactFile, "/src/Dir2/file7.go"}, {FactSessionCWD, `C:\work\1`}, {FactBranch, ""}, {FactURL, "x"},
		{fieldCount, "x"},
	} {
		set, err := l.reader.TermSet(c.field, []byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		checkSet(t, l, set, func(i int) bool {
			return hasTerm(l.samples[i], c.field, func(v []byte) bool { return string(v) == c.value })
		})
	}
	body, err := l.reader.TermSet(Body, []byte("often"))
	if err != nil {
		t.Fatal(err)
	}
	checkSet(t, l, body, func(i int) bool { return l.samples[i].row.Eligible && strings.Contains(l.samples[i].text, "often") })
}

func TestMatchTerms(t *testing.T) {
	t.Parallel()
	l := filterLibrary(t)
	match := func(v []byte) bool { return bytes.Contains(v, []byte("ir3")) || bytes.HasSuffix(v, []byte(`k\2`)) }
	before := l.reader.Work()
	set, err := l.reader.MatchTerms([]Field{FactFile, FactSessionCWD, FactURL, fieldCount}, match)
	if err != nil {
		t.Fatal(err)
	}
	checkSet(t, l, set, func(i int) bool {
		return hasTerm(l.samples[i], FactFile, match) || hasTerm(l.samples[i], FactSessionCWD, match)
	})
	if work := l.reader.Work(); work.DictionaryTerms == before.DictionaryTerms || work.Rows != before.Rows {
		t.Errorf("work %+v", work)
	}
	nothing, err := l.reader.MatchTerms([]Field{FactFile}, func([]byte) bool { return false })
	if err != nil || nothing.Count() != 0 {
		t.Errorf("%v", err)
	}
}

func TestPanicsOfCallersPass(t *testing.T) {
	t.Parallel()
	l := filterLibrary(t)
	for name, call := range map[string]func(){
		"MatchTerms": func() { l.reader.MatchTerms([]Field{FactFile}, func([]byte) bool { panic("caller") }) },
	} {
		func() {
			defer func() {
				if recover() != "caller" {
					t.Errorf("%s swallows a panic of its caller", name)
				}
			}()
			call()
		}()
	}
}

func TestLongValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	path := "/" + strings.Repeat("deep/", 3000) + "file.go"
	command := func(end string) []Term {
		return []Term{{FactCommand, []byte(long + end)}, {FactFile, []byte(path + end)}}
	}
	l := newLibrary(t, []sample{{terms: command("a")}, {terms: command("b")}, {terms: command("a")}}, nil, 2)
	for value, want := range map[string]func(int) bool{
		"a": func(i int) bool { return i != 1 },
		"b": func(i int) bool { return i == 1 },
		"c": func(int) bool { return false },
	} {
		byCommand, err := l.reader.TermSet(FactCommand, []byte(long+value))
		if err != nil {
			t.Fatal(err)
		}
		checkSet(t, l, byCommand, want)
		byFile, err := l.reader.MatchTerms([]Field{FactFile}, func(v []byte) bool { return string(v) == path+value })
		if err != nil {
			t.Fatal(err)
		}
		checkSet(t, l, byFile, want)
	}
	_, err := l.reader.MatchTerms([]Field{FactCommand}, func(v []byte) bool {
		if len(v) > wholeKeyBytes || !bytes.HasPrefix([]byte(long), v[:prefixKeyBytes]) {
			t.Errorf("key of %d bytes", len(v))
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSetOperations(t *testing.T) {
	t.Parallel()
	l := filterLibrary(t)
	even := l.reader.Where(ByType, func(v uint32) bool { return v%2 == 0 })
	third := l.reader.Where(ByType, func(v uint32) bool { return v%3 == 0 })
	id := func(i int) uint8 { return l.samples[i].row.Type }
	checkSet(t, l, even.Clone().And(third), func(i int) bool { return id(i)%6 == 0 })
	checkSet(t, l, even.Clone().AndNot(third), func(i int) bool { return id(i)%2 == 0 && id(i)%3 != 0 })
	checkSet(t, l, even.Clone().Or(third), func(i int) bool { return id(i)%2 == 0 || id(i)%3 == 0 })
	checkSet(t, l, even, func(i int) bool { return id(i)%2 == 0 })
	picked := l.reader.Empty()
	for i, doc := range l.docs {
		if picked.Add(doc) == l.deleted[i] {
			t.Fatalf("Add of sample %d (deleted: %v)", i, l.deleted[i])
		}
	}
	checkSet(t, l, picked, func(int) bool { return true })
	for _, unknown := range []Doc{{99, 0}, {10, 64}, {10, 1 << 31}} {
		if picked.Has(unknown) || picked.Add(unknown) {
			t.Errorf("%v is known", unknown)
		}
	}
	visits := 0
	picked.Each(func(Doc) bool { visits++; return visits < 70 })
	if visits != 70 {
		t.Errorf("%d visits after asking to stop at 70", visits)
	}
}

func TestListings(t *testing.T) {
	t.Parallel()
	l := filterLibrary(t)
	set := l.reader.Where(ByProvider, func(v uint32) bool { return v == 1 })
	var rows []Row
	set.Each(func(d Doc) bool {
		row, ok := l.reader.Row(d)
		if !ok {
			t.Fatalf("%v has no row", d)
		}
		rows = append(rows, row)
		return true
	})
	check := func(name string, docs []Doc, less func(a, b Row) bool) {
		t.Helper()
		slices.SortFunc(rows, func(a, b Row) int {
			if less(a, b) {
				return -1
			}
			return 1
		})
		for i, d := range docs {
			if row, _ := l.reader.Row(d); row != rows[i] {
				t.Fatalf("%s: place %d is %+v, want %+v", name, i, row, rows[i])
			}
		}
	}
	for _, limit := range []int{0, 1, 50, 10_000} {
		newest := l.reader.Newest(set, limit)
		if len(newest) != min(limit, len(rows)) {
			t.Fatalf("limit %d: %d", limit, len(newest))
		}
		check("Newest", newest, func(a, b Row) bool {
			switch {
			case a.Timed != b.Timed:
				return a.Timed
			case a.Timed && a.Time != b.Time:
				return a.Time > b.Time
			case a.Sequence != b.Sequence:
				return a.Sequence > b.Sequence
			}
			return a.ID < b.ID
		})
	}
}
