package core

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// The record store holds one ordered key space. Upper-case keys are few and small (what is known of sources and sessions), lower-case
// ones lead to events, records come last: compactions of the small keys must never reach into the tables of records.
//
//	C source digest           -> certificate
//	D kind, directory or label, session -> nothing
//	F source digest           -> append frontier
//	I session digest          -> ordinal, digest of its facts
//	N session                 -> statistics, session
//	O source                  -> source digest
//	P hash of provider id, session -> nothing
//	Q source, session         -> nothing
//	e uuid8, doc              -> nothing    event by id
//	l uuid8 of ancestor, doc  -> nothing    copies
//	s session, sequence, suborder, doc -> nothing    session order
//	t untimed, time or sequence, doc   -> nothing    range order
//	z doc                     -> record
//
// Sessions and sources are u32be ordinals, a doc is segment u32be and number u32be, uuid8 the first 8 bytes of a UUID.
//
// Whatever else an order needs to break ties (time, sequence, ids) is not repeated in the key: it stands in the columns of the
// segment, and every key of a document can be formed again from its columns when the document is deleted. Digests are the part of
// the index that does not compress, so each is stored once, in its record.
const (
	keyCertificate     = 'C'
	keyPlace           = 'D'
	keyFrontier        = 'F'
	keySessionID       = 'I'
	keySession         = 'N'
	keySourceOrdinal   = 'O'
	keyProviderSession = 'P'
	keySourceSession   = 'Q'
	keyEvent           = 'e'
	keyCopy            = 'l'
	keySessionOrder    = 's'
	keyRangeOrder      = 't'
	keyRecord          = 'z'
)

const (
	docSize             = 8
	eventKeySize        = 1 + 8 + docSize
	sessionOrderKeySize = 1 + 4 + 8 + 4 + docSize
	rangeOrderKeySize   = 1 + 1 + 8 + docSize
	recordKeySize       = 1 + docSize
)

// uuid8 returns the first 8 bytes of the UUID of a digest as a number; it orders like the UUID.
func uuid8(d record.Digest) uint64 {
	u := d.UUID()
	return binary.BigEndian.Uint64(u[:8])
}

func appendDoc(k []byte, d lexical.Doc) []byte {
	k = binary.BigEndian.AppendUint32(k, d.Segment)
	return binary.BigEndian.AppendUint32(k, d.Doc)
}

// docOf reads the document at the end of a key that is long enough.
func docOf(k []byte) lexical.Doc {
	tail := k[len(k)-docSize:]
	return lexical.Doc{Segment: binary.BigEndian.Uint32(tail), Doc: binary.BigEndian.Uint32(tail[4:])}
}

func digestKey(letter byte, d record.Digest) []byte {
	return append([]byte{letter}, d[:]...)
}

func ordinalKey(letter byte, ordinal uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{letter}, ordinal)
}

func sourceSessionKey(source, session uint32) []byte {
	return binary.BigEndian.AppendUint32(ordinalKey(keySourceSession, source), session)
}

// providerSessionPrefix hashes the provider and its own session id: such ids may be long, and they stand in the session already.
func providerSessionPrefix(provider, id string) []byte {
	h := sha256.New()
	h.Write([]byte(provider))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return h.Sum([]byte{keyProviderSession})[:17]
}

func providerSessionKey(provider, id string, session uint32) []byte {
	return binary.BigEndian.AppendUint32(providerSessionPrefix(provider, id), session)
}

// placeKey leads from where a session ran to the session. The kind is 1 for a directory, and 0 for the label of a session without one.
func placeKey(s *record.Session) []byte {
	kind, text := byte(1), s.Meta.CWD
	if text == "" {
		kind, text = 0, s.Meta.WorkspaceLabel
	}
	return binary.BigEndian.AppendUint32(append([]byte{keyPlace, kind}, text...), s.Ordinal)
}

// lookupKeys are the keys that follow from what a session says of itself.
func lookupKeys(s *record.Session) [][]byte {
	keys := [][]byte{placeKey(s)}
	if s.ProviderSessionID != "" {
		keys = append(keys, providerSessionKey(s.Provider, s.ProviderSessionID, s.Ordinal))
	}
	return keys
}

func recordKey(k []byte, d lexical.Doc) []byte { return appendDoc(append(k[:0], keyRecord), d) }

// orderTime maps a time to an unsigned number of the same order.
func orderTime(ms int64) uint64 { return uint64(ms) ^ 1<<63 }

// after returns the least key greater than every key with the prefix, nil when there is none.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != math.MaxUint8 {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
