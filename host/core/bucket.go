package core

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/agenthistory/ctx/host/record"
)

// The identity of a generation covers every certificate and every session. To keep the cost of a refresh independent of the archive,
// their facts are hashed in two levels: entries fall into 256 buckets by the first byte of their digest, the digest of a bucket covers
// its entries in order, and the digest of a table covers its buckets. Only buckets with changes are hashed again.
const (
	bucketCertificates = iota
	bucketSessions
)

var bucketLetters = [2]byte{keyCertificate, keySessionID}

// factsChange is a changed entry of a table.
type factsChange struct {
	facts record.Digest
	gone  bool
}

func bucketKey(table int, first byte) []byte { return []byte{keyBucket, byte(table), first} }

// bucketDigests hashes the changed buckets of a table, keeps them as rows and returns the digest of the table in hex. Called with the
// lock held.
func (c *Candidate) bucketDigests(table int) (string, error) {
	var buckets [256][]byte
	if c.base != nil {
		err := c.base.scan([]byte{keyBucket, byte(table)}, func(k, v []byte) error {
			buckets[k[2]] = bytes.Clone(v)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	var touched [256]map[record.Digest]factsChange
	for id, change := range c.facts[table] {
		if touched[id[0]] == nil {
			touched[id[0]] = map[record.Digest]factsChange{}
		}
		touched[id[0]][id] = change
	}
	for first, changes := range touched {
		if changes == nil {
			continue
		}
		digest, err := c.bucketDigest(table, byte(first), changes)
		if err != nil {
			return "", err
		}
		if !bytes.Equal(digest, buckets[first]) {
			c.setRow(bucketKey(table, byte(first)), digest)
		}
		buckets[first] = digest
	}
	return tableDigest(buckets[:]), nil
}

// bucketDigest hashes one bucket: the entries of the base with the changes on top. An empty bucket has none.
func (c *Candidate) bucketDigest(table int, first byte, changes map[record.Digest]factsChange) ([]byte, error) {
	entries := map[record.Digest]record.Digest{}
	if c.base != nil {
		err := c.base.scan([]byte{bucketLetters[table], first}, func(k, v []byte) error {
			id := record.Digest(k[1:])
			if _, changed := changes[id]; changed {
				return nil
			}
			facts, err := factsOf(table, v)
			entries[id] = facts
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for id, change := range changes {
		if !change.gone {
			entries[id] = change.facts
		}
	}
	return entriesDigest(entries), nil
}

// factsOf reads the facts out of a stored value of a table.
func factsOf(table int, value []byte) (record.Digest, error) {
	if table == bucketSessions {
		ref, err := decodeSessionRef(value)
		return ref.facts, err
	}
	var cert Certificate
	if err := cert.decode(value); err != nil {
		return record.Digest{}, err
	}
	return cert.facts(), nil
}

func entriesDigest(entries map[record.Digest]record.Digest) []byte {
	if len(entries) == 0 {
		return nil
	}
	h := sha256.New()
	for _, id := range slices.SortedFunc(maps.Keys(entries), func(a, b record.Digest) int { return bytes.Compare(a[:], b[:]) }) {
		facts := entries[id]
		h.Write(id[:])
		h.Write(facts[:])
	}
	return h.Sum(nil)
}

// tableDigest combines the digests of 256 buckets; an empty bucket is nil.
func tableDigest(buckets [][]byte) string {
	h := sha256.New()
	var none [32]byte
	for _, b := range buckets {
		if b == nil {
			b = none[:]
		}
		h.Write(b)
	}
	return record.Digest(h.Sum(nil)).Hex()
}
