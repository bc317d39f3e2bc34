package stored

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

// value has a field of every kind.
type value struct {
	big     uint64
	small   uint32
	signed  int64
	is      bool
	code    uint8
	text    string
	copied  []byte
	fixed   [4]byte
	numbers []uint32
	marked  bool
}

func (v *value) fields(c *Coder) {
	c.Version("value", 3)
	c.Optional(c.Flags(v.marked, v.is)&1, &v.marked)
	c.Uint(&v.big)
	c.Uint32(&v.small)
	c.Int(&v.signed)
	c.Bool(&v.is)
	Code(c, &v.code, 7)
	c.Text(&v.text)
	c.Copied(&v.copied)
	c.Fixed(v.fixed[:])
	List(c, &v.numbers, 5, c.Uint32)
}

func decode(b []byte) (v value, err error) {
	c := Coder{B: b, Reading: true}
	v.fields(&c)
	return v, c.End()
}

var full = value{math.MaxUint64, math.MaxUint32, math.MinInt64, true, 6, "text", []byte{0, 1}, [4]byte{1, 2, 3, 4}, []uint32{7, 8}, true}

func TestValuesComeBack(t *testing.T) {
	t.Parallel()
	for _, v := range []value{{}, full} {
		var c Coder
		v.fields(&c)
		back, err := decode(c.B)
		if err != nil || back.big != v.big || back.small != v.small || back.signed != v.signed || back.is != v.is || back.code != v.code ||
			back.text != v.text || !bytes.Equal(back.copied, v.copied) || back.fixed != v.fixed || !slices.Equal(back.numbers, v.numbers) ||
			back.marked != v.marked {
			t.Errorf("%+v became %+v, %v", v, back, err)
		}
		for n := range c.B {
			if _, err := decode(c.B[:n]); !errors.As(err, new(Malformed)) {
				t.Errorf("cut to %d bytes: %v", n, err)
			}
		}
		if _, err := decode(append(c.B, 0)); err == nil {
			t.Error("bytes behind the value are taken")
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"another version":   {4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"an unknown flag":   {3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a padded number":   {3, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"more than 32 bits": {3, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"no truth":          {3, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0},
		"an unknown code":   {3, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0},
		"a long list":       {3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 1, 1, 1, 1, 1, 1},
	} {
		if v, err := decode(b); !errors.As(err, new(Malformed)) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// Whatever can be read is written again as the same bytes.
func FuzzCoder(f *testing.F) {
	var c Coder
	v := full
	v.fields(&c)
	f.Add(c.B)
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			return
		}
		var c Coder
		if v.fields(&c); !bytes.Equal(c.B, b) && v.is == (b[1]&2 != 0) {
			t.Errorf("%x became %x", b, c.B)
		}
	})
}
