package canonical

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
)

// ordered is one member of an object that is being sorted: the first eight bytes of its decoded key, big endian, decide most
// comparisons without touching the text.
type ordered struct {
	prefix uint64
	node   uint32
}

// Mark asks AppendMarked to tell where a value of the document came to stand.
type Mark struct {
	Value Value
	// Start and End are set to the span in the returned slice when the value was written. Found is false for a value that
	// was not: a member that a later duplicate key overrides, or one outside the value given to AppendMarked.
	Start, End int
	Found      bool
}

// AppendValue appends the canonical form of v and returns the extended slice. An absent value adds nothing.
func AppendValue(dst []byte, v Value) []byte {
	if v.doc == nil {
		return dst
	}
	return v.doc.write(dst, v.index, nil)
}

// AppendMarked is AppendValue with marks: few of them, for each container looks at all.
func AppendMarked(dst []byte, v Value, marks []Mark) []byte {
	for i := range marks {
		marks[i].Found = false
	}
	if v.doc == nil {
		return dst
	}
	return v.doc.write(dst, v.index, marks)
}

// Canonical returns the canonical form of one JSON text in a slice of its own.
func Canonical(src []byte) ([]byte, error) {
	var d Doc
	if err := d.Parse(src); err != nil {
		return nil, err
	}
	return AppendValue(make([]byte, 0, len(src)), d.Root()), nil
}

func (d *Doc) write(dst []byte, index uint32, marks []Mark) []byte {
	if len(marks) > 0 {
		return d.writeMarked(dst, index, marks)
	}
	n := &d.nodes[index]
	if n.flags&(flagLoose|flagFloat) == 0 {
		return append(dst, d.src[n.Start:n.End]...)
	}
	switch n.Kind {
	case String:
		return d.writeString(dst, n.Start, n.End)
	case Number:
		return appendFloat(dst, d.src[n.Start:n.End])
	case Array:
		return d.writeArray(dst, index, nil)
	default:
		return d.writeObject(dst, index, nil)
	}
}

// writeMarked writes a value that may be marked or hold marked ones; as soon as neither is the case it falls back to write.
func (d *Doc) writeMarked(dst []byte, index uint32, marks []Mark) []byte {
	n := &d.nodes[index]
	start, inside := len(dst), false
	for i := range marks {
		m := &marks[i]
		inside = inside || m.Value.doc == d && m.Value.index > index && m.Value.index < n.Next
	}
	switch {
	case !inside:
		dst = d.write(dst, index, nil)
	case n.Kind == Array:
		dst = d.writeArray(dst, index, marks)
	default:
		dst = d.writeObject(dst, index, marks)
	}
	for i := range marks {
		if m := &marks[i]; m.Value.doc == d && m.Value.index == index {
			m.Start, m.End, m.Found = start, len(dst), true
		}
	}
	return dst
}

func (d *Doc) writeArray(dst []byte, index uint32, marks []Mark) []byte {
	dst = append(dst, '[')
	i := index + 1
	for k := range d.nodes[index].Count {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = d.write(dst, i, marks)
		i = d.nodes[i].Next
	}
	return append(dst, ']')
}

func (d *Doc) writeObject(dst []byte, index uint32, marks []Mark) []byte {
	n := d.nodes[index]
	dst = append(dst, '{')
	if n.flags&flagUnsorted == 0 {
		i := index + 1
		for k := range n.Count {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = d.writeMember(dst, i, marks)
			i = d.nodes[i].Next
		}
		return append(dst, '}')
	}
	base := len(d.order)
	i := index + 1
	for range n.Count {
		d.order = append(d.order, ordered{d.prefix(&d.nodes[i]), i})
		i = d.nodes[i].Next
	}
	d.sortMembers(d.order[base:])
	for k := base; k < base+int(n.Count); k++ {
		// Equal keys stand in the order of the text; only the last of them is written.
		if k+1 < base+int(n.Count) && d.compareOrdered(d.order[k], d.order[k+1]) == 0 {
			continue
		}
		dst = append(d.writeMember(dst, d.order[k].node, marks), ',')
	}
	d.order = d.order[:base]
	dst[len(dst)-1] = '}' // an unsorted object has members: the last comma makes room
	return dst
}

func (d *Doc) writeMember(dst []byte, index uint32, marks []Mark) []byte {
	n := &d.nodes[index]
	if n.flags&flagKeyLoose == 0 {
		dst = append(dst, d.src[n.KeyStart:n.KeyEnd]...)
	} else {
		dst = d.writeString(dst, n.KeyStart, n.KeyEnd)
	}
	return d.write(append(dst, ':'), index, marks)
}

// writeString writes a literal that is not in canonical form.
func (d *Doc) writeString(dst []byte, start, end uint32) []byte {
	return AppendString(dst, d.decode(d.src[start+1:end-1]))
}

// sortMembers sorts stably. Objects of transcripts have few members, for which insertion is fastest.
func (d *Doc) sortMembers(members []ordered) {
	if len(members) > 24 {
		slices.SortStableFunc(members, d.compareOrdered)
		return
	}
	for i := 1; i < len(members); i++ {
		m := members[i]
		k := i
		for k > 0 && d.compareOrdered(members[k-1], m) > 0 {
			members[k] = members[k-1]
			k--
		}
		members[k] = m
	}
}

func (d *Doc) compareOrdered(a, b ordered) int {
	switch {
	case a.prefix < b.prefix:
		return -1
	case a.prefix > b.prefix:
		return 1
	}
	return d.compareKeys(&d.nodes[a.node], &d.nodes[b.node])
}

func (d *Doc) compareKeys(a, b *Node) int {
	if (a.flags|b.flags)&flagKeyEscaped == 0 {
		return bytes.Compare(d.src[a.KeyStart+1:a.KeyEnd-1], d.src[b.KeyStart+1:b.KeyEnd-1])
	}
	return bytes.Compare(d.key(a), d.key(b))
}

// prefix returns the first eight bytes of a decoded key as a number that orders like them; a shorter key is filled with zeros.
func (d *Doc) prefix(n *Node) uint64 {
	key := d.key(n)
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var buf [8]byte
	copy(buf[:], key)
	return binary.BigEndian.Uint64(buf[:])
}

// checked keeps documents for IsCanonical.
var checked = sync.Pool{New: func() any { return new(Doc) }}

// IsCanonical tells whether src is exactly the canonical form of one JSON value, for checking what another process claims to be
// canonical. It is one pass over src; the memory for it is kept.
func IsCanonical(src []byte) bool {
	d := checked.Get().(*Doc)
	defer func() {
		if d.src = nil; cap(d.nodes) <= 1<<16 {
			checked.Put(d)
		}
	}()
	if d.Parse(src) != nil {
		return false
	}
	root := &d.nodes[0]
	if root.flags&flagLoose != 0 || root.Start != 0 || int(root.End) != len(src) {
		return false
	}
	if root.flags&flagFloat == 0 {
		return true
	}
	var buf [64]byte
	for i := range d.nodes {
		if n := &d.nodes[i]; n.Kind == Number && n.flags&flagFloat != 0 && !bytes.Equal(appendFloat(buf[:0], src[n.Start:n.End]), src[n.Start:n.End]) {
			return false
		}
	}
	return true
}
