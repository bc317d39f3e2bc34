package lexical

import (
	"encoding/binary"
	"math/bits"
)

// bitmapReader walks a serialized roaring bitmap without building it. open checks the layout, so that next needs no further checks.
type bitmapReader struct {
	count      uint32 // numbers in all containers
	containers int
	headers    []byte // u16 upper half, u16 numbers - 1, a container
	runFlags   []byte // nil: no run containers
	content    []byte // containers not yet started

	// the container being read
	at    int // its index + 1; 0 before the first
	left  int // numbers (or runs) still to give
	upper uint32
	kind  containerKind
	data  []byte // arrays and runs: what is left; bitmaps: all words
	word  uint64 // bitmaps: bits left in the current word
	words int    // bitmaps: words read
	from  uint32 // runs: next number of the current run
	rest  uint32 // runs: numbers left in the current run
}

type containerKind uint8

const (
	arrayContainer containerKind = iota
	bitsContainer
	runContainer
)

// open prepares reading. It reports false for a malformed bitmap or one with numbers that are no documents.
func (r *bitmapReader) open(data []byte, docs uint32) bool {
	*r = bitmapReader{}
	if len(data) < 8 {
		return false
	}
	cookie := binary.LittleEndian.Uint32(data)
	rest := data[4:]
	switch {
	case cookie&0xFFFF == bitmapCookieRuns:
		r.containers = int(cookie>>16) + 1
		flags := (r.containers + 7) / 8
		if len(rest) < flags {
			return false
		}
		r.runFlags, rest = rest[:flags], rest[flags:]
	case cookie == bitmapCookie:
		n := binary.LittleEndian.Uint32(rest)
		if n == 0 || n > 1<<16 {
			return false
		}
		r.containers, rest = int(n), rest[4:]
	default:
		return false
	}
	if len(rest) < 4*r.containers {
		return false
	}
	r.headers, rest = rest[:4*r.containers], rest[4*r.containers:]
	if r.runFlags == nil || r.containers >= offsetsFrom {
		if len(rest) < 4*r.containers {
			return false
		}
		rest = rest[4*r.containers:]
	}
	r.content = rest
	return r.check(docs)
}

// check walks over the containers and counts the numbers.
func (r *bitmapReader) check(docs uint32) bool {
	rest := r.content
	for i := range r.containers {
		size := r.containerBytes(i, rest)
		if size < 0 || size > len(rest) {
			return false
		}
		rest = rest[size:]
		upper, numbers := r.header(i)
		if upper<<16 >= docs {
			return false
		}
		r.count += numbers
	}
	return r.count <= docs
}

func (r *bitmapReader) header(i int) (upper, numbers uint32) {
	h := r.headers[4*i:]
	return uint32(binary.LittleEndian.Uint16(h)), uint32(binary.LittleEndian.Uint16(h[2:])) + 1
}

func (r *bitmapReader) isRun(i int) bool {
	return r.runFlags != nil && r.runFlags[i/8]>>(i%8)&1 != 0
}

// containerBytes returns the size of a container whose content starts at data, -1 if that is too short to tell.
func (r *bitmapReader) containerBytes(i int, data []byte) int {
	_, numbers := r.header(i)
	switch {
	case r.isRun(i):
		if len(data) < 2 {
			return -1
		}
		return 2 + 4*int(binary.LittleEndian.Uint16(data))
	case numbers > arrayMaxNumbers:
		return bitmapBytes
	}
	return 2 * int(numbers)
}

// nextContainer starts the next container; false at the end.
func (r *bitmapReader) nextContainer() bool {
	if r.at == r.containers {
		return false
	}
	i := r.at
	r.at++
	size := r.containerBytes(i, r.content)
	r.data, r.content = r.content[:size], r.content[size:]
	upper, numbers := r.header(i)
	r.upper, r.left = upper<<16, int(numbers)
	switch {
	case r.isRun(i):
		r.kind, r.left, r.data, r.rest = runContainer, (size-2)/4, r.data[2:], 0
	case numbers > arrayMaxNumbers:
		r.kind, r.word, r.words = bitsContainer, 0, 0
	default:
		r.kind = arrayContainer
	}
	return true
}

// next fills dst with the next numbers, ascending, and returns how many; 0 at the end.
func (r *bitmapReader) next(dst []uint32) int {
	n := 0
	for n < len(dst) {
		if r.left == 0 && r.rest == 0 && !r.nextContainer() {
			break
		}
		switch r.kind {
		case arrayContainer:
			n += r.nextArray(dst[n:])
		case bitsContainer:
			n += r.nextBits(dst[n:])
		case runContainer:
			n += r.nextRuns(dst[n:])
		}
	}
	return n
}

func (r *bitmapReader) nextArray(dst []uint32) int {
	n := min(r.left, len(dst))
	data := r.data[:2*n]
	for i := range dst[:n] {
		dst[i] = r.upper | uint32(binary.LittleEndian.Uint16(data[2*i:]))
	}
	r.data = r.data[2*n:]
	r.left -= n
	return n
}

func (r *bitmapReader) nextBits(dst []uint32) int {
	n, word, words := 0, r.word, r.words
	base := r.upper + uint32(64*(words-1))
	for n < len(dst) {
		for word == 0 {
			if words == bitmapBytes/8 {
				r.left, r.word, r.words = 0, 0, words
				return n
			}
			word = binary.LittleEndian.Uint64(r.data[8*words:])
			base = r.upper + uint32(64*words)
			words++
		}
		dst[n] = base + uint32(bits.TrailingZeros64(word))
		word &= word - 1
		n++
	}
	r.word, r.words = word, words
	return n
}

func (r *bitmapReader) nextRuns(dst []uint32) int {
	n := 0
	for n < len(dst) {
		if r.rest == 0 {
			if r.left == 0 {
				break
			}
			r.from = r.upper | uint32(binary.LittleEndian.Uint16(r.data))
			r.rest = uint32(binary.LittleEndian.Uint16(r.data[2:])) + 1
			r.data = r.data[4:]
			r.left--
		}
		for r.rest > 0 && n < len(dst) {
			dst[n] = r.from
			r.from++
			r.rest--
			n++
		}
	}
	return n
}
