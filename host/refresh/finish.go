package refresh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// maxFrontier bounds the frontier of a provider in bytes; maxCount every counter, so that sums stay exact in JSON.
const (
	maxFrontier = 64 << 10
	maxCount    = 1<<53 - 1
)

// end takes the certificate of a provider. Waiting for the workers happens beside the stream, so that a slow source holds up
// no other.
func (r *run) end(s *scan, m *historyv1.SourceEnd) error {
	if !s.begun {
		return errors.New("an end before the begin")
	}
	if err := s.checkEnd(m); err != nil {
		return err
	}
	s.ended = true
	r.finishing.Go(func() {
		if err := r.finish(s, m); err != nil {
			r.fail(err)
		}
	})
	return nil
}

// checkEnd checks what a provider certifies about a source.
func (s *scan) checkEnd(m *historyv1.SourceEnd) error {
	c := m.GetCounts()
	for _, n := range []uint64{c.GetComplete(), c.GetRetained(), c.GetRejected(), c.GetIgnored(), m.GetCertifiedBytes()} {
		if n > maxCount {
			return fmt.Errorf("a count of %d", n)
		}
	}
	switch {
	case c.GetComplete() != c.GetRetained()+c.GetRejected()+c.GetIgnored():
		return errors.New("counts that do not add up")
	case len(m.GetContentDigest()) != 32:
		return fmt.Errorf("a content digest of %d bytes", len(m.GetContentDigest()))
	case len(m.GetFrontier()) > maxFrontier:
		return fmt.Errorf("a frontier of %d bytes", len(m.GetFrontier()))
	case m.GetRejectionsTotal() > c.GetRejected() || s.rejected > m.GetRejectionsTotal():
		return errors.New("rejections that do not agree with the counts")
	}
	if s.mode != historyv1.Mode_MODE_APPEND {
		return nil
	}
	old := s.item.cert
	if m.GetCertifiedBytes() < old.CertifiedBytes || c.GetComplete() < old.Counts.Complete || c.GetRetained() < old.Counts.Retained ||
		c.GetRejected() < old.Counts.Rejected || c.GetIgnored() < old.Counts.Ignored {
		return errors.New("an append that takes something back")
	}
	return nil
}

// finish waits for the workers of a source and certifies it. An error is one of the store.
func (r *run) finish(s *scan, m *historyv1.SourceEnd) error {
	if s.writer != nil {
		if err := s.writer.Wait(); err != nil {
			return r.blame(s, err)
		}
	}
	retracted, full := s.linker.Retracted()
	if full && s.mode == historyv1.Mode_MODE_APPEND {
		s.again = true
		s.abort()
		return nil
	}
	if err := s.describe(m); err != nil {
		r.log("provider %s: source %s: %v", s.provider.id, s.source, err)
		r.abandon(s, classInternal, "the provider described a session that it did not declare")
		return nil
	}
	cert := s.certificate(m)
	if cert.Counts.Complete > 0 && cert.Counts.Rejected == cert.Counts.Complete {
		s.rejected = m.GetRejectionsTotal() + s.refused.Load()
		r.abandon(s, classMalformed, "none of its records can be read")
		return nil
	}
	s.rejected = m.GetRejectionsTotal() + s.refused.Load()
	same, err := r.unchanged(s, &cert)
	if err != nil {
		return err
	}
	if same {
		r.meter.read(s)
		s.same, s.sessions, s.edges = true, 0, 0
		s.abort()
		return nil
	}
	return r.certify(s, cert, retracted, m.GetFrontier())
}

// blame decides whether an error of a writer is the fault of what the provider sent, which fails the source, or one of the store,
// which is returned.
func (r *run) blame(s *scan, err error) error {
	if s.isBroken() {
		err = s.broken
	} else if fault.Code(err) != fault.InvalidRequest {
		return err
	}
	r.log("provider %s: source %s: %v", s.provider.id, s.source, err)
	r.abandon(s, classInternal, "the provider sent something that cannot be true")
	return nil
}

