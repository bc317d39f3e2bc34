package lexical

// Builder collects the documents of one segment in memory and writes them with Flush. It keeps its memory for the next segment. Not
// safe for concurrent use; several builders may share a Pool.
//
// Memory: about 4 bytes a posting and 40 bytes and the text of every distinct term; Size says how much.
type Builder struct {
	pool   *Pool
	scan   scanner
	fields [fieldCount]*fieldIndex // nil until first used
	rows   []Row
	tokens []uint32 // body length by document
}

// NewBuilder returns an empty builder. With a nil pool it has flush memory of its own.
func NewBuilder(pool *Pool) *Builder {
	if pool == nil {
		pool = NewPool(1)
	}
	return &Builder{pool: pool}
}

// Add appends a document and returns its number in the segment. text is its search projection (valid UTF-8 or not: anything else
// separates tokens) and is ignored unless the row is eligible; terms are the values of keyword fields, repetitions count once. Nothing
// is kept of the arguments.
func (b *Builder) Add(text []byte, terms []Term, row Row) (doc uint32) {
	doc = uint32(len(b.rows))
	var length uint32
	if row.Eligible && len(text) > 0 {
		body := b.field(Body)
		b.scan.reset(text)
		for b.scan.next() {
			body.count(doc, b.scan.token, b.scan.head)
		}
		length = body.endDocument(doc)
		b.scan.reset(nil)
		b.scan.token = nil
	}
	var used uint32
	for _, term := range terms {
		if len(term.Value) == 0 || term.Field == Body || term.Field >= fieldCount {
			continue
		}
		key := term.Field.key(term.Value)
		b.field(term.Field).count(doc, key, tokenHead(key))
		used |= 1 << term.Field
	}
	for f := Body + 1; used>>f != 0; f++ {
		if used>>f&1 != 0 {
			b.fields[f].endDocument(doc)
		}
	}
	b.rows = append(b.rows, row)
	b.tokens = append(b.tokens, length)
	return doc
}

func (b *Builder) field(f Field) *fieldIndex {
	if b.fields[f] == nil {
		b.fields[f] = &fieldIndex{field: f}
		b.fields[f].reset()
	}
	return b.fields[f]
}

// Docs returns the number of documents added since the last Flush.
func (b *Builder) Docs() int { return len(b.rows) }

// Size returns the bytes of memory that the documents take up. Flush borrows about 10 bytes a posting more from the pool.
func (b *Builder) Size() int {
	const rowBytes = 60
	size := len(b.rows) * rowBytes
	for _, f := range b.fields {
		if f != nil {
			size += f.size()
		}
	}
	return size
}

// reset forgets all documents and keeps the memory.
func (b *Builder) reset() {
	for _, f := range b.fields {
		if f != nil {
			f.reset()
		}
	}
	b.rows = b.rows[:0]
	b.tokens = b.tokens[:0]
}
