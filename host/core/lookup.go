package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
	"github.com/cockroachdb/pebble/v2"
)

// EventDoc finds an event by its whole digest. Another event with the same UUID is an error: ids must not be mixed up.
func (g *Generation) EventDoc(id record.Digest) (doc lexical.Doc, found bool, err error) {
	it, err := g.iterator([]byte{keyEvent}, []byte{keyEvent + 1})
	if err != nil {
		return doc, false, err
	}
	f := eventFinder{g: g, it: it}
	doc, found, err = f.find(id)
	return doc, found, endIterator(it, err)
}

// eventFinder finds one event after the other.
type eventFinder struct {
	g     *Generation
	it    *pebble.Iterator // over the event keys
	event record.Event
	buf   []byte
}

func (f *eventFinder) find(id record.Digest) (doc lexical.Doc, found bool, err error) {
	prefix := binary.BigEndian.AppendUint64([]byte{keyEvent}, uuid8(id))
	for ok := f.it.SeekGE(prefix); ok && bytes.HasPrefix(f.it.Key(), prefix); ok = f.it.Next() {
		if len(f.it.Key()) != eventKeySize {
			return doc, false, corruption(errMalformed, "a key of the index is malformed")
		}
		doc = docOf(f.it.Key())
		if f.buf, err = f.g.EventInto(f.buf, doc, &f.event); err != nil {
			return doc, false, err
		}
		switch {
		case f.event.ID == id:
			return doc, true, nil
		case f.event.ID.UUID() == id.UUID():
			return doc, false, corruption(nil, "two events share the id %s", id)
		}
	}
	return doc, false, endOf(f.it)
}

// EventMatch is an event found by a prefix of its UUID.
type EventMatch struct {
	ID  record.Digest
	Doc lexical.Doc
}

// EventsByPrefix returns at most max events whose UUID, written as 32 hex digits, starts with prefix (1 to 32 lower-case hex digits),
// ordered by UUID. Fault invalid_request for another prefix.
func (g *Generation) EventsByPrefix(prefix string, max int) ([]EventMatch, error) {
	var out []EventMatch
	var e record.Event
	var buf, last []byte
	err := g.scanPrefix(keyEvent, prefix, eventDigits, func(k []byte) (err error) {
		// Keys are in the order of the first 8 bytes, so the rest can still be out of order within equal ones.
		if len(out) >= max && !bytes.Equal(last, k[1:9]) {
			return errStop
		}
		last = append(last[:0], k[1:9]...)
		d := docOf(k)
		if buf, err = g.EventInto(buf, d, &e); err == nil && strings.HasPrefix(uuidHex(e.ID), prefix) {
			out = append(out, EventMatch{ID: e.ID, Doc: d})
		}
		return err
	})
	slices.SortStableFunc(out, func(a, b EventMatch) int { return cmp.Compare(uuidHex(a.ID), uuidHex(b.ID)) })
	return out[:min(len(out), max)], err
}

// SessionsByPrefix returns at most max sessions whose UUID, written as 32 hex digits, starts with prefix, ordered by UUID.
func (g *Generation) SessionsByPrefix(prefix string, max int) ([]*record.Session, error) {
	var out []*record.Session
	err := g.scanPrefix(keySessionID, prefix, sessionDigits, func(k []byte) error {
		id := record.Digest(k[1:33])
		if !strings.HasPrefix(uuidHex(id), prefix) {
			return nil
		}
		// Digests and UUIDs differ in order only behind the first 12 digits; a list that long is cut at an arbitrary place anyway.
		if len(out) >= max {
			return errStop
		}
		s, err := g.SessionByID(id)
		out = append(out, s)
		return err
	})
	slices.SortFunc(out, func(a, b *record.Session) int { return cmp.Compare(uuidHex(a.ID), uuidHex(b.ID)) })
	return out, err
}

// How many hex digits of a UUID stand in the key: the version comes behind 12 digits and is not part of a digest.
const (
	eventDigits   = 16
	sessionDigits = 12
)

// scanPrefix calls visit with the keys of a kind that can belong to a UUID prefix, until it returns an error; errStop is none.
func (g *Generation) scanPrefix(letter byte, prefix string, digits int, visit func(k []byte) error) error {
	if len(prefix) < 1 || len(prefix) > 32 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return fault.New(fault.InvalidRequest, "an id prefix has 1 to 32 lower-case hex digits")
	}
	lower, upper := prefixRange(letter, prefix, digits)
	it, err := g.iterator(lower, upper)
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		err = visit(it.Key())
	}
	return stopped(endIterator(it, err))
}

