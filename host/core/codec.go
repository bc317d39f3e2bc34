package core

import (
	"encoding/binary"
	"errors"

	"github.com/agenthistory/ctx/host/record"
)

// Small values are stored as a version byte and a sequence of varints, length-prefixed bytes and raw digests. A reader refuses an
// unknown version, a cut value and trailing bytes.

var errMalformed = errors.New("malformed stored value")

type encoder struct{ b []byte }

func (e *encoder) uint(v uint64)          { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int64)            { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) bytes(v []byte)         { e.uint(uint64(len(v))); e.b = append(e.b, v...) }
func (e *encoder) string(v string)        { e.uint(uint64(len(v))); e.b = append(e.b, v...) }
func (e *encoder) digest(v record.Digest) { e.b = append(e.b, v[:]...) }
func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
		return
	}
	e.b = append(e.b, 0)
}

// decoder reads what encoder wrote. After the first error every read gives zero values.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() { d.err, d.b = errMalformed, nil }

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || n > 1 && d.b[n-1] == 0 { // a padded varint is no canonical value
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) uint32() uint32 {
	v := d.uint()
	if v > 1<<32-1 {
		d.fail()
		return 0
	}
	return uint32(v)
}

func (d *decoder) int() int64 {
	u := d.uint()
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}

// bytes returns a view of the input.
func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) string() string { return string(d.bytes()) }

// copied returns an independent copy, nil when empty.
func (d *decoder) copied() []byte { return append([]byte(nil), d.bytes()...) }

func (d *decoder) digest() (v record.Digest) {
	if len(d.b) < len(v) {
		d.fail()
		return v
	}
	copy(v[:], d.b)
	d.b = d.b[len(v):]
	return v
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) bool() bool {
	v := d.byte()
	if v > 1 {
		d.fail()
	}
	return v == 1
}

// end reports the first error, or trailing bytes.
func (d *decoder) end() error {
	if d.err == nil && len(d.b) > 0 {
		d.err = errMalformed
	}
	return d.err
}
