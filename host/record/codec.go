package record

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// coder writes the storage form, or reads it: one description of a record serves both, so that the two cannot differ. Numbers are
// unsigned varints in their shortest form, signed ones zigzag first; bytes and strings have a length before them; names of closed
// vocabularies are one byte. Every record has exactly one encoding: reading refuses anything that writing would not have produced.
// The first violation is kept and everything behind it reads as zero.
type coder struct {
	b       []byte // what was written, or what is left to read
	reading bool
	views   bool   // texts that are read are views of the input
	event   *Event // the owner of spans that are read
	err     error
}

func (c *coder) fail(what string) {
	if c.err == nil {
		c.err = corrupt("bad %s", what)
	}
	c.b = nil
}

// check refuses what was read; what is written has been admitted.
func (c *coder) check(ok bool, what string) {
	if c.reading && !ok {
		c.fail(what)
	}
}

// end reports the first violation, or bytes behind the record.
func (c *coder) end() error {
	c.check(len(c.b) == 0, "length")
	return c.err
}

func (c *coder) version(of string, version byte) {
	v := version
	if code(c, &v, 256); v != version && c.err == nil {
		c.err, c.b = corrupt("unknown %s version %d", of, v), nil
	}
}

// flags writes one bit for each condition and returns the bits, as they were given or read.
func (c *coder) flags(conditions ...bool) uint64 {
	flags := uint64(0)
	for i, is := range conditions {
		if is {
			flags |= 1 << i
		}
	}
	c.uint(&flags)
	c.check(flags < 1<<len(conditions), "flags")
	return flags
}

// optional sets the mark of a member that is there, when reading.
func (c *coder) optional(flag uint64, mark *bool) bool {
	if c.reading {
		*mark = flag != 0
	}
	return flag != 0
}

// code codes a one-byte code below limit.
func code[T ~uint8](c *coder, p *T, limit int) {
	if !c.reading {
		c.b = append(c.b, byte(*p))
		return
	}
	*p = 0
	if len(c.b) == 0 || int(c.b[0]) >= limit {
		c.fail("code")
		return
	}
	*p, c.b = T(c.b[0]), c.b[1:]
}

func (c *coder) uint(p *uint64) {
	switch {
	case !c.reading:
		c.b = binary.AppendUvarint(c.b, *p)
	case len(c.b) > 0 && c.b[0] < 0x80: // most numbers
		*p, c.b = uint64(c.b[0]), c.b[1:]
	default:
		n, size := binary.Uvarint(c.b)
		if size <= 0 || c.b[size-1] == 0 { // a last byte of zero is not the shortest form
			*p = 0
			c.fail("number")
			return
		}
		*p, c.b = n, c.b[size:]
	}
}

func (c *coder) uint32(p *uint32) {
	n := uint64(*p)
	if c.uint(&n); c.reading {
		c.check(n <= math.MaxUint32, "number")
		*p = uint32(n)
	}
}

func (c *coder) int(p *int64) {
	n := uint64(*p)<<1 ^ uint64(*p>>63)
	if c.uint(&n); c.reading {
		*p = int64(n>>1) ^ -int64(n&1)
	}
}

// count codes the length of a list and bounds it.
func (c *coder) count(n int, limit int) int {
	u := uint64(n)
	c.uint(&u)
	if c.reading && u > uint64(limit) {
		c.fail("count")
		return 0
	}
	return int(u)
}

// list codes a count of at most limit and the items.
func list[T any](c *coder, p *[]T, limit int, item func(*T)) {
	n := c.count(len(*p), limit)
	if c.reading && n > 0 {
		*p = make([]T, n)
	}
	for i := range *p {
		item(&(*p)[i])
	}
}

// raw codes n bytes; bytes that are read are a view of the input.
func (c *coder) raw(p *[]byte, n uint64) {
	if !c.reading {
		c.b = append(c.b, *p...)
		return
	}
	if *p = nil; n > uint64(len(c.b)) {
		c.fail("length")
		return
	}
	*p, c.b = c.b[:n:n], c.b[n:]
}

func (c *coder) bytes(p *[]byte) {
	n := uint64(len(*p))
	c.uint(&n)
	c.raw(p, n)
}

// filled codes bytes that are only written, under a flag, when there are some.
func (c *coder) filled(flag uint64, p *[]byte) {
	if flag != 0 {
		c.bytes(p)
		c.check(len(*p) > 0, "length")
	}
}

// copied is bytes, but what is read is independent of the input, and nil when empty.
func (c *coder) copied(p *[]byte) {
	if c.bytes(p); c.reading {
		*p = append([]byte(nil), *p...)
	}
}

func (c *coder) text(p *string) {
	b := stringBytes(*p)
	switch c.bytes(&b); {
	case c.views:
		*p = unsafe.String(unsafe.SliceData(b), len(b))
	case c.reading:
		*p = string(b)
	}
}

func (c *coder) filledText(flag uint64, p *string) {
	if flag != 0 {
		c.text(p)
		c.check(*p != "", "length")
	}
}

func (c *coder) digest(d *Digest) {
	b := d[:]
	if c.raw(&b, uint64(len(d))); c.reading {
		copy(d[:], b)
	}
}

// name codes a known name as its code; behind the code that stands for other names comes the name itself.
func (c *coder) name(names []string, known, other uint8, p *string) {
	if code(c, &known, 256); known == other {
		c.filledText(1, p)
		c.check(codeOf(names, *p) == 0, "name") // a known name is never spelled out
		return
	}
	c.check(name(names, known) != "", "code")
	if c.reading {
		*p = name(names, known)
	}
}

// value codes 2 x length and the bytes, or 2 x count + 1 and the spans: offset and 2 x length + quoted.
func (c *coder) value(v *Value) {
	n := uint64(len(v.Inline)) << 1
	if len(v.Spans) > 0 {
		n = uint64(len(v.Spans))<<1 | 1
	}
	c.uint(&n)
	if n&1 == 0 {
		c.raw(&v.Inline, n>>1)
		return
	}
	if c.reading {
		if n >>= 1; n == 0 || n > uint64(len(c.b)) { // a span takes at least two bytes
			c.fail("spans")
			return
		}
		own := &c.event.own
		from := len(own.spans)
		own.spans = slices.Grow(own.spans, int(n))[:from+int(n)]
		v.Spans = own.spans[from:len(own.spans):len(own.spans)]
		clear(v.Spans)
	}
	for i := range v.Spans {
		c.span(&v.Spans[i])
	}
}

func (c *coder) span(s *Span) {
	c.uint32(&s.Offset)
	length := uint64(s.Length) << 1
	if s.Quoted {
		length |= 1
	}
	if c.uint(&length); !c.reading {
		return
	}
	s.Length, s.Quoted = uint32(length>>1), length&1 == 1
	if length>>1 > math.MaxUint32 || !validSpan(c.event.Structured, *s) {
		c.fail("span")
		*s = Span{}
	}
}
