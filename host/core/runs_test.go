package core

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agenthistory/ctx/host/lexical"
)

// Entries sort like the keys they stand for, and merging any number of runs gives the sorted whole.
func TestEntriesSortLikeKeys(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for kind, letter := range runLetters {
		var all []entry
		var held [][]entry
		for range 9 {
			var run []entry
			for range r.IntN(50) {
				row := lexical.Row{ID: r.Uint64() >> r.IntN(64), Timed: r.IntN(2) == 0, Time: r.Int64() >> r.IntN(64), Sequence: r.Uint64() >> r.IntN(64)}
				if r.IntN(2) == 0 {
					row.Time = -row.Time
				}
				d := lexical.Doc{Segment: r.Uint32N(1 << 31), Doc: r.Uint32()}
				event, order := rowKeys(row, d, r.IntN(2) == 0)
				e := [runKinds]entry{event, event, sessionEntry(r.Uint32()>>r.IntN(32), row.Sequence, r.Uint32()>>r.IntN(32), d, false), order}[kind]
				if e.doc() != d {
					t.Fatalf("%+v gives %+v", d, e.doc())
				}
				run = append(run, e)
			}
			slices.SortFunc(run, entry.compare)
			held = append(held, run)
			all = append(all, run...)
		}
		slices.SortFunc(all, entry.compare)
		m := newMerge(nil, held)
		var last []byte
		for i, want := range all {
			got, ok, err := m.next()
			if !ok || err != nil || got.compare(want) != 0 {
				t.Fatalf("kind %c, entry %d: %+v %v %v, want %+v", letter, i, got, ok, err, want)
			}
			key := got.key(nil, letter)
			if bytes.Compare(last, key) > 0 {
				t.Fatalf("kind %c: key %x after %x", letter, key, last)
			}
			last = key
		}
		if _, ok, err := m.next(); ok || err != nil {
			t.Fatalf("kind %c: more entries than there are: %v", letter, err)
		}
	}
}
