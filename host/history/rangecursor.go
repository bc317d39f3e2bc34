package history

import (
	"bytes"
	"crypto/sha256"

	"github.com/agenthistory/ctx/host/record"
)

// A range cursor is base64url without padding of 186 bytes: version byte 2, generation id (64 ASCII), selection digest (32), range
// order key (57), SHA-256 over a domain and all that (32).
const (
	rangeCursorVersion = 2
	rangeCursorBody    = 1 + 64 + sha256.Size + record.RangeKeySize
	rangeCursorSize    = rangeCursorBody + sha256.Size
	rangeCursorDomain  = "ctx.event-range-cursor\x00"
	maxRangeCursor     = 512
)

type rangePosition struct {
	generation string
	selection  [sha256.Size]byte
	key        record.RangeKey
}

func (p *rangePosition) encode() string {
	body := make([]byte, 0, rangeCursorSize)
	body = append(body, rangeCursorVersion)
	body = append(body, p.generation...)
	body = append(body, p.selection[:]...)
	body = append(body, p.key[:]...)
	sum := checksum(rangeCursorDomain, body)
	return encoding.EncodeToString(append(body, sum[:]...))
}

// decodeRangeCursor checks length, base64, checksum and version, in this order.
func decodeRangeCursor(text string) (*rangePosition, error) {
	if len(text) > maxRangeCursor {
		return nil, rangeFault(InvalidCursor, "a cursor has at most %d characters", maxRangeCursor)
	}
	raw, err := decodeText(text)
	if err != nil || len(raw) != rangeCursorSize {
		return nil, rangeFault(InvalidCursor, "this is not a cursor of a listing")
	}
	body, sum := raw[:rangeCursorBody], raw[rangeCursorBody:]
	want := checksum(rangeCursorDomain, body)
	if !bytes.Equal(want[:], sum) || body[0] != rangeCursorVersion {
		return nil, rangeFault(InvalidCursor, "this cursor is damaged or of another version")
	}
	p := &rangePosition{generation: string(body[1:65])}
	copy(p.selection[:], body[65:])
	if p.key, err = record.ParseRangeKey(body[65+sha256.Size:]); err != nil {
		return nil, rangeFault(InvalidCursor, "this cursor is damaged or of another version")
	}
	return p, nil
}
