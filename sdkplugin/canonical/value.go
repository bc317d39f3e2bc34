package canonical

import (
	"bytes"
	"strconv"
	"unsafe"
)

// Value is one value of a Doc. The zero Value stands for an absent one: its Kind is Invalid and every method returns the zero
// result, so that lookups chain without checks.
type Value struct {
	doc   *Doc
	index uint32
}

func (v Value) node() *Node { return &v.doc.nodes[v.index] }

// Exists tells whether the value is there at all; null is.
func (v Value) Exists() bool { return v.doc != nil }

// Index returns the position of the value in Doc.Nodes.
func (v Value) Index() uint32 { return v.index }

// Kind returns the JSON type, Invalid for an absent value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Invalid
	}
	return v.node().Kind
}

// IsNull tells whether the value is null or absent.
func (v Value) IsNull() bool { return v.Kind() <= Null }

// IsString tells whether the value is a string.
func (v Value) IsString() bool { return v.Kind() == String }

// IsObject tells whether the value is an object.
func (v Value) IsObject() bool { return v.Kind() == Object }

// IsArray tells whether the value is an array.
func (v Value) IsArray() bool { return v.Kind() == Array }

// Bool returns the value of true or false; ok is false for every other kind.
func (v Value) Bool() (value, ok bool) {
	k := v.Kind()
	return k == True, k == True || k == False
}

// Raw returns the bytes of the value as they stand in the text, not a copy.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.src[n.Start:n.End:n.End]
}

// Span returns the byte range of Raw in the parsed text.
func (v Value) Span() (start, end int) {
	if v.doc == nil {
		return 0, 0
	}
	n := v.node()
	return int(n.Start), int(n.End)
}

// Len returns the number of members of an object or elements of an array, repeated keys included; 0 for other kinds.
func (v Value) Len() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().Count)
}

// Get returns the member of an object with that key, the last one if the key is repeated, or the zero Value.
func (v Value) Get(key string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	var found Value
	d := v.doc
	i := v.index + 1
	for range v.node().Count {
		n := &d.nodes[i]
		if d.keyIs(n, key) {
			found = Value{d, i}
		}
		i = n.Next
	}
	return found
}

// Has tells whether the object has a member with that key.
func (v Value) Has(key string) bool { return v.Get(key).Exists() }

// CountKey returns how often the object names that key.
func (v Value) CountKey(key string) int {
	if v.Kind() != Object {
		return 0
	}
	count, i := 0, v.index+1
	for range v.node().Count {
		n := &v.doc.nodes[i]
		if v.doc.keyIs(n, key) {
			count++
		}
		i = n.Next
	}
	return count
}

// Each calls yield with the decoded key and the value of every member in the order of the text, repeated keys included, until
// yield returns false. It fits a range statement: for key, member := range v.Each.
func (v Value) Each(yield func(key []byte, member Value) bool) {
	if v.Kind() != Object {
		return
	}
	i := v.index + 1
	for range v.node().Count {
		n := &v.doc.nodes[i]
		next := n.Next
		if !yield(v.doc.key(n), Value{v.doc, i}) {
			return
		}
		i = next
	}
}

// Elems calls yield with every element of an array until yield returns false. It fits a range statement:
// for element := range v.Elems.
func (v Value) Elems(yield func(element Value) bool) {
	if v.Kind() != Array {
		return
	}
	i := v.index + 1
	for range v.node().Count {
		next := v.doc.nodes[i].Next
		if !yield(Value{v.doc, i}) {
			return
		}
		i = next
	}
}

// Elem returns the element of an array at a position, or the zero Value.
func (v Value) Elem(position int) Value {
	if v.Kind() != Array || position < 0 || position >= v.Len() {
		return Value{}
	}
	i := v.index + 1
	for range position {
		i = v.doc.nodes[i].Next
	}
	return Value{v.doc, i}
}

// Str returns the decoded bytes of a string, nil for other kinds and an empty slice for "". Without escapes they are part of
// the parsed text; with escapes they live in the document's scratch memory. Both are valid until the next Parse and must not
// be changed.
func (v Value) Str() []byte {
	if v.Kind() != String {
		return nil
	}
	n := v.node()
	body := v.doc.src[n.Start+1 : n.End-1 : n.End-1]
	if n.flags&flagEscaped == 0 {
		return body
	}
	return v.doc.decode(body)
}

// StrEquals tells whether the value is a string equal to s.
func (v Value) StrEquals(s string) bool {
	return v.Kind() == String && string(v.Str()) == s
}

// AppendStr appends the decoded bytes of a string and returns the extended slice; other kinds add nothing.
func (v Value) AppendStr(dst []byte) []byte {
	if v.Kind() != String {
		return dst
	}
	n := v.node()
	body := v.doc.src[n.Start+1 : n.End-1]
	if n.flags&flagEscaped == 0 {
		return append(dst, body...)
	}
	return appendDecoded(dst, body)
}

// Key returns the decoded key of an object member, nil for elements and the root. It is valid as long as Str.
func (v Value) Key() []byte {
	if v.doc == nil || v.node().KeyEnd == 0 {
		return nil
	}
	return v.doc.key(v.node())
}

// IsInteger tells whether the value is a number without fraction and exponent (and not -0), of any size.
func (v Value) IsInteger() bool {
	return v.Kind() == Number && v.node().flags&flagFloat == 0
}

// Int64 returns the value of an integer literal that fits.
func (v Value) Int64() (int64, bool) {
	if !v.IsInteger() {
		return 0, false
	}
	n, err := strconv.ParseInt(borrow(v.Raw()), 10, 64)
	return n, err == nil
}

// Uint64 returns the value of an integer literal that fits.
func (v Value) Uint64() (uint64, bool) {
	if !v.IsInteger() {
		return 0, false
	}
	n, err := strconv.ParseUint(borrow(v.Raw()), 10, 64)
	return n, err == nil
}

// Float64 returns the number nearest to any numeric literal; ok is false for other kinds and outside the range of float64.
func (v Value) Float64() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(borrow(v.Raw()), 64)
	return f, err == nil
}

// key returns the decoded key of a member.
func (d *Doc) key(n *Node) []byte {
	body := d.src[n.KeyStart+1 : n.KeyEnd-1 : n.KeyEnd-1]
	if n.flags&flagKeyEscaped == 0 {
		return body
	}
	return d.decode(body)
}

func (d *Doc) keyIs(n *Node, key string) bool {
	body := d.src[n.KeyStart+1 : n.KeyEnd-1]
	if n.flags&flagKeyEscaped == 0 {
		return string(body) == key
	}
	return len(body) >= len(key) && string(d.decode(body)) == key
}

// decode returns the decoded form of a literal's inside in scratch memory. Growing the scratch leaves earlier results intact,
// for they keep the array they were cut from.
func (d *Doc) decode(body []byte) []byte {
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	from := len(d.scratch)
	d.scratch = appendDecoded(d.scratch, body)
	return d.scratch[from:len(d.scratch):len(d.scratch)]
}

// borrow views bytes as a string for a strconv call that neither keeps nor changes them, save in an error, which is dropped.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
