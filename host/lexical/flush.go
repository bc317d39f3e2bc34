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
	var fields []fieldEntry
	for _, f := range b.fields {
		if f != nil && f.entries > 0 {
			fields = append(fields, memory.writeField(w, f))
		}
	}
	if err := w.finish(docs, fields); err != nil {
		return Segment{}, fmt.Errorf("lexical: write segment: %w", err)
	}
	t := sumUp(b.rows, b.tokens)
	if err := writeColumns(col, b.rows, b.tokens, t); err != nil {
		return Segment{}, fmt.Errorf("lexical: write columns: %w", err)
	}
	return Segment{Docs: docs, Live: docs, Searchable: t.searchable, Tokens: t.tokens}, nil
}

// writeField writes the posting lists and the dictionary of one field.
func (m *flushMemory) writeField(w *segmentWriter, f *fieldIndex) fieldEntry {
	m.sortTerms(&f.terms)
	m.scatter(f)
	m.dictionary.reset()
	m.shared.reset(len(m.order))
	from := uint32(0)
	for _, o := range m.order {
		n := f.terms.infos[o.term].docs
		m.dictionary.insert(f.terms.term(o.term), m.postings(w, from, n))
		from += n
	}
	fst := m.dictionary.finish()
	entry := fieldEntry{field: f.field, dictionary: w.offset()}
	w.bytes(binary.AppendUvarint(nil, uint64(len(fst))))
	w.bytes(fst)
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
func (m *flushMemory) scatter(f *fieldIndex) {
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

func (m *flushMemory) frequency(at uint32) uint32 {
	if n := m.frequencies[at]; n != 0 {
		return uint32(n)
	}
	return m.large[at]
}

// postings returns the dictionary value of the list from to from+n of m.docs; it writes the list unless there is an equal one.
func (m *flushMemory) postings(w *segmentWriter, from, n uint32) uint64 {
	if n > sharedMax {
		return m.writePostings(w, from, n)
	}
	value, slot, found := m.findShared(from, n)
	if !found {
		value = m.writePostings(w, from, n)
		m.noteShared(slot, from, n, value)
	}
	return value
}

// writePostings writes a posting list and returns its offset.
func (m *flushMemory) writePostings(w *segmentWriter, from, n uint32) uint64 {
	list := listWriter{b: binary.AppendUvarint(m.list[:0], uint64(n))}
	for i, doc := range m.docs[from : from+n] {
		list.add(doc, m.frequency(from+uint32(i)))
	}
	m.list = list.b
	offset := w.offset()
	w.bytes(m.list)
	return offset
}
