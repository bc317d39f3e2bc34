package lexical

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// parseSegment reads the footer and the field descriptions of a segment file, within bounds. It rejects everything that the engine,
// which does not check, would trip over when it opens the file; damage further inside shows when it is read, or in verifyChecksum.
func parseSegment(file []byte, docs uint32) (*postingsFile, error) {
	if len(file) < iceFooter {
		return nil, errors.New("segment is shorter than its footer")
	}
	be := binary.BigEndian
	body := file[:len(file)-iceFooter]
	footer := file[len(body):]
	if v := be.Uint32(footer[36:]); v != iceVersion {
		return nil, fmt.Errorf("segment has version %d", v)
	}
	if mode := be.Uint32(footer[32:]); mode != chunkMode {
		return nil, fmt.Errorf("segment has chunk mode %d", mode)
	}
	if n := be.Uint64(footer); n != uint64(docs) || n == 0 {
		return nil, fmt.Errorf("segment has %d documents, want %d", n, docs)
	}
	size := uint64(len(body))
	if at := be.Uint64(footer[8:]); at > size || size-at < 8*uint64(docs) {
		return nil, errors.New("stored fields lie outside the segment")
	}
	index := be.Uint64(footer[16:])
	if index >= size || (size-index)%8 != 0 {
		return nil, errors.New("field index lies outside the segment")
	}
	if be.Uint64(footer[24:]) != noDocValues {
		return nil, errors.New("segment has document values")
	}
	p := &postingsFile{body: body, docs: docs}
	for at := index; at < size; at += 8 {
		if err := p.parseField(be.Uint64(body[at:])); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *postingsFile) parseField(at uint64) error {
	bad := errors.New("field description lies outside the segment")
	if at >= uint64(len(p.body)) {
		return bad
	}
	r := byteReader{rest: p.body[at:]}
	offset := r.uvarint()
	name := r.take(r.uvarint())
	r.uvarint()
	r.uvarint()
	if r.bad || offset >= uint64(len(p.body)) {
		return bad
	}
	r = byteReader{rest: p.body[offset:]}
	dictionary := r.take(r.uvarint())
	if r.bad || len(dictionary) == 0 {
		return fmt.Errorf("dictionary of field %q lies outside the segment", name)
	}
	for f, known := range fieldNames {
		if string(name) == known {
			p.dictionaries[f] = dictionary
		}
	}
	return nil
}

// verifyChecksum compares a whole segment with the checksum in its footer.
func verifyChecksum(file []byte) error {
	const crcBytes = 4
	if len(file) < iceFooter {
		return errors.New("segment is shorter than its footer")
	}
	body := file[:len(file)-crcBytes]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(file[len(body):]) {
		return errors.New("segment checksum differs")
	}
	return nil
}
