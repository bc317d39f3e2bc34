package lexical

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
)

// ErrEmptySegment is returned by Flush for a builder without documents: there is nothing to write.
var ErrEmptySegment = errors.New("lexical: no document to write")

// Flush writes the segment and column files, empties the builder, also after an error, and returns the manifest entry without its id.
// It writes sequentially and neither syncs nor closes the writers. Equal documents in equal order give equal bytes.
func (b *Builder) Flush(seg, col io.Writer) (Segment, error) {
	defer b.reset()
	docs := uint32(len(b.rows))
	switch {
	case docs == 0:
		return Segment{}, ErrEmptySegment
	case len(b.rows) >= maxDocuments:
		return Segment{}, fmt.Errorf("lexical: %d documents are too many for a segment", docs)
	}
	memory := <-b.pool.free
	defer func() { b.pool.free <- memory }()

	w := &segmentWriter{w: seg, buf: memory.out[:0]}
	defer func() { memory.out = w.buf }()
	storedIndex := w.stored(docs)
	fields := []fieldEntry{{name: idField, docs: uint64(docs), tokens: uint64(docs)}}
	memory.dictionary.reset()
	fields[0].dictionary = memory.writeDictionary(w)
	for _, f := range b.fieldsByName() {
		fields = append(fields, memory.writeField(w, f, docs))
	}
	if err := w.finish(docs, storedIndex, fields); err != nil {
		return Segment{}, fmt.Errorf("lexical: write segment: %w", err)
	}
	t := sumUp(b.rows, b.tokens)
	if err := writeColumns(col, b.rows, b.tokens, t); err != nil {
		return Segment{}, fmt.Errorf("lexical: write columns: %w", err)
	}
	return Segment{Docs: docs, Live: docs, Searchable: t.searchable, Tokens: t.tokens}, nil
}

// fieldsByName returns the fields that have entries, in the order that ice gives them: by name.
func (b *Builder) fieldsByName() []*fieldIndex {
	var fields []*fieldIndex
	for _, f := range b.fields {
		if f != nil && f.entries > 0 {
			fields = append(fields, f)
		}
	}
	slices.SortFunc(fields, func(x, y *fieldIndex) int { return cmp.Compare(x.field.String(), y.field.String()) })
	return fields
}

// writeField writes the posting lists and the dictionary of one field.
func (m *flushMemory) writeField(w *segmentWriter, f *fieldIndex, docs uint32) fieldEntry {
	entry := fieldEntry{name: f.field.String()}
	m.sortTerms(&f.terms)
	m.scatter(f, &entry)
	m.dictionary.reset()
	m.shared.reset(len(m.order))
	from := uint32(0)
	for _, o := range m.order {
		n := f.terms.infos[o.term].docs
		m.dictionary.insert(f.terms.term(o.term), m.postings(w, docs, from, n))
		from += n
	}
	entry.dictionary = m.writeDictionary(w)
	return entry
}

func (m *flushMemory) sortTerms(t *termTable) {
	m.order = grow(m.order, len(t.infos))
	for id := range m.order {
		m.order[id] = termOrder{prefix: bits.ReverseBytes64(t.infos[id].head), term: uint32(id)}
	}
	slices.SortFunc(m.order, func(x, y termOrder) int {
		if order := cmp.Compare(x.prefix, y.prefix); order != 0 {
			return order
		}
		return bytes.Compare(t.term(x.term), t.term(y.term))
	})
}

// scatter turns the entries, ordered by document, into postings ordered by term and then document: a counting sort.
func (m *flushMemory) scatter(f *fieldIndex, entry *fieldEntry) {
	m.next = grow(m.next, len(m.order))
	sum := uint32(0)
	for _, o := range m.order {
		m.next[o.term] = sum
		sum += f.terms.infos[o.term].docs
	}
	m.docs = grow(m.docs, int(sum))
	m.frequencies = grow(m.frequencies, int(sum))
	m.large = map[uint32]uint32{}
	words := f.words()
	for _, run := range f.runs {
		entry.docs++
		entry.tokens += uint64(run.length)
		for range run.entries {
			term, frequency := words.entry()
			at := m.next[term]
			m.next[term] = at + 1
			m.docs[at] = run.doc
			if frequency > maxFrequency {
				m.large[at] = frequency
				frequency = 0
			}
			m.frequencies[at] = uint8(frequency)
		}
	}
}

func (m *flushMemory) frequency(at uint32) uint64 {
	if n := m.frequencies[at]; n != 0 {
		return uint64(n)
	}
	return uint64(m.large[at])
}

// postings returns the dictionary value of the list from to from+n of m.docs; it writes the list unless there is an equal one.
func (m *flushMemory) postings(w *segmentWriter, docs, from, n uint32) uint64 {
	if n > sharedMax {
		return m.writePostings(w, docs, from, n)
	}
	value, slot := m.findShared(from, n)
	if value == 0 {
		value = m.writePostings(w, docs, from, n)
		m.noteShared(slot, from, n, value)
	}
	return value
}

// writePostings writes a posting list and returns its dictionary value.
func (m *flushMemory) writePostings(w *segmentWriter, docs, from, n uint32) uint64 {
	list := m.docs[from : from+n]
	chunkDocs, chunks := chunking(n, docs)
	m.chunks, m.chunkEnds = m.chunks[:0], m.chunkEnds[:0]
	end := chunkDocs // first document of the next chunk
	for i, doc := range list {
		for uint64(doc) >= end {
			m.chunkEnds = append(m.chunkEnds, uint64(len(m.chunks)))
			end += chunkDocs
		}
		m.chunks = binary.AppendUvarint(m.chunks, m.frequency(from+uint32(i))<<1)
		m.chunks = append(m.chunks, postingNorm)
	}
	for uint64(len(m.chunkEnds)) < chunks {
		m.chunkEnds = append(m.chunkEnds, uint64(len(m.chunks)))
	}
	frequencies := w.offset()
	w.uvarint(chunks)
	for _, end := range m.chunkEnds {
		w.uvarint(end)
	}
	w.bytes(m.chunks)
	value := w.offset()
	w.uvarint(frequencies)
	w.uvarint(0)
	m.bitmap, m.containers = appendBitmap(m.bitmap[:0], list, m.containers)
	w.uvarint(uint64(len(m.bitmap)))
	w.bytes(m.bitmap)
	return value
}

// chunking returns the documents covered by a chunk and the number of chunks of a list of n postings.
func chunking(n, docs uint32) (chunkDocs, chunks uint64) {
	chunkDocs = uint64(docs) / (uint64(n)/chunkTarget + 1)
	return chunkDocs, uint64(docs-1)/chunkDocs + 1
}

func (m *flushMemory) writeDictionary(w *segmentWriter) (offset uint64) {
	fst := m.dictionary.finish()
	offset = w.offset()
	w.uvarint(uint64(len(fst)))
	w.bytes(fst)
	return offset
}
