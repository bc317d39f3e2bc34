package core

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/agenthistory/ctx/host/record"
)

var errMalformed = errors.New("malformed stored value")

// coder writes small values as a sequence of varints, length-prefixed bytes and raw digests, or reads them back: a value lists its
// fields once for both. Reading refuses a cut value, a padded varint and, at the end, trailing bytes; after the first error every field
// reads as zero.
type coder struct {
	b       []byte
	reading bool
	err     error
}

func (c *coder) fail() { c.err, c.b = errMalformed, nil }

// take reads n bytes, a view of the input.
func (c *coder) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

func (c *coder) uint(v *uint64) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	n := 0
	if *v, n = binary.Uvarint(c.b); n <= 0 || n > 1 && c.b[n-1] == 0 {
		*v = 0
		c.fail()
		return
	}
	c.b = c.b[n:]
}

func (c *coder) uint32(v *uint32) {
	w := uint64(*v)
	if c.uint(&w); w > math.MaxUint32 {
		w = 0
		c.fail()
	}
	*v = uint32(w)
}

func (c *coder) int(v *int64) {
	w := uint64(*v)<<1 ^ uint64(*v>>63)
	c.uint(&w)
	*v = int64(w>>1) ^ -int64(w&1)
}

// length codes the length of what follows.
func (c *coder) length(n int) uint64 {
	w := uint64(n)
	c.uint(&w)
	return w
}

func (c *coder) string(v *string) {
	n := c.length(len(*v))
	if !c.reading {
		c.b = append(c.b, *v...)
	} else if b := c.take(n); string(b) != *v { // what repeats from one value to the next costs nothing
		*v = string(b)
	}
}

// numbers codes a list of numbers without a pattern.
func (c *coder) numbers(v *[]uint64) {
	n := c.length(len(*v))
	if !c.reading {
		for _, one := range *v {
			c.b = binary.BigEndian.AppendUint64(c.b, one)
		}
		return
	}
	*v = nil
	b := c.take(min(n, math.MaxInt32) * 8)
	for ; len(b) > 0; b = b[8:] {
		*v = append(*v, binary.BigEndian.Uint64(b))
	}
}

// bytes reads an independent copy, nil when empty.
func (c *coder) bytes(v *[]byte) {
	n := c.length(len(*v))
	if c.reading {
		*v = append([]byte(nil), c.take(n)...)
	} else {
		c.b = append(c.b, *v...)
	}
}

func (c *coder) digest(v *record.Digest) {
	if c.reading {
		copy(v[:], c.take(uint64(len(v))))
	} else {
		c.b = append(c.b, v[:]...)
	}
}

func (c *coder) byte(v *byte) {
	if !c.reading {
		c.b = append(c.b, *v)
	} else if b := c.take(1); b != nil {
		*v = b[0]
	}
}

func (c *coder) bool(v *bool) {
	var b byte
	if *v {
		b = 1
	}
	if c.byte(&b); b > 1 {
		c.fail()
	}
	*v = b == 1
}

// version codes a version byte; another one is refused.
func (c *coder) version(want byte) {
	v := want
	if c.byte(&v); v != want {
		c.fail()
	}
}

// end reports the first error, or trailing bytes.
func (c *coder) end() error {
	if c.err == nil && len(c.b) > 0 {
		c.err = errMalformed
	}
	return c.err
}
