package record

import (
	"encoding/binary"

	"github.com/agenthistory/ctx/host/fault"
)

// RangeKeySize is the length of a RangeKey.
const RangeKeySize = 57

// RangeKey orders all events of a generation by its bytes: the timed ones by time, sequence and digest, then the untimed ones by
// sequence and digest.
//
//	flag (0 timed, 1 untimed) | u64be(Unix ms XOR 2^63), zero when untimed | u64be sequence | digest | u32be encoded bytes | u32be content bytes
type RangeKey [RangeKeySize]byte

const signBit = 1 << 63

// RangeKeyOf returns the key of an event that was admitted.
func RangeKeyOf(e *Event) (k RangeKey) {
	if e.Timed {
		binary.BigEndian.PutUint64(k[1:], uint64(e.OccurredAt)^signBit)
	} else {
		k[0] = 1
	}
	binary.BigEndian.PutUint64(k[9:], e.Sequence)
	copy(k[17:], e.ID[:])
	binary.BigEndian.PutUint32(k[49:], uint32(e.EncodedBytes))
	binary.BigEndian.PutUint32(k[53:], uint32(e.ContentBytes))
	return k
}

// ParseRangeKey checks the form of a key from outside. The error is a fault of code invalid_request.
func ParseRangeKey(b []byte) (k RangeKey, err error) {
	if len(b) != RangeKeySize || b[0] > 1 || b[0] == 1 && binary.BigEndian.Uint64(b[1:]) != 0 {
		return k, fault.New(fault.InvalidRequest, "malformed order key")
	}
	copy(k[:], b)
	return k, nil
}

// FirstAt returns the smallest key of a time: no timed event at or behind it has a smaller one, no earlier event a larger one.
func FirstAt(unixMilli int64) (k RangeKey) {
	binary.BigEndian.PutUint64(k[1:], uint64(unixMilli)^signBit)
	return k
}

// Time returns the time of the event; timed is false for one of the untimed tail.
func (k RangeKey) Time() (unixMilli int64, timed bool) {
	if k[0] != 0 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(k[1:]) ^ signBit), true
}

// Event returns the digest of the event.
func (k RangeKey) Event() Digest { return Digest(k[17:49]) }

// SessionKeySize is the length of a SessionKey.
const SessionKeySize = 54

// SessionKey orders the events of one session by its bytes: sequence, suborder, time (absent first), UUID.
//
//	u64be sequence | u32be suborder | flag (0 untimed, 1 timed) | u64be(Unix ms XOR 2^63), zero when untimed | UUID |
//	the 6 bits of the digest that the UUID lacks (byte 6 high nibble, then byte 8 two high bits) | digest bytes 16 to 31
type SessionKey [SessionKeySize]byte

// SessionKeyOf returns the key of an event.
func SessionKeyOf(e *Event) (k SessionKey) {
	binary.BigEndian.PutUint64(k[0:], e.Sequence)
	binary.BigEndian.PutUint32(k[8:], e.Suborder)
	if e.Timed {
		k[12] = 1
		binary.BigEndian.PutUint64(k[13:], uint64(e.OccurredAt)^signBit)
	}
	u := e.ID.UUID()
	copy(k[21:], u[:])
	k[37] = e.ID[6]&0xf0 | e.ID[8]>>6
	copy(k[38:], e.ID[16:])
	return k
}

// ParseSessionKey checks the form of a key from outside. The error is a fault of code invalid_request.
func ParseSessionKey(b []byte) (k SessionKey, err error) {
	bad := len(b) != SessionKeySize || b[12] > 1 || b[12] == 0 && binary.BigEndian.Uint64(b[13:]) != 0 ||
		b[27]&0xf0 != 0x80 || b[29]&0xc0 != 0x80 || b[37]&0x0c != 0
	if bad {
		return k, fault.New(fault.InvalidRequest, "malformed order key")
	}
	copy(k[:], b)
	return k, nil
}

// Event returns the digest of the event.
func (k SessionKey) Event() (d Digest) {
	copy(d[:], k[21:37])
	d[6] = d[6]&0x0f | k[37]&0xf0
	d[8] = d[8]&0x3f | k[37]<<6
	copy(d[16:], k[38:])
	return d
}
