package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

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

// appendFrame begins the identity framing: domain, u16be version, kind, u16be field count. Fields follow as u16be tag and LP(bytes).
func appendFrame(dst []byte, kind byte, fields uint16) []byte {
	dst = append(dst, identityDomain...)
	dst = binary.BigEndian.AppendUint16(dst, identityVersion)
	return binary.BigEndian.AppendUint16(append(dst, kind), fields)
}

func appendField[T string | []byte](dst []byte, tag uint16, value T) []byte {
	return appendLP(binary.BigEndian.AppendUint16(dst, tag), value)
}

// SourceID returns the digest of a source from its provider id and its anchor (see ValidAnchor).
func SourceID(provider string, anchor []byte) Digest {
	var room [ordinaryFrame]byte
	buf := appendFrame(room[:0], KindSource, 2)
	buf = appendField(buf, 1, provider)
	buf = appendField(buf, 2, anchor)
	return sha256.Sum256(buf)
}

// SessionID returns the digest of a session from its source, its logical kind and its native key.
func SessionID(source Digest, kind string, key []byte) Digest {
	var room [ordinaryFrame]byte
	buf := appendFrame(room[:0], KindSession, 3)
	buf = appendField(buf, 1, source[:])
	buf = appendField(buf, 2, kind)
	buf = appendField(buf, 3, key)
	return sha256.Sum256(buf)
}

// EventID returns the digest of an event from its source, session, logical item kind and native key. An empty selector stands
// for none.
func EventID(source, session Digest, kind string, key, selector []byte) Digest {
	fields := uint16(4)
	if len(selector) > 0 {
		fields = 5
	}
	var room [ordinaryFrame]byte
	buf := appendFrame(room[:0], KindEvent, fields)
	buf = appendField(buf, 1, source[:])
	buf = appendField(buf, 2, session[:])
	buf = appendField(buf, 3, kind)
	buf = appendField(buf, 4, key)
	if len(selector) > 0 {
		buf = appendField(buf, 5, selector)
	}
	return sha256.Sum256(buf)
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

// ParseCanonicalID reads the form that CanonicalID writes. It refuses another length or version, a kind other than session and
// event, and a UUID that does not belong to the digest.
func ParseCanonicalID(src []byte) (kind byte, id, source, descriptor Digest, err error) {
	if len(src) != CanonicalIDSize {
		return 0, id, source, descriptor, corrupt("canonical id: %d bytes instead of %d", len(src), CanonicalIDSize)
	}
	if v := binary.BigEndian.Uint16(src); v != identityVersion {
		return 0, id, source, descriptor, corrupt("canonical id: unknown version %d", v)
	}
	kind = src[2]
	if kind != KindSession && kind != KindEvent {
		return 0, id, source, descriptor, corrupt("canonical id: unknown kind %d", kind)
	}
	copy(id[:], src[3:])
	copy(source[:], src[35:])
	copy(descriptor[:], src[67:])
	if id.UUID() != uuid.UUID(src[99:]) {
		return 0, id, source, descriptor, corrupt("canonical id: the UUID does not belong to the digest")
	}
	return kind, id, source, descriptor, nil
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
