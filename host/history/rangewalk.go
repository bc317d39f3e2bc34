package history

import (
	"bytes"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// rangeWalk gives the selected documents in range order, behind a position.
type rangeWalk interface {
	next() (doc lexical.Doc, ok bool, err error)
	close()
}

// gatherLimit: a selection of up to this share of the archive (or this many documents) is sorted in memory from the columns, which
// costs its own size; a larger one is filtered while walking the time index, which costs the size of the archive.
const (
	gatherShare = 8
	gatherCount = 4096
)

func (r *Range) walk(after *record.RangeKey) rangeWalk {
	if r.set != nil {
		if n := r.set.Count(); n <= gatherCount || uint64(n)*gatherShare <= r.view.gen.Manifest().Stats.Events {
			return r.gather(after)
		}
	}
	return r.scan(after)
}

// scanWalk walks the time index.
type scanWalk struct {
	it   *core.DocIter
	set  *lexical.Set
	skip bool // the walk starts with the event of the cursor, which was given out already
}

func (r *Range) scan(after *record.RangeKey) *scanWalk {
	var from, to *record.RangeKey
	if r.plan.ranged {
		first, end := record.FirstAt(r.plan.since), record.FirstAt(r.plan.until)
		from, to = &first, &end
	}
	w := &scanWalk{set: r.set}
	if after != nil && r.plan.reverse {
		to = after // excluded: the walk starts before it
	} else if after != nil {
		from, w.skip = after, true
	}
	w.it = r.view.gen.Range(from, to, r.plan.reverse)
	return w
}

func (w *scanWalk) next() (lexical.Doc, bool, error) {
	for w.it.Next() {
		doc := w.it.Doc()
		if w.skip {
			w.skip = false
			continue
		}
		if w.set == nil || w.set.Has(doc) {
			return doc, true, nil
		}
	}
	return lexical.Doc{}, false, w.it.Err()
}

func (w *scanWalk) close() { w.it.Close() }

// place is the beginning of a range key, which the columns of a document tell: timed or not, time, sequence.
type place [17]byte

// gathered is a selected document with its place.
type gathered struct {
	doc   lexical.Doc
	place place
}

// gatherWalk holds a sorted selection. Events of equal time and sequence are ordered by digest, which no column holds: such a run is
// read when the walk comes to it.
type gatherWalk struct {
	gen     *core.Generation
	rows    []gathered // in walking order, runs of equal places unordered
	run     []lexical.Doc
	reverse bool
	after   *record.RangeKey
}

func (r *Range) gather(after *record.RangeKey) *gatherWalk {
	w := &gatherWalk{gen: r.view.gen, reverse: r.plan.reverse, after: after}
	reader := r.view.gen.Lexical()
	var e record.Event
	r.set.Each(func(d lexical.Doc) bool {
		row, ok := reader.Row(d)
		if ok && (!r.plan.ranged || row.Timed && r.plan.since <= row.Time && row.Time < r.plan.until) {
			e.Timed, e.OccurredAt, e.Sequence = row.Timed, row.Time, row.Sequence
			key := record.RangeKeyOf(&e)
			w.rows = append(w.rows, gathered{d, place(key[:])})
		}
		return true
	})
	slices.SortFunc(w.rows, func(a, b gathered) int { return w.compare(a.place[:], b.place[:]) })
	if after != nil {
		i, _ := slices.BinarySearchFunc(w.rows, after[:len(place{})], func(g gathered, at []byte) int { return w.compare(g.place[:], at) })
		w.rows = w.rows[i:]
	}
	return w
}

// compare orders keys, or the beginnings of keys, as the walk goes.
func (w *gatherWalk) compare(a, b []byte) int {
	if w.reverse {
		a, b = b, a
	}
	return bytes.Compare(a, b)
}

func (w *gatherWalk) next() (lexical.Doc, bool, error) {
	for len(w.run) == 0 {
		if len(w.rows) == 0 {
			return lexical.Doc{}, false, nil
		}
		if err := w.nextRun(); err != nil {
			return lexical.Doc{}, false, err
		}
	}
	doc := w.run[0]
	w.run = w.run[1:]
	return doc, true, nil
}

// nextRun takes the leading run of equal places and puts it in order, without what the cursor has passed.
func (w *gatherWalk) nextRun() error {
	n := 1
	for n < len(w.rows) && w.rows[n].place == w.rows[0].place {
		n++
	}
	run := w.rows[:n]
	w.rows = w.rows[n:]
	w.run = w.run[:0]
	if n == 1 && w.after == nil {
		w.run = append(w.run, run[0].doc)
		return nil
	}
	type member struct {
		doc lexical.Doc
		key record.RangeKey
	}
	members := make([]member, n)
	var buf []byte
	var e record.Event
	for i, g := range run {
		var err error
		if buf, err = w.gen.EventInto(buf, g.doc, &e); err != nil {
			return err
		}
		members[i] = member{g.doc, record.RangeKeyOf(&e)}
	}
	slices.SortFunc(members, func(a, b member) int { return w.compare(a.key[:], b.key[:]) })
	for _, m := range members {
		if w.after == nil || w.compare(m.key[:], w.after[:]) > 0 {
			w.run = append(w.run, m.doc)
		}
	}
	w.after = nil // only the first run can hold the event of the cursor
	return nil
}

func (w *gatherWalk) close() {}
