package lexical

// Pool lends the memory that builders need only while they flush, so that builders which take turns share it.
type Pool struct{ free chan *flushMemory }

// NewPool returns a pool for builders of which at most flushes (at least 1) flush at the same time; a further Flush waits.
func NewPool(flushes int) *Pool {
	p := &Pool{free: make(chan *flushMemory, max(flushes, 1))}
	for range cap(p.free) {
		p.free <- new(flushMemory)
	}
	return p
}

// flushMemory is everything that turning a builder's memory into a file needs. Reused as it is.
type flushMemory struct {
	order       []termOrder       // terms in byte order
	next        []uint32          // term number -> where its next posting goes
	docs        []uint32          // postings by term, then document
	frequencies []uint8           // beside docs
	large       map[uint32]uint32 // posting -> frequency too large for frequencies

	list       []byte // one posting list
	out        []byte
	dictionary dictionaryWriter
	shared     sharedLists
}

// termOrder sorts terms mostly by comparing their first 8 bytes as a number.
type termOrder struct {
	prefix uint64
	term   uint32
}

// grow returns a slice of n elements, with the old memory if it is large enough. The content is undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
