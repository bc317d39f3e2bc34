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
			return doc, false, corruption(nil, "a key of the index is malformed")
		}
		at := docOf(f.it.Key())
		if f.buf, err = f.g.EventInto(f.buf, at, &f.event); err != nil {
			return doc, false, err
		}
		switch { // a twin may stand behind the event, so the walk goes on
		case f.event.ID == id:
			doc, found = at, true
		case f.event.ID.UUID() == id.UUID():
			return doc, false, corruption(nil, "two events share the id %s", id)
		}
	}
	return doc, found, endOf(f.it)
}

// Kind is one of the two kinds of public ids: of events, of sessions.
type Kind struct {
	letter byte
	digits int // hex digits of the UUID that stand in the key
}

// The kinds of ids. A session's key holds its digest, of which the version of a UUID is no part: it comes behind 12 digits.
var (
	EventIDs   = Kind{keyEvent, 16}
	SessionIDs = Kind{keySessionID, 12}
)

// near gives the part of a key that is in UUID form.
func (k Kind) near(key []byte) []byte { return key[1 : 1+k.digits/2] }

// idReader reads the whole id behind a key of any kind.
type idReader struct {
	g     *Generation
	event record.Event
	buf   []byte
}

func (r *idReader) id(key []byte) (_ record.Digest, err error) {
	if key[0] == keySessionID {
		return record.Digest(key[1:33]), nil
	}
	r.buf, err = r.g.EventInto(r.buf, docOf(key), &r.event)
	return r.event.ID, err
}

// IDs returns at most max ids of a kind whose UUID, written as 32 hex digits, starts with prefix (1 to 32 lower-case hex digits), ordered
// by UUID. Fault invalid_request for another prefix.
func (g *Generation) IDs(kind Kind, prefix string, max int) ([]record.Digest, error) {
	if len(prefix) < 1 || len(prefix) > 32 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, fault.New(fault.InvalidRequest, "an id prefix has 1 to 32 lower-case hex digits")
	}
	lower, upper := kind.within(prefix)
	it, err := g.iterator(lower, upper)
	if err != nil {
		return nil, err
	}
	var out []record.Digest
	var last []byte
	r := idReader{g: g}
	for it.First(); it.Valid() && err == nil; it.Next() {
		// Keys are in the order of their digits in UUID form, so the rest can still be out of order within equal ones.
		if near := kind.near(it.Key()); !bytes.Equal(last, near) {
			if len(out) >= max {
				break
			}
			last = append(last[:0], near...)
		}
		var id record.Digest
		if id, err = r.id(it.Key()); err == nil && strings.HasPrefix(uuidHex(id), prefix) {
			out = append(out, id)
		}
	}
	slices.SortStableFunc(out, func(a, b record.Digest) int { return cmp.Compare(uuidHex(a), uuidHex(b)) })
	return out[:min(len(out), max)], endIterator(it, err)
}

// within gives the key range of a UUID prefix of hex digits.
func (k Kind) within(prefix string) (lower, upper []byte) {
	low := prefix[:min(len(prefix), k.digits)]
	high := low
	if len(low)%2 == 1 {
		low, high = low+"0", low+"f"
	}
	l, _ := hex.DecodeString(low) // digits were checked
	h, _ := hex.DecodeString(high)
	return append([]byte{k.letter}, l...), after(append([]byte{k.letter}, h...))
}

func uuidHex(d record.Digest) string {
	u := d.UUID()
	return hex.EncodeToString(u[:])
}

// PrefixLen returns the least number of hex digits, 8 to 32, of the UUID of id that no other id of its kind in the generation starts with.
// It need not be stored itself. The neighbours tell: all keys with the same leading digits, and the nearest before and after.
func (g *Generation) PrefixLen(kind Kind, id record.Digest) (int, error) {
	it, err := g.iterator([]byte{kind.letter}, []byte{kind.letter + 1})
	if err != nil {
		return 0, err
	}
	self := uuidHex(id)
	lower, upper := kind.within(self)
	shared := 0
	r := idReader{g: g}
	look := func() {
		near := hex.EncodeToString(kind.near(it.Key()))
		if near == self[:kind.digits] {
			var other record.Digest
			other, err = r.id(it.Key())
			near = uuidHex(other)
		}
		if err != nil || near == self {
			return
		}
		n := 0
		for n < len(near) && near[n] == self[n] {
			n++
		}
		shared = max(shared, n)
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

// Places calls visit with where every session ran, equal places one after the other: a directory or, for a session without one, a label.
// The text is valid during the call only.
func (g *Generation) Places(visit func(directory bool, text []byte, session uint32)) error {
	return g.scan([]byte{keyPlace}, func(k, _ []byte) error {
		if len(k) < 6 {
			return corruption(nil, "a key of the index is malformed")
		}
		end := len(k) - 4
		visit(k[1] == 1, k[2:end], binary.BigEndian.Uint32(k[end:]))
		return nil
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

// SourceState returns the state of a source; one that is unknown counts as present.
func (g *Generation) SourceState(source record.Digest) (State, error) {
	if g.manifest.Stats.GoneSources == 0 {
		return Present, nil // the usual case costs no look-up
	}
	c, err := g.Certificate(source)
	if err != nil || c == nil {
		return Present, err
	}
	return c.State, nil
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
