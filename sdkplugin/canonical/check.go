package canonical

import (
	"bytes"
	"sync"
)

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
