package lexical

import "math/bits"

// Set is a set of documents of one Reader: one bit for every document, deleted ones included (which no Reader method puts in). Methods
// that combine sets need sets of the same Reader. Not safe for concurrent changes.
type Set struct {
	reader *Reader
	bits   []uint64 // every segment starts at a word of its own
}

// Empty returns a set without documents.
func (r *Reader) Empty() *Set { return &Set{reader: r, bits: make([]uint64, r.words)} }

// Live returns all live documents.
func (r *Reader) Live() *Set {
	s := r.Empty()
	for _, p := range r.parts {
		fill(p.of(s), p)
	}
	return s
}

// of returns the words of the part in a set.
func (p *part) of(s *Set) []uint64 { return s.bits[p.firstBit : p.firstBit+p.words()] }

// fill sets the bits of all live documents.
func fill(words []uint64, p *part) {
	for i := range words {
		words[i] = ^uint64(0)
	}
	if tail := p.segment.Docs % 64; tail != 0 {
		words[len(words)-1] = 1<<tail - 1
	}
	for i, dead := range p.dead {
		words[i] &^= dead
	}
}

// And keeps the documents that are also in o. It changes and returns s, as do AndNot and Or.
func (s *Set) And(o *Set) *Set {
	for i, w := range o.bits {
		s.bits[i] &= w
	}
	return s
}

// AndNot removes the documents of o.
func (s *Set) AndNot(o *Set) *Set {
	for i, w := range o.bits {
		s.bits[i] &^= w
	}
	return s
}

// Or adds the documents of o.
func (s *Set) Or(o *Set) *Set {
	for i, w := range o.bits {
		s.bits[i] |= w
	}
	return s
}

// Clone returns an independent copy.
func (s *Set) Clone() *Set {
	return &Set{reader: s.reader, bits: append([]uint64(nil), s.bits...)}
}

// Count returns the number of documents.
func (s *Set) Count() int { return countBits(s.bits) }

func countBits(words []uint64) int {
	n := 0
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Has reports whether the document is in the set; an unknown document is not.
func (s *Set) Has(d Doc) bool {
	word, bit, ok := s.place(d)
	return ok && s.bits[word]&bit != 0
}

// Add adds a document; it reports false for one that is deleted or does not exist.
func (s *Set) Add(d Doc) bool {
	word, bit, ok := s.place(d)
	if !ok || s.reader.parts[s.reader.byID[d.Segment]].isDead(d.Doc) {
		return false
	}
	s.bits[word] |= bit
	return true
}

func (s *Set) place(d Doc) (word int, bit uint64, ok bool) {
	i, ok := s.reader.byID[d.Segment]
	if !ok || d.Doc >= s.reader.parts[i].segment.Docs {
		return 0, 0, false
	}
	return s.reader.parts[i].firstBit + int(d.Doc/64), 1 << (d.Doc % 64), true
}

// Each calls visit for every document, by segment in order and then by number, until it returns false.
func (s *Set) Each(visit func(Doc) bool) {
	for _, p := range s.reader.parts {
		more := eachBit(p.of(s), func(doc uint32) bool { return visit(Doc{p.segment.ID, doc}) })
		if !more {
			return
		}
	}
}

// eachBit calls visit for every set bit until it returns false; it reports whether all were visited.
func eachBit(words []uint64, visit func(doc uint32) bool) bool {
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			if !visit(uint32(64*i + bits.TrailingZeros64(w))) {
				return false
			}
		}
	}
	return true
}

func anyBit(words []uint64) bool {
	for _, w := range words {
		if w != 0 {
			return true
		}
	}
	return false
}
