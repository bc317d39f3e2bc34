package history

import (
	"bytes"
	"cmp"
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

// gathered is a selected document with what its columns tell of its place.
type gathered struct {
	doc      lexical.Doc
	untimed  bool
	time     int64
	sequence uint64
}

func placeOf(k record.RangeKey) gathered {
	ms, timed := k.Time()
	return gathered{untimed: !timed, time: ms, sequence: k.Sequence()}
}

// gatherWalk holds a sorted selection. Events of equal time and sequence are ordered by digest, which no column holds: such a run is
// read when the walk comes to it.
type gatherWalk struct {
	gen     *core.Generation
	rows    []gathered // in walking order, runs of equal keys unordered
	run     []lexical.Doc
	reverse bool
	after   *record.RangeKey
}

func (r *Range) gather(after *record.RangeKey) *gatherWalk {
	w := &gatherWalk{gen: r.view.gen, reverse: r.plan.reverse, after: after}
	reader := r.view.gen.Lexical()
	r.set.Each(func(d lexical.Doc) bool {
		row, ok := reader.Row(d)
		if ok && (!r.plan.ranged || row.Timed && r.plan.since <= row.Time && row.Time < r.plan.until) {
			g := gathered{doc: d, untimed: !row.Timed, sequence: row.Sequence}
			if row.Timed {
				g.time = row.Time
			}
			w.rows = append(w.rows, g)
		}
		return true
	})
	slices.SortFunc(w.rows, w.compare)
	if after != nil {
		i, _ := slices.BinarySearchFunc(w.rows, placeOf(*after), w.compare)
		w.rows = w.rows[i:]
	}
	return w
}

func (w *gatherWalk) compare(a, b gathered) int {
	c := cmp.Or(compareBool(a.untimed, b.untimed), cmp.Compare(a.time, b.time), cmp.Compare(a.sequence, b.sequence))
	if w.reverse {
		return -c
	}
	return c
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
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

// nextRun takes the leading run of equal keys and puts it in order of digests, without what the cursor has passed.
func (w *gatherWalk) nextRun() error {
	n := 1
	for n < len(w.rows) && w.compare(w.rows[0], w.rows[n]) == 0 {
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
		id  record.Digest
	}
	members := make([]member, n)
	var buf []byte
	var e record.Event
	for i, g := range run {
		var err error
		if buf, err = w.gen.EventInto(buf, g.doc, &e); err != nil {
			return err
		}
		members[i] = member{g.doc, e.ID}
	}
	slices.SortFunc(members, func(a, b member) int {
		c := bytes.Compare(a.id[:], b.id[:])
		if w.reverse {
			return -c
		}
		return c
	})
	for _, m := range members {
		if w.after != nil && w.passed(run[0], m.id) {
			continue
		}
		w.run = append(w.run, m.doc)
	}
	w.after = nil // only the first run can hold the event of the cursor
	return nil
}

// passed tells whether an event of the first run lies at or before the cursor.
func (w *gatherWalk) passed(g gathered, id record.Digest) bool {
	if w.compare(g, placeOf(*w.after)) != 0 {
		return false
	}
	at := w.after.Event()
	c := bytes.Compare(id[:], at[:])
	if w.reverse {
		return c >= 0
	}
	return c <= 0
}

func (w *gatherWalk) close() {}
