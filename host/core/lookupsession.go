package core

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/record"
)

// Session returns the session of an ordinal.
func (g *Generation) Session(ordinal uint32) (*record.Session, error) {
	s, _, err := g.sessionRow(ordinal)
	return s, err
}

// SessionStats returns the event counts of the session of an ordinal.
func (g *Generation) SessionStats(ordinal uint32) (SessionStats, error) {
	b, ok, err := g.get(nil, ordinalKey(keySession, ordinal))
	if err != nil || !ok {
		return SessionStats{}, errors.Join(err, missingSession(ok, ordinal))
	}
	stats, _, err := decodeSessionStats(b)
	if err != nil {
		err = corruption(err, "session %d of the index cannot be read", ordinal)
	}
	return stats, err
}

func missingSession(ok bool, ordinal uint32) error {
	if ok {
		return nil
	}
	return corruption(nil, "session %d of the index is missing", ordinal)
}

func (g *Generation) sessionRow(ordinal uint32) (*record.Session, SessionStats, error) {
	b, ok, err := g.get(nil, ordinalKey(keySession, ordinal))
	if err != nil {
		return nil, SessionStats{}, err
	}
	if !ok {
		return nil, SessionStats{}, missingSession(false, ordinal)
	}
	s, stats, err := decodeSession(b)
	if err != nil {
		return nil, stats, corruption(err, "session %d of the index cannot be read", ordinal)
	}
	return s, stats, nil
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
		return ref, false, corruption(err, "the session index is damaged")
	}
	return ref, true, nil
}

// SessionsByPrefix returns at most max sessions whose UUID, written as 32 hex digits, starts with prefix, ordered by UUID.
func (g *Generation) SessionsByPrefix(prefix string, max int) ([]*record.Session, error) {
	lower, upper, err := prefixRange(keySessionID, prefix, sessionDigits)
	if err != nil {
		return nil, err
	}
	it, err := g.iterator(lower, upper)
	if err != nil {
		return nil, err
	}
	var out []*record.Session
	for it.First(); it.Valid() && err == nil; it.Next() {
		id := record.Digest(it.Key()[1:33])
		if !strings.HasPrefix(uuidHex(id), prefix) {
			continue
		}
		// Digests and UUIDs differ in order only behind the first 12 digits; a list that long is cut at an arbitrary place anyway.
		if len(out) >= max {
			break
		}
		var s *record.Session
		if s, err = g.SessionByID(id); err == nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *record.Session) int { return cmp.Compare(uuidHex(a.ID), uuidHex(b.ID)) })
	return out, endIterator(it, err)
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
		s, stats, err := decodeSession(append([]byte(nil), v...)) // the session keeps views of its bytes
		if err != nil {
			return corruption(err, "session %d of the index cannot be read", binary.BigEndian.Uint32(k[1:]))
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
