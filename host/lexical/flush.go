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

	"github.com/RoaringBitmap/roaring"
)

// ErrEmptySegment is returned by Flush for a builder without live documents: there is nothing to write.
var ErrEmptySegment = errors.New("lexical: no live document to write")

// SegmentStats describes a flushed segment.
type SegmentStats struct {
	Docs       uint32
	Live       uint32
	Searchable uint32
	Tokens     uint64          // of the searchable documents
	Deleted    *roaring.Bitmap // dropped documents, nil when none: they belong into the snapshot
	Timed      uint32          // live documents with a time
	MinTime    int64           // over the timed ones, 0 when there is none
	MaxTime    int64

	SegmentBytes, ColumnBytes int64
}

// Segment returns the manifest entry of the flushed segment.
func (s SegmentStats) Segment(id uint32) Segment {
	return Segment{ID: id, Docs: s.Docs, Live: s.Live, Searchable: s.Searchable, Tokens: s.Tokens}
}

// Flush writes the segment and column files and empties the builder, also after an error. It writes sequentially and neither syncs nor
// closes the writers. Equal documents in equal order give equal bytes.
func (b *Builder) Flush(seg, col io.Writer) (SegmentStats, error) {
	defer b.Reset()
	docs := uint32(len(b.rows))
	if uint64(docs) == b.dropped.GetCardinality() {
		return SegmentStats{}, ErrEmptySegment
	}
	if len(b.rows) >= maxDocuments {
		return SegmentStats{}, fmt.Errorf("lexical: %d documents are too many for a segment", docs)
	}
	stats := b.stats()
	memory := <-b.pool.free
	defer func() { b.pool.free <- memory }()

	w := &segmentWriter{w: seg, buf: memory.out[:0]}
	defer func() { memory.out = w.buf }()
	storedIndex := w.stored(docs)
	fields := []fieldEntry{{name: idField, docs: uint64(docs), tokens: uint64(docs)}}
	memory.dictionary.reset()
	fields[0].dictionary = memory.writeDictionary(w)
	for _, f := range b.fieldsByName() {
		if entry := memory.writeField(w, f, docs, b.dropped); entry.docs > 0 {
			fields = append(fields, entry)
		}
	}
	if err := w.finish(docs, storedIndex, fields); err != nil {
		return SegmentStats{}, fmt.Errorf("lexical: write segment: %w", err)
	}
	stats.SegmentBytes = w.flushed
	var err error
	if stats.ColumnBytes, err = writeColumns(col, b.rows, b.tokens, b.dropped); err != nil {
		return SegmentStats{}, fmt.Errorf("lexical: write columns: %w", err)
	}
	return stats, nil
}

// stats sums up the live documents.
func (b *Builder) stats() SegmentStats {
	s := SegmentStats{Docs: uint32(len(b.rows))}
	if !b.dropped.IsEmpty() {
		s.Deleted = b.dropped.Clone()
	}
	for i, row := range b.rows {
		if s.Deleted != nil && s.Deleted.Contains(uint32(i)) {
			continue
		}
		s.Live++
		if b.tokens[i] > 0 {
			s.Searchable++
			s.Tokens += uint64(b.tokens[i])
		}
		if !row.Timed {
			continue
		}
		if s.Timed++; s.Timed == 1 {
			s.MinTime, s.MaxTime = row.Time, row.Time
		}
		s.MinTime, s.MaxTime = min(s.MinTime, row.Time), max(s.MaxTime, row.Time)
	}
	return s
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
func (m *flushMemory) writeField(w *segmentWriter, f *fieldIndex, docs uint32, dropped *roaring.Bitmap) fieldEntry {
	entry := fieldEntry{name: f.field.String()}
	forgetDropped(f, dropped)
	m.sortTerms(&f.terms)
	m.scatter(f, dropped, &entry)
	if entry.docs == 0 {
		return entry
	}
	m.dictionary.reset()
	m.shared.reset(len(m.order))
	from := uint32(0)
	for _, o := range m.order {
		n := f.terms.infos[o.term].docs
		if n == 0 {
			continue
		}
		m.dictionary.insert(f.terms.term(o.term), m.postings(w, docs, from, n))
		from += n
	}
	entry.dictionary = m.writeDictionary(w)
	return entry
}

// forgetDropped takes the postings of dropped documents out of the document counts of their terms.
func forgetDropped(f *fieldIndex, dropped *roaring.Bitmap) {
	if dropped.IsEmpty() {
		return
	}
	words := f.words()
	for _, run := range f.runs {
		gone := dropped.Contains(run.doc)
		for range run.entries {
			if term, _ := words.entry(); gone {
				f.terms.infos[term].docs--
			}
		}
	}
}

func (m *flushMemory) sortTerms(t *termTable) {
	m.order = grow(m.order, len(t.infos))
	for id := range m.order {
		m.order[id] = termOrder{prefix: bits.ReverseBytes64(t.infos[id].head), term: uint32(id)}
	}
	slices.SortFunc(m.order, func(x, y termOrder) int {
		if x.prefix != y.prefix {
			if x.prefix < y.prefix {
				return -1
			}
			return 1
		}
		return bytes.Compare(t.term(x.term), t.term(y.term))
	})
}

// scatter turns the entries, ordered by document, into postings ordered by term and then document: a counting sort.
func (m *flushMemory) scatter(f *fieldIndex, dropped *roaring.Bitmap, entry *fieldEntry) {
	m.next = grow(m.next, len(m.order))
	sum := uint32(0)
	for _, o := range m.order {
		m.next[o.term] = sum
		sum += f.terms.infos[o.term].docs
	}
	m.docs = grow(m.docs, int(sum))
	m.frequencies = grow(m.frequencies, int(sum))
	m.large = map[uint32]uint32{}
	anyDropped := !dropped.IsEmpty()
	words := f.words()
	for _, run := range f.runs {
		if anyDropped && dropped.Contains(run.doc) {
			for range run.entries {
				words.entry()
			}
			continue
		}
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
