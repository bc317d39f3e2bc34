package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/agenthistory/ctx/host/internal/stored"
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
	Locator     string  `json:"-"`                     // relative to the route, '/' separated
	Line        uint64  `json:"line"`                  // from 1
	ByteOffset  *uint64 `json:"byte_offset,omitempty"` // from the start of the file
	PayloadType string  `json:"payload_type"`
	Class       string  `json:"class,omitempty"` // "damaged" or ""
	Detail      string  `json:"detail"`
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

func (c *Certificate) fields(k *stored.Coder) {
	k.Version("certificate", certificateVersion)
	k.Fixed(c.Source[:])
	k.Fixed(c.Descriptor[:])
	k.Text(&c.Provider)
	k.Text(&c.Format)
	k.Text(&c.Variant)
	k.Uint32(&c.IdentityVersion)
	k.Copied(&c.Anchor)
	k.Uint32(&c.Ordinal)
	stored.Code(k, &c.State, int(Gone)+1)
	c.Sighting.fields(k)
	k.Text(&c.ParserRevision)
	k.Fixed(c.ContentDigest[:])
	k.Uint(&c.CertifiedBytes)
	c.Counts.fields(k)
	flags := k.Flags(c.HasFrontier, len(c.Forgotten)+len(c.Yields) > 0)
	k.Optional(flags&1, &c.HasFrontier)
	if flags&2 != 0 {
		numbers(k, &c.Forgotten)
		numbers(k, &c.Yields)
		k.Check(len(c.Forgotten)+len(c.Yields) > 0, "lists")
	}
	stored.List(k, &c.Rejections, MaxRejections, func(r *Rejection) {
		k.Text(&r.Locator)
		k.Uint(&r.Line)
		offset, known := uint64(0), r.ByteOffset != nil
		if known {
			offset = *r.ByteOffset
		}
		k.Uint(&offset)
		if k.Bool(&known); k.Reading && known {
			r.ByteOffset = &offset
		}
		k.Check(known || offset == 0, "offset")
		k.Text(&r.Class)
		k.Text(&r.PayloadType)
		k.Text(&r.Detail)
	})
}

// numbers codes a list of numbers without a pattern.
func numbers(k *stored.Coder, v *[]uint64) {
	stored.List(k, v, len(k.B)/8, func(n *uint64) {
		b := binary.BigEndian.AppendUint64(nil, *n)
		k.Fixed(b)
		*n = binary.BigEndian.Uint64(b)
	})
}

func (s *Sighting) fields(k *stored.Coder) {
	k.Text(&s.Route)
	k.Text(&s.Locator)
	k.Copied(&s.Observation)
	k.Int(&s.ModTime)
	k.Uint(&s.FileID)
}

func (n *Counts) fields(k *stored.Coder) {
	for _, v := range []*uint64{&n.Complete, &n.Retained, &n.Rejected, &n.Ignored, &n.Indexed} {
		k.Uint(v)
	}
}

// encode gives the stored form.
func (c *Certificate) encode() []byte {
	k := stored.Coder{B: make([]byte, 0, 512)}
	c.fields(&k)
	return k.B
}

// decode reads the stored form; c owns its memory afterwards, also what it shares with the certificate that it held before.
func (c *Certificate) decode(b []byte) error {
	k := stored.Coder{B: b, Reading: true}
	c.Forgotten, c.Yields = nil, nil
	c.fields(&k)
	return k.End()
}

func (s *Sighting) equal(o *Sighting) bool {
	return s.Route == o.Route && s.Locator == o.Locator && bytes.Equal(s.Observation, o.Observation) &&
		s.ModTime == o.ModTime && s.FileID == o.FileID
}

// facts is the digest of what the certificate says about content. Ordinal, sighting, frontier, lists and the details of rejections stay out:
// equal content found elsewhere, at another time or in several appends has equal facts.
func (c *Certificate) facts() record.Digest {
	k := stored.Coder{B: append(make([]byte, 0, 256), "ctx.certificate.v1\x00"...)}
	k.Fixed(c.Source[:])
	k.Fixed(c.Descriptor[:])
	stored.Code(&k, &c.State, int(Gone)+1)
	k.Text(&c.ParserRevision)
	k.Fixed(c.ContentDigest[:])
	k.Uint(&c.CertifiedBytes)
	c.Counts.fields(&k)
	return sha256.Sum256(k.B)
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

// plus adds the counts of further events.
func (s SessionStats) plus(o SessionStats) SessionStats {
	s.Events += o.Events
	switch {
	case !o.Timed:
	case !s.Timed:
		s.Timed, s.First, s.Last = true, o.First, o.Last
	default:
		s.First, s.Last = min(s.First, o.First), max(s.Last, o.Last)
	}
	return s
}

const sessionRowVersion = 1

func (s *SessionStats) fields(k *stored.Coder) {
	k.Version("session row", sessionRowVersion)
	k.Uint(&s.Events)
	k.Bool(&s.Timed)
	k.Int(&s.First)
	k.Int(&s.Last)
}

// encodeSession gives the value under a session's ordinal.
func encodeSession(s *record.Session, stats SessionStats) []byte {
	k := stored.Coder{B: make([]byte, 0, 384)}
	stats.fields(&k)
	return s.Encode(k.B)
}

func decodeSession(b []byte) (s *record.Session, stats SessionStats, err error) {
	k := stored.Coder{B: b, Reading: true}
	stats.fields(&k)
	s = new(record.Session)
	if err = k.Err; err == nil {
		err = s.Decode(k.B)
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

func (r *sessionRef) fields(k *stored.Coder) {
	k.Uint32(&r.ordinal)
	k.Fixed(r.facts[:])
}

func (r sessionRef) encode() []byte {
	var k stored.Coder
	r.fields(&k)
	return k.B
}

func decodeSessionRef(b []byte) (r sessionRef, err error) {
	k := stored.Coder{B: b, Reading: true}
	r.fields(&k)
	return r, k.End()
}
