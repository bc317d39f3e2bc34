package core

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
	"github.com/cockroachdb/pebble/v2"
)

// DocIter walks documents in session or range order:
//
//	for it.Next() {
//		use(it.Doc())
//	}
//	err := it.Err()
//
// It must be closed. Not safe for concurrent use.
//
// Stored keys decide the order down to a tie: events of one session with equal sequence and suborder, or of one time. Inside a tie the
// columns decide, and if even those agree, the records.
type DocIter struct {
	g       *Generation
	it      *pebble.Iterator
	order   ordering
	prefix  int // length of the key before the document
	reverse bool
	started bool
	from    []byte // order key, inclusive; nil = open
	to      []byte // order key; nil = open
	toIncl  bool
	tie     []lexical.Doc
	at      int
	doc     lexical.Doc
	err     error
}

// ordering says how the documents of a tie compare.
type ordering interface {
	// place is the rough position of a document inside a tie, from its columns.
	place(row lexical.Row) place
	// placeOf is the rough position of an order key inside its tie.
	placeOf(key []byte) place
	// prefixOf is the stored key prefix of the tie an order key belongs to.
	prefixOf(key []byte) []byte
	// key is the exact order key of an event.
	key(e *record.Event) []byte
}

// place compares by its numbers in order.
type place [3]uint64

func (p place) compare(o place) int { return slices.Compare(p[:], o[:]) }

// sessionOrder breaks ties by time (untimed first), then UUID.
type sessionOrder struct{ session uint32 }

func (sessionOrder) place(r lexical.Row) place {
	if !r.Timed {
		return place{0, 0, r.ID}
	}
	return place{1, orderTime(r.Time), r.ID}
}

func (sessionOrder) placeOf(k []byte) place {
	return place{uint64(k[12]), binary.BigEndian.Uint64(k[13:]), binary.BigEndian.Uint64(k[21:])}
}

func (o sessionOrder) prefixOf(k []byte) []byte {
	return append(ordinalKey(keySessionOrder, o.session), k[:12]...)
}

func (sessionOrder) key(e *record.Event) []byte {
	k := record.SessionKeyOf(e)
	return k[:]
}

// rangeOrder breaks ties by sequence, then digest. The UUID in the columns starts like the digest for 48 bits.
type rangeOrder struct{}

func (rangeOrder) place(r lexical.Row) place { return place{r.Sequence, r.ID >> 16, 0} }

func (rangeOrder) placeOf(k []byte) place {
	return place{binary.BigEndian.Uint64(k[9:]), binary.BigEndian.Uint64(k[17:]) >> 16, 0}
}

func (rangeOrder) prefixOf(k []byte) []byte {
	at := 1
	if k[0] == 1 { // untimed: the sequence takes the place of the time
		at = 9
	}
	return append([]byte{keyRangeOrder, k[0]}, k[at:at+8]...)
}

func (rangeOrder) key(e *record.Event) []byte {
	k := record.RangeKeyOf(e)
	return k[:]
}

// SessionEvents walks the events of a session in session order: forward from the first event at or after from, or backward from the
// last event at or before it. A nil from starts at the end that the direction starts at.
func (g *Generation) SessionEvents(ordinal uint32, from *record.SessionKey, reverse bool) *DocIter {
	it := &DocIter{g: g, order: sessionOrder{ordinal}, prefix: sessionOrderKeySize - docSize, reverse: reverse}
	if from != nil {
		if reverse {
			it.to, it.toIncl = from[:], true
		} else {
			it.from = from[:]
		}
	}
	it.open(ordinalKey(keySessionOrder, ordinal))
	return it
}

// Range walks all events with from <= key < to in range order, or backward. A nil bound is open.
func (g *Generation) Range(from, to *record.RangeKey, reverse bool) *DocIter {
	it := &DocIter{g: g, order: rangeOrder{}, prefix: rangeOrderKeySize - docSize, reverse: reverse}
	if from != nil {
		it.from = from[:]
	}
	if to != nil {
		it.to = to[:]
	}
	it.open([]byte{keyRangeOrder})
	return it
}

func (it *DocIter) open(all []byte) {
	lower, upper := all, after(all)
	if it.from != nil {
		lower = it.order.prefixOf(it.from)
	}
	if it.to != nil {
		upper = after(it.order.prefixOf(it.to))
	}
	if bytes.Compare(lower, upper) >= 0 {
		return // an empty range
	}
	it.it, it.err = it.g.iterator(lower, upper)
}

