package claude

import "slices"

// hashSet is a set of 64-bit hashes with open addressing. It keeps its memory from file to file and is several times faster
// and smaller than a built-in map of strings. Two different strings of one file share a hash with a probability below one in
// a billion for a million records.
type hashSet struct {
	slots   []uint64 // 0 = free
	count   int
	hasZero bool
}

// reset empties the set. A large table is given back, for clearing it would cost more than a small file.
func (s *hashSet) reset() {
	const keep = 1 << 13
	if len(s.slots) > keep {
		s.slots = nil
	}
	clear(s.slots)
	s.count, s.hasZero = 0, false
}

func (s *hashSet) has(h uint64) bool {
	if h == 0 {
		return s.hasZero
	}
	if len(s.slots) == 0 {
		return false
	}
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case h:
			return true
		case 0:
			return false
		}
	}
}

// add puts a hash in and tells whether it was new.
func (s *hashSet) add(h uint64) bool {
	if h == 0 {
		fresh := !s.hasZero
		s.hasZero = true
		if fresh {
			s.count++
		}
		return fresh
	}
	if (s.count+1)*4 > len(s.slots)*3 {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case h:
			return false
		case 0:
			s.slots[i] = h
			s.count++
			return true
		}
	}
}

func (s *hashSet) grow() {
	old := s.slots
	s.slots = make([]uint64, max(1024, 2*len(old)))
	mask := uint64(len(s.slots) - 1)
	for _, h := range old {
		if h == 0 {
			continue
		}
		i := h & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = h
	}
}

// sorted returns the hashes in ascending order.
func (s *hashSet) sorted() []uint64 {
	all := make([]uint64, 0, s.count)
	if s.hasZero {
		all = append(all, 0)
	}
	for _, h := range s.slots {
		if h != 0 {
			all = append(all, h)
		}
	}
	slices.Sort(all)
	return all
}

// Domains of hashed strings, so that equal strings of different meaning do not meet.
const (
	uuidDomain = iota + 1
	pairDomain // a message id and the index of an event
	linkDomain // the address of a pull request
)

// hashOf is FNV-1a with 64 bits and a final mix, over a domain, a text and a number. It is part of stored frontiers.
func hashOf(domain byte, text []byte, n uint64) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	h = (h ^ uint64(domain)) * prime
	for _, c := range text {
		h = (h ^ uint64(c)) * prime
	}
	for n > 0 {
		h = (h ^ (n & 0xff) ^ 0x100) * prime
		n >>= 8
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
