package lexical

import (
	"math/bits"
	"slices"
)

// Where returns the live documents for which keep holds.
func (r *Reader) Where(keep func(c *Columns, doc uint32) bool) *Set {
	return r.where(func(*part) bool { return true }, keep)
}

// where skips the segments for which may is false.
func (r *Reader) where(may func(p *part) bool, keep func(c *Columns, doc uint32) bool) *Set {
	s := r.Empty()
	var work Work
	for _, p := range r.parts {
		if !may(p) {
			work.SegmentsSkipped++
			continue
		}
		work.Segments++
		fill(p.of(s), p)
		p.keep(p.of(s), keep, &work)
	}
	r.work.add(work)
	return s
}

// keep clears the bits for which keep does not hold.
func (p *part) keep(words []uint64, keep func(c *Columns, doc uint32) bool, work *Work) {
	c := p.columns
	for i, w := range words {
		var kept uint64
		for left := w; left != 0; left &= left - 1 {
			bit := left & -left
			if keep(c, uint32(64*i)+uint32(bits.TrailingZeros64(bit))) {
				kept |= bit
			}
			work.Rows++
		}
		words[i] = kept
	}
}

// Eligible returns the live documents that ranked search may find.
func (r *Reader) Eligible() *Set { return r.Live().KeepEligible() }

// KeepEligible takes out what ranked search may not find, at the cost of the documents in the set. It changes and returns s.
func (s *Set) KeepEligible() *Set {
	var work Work
	for _, p := range s.reader.parts {
		p.keep(p.of(s), (*Columns).Eligible, &work)
	}
	s.reader.work.add(work)
	return s
}

// Between returns the live timed documents with from <= time < to, in Unix milliseconds. Segments outside are skipped by their bounds.
func (r *Reader) Between(from, to int64) *Set {
	return r.where(func(p *part) bool {
		c := p.columns
		return c.timed > 0 && c.maxTime >= from && c.minTime < to
	}, func(c *Columns, doc uint32) bool {
		t := c.rawTime(doc)
		return t != untimed && t >= from && t < to
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
	return r.where(func(p *part) bool {
		i, _ := slices.BinarySearch(sorted, p.columns.minSession)
		return i < len(sorted) && sorted[i] <= p.columns.maxSession
	}, func(c *Columns, doc uint32) bool {
		o := c.Session(doc)
		return uint64(o/64) < uint64(len(wanted)) && wanted[o/64]>>(o%64)&1 != 0
	})
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
