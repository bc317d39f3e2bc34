package core

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/agenthistory/ctx/host/record"
)

// State says whether a source is still on disk. A gone source keeps its records.
type State uint8

const (
	Present State = iota
	Gone
)

// String returns "present" or "gone".
func (s State) String() string {
	if s == Gone {
		return "gone"
	}
	return "present"
}

// SourceSpec identifies a source and the descriptor it is read with.
type SourceSpec struct {
	Source          record.Digest // id of the source
	Descriptor      record.Digest // descriptor digest: provider, format, variant, identity version and source
	Provider        string
	Format          string
	Variant         string
	IdentityVersion uint32
	Anchor          []byte // encoded native anchor
}

// Counts are native records of a source. Complete = Retained + Rejected + Ignored; Indexed counts stored events, it is filled by the
// store.
type Counts struct {
	Complete, Retained, Rejected, Ignored, Indexed uint64
}

// Rejection is one native record that was refused. At most MaxRejections of them stay with a certificate; Counts has the total.
type Rejection struct {
	Locator     string
	Line        uint64 // from 1
	ByteOffset  uint64 // from the start of the file, meaningful when HasOffset
	HasOffset   bool
	Class       string // "damaged" or ""
	PayloadType string
	Detail      string
}

// MaxRejections is the number of rejection details kept with a certificate.
const MaxRejections = 5

// Sighting is where and how a source was last seen. It is no content: a change of it alone makes no new generation.
type Sighting struct {
	Route       string // identity of the route that delivered the source
	Locator     string // relative to the route, '/' separated
	Observation []byte // opaque, equal means unchanged
	ModTime     int64  // Unix nanoseconds, 0 = unknown
	FileID      uint64 // file system identity, 0 = unknown
}

// Certificate is what the archive knows about one source.
type Certificate struct {
	SourceSpec
	Ordinal uint32 // given by the store
	State   State
	Sighting
	ParserRevision string
	ContentDigest  [32]byte // SHA-256 of exactly CertifiedBytes bytes
	CertifiedBytes uint64
	Counts         Counts
	HasFrontier    bool // an append frontier is stored, see Generation.Frontier
	Rejections     []Rejection

	// What the caller will want to read the source again for, as numbers of its own: Forgotten names what was left out of it, Yields
	// what would displace sessions that are stored.
	Forgotten, Yields []uint64
}

const certificateVersion = 1

func (c *Certificate) fields(k *coder) {
	k.version(certificateVersion)
	k.digest(&c.Source)
	k.digest(&c.Descriptor)
	k.string(&c.Provider)
	k.string(&c.Format)
	k.string(&c.Variant)
	k.uint32(&c.IdentityVersion)
	k.bytes(&c.Anchor)
	k.uint32(&c.Ordinal)
	k.byte((*byte)(&c.State))
	c.Sighting.fields(k)
	k.string(&c.ParserRevision)
	k.digest((*record.Digest)(&c.ContentDigest))
	k.uint(&c.CertifiedBytes)
	c.Counts.fields(k)
	flags := c.flags()
	if k.byte(&flags); k.reading {
		c.HasFrontier = flags&hasFrontier != 0
	}
	if flags&hasLists != 0 {
		k.numbers(&c.Forgotten)
		k.numbers(&c.Yields)
	}
	if flags != c.flags() {
		k.fail()
		return
	}
	n := k.length(len(c.Rejections))
	if n > MaxRejections || c.State > Gone {
		k.fail()
		return
	}
	if k.reading {
		c.Rejections = append(c.Rejections, make([]Rejection, n)...)
	}
	for i := range c.Rejections {
		r := &c.Rejections[i]
		k.string(&r.Locator)
		k.uint(&r.Line)
		k.uint(&r.ByteOffset)
		k.bool(&r.HasOffset)
		k.string(&r.Class)
		k.string(&r.PayloadType)
		k.string(&r.Detail)
	}
}

// Flags of a stored certificate.
const (
	hasFrontier = 1 << iota
	hasLists    // of which one at least is not empty
)

func (c *Certificate) flags() (flags byte) {
	if c.HasFrontier {
		flags |= hasFrontier
	}
	if len(c.Forgotten)+len(c.Yields) > 0 {
		flags |= hasLists
	}
	return flags
}

