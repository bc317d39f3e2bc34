package lexical

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// parseSegment reads the footer and the table of fields of a segment file, within bounds. Damage further inside shows when it is read, or
// in verifyChecksum.
func parseSegment(file []byte, docs uint32) (*postingsFile, error) {
	if len(file) < segmentFooter {
		return nil, errors.New("segment is shorter than its footer")
	}
	be := binary.BigEndian
	body := file[:len(file)-segmentFooter]
	footer := file[len(body):]
	if v := be.Uint32(footer[8:]); v != segmentVersion {
		return nil, fmt.Errorf("segment has version %d", v)
	}
	if n := be.Uint32(footer); n != docs || n == 0 {
		return nil, fmt.Errorf("segment has %d documents, want %d", n, docs)
	}
	fields := uint64(be.Uint32(footer[4:]))
	if fields*fieldRow > uint64(len(body)) {
		return nil, errors.New("table of fields lies outside the segment")
	}
	p := &postingsFile{body: body[:uint64(len(body))-fields*fieldRow], docs: docs}
	for table := body[len(p.body):]; len(table) > 0; table = table[fieldRow:] {
		field, offset := Field(table[0]), be.Uint64(table[1:])
		if field >= fieldCount || p.dictionaries[field] != nil || offset >= uint64(len(p.body)) {
			return nil, errors.New("table of fields is malformed")
		}
		r := byteReader{rest: p.body[offset:]}
		if p.dictionaries[field] = r.take(r.uvarint()); len(p.dictionaries[field]) == 0 {
			return nil, fmt.Errorf("dictionary of field %q lies outside the segment", field)
		}
	}
	return p, nil
}

// verifyChecksum compares a whole segment with the checksum in its footer.
func verifyChecksum(file []byte) error {
	const crcBytes = 4
	if len(file) < segmentFooter {
		return errors.New("segment is shorter than its footer")
	}
	body := file[:len(file)-crcBytes]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(file[len(body):]) {
		return errors.New("segment checksum differs")
	}
	return nil
}
