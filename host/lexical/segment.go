package lexical

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
)

// Layout of a segment file: the ice v1 format as read by blugelabs/ice.
//
//	stored fields: per document its offset as u64be (all the same empty record: records live elsewhere)
//	per field:     posting lists, then the dictionary: uvarint length, vellum FST term -> posting list
//	fields:        per field uvarint dictionary offset, uvarint name length, name, uvarint documents, uvarint tokens
//	field index:   per field the offset of its description as u64be
//	footer:        u64be documents, stored index, field index, document values (none); u32be chunk mode, version, CRC-32
//
// A posting list is: uvarint chunk count, uvarint end of every chunk, chunks of (uvarint frequency<<1, uvarint norm) pairs; then, where
// the dictionary points to, uvarint offset of that, uvarint 0 (no positions), uvarint length and a roaring bitmap of documents.
// Terms with equal lists share one.
//
// The format can also keep the posting of a term that occurs once inside the dictionary. We do not: such values take 8 bytes in every
// node on the way, a shared list 3, and the engine's dictionary iterator miscounts the terms behind one.
const (
	iceType      = "ice"
	iceVersion   = 1
	iceFooter    = 8*4 + 4*3
	chunkMode    = 1025 // chunks by document number, about 1,024 postings each
	chunkTarget  = 1024
	idField      = "_id" // ice insists on it as field 0
	noDocValues  = math.MaxUint64
	maxDocuments = 1 << 31
)

// postingNorm is the norm of every posting. Ice asks for one; the true body length is a column, where it takes 4 bytes a document instead
// of 1 or 2 a posting (3 % of the source bytes).
const postingNorm = 1

// segmentWriter streams a segment file: it keeps the offset and checksum of what it has written. The first error sticks.
type segmentWriter struct {
	w       io.Writer
	buf     []byte
	flushed int64
	crc     uint32
	err     error
}

const segmentBuffer = 256 << 10

func (w *segmentWriter) offset() uint64 { return uint64(w.flushed) + uint64(len(w.buf)) }

func (w *segmentWriter) uvarint(v uint64) { w.buf = binary.AppendUvarint(w.buf, v) }
func (w *segmentWriter) uint64(v uint64)  { w.buf = binary.BigEndian.AppendUint64(w.buf, v) }
func (w *segmentWriter) uint32(v uint32)  { w.buf = binary.BigEndian.AppendUint32(w.buf, v) }

func (w *segmentWriter) bytes(b []byte) {
	w.buf = append(w.buf, b...)
	if len(w.buf) >= segmentBuffer {
		w.flush()
	}
}

func (w *segmentWriter) flush() {
	if w.err == nil {
		_, w.err = w.w.Write(w.buf)
	}
	w.crc = crc32.Update(w.crc, crc32.IEEETable, w.buf)
	w.flushed += int64(len(w.buf))
	w.buf = w.buf[:0]
}

// stored writes the stored fields of all documents, one shared record without any, and returns the offset of their index.
func (w *segmentWriter) stored(docs uint32) uint64 {
	const emptySnappy = 0 // length 0: the compressed form of nothing
	record := w.offset()
	w.uvarint(0)
	w.uvarint(1)
	w.bytes([]byte{emptySnappy})
	index := w.offset()
	for range docs {
		w.uint64(record)
		if len(w.buf) >= segmentBuffer {
			w.flush()
		}
	}
	return index
}

// fieldEntry describes one field at the end of the file.
type fieldEntry struct {
	name         string
	dictionary   uint64
	docs, tokens uint64
}

// finish writes the field descriptions and the footer.
func (w *segmentWriter) finish(docs uint32, storedIndex uint64, fields []fieldEntry) error {
	offsets := make([]uint64, len(fields))
	for i, f := range fields {
		offsets[i] = w.offset()
		w.uvarint(f.dictionary)
		w.uvarint(uint64(len(f.name)))
		w.bytes([]byte(f.name))
		w.uvarint(f.docs)
		w.uvarint(f.tokens)
	}
	fieldIndex := w.offset()
	for _, offset := range offsets {
		w.uint64(offset)
	}
	w.uint64(uint64(docs))
	w.uint64(storedIndex)
	w.uint64(fieldIndex)
	w.uint64(noDocValues)
	w.uint32(chunkMode)
	w.uint32(iceVersion)
	w.flush()
	w.uint32(w.crc)
	w.flush()
	return w.err
}
