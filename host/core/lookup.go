package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// EventDoc finds an event by its whole digest. Another event with the same UUID is an error: ids must not be mixed up.
func (g *Generation) EventDoc(id record.Digest) (doc lexical.Doc, found bool, err error) {
	key := binary.BigEndian.AppendUint64([]byte{keyEvent}, uuid8(id))
	var e record.Event
	var buf []byte
	err = g.scan(key, func(k, _ []byte) error {
		if len(k) != eventKeySize {
			return corruption(errMalformed, "a key of the index is malformed")
		}
		d := docOf(k)
		if buf, err = g.EventInto(buf, d, &e); err != nil {
			return err
		}
		switch {
		case e.ID == id:
			doc, found = d, true
		case e.ID.UUID() == id.UUID():
			return corruption(nil, "two events share the id %s", id)
		}
		return nil
	})
	return doc, found, err
}

// EventMatch is an event found by a prefix of its UUID.
type EventMatch struct {
	ID  record.Digest
	Doc lexical.Doc
}

// EventsByPrefix returns at most max events whose UUID, written as 32 hex digits, starts with prefix (1 to 32 lower-case hex digits),
// ordered by UUID. Fault invalid_request for another prefix.
func (g *Generation) EventsByPrefix(prefix string, max int) ([]EventMatch, error) {
	lower, upper, err := prefixRange(keyEvent, prefix, 16)
	if err != nil {
		return nil, err
	}
	it, err := g.iterator(lower, upper)
	if err != nil {
		return nil, err
	}
	var out []EventMatch
	var e record.Event
	var buf []byte
	var last []byte
	for it.First(); it.Valid() && err == nil; it.Next() {
		k := it.Key()
		// Keys are in the order of the first 8 bytes, so the rest can still be out of order within equal ones.
		if len(out) >= max && !bytes.Equal(last, k[1:9]) {
			break
		}
		last = append(last[:0], k[1:9]...)
		d := docOf(k)
		if buf, err = g.EventInto(buf, d, &e); err == nil && strings.HasPrefix(uuidHex(e.ID), prefix) {
			out = append(out, EventMatch{ID: e.ID, Doc: d})
		}
	}
	slices.SortStableFunc(out, func(a, b EventMatch) int { return cmp.Compare(uuidHex(a.ID), uuidHex(b.ID)) })
	return out[:min(len(out), max)], endIterator(it, err)
}

// prefixRange gives the key range of a UUID prefix of which only the first digits are in the key in UUID form.
func prefixRange(letter byte, prefix string, digits int) (lower, upper []byte, err error) {
	if len(prefix) < 1 || len(prefix) > 32 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, nil, fault.New(fault.InvalidRequest, "an id prefix has 1 to 32 lower-case hex digits")
	}
	prefix = prefix[:min(len(prefix), digits)]
	low, high := prefix, prefix
	if len(prefix)%2 == 1 {
		low, high = prefix+"0", prefix+"f"
	}
	l, _ := hex.DecodeString(low) // digits were checked above
	h, _ := hex.DecodeString(high)
	return append([]byte{letter}, l...), after(append([]byte{letter}, h...)), nil
}

func uuidHex(d record.Digest) string {
	u := d.UUID()
	return hex.EncodeToString(u[:])
}

// EventPrefixLen returns the least number of hex digits, 8 to 32, of the UUID of id that no other event of the generation starts with.
// The event itself need not be stored.
func (g *Generation) EventPrefixLen(id record.Digest) (int, error) {
	var e record.Event
	var buf []byte
	self := uuidHex(id)
	return g.prefixLen(keyEvent, self, 16, func(k []byte) (string, error) {
		if near := hex.EncodeToString(k[1:9]); near != self[:16] {
			return near, nil
		}
		var err error
		buf, err = g.EventInto(buf, docOf(k), &e)
		return uuidHex(e.ID), err
	})
}

// SessionPrefixLen is EventPrefixLen for sessions.
func (g *Generation) SessionPrefixLen(id record.Digest) (int, error) {
	return g.prefixLen(keySessionID, uuidHex(id), sessionDigits, func(k []byte) (string, error) {
		return uuidHex(record.Digest(k[1:33])), nil
	})
}

// sessionDigits is how many hex digits of a UUID a digest starts with: the version stands in the next one.
const sessionDigits = 12

// prefixLen compares self with its neighbours under a letter: all keys with the same leading digits, and the nearest before and after.
func (g *Generation) prefixLen(letter byte, self string, digits int, name func(key []byte) (string, error)) (int, error) {
	it, err := g.iterator([]byte{letter}, []byte{letter + 1})
	if err != nil {
		return 0, err
	}
	lower, upper, err := prefixRange(letter, self, digits)
	shared := 0
	look := func() {
		var near string
		if near, err = name(it.Key()); err == nil && near != self {
			shared = max(shared, commonPrefix(near, self))
		}
	}
	ok := it.SeekGE(lower)
	for ; ok && err == nil && bytes.Compare(it.Key(), upper) < 0; ok = it.Next() {
		look()
	}
	if ok && err == nil {
		look()
	}
	if err == nil && it.SeekLT(lower) {
		look()
	}
	return min(32, max(8, shared+1)), endIterator(it, err)
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
