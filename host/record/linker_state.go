package record

import (
	"hash/fnv"
	"maps"
	"slices"

	"github.com/agenthistory/ctx/host/internal/stored"
)

const (
	maxExact   = 1024    // hashes kept one by one
	bloomBytes = 8 << 10 // size of the filter that replaces them
	bloomBits  = 3       // bits set for each hash
	golden     = 0x9e3779b97f4a7c15
)

// callSet remembers hashes: exactly up to maxExact, then in a Bloom filter. A set of 8 KiB answers 1 of 8 new hashes wrongly with "seen"
// at 16,000 of them.
type callSet struct {
	exact map[uint32]struct{}
	bloom []byte
}

// hashCall hashes a call id: FNV-1a over 64 bits, folded.
func hashCall(id []byte) uint32 {
	h := fnv.New64a()
	h.Write(id)
	return uint32(h.Sum64()>>32) ^ uint32(h.Sum64())
}

// resultHash is how the result of a call is remembered beside the call itself.
func resultHash(hash uint32) uint32 { return ^hash }

// add remembers a hash and tells whether it is new.
func (s *callSet) add(hash uint32) (isNew bool) {
	if s.bloom != nil {
		return s.addBloom(hash)
	}
	if _, seen := s.exact[hash]; seen {
		return false
	}
	if s.exact == nil {
		s.exact = map[uint32]struct{}{}
	}
	if len(s.exact) < maxExact {
		s.exact[hash] = struct{}{}
		return true
	}
	s.bloom = make([]byte, bloomBytes)
	for seen := range s.exact {
		s.addBloom(seen)
	}
	s.exact = nil
	return s.addBloom(hash)
}

func (s *callSet) addBloom(hash uint32) (isNew bool) {
	x := (uint64(hash) + 1) * golden
	for range bloomBits {
		x ^= x >> 29
		x *= golden
		bit := x >> 48 % (bloomBytes * 8)
		if s.bloom[bit>>3]&(1<<(bit&7)) == 0 {
			s.bloom[bit>>3] |= 1 << (bit & 7)
			isNew = true
		}
	}
	return isNew
}

// State of a linker: what an append needs of the events before it. At most about 14 KiB, usually some hundred bytes.
//
//	version | flags (1 tainted, 2 filter) | hashes seen | pending calls | excluded calls, their hash doubled plus 1 when repeated
//
// Hashes seen are a count and ascending differences, or the filter. The other lists are a count and numbers in their order.
const linkerVersion = 2

// AppendState appends the state of the linker, nothing for one that has seen no call. The state of a linker that retracted something
// must not be used.
func (l *Linker) AppendState(dst []byte) []byte {
	if len(l.seen.exact) == 0 && l.seen.bloom == nil && !l.tainted {
		return dst
	}
	c := coder{Coder: stored.Coder{B: dst}}
	c.linker(l)
	return c.B
}

// RestoreState makes a fresh linker go on from a state; an empty one is the start of a source. The error is a fault of code
// index_corruption.
func (l *Linker) RestoreState(src []byte) error {
	*l = Linker{}
	if len(src) == 0 {
		return nil
	}
	c := coder{Coder: stored.Coder{B: src, Reading: true}}
	c.linker(l)
	return c.end()
}

func (c *coder) linker(l *Linker) {
	c.Version("linker", linkerVersion)
	flags := c.Flags(l.tainted, l.seen.bloom != nil)
	c.Optional(flags&1, &l.tainted)
	if flags&2 != 0 {
		c.Raw(&l.seen.bloom, bloomBytes)
		l.seen.bloom = slices.Clone(l.seen.bloom)
	} else {
		c.exact(&l.seen)
	}
	stored.List(&c.Coder, &l.pending, maxPending, c.Uint32)
	stored.List(&c.Coder, &l.excluded, maxExcluded, c.excluded)
}

func (c *coder) excluded(x *excludedCall) {
	hash := uint64(x.hash) << 1
	if x.repeated {
		hash |= 1
	}
	c.Uint(&hash)
	c.Check(hash>>33 == 0, "hash")
	x.hash, x.repeated = uint32(hash>>1), hash&1 != 0
}

// exact codes the hashes of a set that has no filter yet.
func (c *coder) exact(s *callSet) {
	keys := slices.Sorted(maps.Keys(s.exact))
	n := c.Count(len(keys), maxExact)
	if c.Reading {
		keys, s.exact = make([]uint32, n), make(map[uint32]struct{}, n)
	}
	before := uint32(0)
	for _, key := range keys {
		step := key - before
		c.Uint32(&step)
		before += step
		s.exact[before] = struct{}{}
	}
}
