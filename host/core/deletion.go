package core

import (
	"encoding/binary"

	"github.com/RoaringBitmap/roaring"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

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

// deleteSessionEvents deletes all events of a session of the base. Called with the lock held.
func (c *Candidate) deleteSessionEvents(session uint32) error {
	return c.base.scan(ordinalKey(keySessionOrder, session), func(k, _ []byte) error {
		if len(k) != sessionOrderKeySize {
			return corruption(errMalformed, "a key of the index is malformed")
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
	event, order := rowKeys(row, d, true)
	if err := c.own.add(runEvent, event); err != nil {
		return err
	}
	if err := c.own.add(runRange, order); err != nil {
		return err
	}
	if err := c.own.add(runSession, sessionEntry(session, sequence, suborder, d, true)); err != nil {
		return err
	}
	if !row.Copy {
		return nil
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
	if err := c.usable(); err != nil {
		return err
	}
	if err := c.free(source); err != nil {
		return err
	}
	cert, err := c.certificate(source)
	if err != nil {
		return err
	}
	if cert == nil {
		return unknownSource(source)
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
func (c *Candidate) DropSession(id record.Digest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.usable(); err != nil {
		return err
	}
	s, cert, err := c.storedSession(id)
	if err != nil {
		return err
	}
	if c.busy[s.Source] == writing {
		return c.free(s.Source)
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
	c.setCertificate(cert, &next)
	c.busy[s.Source] = pruned
	return nil
}

// storedSession finds a session of the base whose source the candidate has not touched.
func (c *Candidate) storedSession(id record.Digest) (*record.Session, *Certificate, error) {
	if c.base == nil {
		return nil, nil, unknownSession(id)
	}
	s, err := c.base.SessionByID(id)
	if err != nil {
		return nil, nil, err
	}
	if s == nil {
		return nil, nil, unknownSession(id)
	}
	if change, ok := c.facts[bucketSessions][id]; ok && change.gone {
		return nil, nil, unknownSession(id)
	}
	cert, err := c.certificate(s.Source)
	if err == nil && cert == nil {
		err = corruption(nil, "session %s has no source", id)
	}
	return s, cert, err
}