// certify stores sessions, certificate and frontier of a source.
func (r *run) certify(s *scan, cert core.Certificate, retracted []record.Digest, frontier []byte) error {
	w, err := r.open(s)
	if err != nil {
		return err
	}
	if len(retracted) > 0 {
		if err := w.Readmit(retracted); err != nil {
			return err
		}
	}
	for _, session := range s.described {
		if _, err := w.Session(session); err != nil {
			return r.blame(s, err)
		}
	}
	var stored []byte
	if len(frontier) > 0 {
		stored = joinFrontier(frontier, s.linker)
	}
	if err := w.Finish(cert, stored); err != nil {
		return err
	}
	s.events, s.doubles = w.Events(), w.Duplicates()
	s.stored = &cert
	r.meter.sessions.Add(s.sessions)
	r.meter.read(s)
	return nil
}

// describe lays the metadata of the end over the sessions.
func (s *scan) describe(m *historyv1.SourceEnd) error {
	for _, w := range m.GetMetadata() {
		session, err := s.converter.SetMetadata(w)
		if err != nil {
			return err
		}
		s.described = append(s.described, session)
	}
	return nil
}

// certificate combines what the provider certifies with what the host refused: an event that cannot be stored turns its record
// from retained into rejected.
func (s *scan) certificate(m *historyv1.SourceEnd) core.Certificate {
	counts := m.GetCounts()
	c := core.Certificate{
		SourceSpec: s.spec(), Sighting: s.sighting(), ParserRevision: s.format.revision, ContentDigest: [32]byte(m.GetContentDigest()),
		CertifiedBytes: m.GetCertifiedBytes(), HasFrontier: len(m.GetFrontier()) > 0,
		Counts: core.Counts{
			Complete: counts.GetComplete(), Retained: counts.GetRetained(), Rejected: counts.GetRejected(), Ignored: counts.GetIgnored(),
		},
	}
	moved := min(s.refused.Load(), c.Counts.Retained)
	c.Counts.Retained -= moved
	c.Counts.Rejected += moved
	if s.mode == historyv1.Mode_MODE_APPEND {
		c.Rejections = append(c.Rejections, s.item.cert.Rejections...)
	}
	c.Rejections = append(c.Rejections, s.rejections...)
	c.Rejections = c.Rejections[:min(len(c.Rejections), core.MaxRejections)]
	return c
}

// unchanged reports whether a source that was read holds just what is stored of it: same bytes, same counts, same sessions. Then
// the sighting alone is worth keeping.
func (r *run) unchanged(s *scan, c *core.Certificate) (bool, error) {
	old := s.item.cert
	if old == nil || r.rebuild || !s.readAs(&old.Certificate) || c.ContentDigest != old.ContentDigest || c.CertifiedBytes != old.CertifiedBytes {
		return false, nil
	}
	counts := old.Counts
	counts.Indexed = 0
	if c.Counts != counts || c.HasFrontier != old.HasFrontier {
		return false, nil
	}
	if s.writer != nil && s.mode == historyv1.Mode_MODE_APPEND && s.writer.Events() > 0 {
		return false, nil
	}
	for _, session := range s.described {
		before, err := r.base.SessionByID(session.ID)
		if err != nil {
			return false, err
		}
		if before == nil || !sameSession(before, session) {
			return false, nil
		}
	}
	return true, nil
}

func sameSession(a, b *record.Session) bool {
	x, y := *a, *b
	x.Ordinal, y.Ordinal = 0, 0
	if len(x.Meta.Models) == 0 && len(y.Meta.Models) == 0 {
		x.Meta.Models, y.Meta.Models = nil, nil
	}
	return bytes.Equal(x.Anchor, y.Anchor) && bytes.Equal(x.Key, y.Key) && reflect.DeepEqual(x, y)
}

func (s *scan) abort() {
	if s.writer != nil {
		s.writer.Abort()
		s.writer = nil
	}
}

// The stored frontier is the provider's own, framed, followed by the state of the linker.
func joinFrontier(frontier []byte, links *record.Linker) []byte {
	out := binary.AppendUvarint(make([]byte, 0, len(frontier)+64), uint64(len(frontier)))
	return links.AppendState(append(out, frontier...))
}

func splitFrontier(stored []byte) (frontier, links []byte, ok bool) {
	n, used := binary.Uvarint(stored)
	if used <= 0 || n == 0 || n > math.MaxInt32 || uint64(len(stored)-used) < n {
		return nil, nil, false
	}
	return stored[used : used+int(n)], stored[used+int(n):], true
}
