package lexical

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// Column names a column whose values can choose documents.
type Column uint8

const (
	BySource Column = iota
	ByProvider
	ByType
	ByRole
	ByScope
	byFlags
)

// Where returns the live documents whose value in a column keep accepts.
func (r *Reader) Where(column Column, keep func(v uint32) bool) *Set {
	return r.Live().Keep(column, keep)
}

// Keep takes out the documents whose value in a column keep refuses. It changes and returns s, as do the other methods that keep. What
// they cost follows the documents in the set, so the filter that leaves least comes first.
func (s *Set) Keep(column Column, keep func(v uint32) bool) *Set {
	var table [256]uint8
	for v := range table {
		if column >= ByType && keep(uint32(v)) {
			table[v] = 1
		}
	}
	return s.narrow(nil, func(c *Columns, words []uint64) {
		switch column {
		case BySource:
			keepNumbers(words, c.source, 4, keep)
		case ByProvider:
			keepNumbers(words, c.provider, 2, keep)
		case ByType:
			keepBytes(words, c.typ, &table)
		case ByRole:
			keepBytes(words, c.role, &table)
		case ByScope:
			keepBytes(words, c.scope, &table)
		case byFlags:
			keepBytes(words, c.flagBytes, &table)
		}
	})
}

// verdict is what the bounds of a segment say about a filter.
type verdict uint8

const (
	open verdict = iota // its rows decide
	none
	every
)

// narrow applies a filter segment by segment. Rows are only read where documents are left and the bounds do not decide.
func (s *Set) narrow(bounds func(c *Columns) verdict, keep func(c *Columns, words []uint64)) *Set {
	var work Work
	for _, p := range s.reader.parts {
		words := p.of(s)
		left := countBits(words)
		decided := open
		if bounds != nil {
			decided = bounds(p.columns)
		}
		if decided == none {
			clear(words)
		}
		if left == 0 || decided != open {
			work.SegmentsSkipped++
			continue
		}
		work.Segments++
		work.Rows += uint64(left)
		keep(p.columns, words)
	}
	s.reader.work.add(work)
	return s
}

func keepEach(words []uint64, keep func(doc uint32) bool) {
	for i, w := range words {
		for left := w; left != 0; left &= left - 1 {
			if !keep(uint32(64*i + bits.TrailingZeros64(left))) {
				words[i] &^= left & -left
			}
		}
	}
}

// keepBytes looks 64 documents at once up in a table of 0 and 1, without a branch.
func keepBytes(words []uint64, column []byte, table *[256]uint8) {
	for i, w := range words {
		if w == 0 {
			continue
		}
		block := column[64*i : min(64*i+64, len(column))]
		if bytes.Equal(block[1:], block[:len(block)-1]) { // all are equal
			words[i] = w & -uint64(table[block[0]])
			continue
		}
		var kept uint64
		for j, v := range block {
			kept |= uint64(table[v]) << (j & 63)
		}
		words[i] = w & kept
	}
}

// keepNumbers asks once a run of equal numbers: documents of one session lie together.
func keepNumbers(words []uint64, column []byte, width int, keep func(v uint32) bool) {
	eachRun(words, column, width, func(i int, run uint64, v uint32) {
		if !keep(v) {
			words[i] &^= run
		}
	})
}

// eachRun visits the documents in pieces of equal numbers of a width of 2 or 4 bytes: documents of a word as bits, and their number.
func eachRun(words []uint64, column []byte, width int, visit func(i int, run uint64, v uint32)) {
	for i, w := range words {
		if w == 0 {
			continue
		}
		block := column[64*width*i : min(64*width*(i+1), len(column))]
		if bytes.Equal(block[width:], block[:len(block)-width]) { // all are equal
			visit(i, w, number(block, width))
			continue
		}
		for w != 0 {
			v, run := number(block[width*bits.TrailingZeros64(w):], width), uint64(0)
			for ; w != 0 && number(block[width*bits.TrailingZeros64(w):], width) == v; w &= w - 1 {
				run |= w & -w
			}
			visit(i, run, v)
		}
	}
}

func number(column []byte, width int) uint32 {
	if width == 2 {
		return uint32(binary.LittleEndian.Uint16(column))
	}
	return binary.LittleEndian.Uint32(column)
}

// KeepEligible takes out what ranked search may not find.
func (s *Set) KeepEligible() *Set {
	return s.Keep(byFlags, func(v uint32) bool { return v&flagEligible != 0 })
}

// KeepCopies takes out what carries no proven copy claim.
func (s *Set) KeepCopies() *Set {
	return s.Keep(byFlags, func(v uint32) bool { return v&flagCopy != 0 })
}

// KeepBetween keeps the timed documents with from <= time < to, in Unix milliseconds. Bounds decide about most segments.
func (s *Set) KeepBetween(from, to int64) *Set {
	return s.narrow(func(c *Columns) verdict {
		switch {
		case c.timed == 0 || c.maxTime < from || c.minTime >= to:
			return none
		case c.timed == c.docs && c.minTime >= from && c.maxTime < to:
			return every
		}
		return open
	}, func(c *Columns, words []uint64) {
		keepEach(words, func(doc uint32) bool {
			t := c.rawTime(doc)
			return t != untimed && t >= from && t < to
		})
	})
}

