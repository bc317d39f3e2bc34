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
}

const certificateVersion = 1

// encode gives the stored form.
func (c *Certificate) encode() []byte {
	e := encoder{b: make([]byte, 0, 512)}
	e.b = append(e.b, certificateVersion)
	e.digest(c.Source)
	e.digest(c.Descriptor)
	e.string(c.Provider)
	e.string(c.Format)
	e.string(c.Variant)
	e.uint(uint64(c.IdentityVersion))
	e.bytes(c.Anchor)
	e.uint(uint64(c.Ordinal))
	e.b = append(e.b, byte(c.State))
	c.Sighting.encode(&e)
	e.string(c.ParserRevision)
	e.digest(c.ContentDigest)
	e.uint(c.CertifiedBytes)
	c.Counts.encode(&e)
	e.bool(c.HasFrontier)
	e.uint(uint64(len(c.Rejections)))
	for i := range c.Rejections {
		c.Rejections[i].encode(&e)
	}
	return e.b
}

// decode reads the stored form; c owns its memory afterwards.
func (c *Certificate) decode(b []byte) error {
	d := decoder{b: b}
	if d.byte() != certificateVersion {
		return errMalformed
	}
	*c = Certificate{Rejections: c.Rejections[:0]}
	c.Source = d.digest()
	c.Descriptor = d.digest()
	c.Provider = d.string()
	c.Format = d.string()
	c.Variant = d.string()
	c.IdentityVersion = d.uint32()
	c.Anchor = d.copied()
	c.Ordinal = d.uint32()
	c.State = State(d.byte())
	c.Sighting.decode(&d)
	c.ParserRevision = d.string()
	c.ContentDigest = d.digest()
	c.CertifiedBytes = d.uint()
	c.Counts.decode(&d)
	c.HasFrontier = d.bool()
	n := d.uint()
	if n > MaxRejections || c.State > Gone {
		return errMalformed
	}
	for range n {
		var r Rejection
		r.decode(&d)
		c.Rejections = append(c.Rejections, r)
	}
	return d.end()
}

func (s *Sighting) encode(e *encoder) {
	e.string(s.Route)
	e.string(s.Locator)
	e.bytes(s.Observation)
	e.int(s.ModTime)
	e.uint(s.FileID)
}

func (s *Sighting) decode(d *decoder) {
	s.Route = d.string()
	s.Locator = d.string()
	s.Observation = d.copied()
	s.ModTime = d.int()
	s.FileID = d.uint()
}

func (s *Sighting) equal(o *Sighting) bool {
	return s.Route == o.Route && s.Locator == o.Locator && bytes.Equal(s.Observation, o.Observation) &&
		s.ModTime == o.ModTime && s.FileID == o.FileID
}

func (c *Counts) encode(e *encoder) {
	e.uint(c.Complete)
	e.uint(c.Retained)
	e.uint(c.Rejected)
	e.uint(c.Ignored)
	e.uint(c.Indexed)
}

func (c *Counts) decode(d *decoder) {
	c.Complete = d.uint()
	c.Retained = d.uint()
	c.Rejected = d.uint()
	c.Ignored = d.uint()
	c.Indexed = d.uint()
}

func (r *Rejection) encode(e *encoder) {
	e.string(r.Locator)
	e.uint(r.Line)
	e.uint(r.ByteOffset)
	e.bool(r.HasOffset)
	e.string(r.Class)
	e.string(r.PayloadType)
	e.string(r.Detail)
}

func (r *Rejection) decode(d *decoder) {
	r.Locator = d.string()
	r.Line = d.uint()
	r.ByteOffset = d.uint()
	r.HasOffset = d.bool()
	r.Class = d.string()
	r.PayloadType = d.string()
	r.Detail = d.string()
}

// facts is the digest of what the certificate says about content. Ordinal, sighting, frontier and the details of rejections stay out:
// equal content found elsewhere, at another time or in several appends has equal facts.
func (c *Certificate) facts() record.Digest {
	e := encoder{b: make([]byte, 0, 256)}
	e.b = append(e.b, "ctx.certificate.v1\x00"...)
	e.digest(c.Source)
	e.digest(c.Descriptor)
	e.b = append(e.b, byte(c.State))
	e.string(c.ParserRevision)
	e.digest(c.ContentDigest)
	e.uint(c.CertifiedBytes)
	c.Counts.encode(&e)
	return sha256.Sum256(e.b)
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
