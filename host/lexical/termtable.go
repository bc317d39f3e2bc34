package lexical

import (
	"encoding/binary"
	"math/bits"
)

// termTable gives every distinct term of one field of a growing segment a number, in order of first use. Open addressing over one byte
// arena: no allocation a term, and the memory is kept for the next segment.
type termTable struct {
	slots []uint64 // hash in the upper half, term number + 1 in the lower; 0 = free; the length is a power of two
	infos []termInfo
	bytes []byte // all terms, one after the other
}

// termInfo is what the builder knows about one term.
type termInfo struct {
	head           uint64 // first 8 bytes, see tokenHead: most comparisons need no more
	offset, length uint32 // of the term in bytes
	docs           uint32 // documents that contain it
	lastDoc        uint32 // last document that contained it, plus 1
	entry          uint32 // position of the term among the entries of lastDoc
}

func (t *termTable) reset(minSlots int) {
	if len(t.slots) < minSlots {
		t.slots = make([]uint64, minSlots)
	} else {
		clear(t.slots)
	}
	t.infos = t.infos[:0]
	t.bytes = t.bytes[:0]
}

func (t *termTable) term(id uint32) []byte {
	info := &t.infos[id]
	return t.bytes[info.offset : info.offset+info.length]
}

// intern returns the number of the term, which it adds when new. head is its tokenHead.
func (t *termTable) intern(term []byte, head uint64) uint32 {
	hash := hashTerm(term, head)
	mask := uint32(len(t.slots) - 1)
	at := hash & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		slot := t.slots[at]
		if uint32(slot>>32) != hash {
			continue
		}
		id := uint32(slot) - 1
		info := &t.infos[id]
		if info.head == head && int(info.length) == len(term) &&
			(len(term) <= 8 || string(t.bytes[info.offset+8:info.offset+info.length]) == string(term[8:])) {
			return id
		}
	}
	id := uint32(len(t.infos))
	t.slots[at] = uint64(hash)<<32 | uint64(id+1)
	t.infos = append(t.infos, termInfo{head: head, offset: uint32(len(t.bytes)), length: uint32(len(term))})
	t.bytes = append(t.bytes, term...)
	if len(t.infos)*4 > len(t.slots)*3 { // denser costs probes, emptier costs cache
		t.grow()
	}
	return id
}

func (t *termTable) grow() {
	slots := make([]uint64, len(t.slots)*2)
	mask := uint32(len(slots) - 1)
	for _, slot := range t.slots {
		if slot == 0 {
			continue
		}
		at := uint32(slot>>32) & mask
		for slots[at] != 0 {
			at = (at + 1) & mask
		}
		slots[at] = slot
	}
	t.slots = slots
}

// size returns the bytes in use, not those merely reserved.
func (t *termTable) size() int {
	const slotsAndInfo = 16 + 32 // about two slots and a termInfo a term
	return len(t.infos)*slotsAndInfo + len(t.bytes)
}

// hashTerm mixes 8 bytes a step by folded multiplication. It only spreads the terms of one process over a table; nothing stored
// depends on it.
func hashTerm(term []byte, head uint64) uint32 {
	const seed, factor = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	h := fold(head^uint64(len(term))*seed, factor)
	if len(term) > 8 {
		rest := term[8:]
		for ; len(rest) > 8; rest = rest[8:] {
			h = fold(h^binary.LittleEndian.Uint64(rest), factor)
		}
		h = fold(h^binary.LittleEndian.Uint64(term[len(term)-8:]), factor)
	}
	return uint32(h ^ h>>32)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