// InSessions returns the live documents of the given sessions. Segments without any are skipped by their bounds.
func (r *Reader) InSessions(ordinals []uint32) *Set {
	if len(ordinals) == 0 {
		return r.Empty()
	}
	sorted := slices.Clone(ordinals)
	slices.Sort(sorted)
	wanted := make([]uint64, sorted[len(sorted)-1]/64+1)
	for _, o := range sorted {
		wanted[o/64] |= 1 << (o % 64)
	}
	return r.Live().narrow(func(c *Columns) verdict {
		if i, _ := slices.BinarySearch(sorted, c.minSession); i == len(sorted) || sorted[i] > c.maxSession {
			return none
		}
		return open
	}, func(c *Columns, words []uint64) {
		keepNumbers(words, c.session, 4, func(o uint32) bool {
			return uint64(o/64) < uint64(len(wanted)) && wanted[o/64]>>(o%64)&1 != 0
		})
	})
}

// numbers is a set of small numbers.
type numbers struct {
	bits  []uint64
	count int
}

func (n *numbers) add(v uint32) {
	for int(v/64) >= len(n.bits) {
		n.bits = append(n.bits, 0)
	}
	if bit := uint64(1) << (v % 64); n.bits[v/64]&bit == 0 {
		n.bits[v/64] |= bit
		n.count++
	}
}

// Sessions counts the distinct sessions of the documents.
func (s *Set) Sessions() int {
	var seen numbers
	for _, p := range s.reader.parts {
		eachRun(p.of(s), p.columns.session, 4, func(_ int, _ uint64, v uint32) { seen.add(v) })
	}
	return seen.count
}

// Eligible counts the live documents that ranked search may find, and their sessions. A segment without deleted documents knows its own.
func (r *Reader) Eligible() (documents, sessions int) {
	var seen numbers
	var work Work
	for _, p := range r.parts {
		if p.dead == nil {
			work.SegmentsSkipped++
			documents += int(p.columns.eligible)
			for list := p.columns.eligibleIn; len(list) > 0; list = list[4:] {
				seen.add(number(list, 4))
			}
			continue
		}
		work.Segments++
		work.Rows += uint64(p.segment.Docs)
		for doc := range p.segment.Docs {
			if !p.isDead(doc) && p.columns.Eligible(doc) {
				documents++
				seen.add(p.columns.Session(doc))
			}
		}
	}
	r.work.add(work)
	return documents, seen.count
}

// TermSet returns the live documents whose field has exactly this value (for Body: this token).
func (r *Reader) TermSet(field Field, value []byte) (*Set, error) {
	s := r.Empty()
	if field >= fieldCount {
		return s, nil
	}
	if field != Body {
		value = field.key(value)
	}
	var work Work
	defer func() { r.work.add(work) }()
	batch := new(postingBatch)
	for _, p := range r.parts {
		work.Lookups++
		err := guard(p.path, func() error {
			d, err := p.postings.dictionary(field)
			if err != nil {
				return err
			}
			list, found, err := d.lookup(value)
			if err != nil || !found {
				return err
			}
			work.Segments++
			return list.mark(p.of(s), batch, &work)
		})
		if err != nil {
			return nil, corrupt(err, p.path, "is damaged")
		}
		p.clearDead(s)
	}
	return s, nil
}

// mark sets the bits of what is left of the list.
func (l *postingList) mark(words []uint64, batch *postingBatch, work *Work) error {
	return l.each(batch, work, func(n int) {
		for _, doc := range batch.docs[:n] {
			words[doc/64] |= 1 << (doc % 64)
		}
	})
}

func (p *part) clearDead(s *Set) {
	words := p.of(s)
	for i, dead := range p.dead {
		words[i] &^= dead
	}
}

// MatchTerms returns the live documents that have, in any of the fields, a value for which match holds. It goes through the distinct
// values of every segment, not through documents. Long values of fields that only serve exact lookups are seen shortened (see TermSet
// for those); the fields of file and workspace filters are seen whole. The value is only valid during the call.
func (r *Reader) MatchTerms(fields []Field, match func(value []byte) bool) (*Set, error) {
	s := r.Empty()
	var work Work
	defer func() { r.work.add(work) }()
	batch := new(postingBatch)
	outside := false
	ask := func(value []byte) bool {
		outside = true
		ok := match(value)
		outside = false
		return ok
	}
	for _, p := range r.parts {
		work.Segments++
		err := guardCalls(p.path, &outside, func() error {
			for _, field := range fields {
				if err := p.matchTerms(field, ask, p.of(s), batch, &work); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, corrupt(err, p.path, "is damaged")
		}
		p.clearDead(s)
	}
	return s, nil
}

func (p *part) matchTerms(field Field, match func([]byte) bool, words []uint64, batch *postingBatch, work *Work) error {
	if field >= fieldCount {
		return nil
	}
	var failed error
	err := p.postings.eachTerm(field, func(term []byte, value uint64) bool {
		work.DictionaryTerms++
		if !match(term) {
			return true
		}
		var list postingList
		if list, failed = p.postings.list(value); failed != nil {
			return false
		}
		failed = list.mark(words, batch, work)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}
