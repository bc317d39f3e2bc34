package record

import (
	"math"
	"slices"

	"github.com/agenthistory/ctx/host/internal/stored"
)

// coder codes the storage form of records.
type coder struct {
	stored.Coder
	event *Event // the owner of spans that are read
}

// end is End with the fault of a stored record.
func (c *coder) end() error {
	if err := c.End(); err != nil {
		return corrupt("%v", err)
	}
	return nil
}

// filled codes bytes that are only written, under a flag, when there are some.
func (c *coder) filled(flag uint64, p *[]byte) {
	if flag != 0 {
		c.Bytes(p)
		c.Check(len(*p) > 0, "length")
	}
}

func (c *coder) filledText(flag uint64, p *string) {
	if flag != 0 {
		c.Text(p)
		c.Check(*p != "", "length")
	}
}

// name codes a known name as its code; behind the code that stands for other names comes the name itself.
func (c *coder) name(names []string, known, other uint8, p *string) {
	if stored.Code(&c.Coder, &known, 256); known == other {
		c.filledText(1, p)
		c.Check(codeOf(names, *p) == 0, "name") // a known name is never spelled out
		return
	}
	c.Check(name(names, known) != "", "code")
	if c.Reading {
		*p = name(names, known)
	}
}

// value codes 2 x length and the bytes, or 2 x count + 1 and the spans: offset and 2 x length + quoted.
func (c *coder) value(v *Value) {
	n := uint64(len(v.Inline)) << 1
	if len(v.Spans) > 0 {
		n = uint64(len(v.Spans))<<1 | 1
	}
	c.Uint(&n)
	if n&1 == 0 {
		c.Raw(&v.Inline, n>>1)
		return
	}
	if c.Reading {
		if n >>= 1; n == 0 || n > uint64(len(c.B)) { // a span takes at least two bytes
			c.Fail("spans")
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
	c.Uint32(&s.Offset)
	length := uint64(s.Length) << 1
	if s.Quoted {
		length |= 1
	}
	if c.Uint(&length); !c.Reading {
		return
	}
	s.Length, s.Quoted = uint32(length>>1), length&1 == 1
	if length>>1 > math.MaxUint32 || !validSpan(c.event.Structured, *s) {
		c.Fail("span")
		*s = Span{}
	}
}
