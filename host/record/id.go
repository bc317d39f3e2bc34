package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"unsafe"

	"github.com/google/uuid"
)

// Digest is the identity of a source, session or event: the SHA-256 of its framed native keys.
type Digest [32]byte

// UUID returns the public form: version 8, made of the first 16 bytes. Two digests may in theory share it, so equality is always
// decided by the whole digest.
func (d Digest) UUID() uuid.UUID {
	u := uuid.UUID(d[:16])
	u[6] = 0x80 | u[6]&0x0f
	u[8] = 0x80 | u[8]&0x3f
	return u
}

// String returns the lower-case UUID.
func (d Digest) String() string { return d.UUID().String() }

// IsZero tells whether d is unset; no native key has this digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// Hex returns the whole digest as 64 lower-case hex digits.
func (d Digest) Hex() string { return hex.EncodeToString(d[:]) }

// The kind bytes of the identity framing and of canonical ids.
const (
	KindSource  byte = 1
	KindSession byte = 2
	KindEvent   byte = 3
)

const (
	identityDomain   = "ctx.identity\x00"
	descriptorDomain = "ctx.source-descriptor\x00"
	identityVersion  = 1
)

// ordinaryFrame is room for the framing of ordinary keys: an id of such a key costs no allocation.
const ordinaryFrame = 512

// identity hashes the identity framing: domain, u16be version, kind, u16be field count, then of each field u16be tag and LP(bytes).
func identity(kind byte, fields ...[]byte) Digest {
	var room [ordinaryFrame]byte
	buf := append(room[:0], identityDomain...)
	buf = binary.BigEndian.AppendUint16(buf, identityVersion)
	buf = binary.BigEndian.AppendUint16(append(buf, kind), uint16(len(fields)))
	for i, field := range fields {
		buf = appendLP(binary.BigEndian.AppendUint16(buf, uint16(i+1)), field)
	}
	return sha256.Sum256(buf)
}

// SourceID returns the digest of a source from its provider id and its anchor (see ValidAnchor).
func SourceID(provider string, anchor []byte) Digest {
	return identity(KindSource, stringBytes(provider), anchor)
}

// SessionID returns the digest of a session from its source, its logical kind and its native key.
func SessionID(source Digest, kind string, key []byte) Digest {
	return identity(KindSession, source[:], stringBytes(kind), key)
}

// EventID returns the digest of an event from its source, its session, its logical item kind and its native key. The selector tells
// several records of one native item apart; an empty one is no field of the framing.
func EventID(source, session Digest, kind string, key, selector []byte) Digest {
	fields := [][]byte{source[:], session[:], stringBytes(kind), key, selector}
	if len(selector) == 0 {
		fields = fields[:4]
	}
	return identity(KindEvent, fields...)
}

// DescriptorDigest returns the digest of a source's descriptor. It checks that ids and source belong together and is part of no
// id: a new format or parser keeps the ids and changes only this.
func DescriptorDigest(provider, format, variant string, version uint32, source Digest) (d Digest) {
	buf := make([]byte, 0, 128+len(provider)+len(format)+len(variant))
	buf = append(buf, descriptorDomain...)
	buf = binary.BigEndian.AppendUint16(buf, identityVersion)
	buf = appendLP(buf, provider)
	buf = appendLP(buf, format)
	buf = appendLP(buf, variant)
	buf = binary.BigEndian.AppendUint32(buf, version)
	buf = append(buf, source[:]...)
	return sha256.Sum256(buf)
}

// CanonicalIDSize is the length of a canonical id.
const CanonicalIDSize = 115

// CanonicalID returns the self-describing form of a session or event id: u16be version 1, kind byte, digest, source digest,
// descriptor digest, UUID.
func CanonicalID(kind byte, id, source, descriptor Digest) (out [CanonicalIDSize]byte) {
	binary.BigEndian.PutUint16(out[0:], identityVersion)
	out[2] = kind
	copy(out[3:], id[:])
	copy(out[35:], source[:])
	copy(out[67:], descriptor[:])
	u := id.UUID()
	copy(out[99:], u[:])
	return out
}

const lineageDomain = "ctx-provider-root-source-identity-v1\x00"

// NamedRootLineage returns the lineage of a named root of a provider. The empty name gives the lineage of the provider's
// automatic root.
func NamedRootLineage(provider, name string) Digest {
	buf := make([]byte, 0, len(lineageDomain)+len(provider)+len(name)+9)
	buf = append(buf, lineageDomain...)
	buf = append(buf, provider...)
	buf = append(buf, 0)
	buf = appendLP(buf, name)
	return sha256.Sum256(buf)
}

func appendLP[T string | []byte](dst []byte, value T) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(value)))
	return append(dst, value...)
}

// stringBytes views a string as bytes. The bytes must not be changed; every use only reads or copies them.
func stringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
