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

// ordering is one of the two orders. Its order keys are those of package record.
type ordering struct {
	stored func(key []byte) []byte      // the stored key, without the document, of the tie that an order key falls into
	at     int                          // where the part of an order key begins that is not in the stored one
	rest   func(row lexical.Row) []byte // that part of a document, as far as its columns tell
	key    func(e *record.Event) []byte // the whole order key
}

// sessionOrder breaks ties by time (untimed first), then UUID.
func sessionOrder(session uint32) ordering {
	return ordering{
		stored: func(k []byte) []byte { return append(ordinalKey(keySessionOrder, session), k[:12]...) },
		at:     12,
		rest: func(r lexical.Row) []byte {
			k := make([]byte, 9, 17)
			if r.Timed {
				k[0] = 1
				binary.BigEndian.PutUint64(k[1:], orderTime(r.Time))
			}
			return binary.BigEndian.AppendUint64(k, r.ID)
		},
		key: func(e *record.Event) []byte { k := record.SessionKeyOf(e); return k[:] },
	}
}

// rangeOrder breaks ties by sequence, then digest. The UUID in the columns starts like the digest for 48 bits.
var rangeOrder = ordering{
	stored: func(k []byte) []byte {
		at := 1
		if k[0] == 1 { // untimed: the sequence takes the place of the time
			at = 9
		}
		return append([]byte{keyRangeOrder, k[0]}, k[at:at+8]...)
	},
	at: 9,
	rest: func(r lexical.Row) []byte {
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, r.Sequence), r.ID)[:14]
	},
	key: func(e *record.Event) []byte { k := record.RangeKeyOf(e); return k[:] },
}

// SessionEvents walks the events of a session in session order: forward from the first event at or after from, or backward from the
// last event at or before it. A nil from starts at the end that the direction starts at.
func (g *Generation) SessionEvents(ordinal uint32, from *record.SessionKey, reverse bool) *DocIter {
	it := &DocIter{g: g, order: sessionOrder(ordinal), prefix: sessionOrderKeySize - docSize, reverse: reverse}
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
	it := &DocIter{g: g, order: rangeOrder, prefix: rangeOrderKeySize - docSize, reverse: reverse}
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
		lower = it.order.stored(it.from)
	}
	if it.to != nil {
		upper = after(it.order.stored(it.to))
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
	inFrom := it.from != nil && bytes.Equal(prefix, it.order.stored(it.from))
	inTo := it.to != nil && bytes.Equal(prefix, it.order.stored(it.to))
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
	rest := make(map[lexical.Doc][]byte, len(it.tie))
	for _, d := range it.tie {
		rest[d] = it.rest(d)
	}
	slices.SortFunc(it.tie, func(a, b lexical.Doc) int {
		c := bytes.Compare(rest[a], rest[b])
		if c == 0 {
			c = bytes.Compare(it.exact(a), it.exact(b))
		}
		if it.reverse {
			return -c
		}
		return c
	})
}

// compareKey compares a document of the tie that key falls into with key.
func (it *DocIter) compareKey(d lexical.Doc, key []byte) int {
	rest := it.rest(d)
	if c := bytes.Compare(rest, key[it.order.at:][:len(rest)]); c != 0 {
		return c
	}
	return bytes.Compare(it.exact(d), key)
}

func (it *DocIter) rest(d lexical.Doc) []byte {
	row, ok := it.g.text.Row(d)
	if !ok && it.err == nil {
		it.err = corruption(nil, "the index refers to event %d of segment %d, which does not exist", d.Doc, d.Segment)
	}
	return it.order.rest(row)
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