// prefixRange gives the key range of a UUID prefix of hex digits, of which only the first are in the key in UUID form.
func prefixRange(letter byte, prefix string, digits int) (lower, upper []byte) {
	low := prefix[:min(len(prefix), digits)]
	high := low
	if len(low)%2 == 1 {
		low, high = low+"0", low+"f"
	}
	l, _ := hex.DecodeString(low) // digits were checked
	h, _ := hex.DecodeString(high)
	return append([]byte{letter}, l...), after(append([]byte{letter}, h...))
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
	return g.prefixLen(keyEvent, self, eventDigits, func(k []byte) (_ string, err error) {
		if near := hex.EncodeToString(k[1:9]); near != self[:16] {
			return near, nil
		}
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

// prefixLen compares self with its neighbours under a letter: all keys with the same leading digits, and the nearest before and after.
func (g *Generation) prefixLen(letter byte, self string, digits int, name func(key []byte) (string, error)) (int, error) {
	it, err := g.iterator([]byte{letter}, []byte{letter + 1})
	if err != nil {
		return 0, err
	}
	lower, upper := prefixRange(letter, self, digits)
	shared := 0
	look := func() {
		var near string
		if near, err = name(it.Key()); err == nil && near != self {
			n := 0
			for n < len(near) && near[n] == self[n] {
				n++
			}
			shared = max(shared, n)
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

// Session returns the session of an ordinal.
func (g *Generation) Session(ordinal uint32) (*record.Session, error) {
	s, _, err := g.sessionAndStats(ordinal)
	return s, err
}

// SessionStats returns the event counts of the session of an ordinal.
func (g *Generation) SessionStats(ordinal uint32) (SessionStats, error) {
	_, stats, err := g.sessionAndStats(ordinal)
	return stats, err
}

func (g *Generation) sessionAndStats(ordinal uint32) (*record.Session, SessionStats, error) {
	b, ok, err := g.get(nil, ordinalKey(keySession, ordinal))
	if err == nil && !ok {
		err = corruption(nil, "session %d of the index is missing", ordinal)
	}
	if err != nil {
		return nil, SessionStats{}, err
	}
	s, stats, err := decodeSession(b)
	return s, stats, unreadableSession(err, ordinal)
}

func unreadableSession(err error, ordinal uint32) error {
	if err == nil {
		return nil
	}
	return corruption(err, "session %d of the index cannot be read", ordinal)
}

// SessionByID finds a session by its whole digest; nil, nil when it is not stored.
func (g *Generation) SessionByID(id record.Digest) (*record.Session, error) {
	ref, ok, err := g.sessionRef(id)
	if err != nil || !ok {
		return nil, err
	}
	return g.Session(ref.ordinal)
}

func (g *Generation) sessionRef(id record.Digest) (ref sessionRef, ok bool, err error) {
	b, ok, err := g.get(nil, digestKey(keySessionID, id))
	if err != nil || !ok {
		return ref, false, err
	}
	if ref, err = decodeSessionRef(b); err != nil {
		err = corruption(err, "the session index is damaged")
	}
	return ref, true, err
}

// SessionsByProviderID returns at most max sessions of a provider by the provider's own session id.
func (g *Generation) SessionsByProviderID(provider, id string, max int) ([]*record.Session, error) {
	var out []*record.Session
	err := g.scan(providerSessionPrefix(provider, id), func(k, _ []byte) error {
		if len(out) >= max {
			return errStop
		}
		s, err := g.Session(binary.BigEndian.Uint32(k[len(k)-4:]))
		if err == nil && s.Provider == provider && s.ProviderSessionID == id {
			out = append(out, s)
		}
		return err
	})
	return out, stopped(err)
}

// Sessions calls visit with every session by ordinal, until it returns an error.
func (g *Generation) Sessions(visit func(*record.Session, SessionStats) error) error {
	return g.scan([]byte{keySession}, func(k, v []byte) error {
		s, stats, err := decodeSession(bytes.Clone(v)) // the session keeps views of its bytes
		if err != nil {
			return unreadableSession(err, binary.BigEndian.Uint32(k[1:]))
		}
		return visit(s, stats)
	})
}

// errStop ends a scan early without an error.
var errStop = errors.New("stop")

func stopped(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// Certificate returns the certificate of a source with its newest sighting; nil, nil when the source is unknown.
func (g *Generation) Certificate(source record.Digest) (*Certificate, error) {
	b, ok, err := g.get(nil, digestKey(keyCertificate, source))
	if err != nil || !ok {
		return nil, err
	}
	c := new(Certificate)
	return c, g.decodeCertificate(c, source, b)
}

func (g *Generation) decodeCertificate(c *Certificate, source record.Digest, b []byte) error {
	if err := c.decode(b); err != nil {
		return corruption(err, "the certificate of source %s cannot be read", source)
	}
	g.observations.apply(c)
	return nil
}

// Certificates calls visit with every certificate, by source digest, until it returns an error. The certificate is reused between
// calls; its byte slices may be kept.
func (g *Generation) Certificates(visit func(*Certificate) error) error {
	var c Certificate
	return g.scan([]byte{keyCertificate}, func(k, v []byte) error {
		if err := g.decodeCertificate(&c, record.Digest(k[1:]), v); err != nil {
			return err
		}
		return visit(&c)
	})
}

// Source returns the certificate of the source with an ordinal, as found in columns.
func (g *Generation) Source(ordinal uint32) (c *Certificate, err error) {
	b, ok, err := g.get(nil, ordinalKey(keySourceOrdinal, ordinal))
	if err == nil && ok && len(b) == 32 {
		c, err = g.Certificate(record.Digest(b))
	}
	if err == nil && c == nil {
		err = corruption(nil, "source %d of the index is missing", ordinal)
	}
	return c, err
}

// SourceSessions returns the ordinals of the sessions of a source, ascending.
func (g *Generation) SourceSessions(ordinal uint32) (out []uint32, err error) {
	err = g.scan(ordinalKey(keySourceSession, ordinal), func(k, _ []byte) error {
		out = append(out, binary.BigEndian.Uint32(k[5:]))
		return nil
	})
	return out, err
}

// Frontier returns the append frontier of a source, nil when it has none.
func (g *Generation) Frontier(source record.Digest) ([]byte, error) {
	b, _, err := g.get(nil, digestKey(keyFrontier, source))
	return b, err
}
