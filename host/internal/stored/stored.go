// Package stored writes small values in the storage form of the index, or reads them back. A type lists its fields once for both ways,
// so that the two cannot differ.
//
// Numbers are unsigned varints in their shortest form, signed ones zigzag first; bytes and texts have a length before them; codes of closed
// vocabularies are one byte. Every value has exactly one encoding: reading refuses anything that writing would not have produced.
package stored

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Malformed says what of a stored value cannot have been written by this program.
type Malformed string

func (m Malformed) Error() string { return string(m) }

// Coder writes, or reads when Reading is set. The first violation is kept and everything behind it reads as zero.
type Coder struct {
	B       []byte // what was written, or what is left to read
	Reading bool
	Views   bool // texts that are read are views of the input
	Err     error
}

// Fail refuses what was read.
func (c *Coder) Fail(what string) {
	if c.Err == nil {
		c.Err = Malformed("bad " + what)
	}
	c.B = nil
}

// Check refuses what was read unless it is right; what is written is.
func (c *Coder) Check(ok bool, what string) {
	if c.Reading && !ok {
		c.Fail(what)
	}
}

// End reports the first violation, or bytes behind the value.
func (c *Coder) End() error {
	c.Check(len(c.B) == 0, "length")
	return c.Err
}

// Version codes the version of a form; another one is refused.
func (c *Coder) Version(of string, version byte) {
	v := version
	if Code(c, &v, 256); v != version && c.Err == nil {
		c.Err, c.B = Malformed(fmt.Sprintf("unknown %s version %d", of, v)), nil
	}
}

// Flags codes one bit for each condition and returns the bits, as they were given or read.
func (c *Coder) Flags(conditions ...bool) uint64 {
	flags := uint64(0)
	for i, is := range conditions {
		if is {
			flags |= 1 << i
		}
	}
	c.Uint(&flags)
	c.Check(flags < 1<<len(conditions), "flags")
	return flags
}

// Optional sets the mark of a member that is there, when reading.
func (c *Coder) Optional(flag uint64, mark *bool) bool {
	if c.Reading {
		*mark = flag != 0
	}
	return flag != 0
}

// Code codes a one-byte code below limit.
func Code[T ~uint8](c *Coder, p *T, limit int) {
	if !c.Reading {
		c.B = append(c.B, byte(*p))
		return
	}
	*p = 0
	if len(c.B) == 0 || int(c.B[0]) >= limit {
		c.Fail("code")
		return
	}
	*p, c.B = T(c.B[0]), c.B[1:]
}

// Bool codes a truth as 0 or 1.
func (c *Coder) Bool(p *bool) {
	is := uint8(0)
	if *p {
		is = 1
	}
	Code(c, &is, 2)
	*p = is == 1
}

// Uint codes an unsigned number.
func (c *Coder) Uint(p *uint64) {
	switch {
	case !c.Reading:
		c.B = binary.AppendUvarint(c.B, *p)
	case len(c.B) > 0 && c.B[0] < 0x80: // most numbers
		*p, c.B = uint64(c.B[0]), c.B[1:]
	default:
		n, size := binary.Uvarint(c.B)
		if size <= 0 || c.B[size-1] == 0 { // a last byte of zero is not the shortest form
			*p = 0
			c.Fail("number")
			return
		}
		*p, c.B = n, c.B[size:]
	}
}

// Uint32 codes an unsigned number of 32 bits.
func (c *Coder) Uint32(p *uint32) {
	n := uint64(*p)
	if c.Uint(&n); c.Reading {
		c.Check(n <= math.MaxUint32, "number")
		*p = uint32(n)
	}
}

// Int codes a signed number.
func (c *Coder) Int(p *int64) {
	n := uint64(*p)<<1 ^ uint64(*p>>63)
	if c.Uint(&n); c.Reading {
		*p = int64(n>>1) ^ -int64(n&1)
	}
}

// Count codes the length of a list and bounds it.
func (c *Coder) Count(n, limit int) int {
	u := uint64(n)
	c.Uint(&u)
	if c.Reading && u > uint64(limit) {
		c.Fail("count")
		return 0
	}
	return int(u)
}

// List codes a count of at most limit and the items.
func List[T any](c *Coder, p *[]T, limit int, item func(*T)) {
	n := c.Count(len(*p), limit)
	if c.Reading {
		if *p = nil; n > 0 {
			*p = make([]T, n)
		}
	}
	for i := range *p {
		item(&(*p)[i])
	}
}

// Raw codes n bytes; bytes that are read are a view of the input.
func (c *Coder) Raw(p *[]byte, n uint64) {
	if !c.Reading {
		c.B = append(c.B, *p...)
		return
	}
	if *p = nil; n > uint64(len(c.B)) {
		c.Fail("length")
		return
	}
	*p, c.B = c.B[:n:n], c.B[n:]
}

// Fixed codes bytes whose number is known, such as a digest, in place.
func (c *Coder) Fixed(b []byte) {
	at := b
	if c.Raw(&at, uint64(len(b))); c.Reading {
		clear(b[copy(b, at):])
	}
}

// Bytes codes a length and the bytes; bytes that are read are a view of the input.
func (c *Coder) Bytes(p *[]byte) {
	n := uint64(len(*p))
	c.Uint(&n)
	c.Raw(p, n)
}

// Copied is Bytes, but what is read is independent of the input, and nil when empty.
func (c *Coder) Copied(p *[]byte) {
	if c.Bytes(p); c.Reading {
		*p = append([]byte(nil), *p...)
	}
}

// Text codes a text.
func (c *Coder) Text(p *string) {
	b := unsafe.Slice(unsafe.StringData(*p), len(*p))
	switch c.Bytes(&b); {
	case c.Views:
		*p = unsafe.String(unsafe.SliceData(b), len(b))
	case c.Reading && string(b) != *p: // what repeats from one value to the next costs nothing
		*p = string(b)
	}
}