// Next moves to the next document; false at the end or after an error.
func (it *DocIter) Next() bool {
	for it.err == nil && it.it != nil {
		if it.at < len(it.tie) {
			it.doc = it.tie[it.at]
			it.at++
			return true
		}
		if !it.load() {
			return false
		}
	}
	return false
}

// load reads the next tie; false at the end.
func (it *DocIter) load() bool {
	first, next := it.it.First, it.it.Next
	if it.reverse {
		first, next = it.it.Last, it.it.Prev
	}
	ok := it.started && it.it.Valid() || !it.started && first()
	it.started = true
	it.tie, it.at = it.tie[:0], 0
	if !ok {
		it.err = endOf(it.it)
		return false
	}
	prefix := append([]byte(nil), it.it.Key()[:it.prefix]...)
	for ok && bytes.Equal(it.it.Key()[:it.prefix], prefix) {
		it.tie = append(it.tie, docOf(it.it.Key()))
		ok = next()
	}
	if it.err = endOf(it.it); it.err != nil {
		return false
	}
	it.bound(prefix)
	it.sort()
	return it.err == nil
}

// bound drops the documents of a tie that lie outside the bounds. Only the tie that a bound falls into needs a look.
func (it *DocIter) bound(prefix []byte) {
	inFrom := it.from != nil && bytes.Equal(prefix, it.order.prefixOf(it.from))
	inTo := it.to != nil && bytes.Equal(prefix, it.order.prefixOf(it.to))
	if !inFrom && !inTo {
		return
	}
	it.tie = slices.DeleteFunc(it.tie, func(d lexical.Doc) bool {
		if inFrom && it.compareKey(d, it.from) < 0 {
			return true
		}
		if !inTo {
			return false
		}
		c := it.compareKey(d, it.to)
		return c > 0 || c == 0 && !it.toIncl
	})
}

func (it *DocIter) sort() {
	if len(it.tie) < 2 || it.err != nil {
		return
	}
	type placed struct {
		doc lexical.Doc
		at  place
	}
	tie := make([]placed, len(it.tie))
	for i, d := range it.tie {
		tie[i] = placed{d, it.place(d)}
	}
	slices.SortFunc(tie, func(a, b placed) int {
		c := a.at.compare(b.at)
		if c == 0 {
			c = bytes.Compare(it.exact(a.doc), it.exact(b.doc))
		}
		if it.reverse {
			return -c
		}
		return c
	})
	for i := range tie {
		it.tie[i] = tie[i].doc
	}
}

// compareKey compares a document of the tie that key falls into with key.
func (it *DocIter) compareKey(d lexical.Doc, key []byte) int {
	if c := it.place(d).compare(it.order.placeOf(key)); c != 0 {
		return c
	}
	return bytes.Compare(it.exact(d), key)
}

func (it *DocIter) place(d lexical.Doc) place {
	row, ok := it.g.text.Row(d)
	if !ok && it.err == nil {
		it.err = corruption(nil, "the index refers to event %d of segment %d, which does not exist", d.Doc, d.Segment)
	}
	return it.order.place(row)
}

func (it *DocIter) exact(d lexical.Doc) []byte {
	var e record.Event
	if err := it.g.Event(d, &e); err != nil {
		if it.err == nil {
			it.err = err
		}
		return nil
	}
	return it.order.key(&e)
}

func endOf(it *pebble.Iterator) error {
	if err := it.Error(); err != nil {
		return corruption(err, "the record store cannot be read")
	}
	return nil
}

// Doc returns the document that Next moved to.
func (it *DocIter) Doc() lexical.Doc { return it.doc }

// Err returns the error that ended the walk.
func (it *DocIter) Err() error { return it.err }

// Close releases the iterator. Closing twice is allowed.
func (it *DocIter) Close() {
	if it.it != nil {
		it.it.Close() // an error of reading was reported by Err
		it.it = nil
	}
}

// Copies calls visit with the stored events whose copy claim names ancestor, which need not be stored itself, in no particular order,
// until it returns false. The event is valid during the call.
func (g *Generation) Copies(ancestor record.Digest, visit func(*record.Event) bool) error {
	var e record.Event
	var buf []byte
	err := g.scan(binary.BigEndian.AppendUint64([]byte{keyCopy}, uuid8(ancestor)), func(k, _ []byte) (err error) {
		if buf, err = g.EventInto(buf, docOf(k), &e); err != nil {
			return err
		}
		if e.Copy != nil && e.Copy.Event == ancestor && !visit(&e) {
			return errStop
		}
		return nil
	})
	return stopped(err)
}