func (s *Sighting) fields(k *coder) {
	k.string(&s.Route)
	k.string(&s.Locator)
	k.bytes(&s.Observation)
	k.int(&s.ModTime)
	k.uint(&s.FileID)
}

func (n *Counts) fields(k *coder) {
	for _, v := range []*uint64{&n.Complete, &n.Retained, &n.Rejected, &n.Ignored, &n.Indexed} {
		k.uint(v)
	}
}

// encode gives the stored form.
func (c *Certificate) encode() []byte {
	k := coder{b: make([]byte, 0, 512)}
	c.fields(&k)
	return k.b
}

// decode reads the stored form; c owns its memory afterwards, also what it shares with the certificate that it held before.
func (c *Certificate) decode(b []byte) error {
	k := coder{b: b, reading: true}
	c.Rejections, c.Forgotten, c.Yields = c.Rejections[:0], nil, nil
	c.fields(&k)
	return k.end()
}

func (s *Sighting) equal(o *Sighting) bool {
	return s.Route == o.Route && s.Locator == o.Locator && bytes.Equal(s.Observation, o.Observation) &&
		s.ModTime == o.ModTime && s.FileID == o.FileID
}

// facts is the digest of what the certificate says about content. Ordinal, sighting, frontier, lists and the details of rejections stay out:
// equal content found elsewhere, at another time or in several appends has equal facts.
func (c *Certificate) facts() record.Digest {
	k := coder{b: append(make([]byte, 0, 256), "ctx.certificate.v1\x00"...)}
	k.digest(&c.Source)
	k.digest(&c.Descriptor)
	k.byte((*byte)(&c.State))
	k.string(&c.ParserRevision)
	k.digest((*record.Digest)(&c.ContentDigest))
	k.uint(&c.CertifiedBytes)
	c.Counts.fields(&k)
	return sha256.Sum256(k.b)
}

// valid checks what a caller certifies.
func (c *Certificate) valid() error {
	n := c.Counts
	switch {
	case n.Complete != n.Retained+n.Rejected+n.Ignored:
		return fmt.Errorf("%d complete records are not %d retained, %d rejected and %d ignored", n.Complete, n.Retained, n.Rejected, n.Ignored)
	case c.ParserRevision == "":
		return errors.New("certificate without a parser revision")
	case c.State > Gone:
		return fmt.Errorf("unknown source state %d", c.State)
	}
	return nil
}

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

func (s *SessionStats) fields(k *coder) {
	k.version(sessionRowVersion)
	k.uint(&s.Events)
	k.bool(&s.Timed)
	k.int(&s.First)
	k.int(&s.Last)
}

// encodeSession gives the value under a session's ordinal.
func encodeSession(s *record.Session, stats SessionStats) []byte {
	k := coder{b: make([]byte, 0, 384)}
	stats.fields(&k)
	return s.Encode(k.b)
}

func decodeSessionStats(b []byte) (stats SessionStats, session []byte, err error) {
	k := coder{b: b, reading: true}
	stats.fields(&k)
	return stats, k.b, k.err
}

func decodeSession(b []byte) (*record.Session, SessionStats, error) {
	stats, rest, err := decodeSessionStats(b)
	s := new(record.Session)
	if err == nil {
		err = s.Decode(rest)
	}
	return s, stats, err
}

// sessionFacts is the digest of what is known of a session, apart from its ordinal.
func sessionFacts(s *record.Session, stats SessionStats) record.Digest {
	c := *s
	c.Ordinal = 0
	if c.Meta.ApproximateTimes { // taken from the file, not from its content
		c.Meta.StartedAt, c.Meta.EndedAt = nil, nil
	}
	return sha256.Sum256(encodeSession(&c, stats))
}

// sessionRef is the value under a session's digest.
type sessionRef struct {
	ordinal uint32
	facts   record.Digest
}

func (r *sessionRef) fields(k *coder) {
	k.uint32(&r.ordinal)
	k.digest(&r.facts)
}

func (r sessionRef) encode() []byte {
	var k coder
	r.fields(&k)
	return k.b
}

func decodeSessionRef(b []byte) (r sessionRef, err error) {
	k := coder{b: b, reading: true}
	r.fields(&k)
	return r, k.end()
}
