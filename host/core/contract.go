package core

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Revisions of everything that decides what a stored byte means. A change of any of them makes existing generations unusable for
// queries: the sources are read again, and the records of sources that are gone are carried over.
const (
	recordRevision        = 3 // Core record
	normalizationRevision = 1
	policyRevision        = 4
	activityRevision      = 1
	tokenizerRevision     = 2
	segmentRevision       = 1 // postings, columns and snapshot files
	storeRevision         = 1 // keys and values of the record store, manifest
)

// Contract returns the fingerprint of the revisions above, 64 lower-case hex digits.
func Contract() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "ctx.index-contract.v1\x00record %d\nnormalization %d\npolicy %d\nactivity %d\ntokenizer %d\nsegment %d\nstore %d\n",
		recordRevision, normalizationRevision, policyRevision, activityRevision, tokenizerRevision, segmentRevision, storeRevision))
	return hex.EncodeToString(sum[:])
}
