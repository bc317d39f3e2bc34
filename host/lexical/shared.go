package lexical

import "math/bits"

// sharedLists finds posting lists that were written before in the same field. Terms of one passage (the pieces of a hash, the words of a
// log line) are often in exactly the same documents, and all terms that occur once in a document share one list: on real sessions a ninth
// of the file goes away.
type sharedLists struct {
	slots   []uint32 // index into written + 1; 0 = free
	written []writtenList
}

type writtenList struct {
	from, n uint32 // its postings
	value   uint64 // its dictionary value
}

// sharedMax is the longest list looked for. Longer ones are hardly ever equal.
const sharedMax = 64

func (s *sharedLists) reset(lists int) {
	size := 1 << bits.Len(uint(2*lists))
	if len(s.slots) < size {
		s.slots = make([]uint32, size)
	} else {
		clear(s.slots)
	}
	s.written = s.written[:0]
}

// find returns the value of an equal list, or the slot in which to note this one.
func (m *flushMemory) findShared(from, n uint32) (value uint64, slot uint32, found bool) {
	s := &m.shared
	hash := uint64(n)
	for i := from; i < from+n; i++ {
		hash = fold(hash^uint64(m.docs[i])<<8^uint64(m.frequencies[i]), 0xD6E8FEB86659FD93)
	}
	mask := uint32(len(s.slots) - 1)
	slot = uint32(hash) & mask
	for ; s.slots[slot] != 0; slot = (slot + 1) & mask {
		w := s.written[s.slots[slot]-1]
		if w.n == n && m.samePostings(w.from, from, n) {
			return w.value, slot, true
		}
	}
	return 0, slot, false
}

func (m *flushMemory) samePostings(a, b, n uint32) bool {
	for i := range n {
		if m.docs[a+i] != m.docs[b+i] || m.frequency(a+i) != m.frequency(b+i) {
			return false
		}
	}
	return true
}

func (m *flushMemory) noteShared(slot, from, n uint32, value uint64) {
	m.shared.written = append(m.shared.written, writtenList{from: from, n: n, value: value})
	m.shared.slots[slot] = uint32(len(m.shared.written))
}
