package core

import (
	"crypto/sha256"

	"github.com/agenthistory/ctx/host/record"
)

// SessionStats counts the stored events of a session.
type SessionStats struct {
	Events      uint64
	Timed       bool  // at least one event has a time
	First, Last int64 // least and greatest event time, Unix milliseconds
}

func (s *SessionStats) add(e *record.Event) {
	s.Events++
	if !e.Timed {
		return
	}
	if !s.Timed || e.OccurredAt < s.First {
		s.First = e.OccurredAt
	}
	if !s.Timed || e.OccurredAt > s.Last {
		s.Last = e.OccurredAt
	}
	s.Timed = true
}

const sessionRowVersion = 1

// encodeSession gives the value under a session's ordinal.
func encodeSession(s *record.Session, stats SessionStats) []byte {
	e := encoder{b: make([]byte, 0, 384)}
	e.b = append(e.b, sessionRowVersion)
	e.uint(stats.Events)
	e.bool(stats.Timed)
	e.int(stats.First)
	e.int(stats.Last)
	return s.Encode(e.b)
}

func decodeSessionStats(b []byte) (stats SessionStats, session []byte, err error) {
	d := decoder{b: b}
	if d.byte() != sessionRowVersion {
		return stats, nil, errMalformed
	}
	stats.Events = d.uint()
	stats.Timed = d.bool()
	stats.First = d.int()
	stats.Last = d.int()
	return stats, d.b, d.err
}

func decodeSession(b []byte) (*record.Session, SessionStats, error) {
	stats, rest, err := decodeSessionStats(b)
	if err != nil {
		return nil, stats, err
	}
	s := new(record.Session)
	if err := s.Decode(rest); err != nil {
		return nil, stats, err
	}
	return s, stats, nil
}

// sessionFacts is the digest of what is known of a session, apart from its ordinal.
func sessionFacts(s *record.Session, stats SessionStats) record.Digest {
	c := *s
	c.Ordinal = 0
	return sha256.Sum256(encodeSession(&c, stats))
}

// sessionRef is the value under a session's digest.
type sessionRef struct {
	ordinal uint32
	facts   record.Digest
}

func (r sessionRef) encode() []byte {
	var e encoder
	e.uint(uint64(r.ordinal))
	e.digest(r.facts)
	return e.b
}

func decodeSessionRef(b []byte) (r sessionRef, err error) {
	d := decoder{b: b}
	r.ordinal = d.uint32()
	r.facts = d.digest()
	return r, d.end()
}
