package core

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"github.com/agenthistory/ctx/host/record"
)

// The identity of a generation covers every certificate and every session. So that a refresh costs as much as it changes, a table of
// them is summed up: the sum, modulo 2^256, of one SHA-256 for every entry, over its id and its facts. It does not depend on the order
// of the entries, and one that leaves is subtracted.
const (
	sumCertificates = iota
	sumSessions
	sums
)

var sumLetters = [sums]byte{keyCertificate, keySessionID}

// factsChange is a changed entry of a table.
type factsChange struct {
	facts record.Digest
	gone  bool
}

type tableSum [4]uint64 // most significant first

func (s *tableSum) add(table int, id, facts record.Digest, times int) {
	entry := append(append([]byte{sumLetters[table]}, id[:]...), facts[:]...)
	digest := sha256.Sum256(entry)
	step := bits.Add64
	if times < 0 {
		step = bits.Sub64
	}
	var carry uint64
	for i := len(s) - 1; i >= 0; i-- {
		s[i], carry = step(s[i], binary.BigEndian.Uint64(digest[8*i:]), carry)
	}
}

func (s *tableSum) hex() string {
	var b []byte
	for _, word := range s {
		b = binary.BigEndian.AppendUint64(b, word)
	}
	return hex.EncodeToString(b)
}

func parseSum(text string) (s tableSum, err error) {
	if !isDigest(text) {
		return s, corruption(nil, "the manifest of the index holds a malformed sum")
	}
	b, err := hex.DecodeString(text)
	for i := range s {
		s[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return s, err
}

// sum gives the sum of a table of the candidate, in hex; before is that of the base. Called with the lock held.
func (c *Candidate) sum(table int, before string) (_ string, err error) {
	var s tableSum
	if c.base != nil {
		if s, err = parseSum(before); err != nil {
			return "", err
		}
	}
	for id, change := range c.facts[table] {
		if c.base != nil {
			old, ok, err := c.base.get(nil, digestKey(sumLetters[table], id))
			if err != nil {
				return "", err
			}
			if ok {
				facts, err := factsOf(table, old)
				if err != nil {
					return "", corruption(err, "the index of sources and sessions is damaged")
				}
				s.add(table, id, facts, -1)
			}
		}
		if !change.gone {
			s.add(table, id, change.facts, 1)
		}
	}
	return s.hex(), nil
}

// factsOf reads the facts out of a stored value of a table.
func factsOf(table int, value []byte) (record.Digest, error) {
	if table == sumSessions {
		ref, err := decodeSessionRef(value)
		return ref.facts, err
	}
	var cert Certificate
	if err := cert.decode(value); err != nil {
		return record.Digest{}, err
	}
	return cert.facts(), nil
}
