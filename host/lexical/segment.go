package lexical

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// Layout of a segment file, version 2:
//
//	per field: posting lists, then the dictionary: uvarint length, vellum FST term -> offset of its posting list
//	fields:    per field one byte its number, u64be offset of the dictionary
//	footer:    u32be documents, number of fields, version, CRC-32 of everything before it
//
// A posting list is a uvarint count, and for every document a uvarint: the documents skipped since the one before, doubled, plus 1 when
// the term occurs several times; then its frequency follows as a uvarint. Terms with equal lists share one.
//
// That is about 1.5 bytes a posting, where bitmaps and pairs of frequency and norm take more than 4: a tenth of the source bytes.
const (
	segmentVersion = 2
	segmentFooter  = 4 * 4
	fieldRow       = 1 + 8
	maxDocuments   = 1 << 31
)

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

// fieldEntry says where the dictionary of a field stands.
type fieldEntry struct {
	field      Field
	dictionary uint64
}

// finish writes the table of fields and the footer.
func (w *segmentWriter) finish(docs uint32, fields []fieldEntry) error {
	be := binary.BigEndian
	for _, f := range fields {
		w.buf = be.AppendUint64(append(w.buf, byte(f.field)), f.dictionary)
	}
	for _, n := range []uint32{docs, uint32(len(fields)), segmentVersion} {
		w.buf = be.AppendUint32(w.buf, n)
	}
	w.flush()
	w.buf = be.AppendUint32(w.buf, w.crc)
	w.flush()
	return w.err
}

// listWriter encodes one posting list without its count.
type listWriter struct {
	b    []byte
	next uint32 // least document that may follow
}

func (w *listWriter) add(doc, frequency uint32) {
	skipped := uint64(doc-w.next) << 1
	w.next = doc + 1
	if frequency == 1 {
		w.b = binary.AppendUvarint(w.b, skipped)
		return
	}
	w.b = binary.AppendUvarint(w.b, skipped|1)
	w.b = binary.AppendUvarint(w.b, uint64(frequency))
}
