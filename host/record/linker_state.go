package record

import (
	"encoding/binary"
	"slices"
)

// Roles in which a call id is seen.
const (
	seenCall uint32 = iota
	seenResult
)

const (
	maxExact   = 1024    // hashes kept one by one
	bloomBytes = 8 << 10 // size of the filter that replaces them
	bloomBits  = 3       // bits set for each hash
)

// callSet remembers hashes: exactly up to maxExact, then in a Bloom filter. A set of 8 KiB answers 1 of 8 new hashes wrongly with "seen"
// at 16,000 of them.
type callSet struct {
	exact map[uint32]struct{}
	bloom []byte
}

// hashCall hashes a call id: FNV-1a over 64 bits, folded.
func hashCall(id []byte) uint32 {
	h := uint64(14695981039346656037)
	for _, c := range id {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return uint32(h>>32) ^ uint32(h)
}

// mix spreads a hash and a role over 64 bits (the finalizer of MurmurHash3).
func mix(hash, role uint32) uint64 {
	x := uint64(hash)<<1 | uint64(role)
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// add remembers a hash in a role and tells whether it is new.
func (s *callSet) add(hash, role uint32) (isNew bool) {
	mixed := mix(hash, role)
	if s.bloom != nil {
		return s.addBloom(mixed)
	}
	key := uint32(mixed)
	if _, seen := s.exact[key]; seen {
		return false
	}
	if s.exact == nil {
		s.exact = map[uint32]struct{}{}
	}
	if len(s.exact) < maxExact {
		s.exact[key] = struct{}{}
		return true
	}
	// The filter works on the same 32 bits, because the exact set keeps no more.
	s.bloom = make([]byte, bloomBytes)
	for key := range s.exact {
		s.addBloom(uint64(key))
	}
	s.exact = nil
	return s.addBloom(mixed)
}

func (s *callSet) addBloom(mixed uint64) (isNew bool) {
	x := uint64(uint32(mixed)) * 0x9e3779b97f4a7c15
	for range bloomBits {
		bit := x >> 48 % (bloomBytes * 8)
		if s.bloom[bit>>3]&(1<<(bit&7)) == 0 {
			s.bloom[bit>>3] |= 1 << (bit & 7)
			isNew = true
		}
		x *= 0x9e3779b97f4a7c15
		x ^= x >> 29
	}
	return isNew
}

// State of a linker: what an append needs of the events before it. At most about 14 KiB, usually some hundred bytes.
//
//	version | flags (1 tainted, 2 filter) | hashes seen | pending calls | excluded calls, their hash doubled plus 1 when repeated
//
// Hashes seen are a count and ascending differences, or the filter. The other lists are a count and numbers in their order.
const linkerVersion = 1

const (
	linkerTainted = 1 << iota
	linkerBloom
	linkerFlags
)

// AppendState appends the state of the linker, nothing for one that has seen no call. The state of a linker that retracted something
// must not be used.
func (l *Linker) AppendState(dst []byte) []byte {
	if len(l.seen.exact) == 0 && l.seen.bloom == nil && !l.tainted {
		return dst
	}
	var flags byte
	if l.tainted {
		flags |= linkerTainted
	}
	if l.seen.bloom != nil {
		flags |= linkerBloom
	}
	dst = append(dst, linkerVersion, flags)
	if l.seen.bloom != nil {
		dst = append(dst, l.seen.bloom...)
	} else {
		keys := make([]uint32, 0, len(l.seen.exact))
		for key := range l.seen.exact {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		dst = binary.AppendUvarint(dst, uint64(len(keys)))
		before := uint32(0)
		for _, key := range keys {
			dst = binary.AppendUvarint(dst, uint64(key-before))
			before = key
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(l.pending)))
	for _, hash := range l.pending {
		dst = binary.AppendUvarint(dst, uint64(hash))
	}
	dst = binary.AppendUvarint(dst, uint64(len(l.excluded)))
	for i := range l.excluded {
		code := uint64(l.excluded[i].hash) << 1
		if l.excluded[i].repeated {
			code |= 1
		}
		dst = binary.AppendUvarint(dst, code)
	}
	return dst
}

// RestoreState makes a fresh linker go on from a state; an empty one is the start of a source. The error is a fault of code
// index_corruption.
func (l *Linker) RestoreState(src []byte) error {
	*l = Linker{denied: l.denied}
	if len(src) == 0 {
		return nil
	}
	r := reader{src: src}
	if v := r.byte(); v != linkerVersion {
		return corrupt("unknown linker version %d", v)
	}
	flags := r.flags(linkerFlags)
	l.tainted = flags&linkerTainted != 0
	if flags&linkerBloom != 0 {
		l.seen.bloom = slices.Clone(r.bytes(bloomBytes))
	} else {
		l.seen.exact = map[uint32]struct{}{}
		key := uint32(0)
		for range r.count(maxExact) {
			key += r.uint32()
			l.seen.exact[key] = struct{}{}
		}
	}
	for range r.count(maxPending) {
		l.pending = append(l.pending, r.uint32())
	}
	for range r.count(maxExcluded) {
		code := r.uint()
		r.check(code>>1 <= 1<<32-1, "hash")
		l.excluded = append(l.excluded, excludedCall{hash: uint32(code >> 1), repeated: code&1 == 1})
	}
	return r.end()
}

// count reads the length of a list.
func (r *reader) count(limit uint64) uint64 {
	n := r.uint()
	if n > limit {
		r.fail("count")
		return 0
	}
	return n
}
