package core

import (
	"encoding/binary"
	"slices"

	"github.com/RoaringBitmap/roaring"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// The methods of this file are called with the candidate's lock held, unless they say otherwise.

// certificate returns the certificate of a source as the candidate has it; nil, nil when it has none.
func (c *Candidate) certificate(source record.Digest) (*Certificate, error) {
	b, changed := c.certificates[source]
	var cert *Certificate
	var err error
	if b != nil {
		cert = new(Certificate)
		err = cert.decode(b)
	} else if !changed && c.base != nil {
		cert, err = c.base.Certificate(source)
	}
	if cert != nil {
		c.seen.apply(cert)
	}
	return cert, err
}

// setCertificate replaces old (nil: none) by next (nil: the source goes).
func (c *Candidate) setCertificate(old, next *Certificate) {
	if old != nil {
		c.count(old, -1)
	}
	if next == nil {
		c.certificates[old.Source] = nil
		c.facts[sumCertificates][old.Source] = factsChange{gone: true}
		delete(c.seen.sightings, old.Source)
		return
	}
	c.count(next, 1)
	c.certificates[next.Source] = next.encode()
	c.facts[sumCertificates][next.Source] = factsChange{facts: next.facts()}
	delete(c.seen.sightings, next.Source)
}

func (c *Candidate) count(cert *Certificate, n int64) {
	c.manifest.Stats.count(cert, n)
	c.manifest.Deliveries.count(cert.Provider, cert.Route, n)
}

// count adds or, with n = -1, takes away what one source contributes.
func (s *Statistics) count(c *Certificate, n int64) {
	add := func(to *uint64, v uint64) { *to += uint64(n) * v }
	add(&s.Sources, 1)
	if c.State == Gone {
		add(&s.GoneSources, 1)
	}
	if c.HasFrontier {
		add(&s.Frontiers, 1)
	}
	add(&s.CertifiedBytes, c.CertifiedBytes)
	add(&s.Complete, c.Counts.Complete)
	add(&s.Retained, c.Counts.Retained)
	add(&s.Rejected, c.Counts.Rejected)
	add(&s.Ignored, c.Counts.Ignored)
}

// setRow keeps a small key until publication; a nil value deletes the key.
func (c *Candidate) setRow(key, value []byte) {
	c.rows[string(key)] = value
	c.rowBytes += len(key) + len(value) + 64
}

// setSession stores a session that belongs to a source.
func (c *Candidate) setSession(source uint32, s *record.Session, stats SessionStats, known bool) {
	facts := sessionFacts(s, stats)
	c.setRow(ordinalKey(keySession, s.Ordinal), encodeSession(s, stats))
	c.setRow(digestKey(keySessionID, s.ID), sessionRef{ordinal: s.Ordinal, facts: facts}.encode())
	c.facts[sumSessions][s.ID] = factsChange{facts: facts}
	for _, key := range lookupKeys(s) {
		c.setRow(key, []byte{})
	}
	if !known {
		c.setRow(sourceSessionKey(source, s.Ordinal), []byte{})
		c.manifest.Stats.Sessions++
	}
}

// dropSession deletes what is stored of a session, apart from its events.
func (c *Candidate) dropSession(source uint32, s *record.Session) {
	c.setRow(ordinalKey(keySession, s.Ordinal), nil)
	c.setRow(digestKey(keySessionID, s.ID), nil)
	c.facts[sumSessions][s.ID] = factsChange{gone: true}
	c.dropLookups(s)
	c.setRow(sourceSessionKey(source, s.Ordinal), nil)
	c.manifest.Stats.Sessions--
}

func (c *Candidate) dropLookups(s *record.Session) {
	for _, key := range lookupKeys(s) {
		c.setRow(key, nil)
	}
}

// Deleting an event means: its bit in the deletions of its segment, and its keys gone. The record itself stays in its table, which is
// never touched, until a merge rewrites the segment.

func mark(set map[uint32]*roaring.Bitmap, d lexical.Doc) {
	b := set[d.Segment]
	if b == nil {
		b = roaring.New()
		set[d.Segment] = b
	}
	b.Add(d.Doc)
}

func has(set map[uint32]*roaring.Bitmap, d lexical.Doc) bool {
	b := set[d.Segment]
	return b != nil && b.Contains(d.Doc)
}

// deleteSessionEvents deletes all events of a session of the base. Called with the lock held.
func (c *Candidate) deleteSessionEvents(session uint32) error {
	return c.base.scan(ordinalKey(keySessionOrder, session), func(k, _ []byte) error {
		if len(k) != sessionOrderKeySize {
			return corruption(nil, "a key of the index is malformed")
		}
		sequence := binary.BigEndian.Uint64(k[5:])
		suborder := binary.BigEndian.Uint32(k[13:])
		return c.deleteDoc(session, sequence, suborder, docOf(k))
	})
}

// deleteDoc deletes one document of the base. Called with the lock held.
func (c *Candidate) deleteDoc(session uint32, sequence uint64, suborder uint32, d lexical.Doc) error {
	mark(c.deleted, d)
	return c.deleteKeys(session, sequence, suborder, d)
}

// deleteKeys deletes the keys that lead to a document of the base.
func (c *Candidate) deleteKeys(session uint32, sequence uint64, suborder uint32, d lexical.Doc) error {
	row, ok := c.base.text.Row(d)
	if !ok {
		return corruption(nil, "the index refers to event %d of segment %d, which does not exist", d.Doc, d.Segment)
	}
	if err := c.own.addRow(row, session, sequence, suborder, d, true); err != nil || !row.Copy {
		return err
	}
	var e record.Event // only the record knows what it is a copy of
	if err := c.base.Event(d, &e); err != nil {
		return err
	}
	if e.Copy == nil {
		return corruption(nil, "event %s is marked as a copy but claims no ancestor", e.ID)
	}
	return c.own.add(runCopy, entry{a: uuid8(e.Copy.Event), pos: position(d, true)})
}

// Drop deletes a stored source with its sessions and events.
func (c *Candidate) Drop(source record.Digest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.free(source, writing); err != nil {
		return err
	}
	cert, err := c.stored(source)
	if err != nil {
		return err
	}
	if err := c.dropContent(cert.Ordinal, nil); err != nil {
		return err
	}
	c.setRow(ordinalKey(keySourceOrdinal, cert.Ordinal), nil)
	if cert.HasFrontier {
		c.setRow(digestKey(keyFrontier, source), nil)
	}
	c.setCertificate(cert, nil)
	c.busy[source] = writing
	return nil
}

// dropContent deletes the events of a source of the base, and its sessions except those to keep. Called with the lock held.
func (c *Candidate) dropContent(source uint32, keep map[record.Digest]*sessionState) error {
	ordinals, err := c.base.SourceSessions(source)
	if err != nil {
		return err
	}
	for _, ordinal := range ordinals {
		s, err := c.base.Session(ordinal)
		if err != nil {
			return err
		}
		if err := c.deleteSessionEvents(ordinal); err != nil {
			return err
		}
		if _, kept := keep[s.ID]; !kept {
			c.dropSession(source, s)
		}
	}
	return nil
}

// DropSession deletes one stored session with its events. The counts of native records of its source stay: they say what was read.
// With a number in forgotten, the source is certified without the session (Certificate.Forgotten). With 0 it is not: it counts as
// changed, so that the session returns when the source is seen again.
func (c *Candidate) DropSession(id record.Digest, forgotten uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.usable(); err != nil {
		return err
	}
	s, cert, err := c.storedSession(id)
	if err != nil {
		return err
	}
	if err := c.free(s.Source, pruned); err != nil {
		return err
	}
	stats, err := c.base.SessionStats(s.Ordinal)
	if err != nil {
		return err
	}
	if err := c.deleteSessionEvents(s.Ordinal); err != nil {
		return err
	}
	c.dropSession(cert.Ordinal, s)
	next := *cert
	next.Counts.Indexed -= stats.Events
	next.Observation = nil
	if forgotten != 0 {
		next.Observation, next.Rejections = cert.Observation, nil
		next.Forgotten = slices.Sorted(slices.Values(append(slices.Clone(cert.Forgotten), forgotten)))
	}
	if cert.HasFrontier { // its state may quote the session
		next.HasFrontier = false
		c.setRow(digestKey(keyFrontier, cert.Source), nil)
	}
	c.setCertificate(cert, &next)
	c.busy[s.Source] = pruned
	return nil
}

// storedSession finds a session of the base whose source the candidate has not touched.
func (c *Candidate) storedSession(id record.Digest) (*record.Session, *Certificate, error) {
	var s *record.Session
	var err error
	if c.base != nil && !c.facts[sumSessions][id].gone {
		s, err = c.base.SessionByID(id)
	}
	if err == nil && s == nil {
		err = unknown("session", id)
	}
	if err != nil {
		return nil, nil, err
	}
	cert, err := c.certificate(s.Source)
	if err == nil && cert == nil {
		err = corruption(nil, "session %s has no source", id)
	}
	return s, cert, err
}
