package jsonl

import "encoding/binary"

// Observation is what distinguishes one state of a file from another: size in bytes, modification time in nanoseconds since
// 1970, device and file number (volume serial and file index on Windows).
type Observation struct {
	Size    uint64
	MtimeNS int64
	Device  uint64
	FileID  uint64
}

const (
	tokenVersion = 1
	tokenLength  = 1 + 4*8
)

// Token returns the opaque form that travels to the host and comes back; equal tokens mean an unchanged file.
func (o Observation) Token() []byte { return o.AppendToken(make([]byte, 0, tokenLength)) }

// AppendToken appends the token to dst: a version byte, then size, time, device and file number as 64-bit big-endian numbers.
func (o Observation) AppendToken(dst []byte) []byte {
	dst = append(dst, tokenVersion)
	dst = binary.BigEndian.AppendUint64(dst, o.Size)
	dst = binary.BigEndian.AppendUint64(dst, uint64(o.MtimeNS))
	dst = binary.BigEndian.AppendUint64(dst, o.Device)
	return binary.BigEndian.AppendUint64(dst, o.FileID)
}

// ParseToken reads a token; ok is false for anything that AppendToken does not write.
func ParseToken(token []byte) (o Observation, ok bool) {
	if len(token) != tokenLength || token[0] != tokenVersion {
		return o, false
	}
	number := func(at int) uint64 { return binary.BigEndian.Uint64(token[at:]) }
	return Observation{Size: number(1), MtimeNS: int64(number(9)), Device: number(17), FileID: number(25)}, true
}

// SameFile tells whether both observations are of one file, whatever its size and time.
func (o Observation) SameFile(p Observation) bool {
	return o.Device == p.Device && o.FileID == p.FileID
}
