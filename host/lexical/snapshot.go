package lexical

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/RoaringBitmap/roaring"

	"github.com/agenthistory/ctx/host/durable"
)

// snapshotNumber is the only snapshot a text directory ever has: a changed list of segments is a new generation in a new directory.
const snapshotNumber = 1

// SnapshotFile is the name of the snapshot in a text directory.
const SnapshotFile = "000000000001.snp"

// SegmentFile returns the name of a segment's postings.
func SegmentFile(id uint32) string { return fmt.Sprintf("%012x.seg", id) }

// ColumnFile returns the name of a segment's columns.
func ColumnFile(id uint32) string { return fmt.Sprintf("%012x.col", id) }

// snapshotVersion is version 1 of the snapshot format as read by bluge: uvarint version, uvarint segment count; per segment uvarint-long
// type string, u32be type version, uvarint id, uvarint length and bytes of the roaring bitmap of deleted documents (length 0: none);
// CRC-32 (IEEE) of all that as u32be.
const snapshotVersion = 1

// WriteSnapshot writes the list of segments and their deleted documents (those with an entry in deleted) to path, atomically and durably.
func WriteSnapshot(path string, segments []Segment, deleted map[uint32]*roaring.Bitmap) error {
	content, err := encodeSnapshot(segments, deleted)
	if err != nil {
		return err
	}
	if err := durable.Replace(path, content, 0o600); err != nil {
		return fmt.Errorf("lexical: snapshot: %w", err)
	}
	return nil
}

func encodeSnapshot(segments []Segment, deleted map[uint32]*roaring.Bitmap) ([]byte, error) {
	content := binary.AppendUvarint(nil, snapshotVersion)
	content = binary.AppendUvarint(content, uint64(len(segments)))
	for _, s := range segments {
		content = binary.AppendUvarint(content, uint64(len(segmentType)))
		content = append(content, segmentType...)
		content = binary.BigEndian.AppendUint32(content, segmentVersion)
		content = binary.AppendUvarint(content, uint64(s.ID))
		var bits []byte
		if d := deleted[s.ID]; d != nil && !d.IsEmpty() {
			if d.Maximum() >= s.Docs {
				return nil, fmt.Errorf("lexical: segment %d has %d documents, deletes number %d", s.ID, s.Docs, d.Maximum())
			}
			var err error
			if bits, err = d.ToBytes(); err != nil {
				return nil, fmt.Errorf("lexical: snapshot: %w", err)
			}
		}
		content = binary.AppendUvarint(content, uint64(len(bits)))
		content = append(content, bits...)
	}
	return appendChecksum(content), nil
}

func appendChecksum(content []byte) []byte {
	return binary.BigEndian.AppendUint32(content, crc32.ChecksumIEEE(content))
}

// snapshotEntry is one segment of a decoded snapshot.
type snapshotEntry struct {
	id      uint32
	deleted *roaring.Bitmap // nil: none
}

var errSnapshot = errors.New("snapshot is malformed")

// decodeSnapshot is strict: everything that bluge would later trip over is an error here.
func decodeSnapshot(content []byte) ([]snapshotEntry, error) {
	const crcBytes = 4
	if len(content) < crcBytes {
		return nil, errSnapshot
	}
	body := content[:len(content)-crcBytes]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(content[len(body):]) {
		return nil, errors.New("snapshot checksum differs")
	}
	r := byteReader{rest: body}
	if v := r.uvarint(); v != snapshotVersion {
		return nil, fmt.Errorf("snapshot has version %d", v)
	}
	count := r.uvarint()
	if count > uint64(len(body)) {
		return nil, errSnapshot
	}
	entries := make([]snapshotEntry, 0, count)
	for range count {
		kind := r.take(r.uvarint())
		version := r.take(4)
		id := r.uvarint()
		bits := r.take(r.uvarint())
		if r.bad || string(kind) != segmentType || binary.BigEndian.Uint32(version) != segmentVersion || id > 1<<32-1 {
			return nil, errSnapshot
		}
		e := snapshotEntry{id: uint32(id)}
		if len(bits) > 0 {
			e.deleted = roaring.New()
			if n, err := e.deleted.ReadFrom(bytes.NewReader(bits)); err != nil || n != int64(len(bits)) {
				return nil, errSnapshot
			}
		}
		entries = append(entries, e)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errSnapshot
	}
	return entries, nil
}

// byteReader reads a byte string; after a read beyond its end it is bad and gives zeros.
type byteReader struct {
	rest []byte
	bad  bool
}

func (r *byteReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// short is uvarint for numbers that nearly always take one byte.
func (r *byteReader) short() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(v)
	}
	return r.uvarint()
}

func (r *byteReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}
