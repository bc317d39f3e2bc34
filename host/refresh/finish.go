package refresh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// maxStored bounds what is kept for the next append: the frontier of a provider, at most 64 KiB, with the state of the linker
// behind it, some 14 KiB at most. maxCount bounds every counter, so that sums stay exact in JSON.
const (
	maxStored = 80 << 10
	maxCount  = 1<<53 - 1
)

// checkEnd checks what only the host can know about a certificate; its form was checked where it arrived.
func (s *scan) checkEnd(m *historyv1.SourceEnd) error {
	c := m.GetCounts()
	if n := max(c.GetComplete(), m.GetCertifiedBytes()); n > maxCount {
		return fmt.Errorf("a count of %d", n)
	}
	if m.GetRejectionsTotal() > c.GetRejected() {
		return errors.New("rejections that do not agree with the counts")
	}
	if s.mode != historyv1.Mode_MODE_APPEND {
		return nil
	}
	old := s.item.cert
	if m.GetCertifiedBytes() < old.CertifiedBytes || c.GetRetained() < old.Counts.Retained || c.GetRejected() < old.Counts.Rejected ||
		c.GetIgnored() < old.Counts.Ignored {
		return errors.New("an append that takes something back")
	}
	return nil
}

// finish certifies a source that has ended, beside the stream, so that waiting for its workers holds up no other.
func (r *run) finish(s *scan, m *historyv1.SourceEnd) {
	if err := r.certify(s, m); err != nil {
		r.trouble(s, err)
	}
	if s.failure == nil && !s.again {
		r.meter.read(s)
	}
	// Scans are kept until the report is made; what reading took, which is much for thousands of sources, is not.
	s.converter, s.writer, s.linker, s.left = nil, nil, nil, nil
}

// trouble decides what an error about a source means: the end of the run when the store itself or ctx failed, one full read when
// the store refuses an append, and else the end of this source alone.
func (r *run) trouble(s *scan, err error) {
	switch broken := s.brokenRule(); {
	case broken != nil:
		r.blame(s, broken)
	case !ofSource(err):
		r.fail(err)
	case s.mode == historyv1.Mode_MODE_APPEND:
		r.log("provider %s: source %s is read again in full: %v", s.provider.id, s.source, err)
		s.rescan()
	default:
		r.blame(s, err)
	}
}

// ofSource reports whether an error of the store is about what it was given. A failure of the store itself that hides behind such
// an error is not lost: the candidate remembers it and refuses to be published.
func ofSource(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && (f.Code == "" || f.Code == fault.Internal || f.Code == fault.InvalidRequest)
}

// rescan gives up what was read; the source is read once more in full.
func (s *scan) rescan() {
	s.again = true
	if s.writer != nil {
		s.writer.Abort()
	}
}

// certify waits for the workers of a source and stores its sessions, certificate and frontier.
func (r *run) certify(s *scan, m *historyv1.SourceEnd) error {
	if s.writer != nil {
		if err := s.writer.Wait(); err != nil {
			return err
		}
	}
	retracted, full := s.linker.Retracted()
	if full && s.mode == historyv1.Mode_MODE_APPEND {
		s.rescan()
		return nil
	}
	cert := s.certificate(m)
	if cert.Counts.Complete > 0 && cert.Counts.Rejected == cert.Counts.Complete {
		r.abandon(s, classMalformed, "none of its records can be read")
		return nil
	}
	w, err := r.open(s)
	if err != nil {
		return err
	}
	if err := w.Readmit(retracted); err != nil {
		return err
	}
	for _, meta := range m.GetMetadata() {
		if _, out := s.left[meta.GetIndex()]; out {
			continue
		}
		session, err := s.converter.SetMetadata(meta)
		if err != nil {
			return s.breaks(err)
		}
		if _, err := w.Session(session); err != nil {
			return err
		}
	}
	if err := w.Finish(cert, joinFrontier(m.GetFrontier(), s.linker)); err != nil {
		return err
	}
	if s.same = w.Same(); s.same {
		s.sessions, s.edges = 0, 0
		return nil
	}
	s.events, s.doubles, s.stored = w.Events(), w.Duplicates(), &cert
	if s.item.cert != nil {
		s.item.cert.reread = true
	}
	r.meter.count(func(p *Progress) { p.Sessions += s.sessions })
	return nil
}

// certificate combines what the provider certifies with what the host refused: a record none of whose events could be stored
// moves from retained to rejected, one of a session that gave way to ignored. An append never takes back what was retained before.
func (s *scan) certificate(m *historyv1.SourceEnd) core.Certificate {
	counts := m.GetCounts()
	c := core.Certificate{
		SourceSpec: s.spec(), Sighting: s.sighting(), ParserRevision: s.format.revision, ContentDigest: [32]byte(m.GetContentDigest()),
		CertifiedBytes: m.GetCertifiedBytes(), HasFrontier: len(m.GetFrontier()) > 0,
		Counts: core.Counts{
			Complete: counts.GetComplete(), Retained: counts.GetRetained(), Rejected: counts.GetRejected(), Ignored: counts.GetIgnored(),
		},
	}
	retained := c.Counts.Retained
	c.Forgotten, c.Yields = s.forgotten, s.yields
	if old := s.item.cert; s.mode == historyv1.Mode_MODE_APPEND {
		retained -= old.Counts.Retained
		c.Rejections = append(c.Rejections, old.Rejections...)
		c.Forgotten, c.Yields = slices.Concat(old.Forgotten, c.Forgotten), slices.Concat(old.Yields, c.Yields)
	}
	for _, list := range []*[]uint64{&c.Forgotten, &c.Yields} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	rejected, ignored := s.records.moved(retained)
	c.Counts.Retained -= rejected + ignored
	c.Counts.Rejected += rejected
	c.Counts.Ignored += ignored
	s.rejected = m.GetRejectionsTotal() + rejected
	c.Rejections = append(c.Rejections, s.rejections...)
	c.Rejections = c.Rejections[:min(len(c.Rejections), core.MaxRejections)]
	return c
}

// fate is what becomes of an event.
type fate uint8

const (
	kept fate = iota
	refused
	yielded // its session gave way to another one
	fates
)

// records counts the native records of which no event could be stored. Providers send events, so records are told apart by what
// is certain: events of one record follow each other in one session with equal or adjoining sequences. Neighbours that look like one
// record are counted as one, so a record is never called rejected while a part of it is stored.
type records struct {
	seen    uint64
	events  [fates]uint64
	runs    [fates]uint64 // runs of events, by the best fate inside
	session uint32
	last    uint64 // sequence of the latest event
	best    fate   // of the present run
}

// event takes the next event of the source.
func (c *records) event(session uint32, sequence uint64, f fate) {
	if c.seen == 0 || session != c.session || sequence != c.last && sequence != c.last+1 {
		c.close()
		c.best = f
	}
	c.seen, c.session, c.last, c.best = c.seen+1, session, sequence, min(c.best, f)
	c.events[f]++
}

func (c *records) close() {
	if c.seen > 0 {
		c.runs[c.best]++
	}
}

// moved returns how many of so many retained records are rejected and ignored, after the last event. Where every record gave one
// event, each event is one.
func (c *records) moved(retained uint64) (rejected, ignored uint64) {
	if c.seen == retained {
		return c.events[refused], c.events[yielded]
	}
	c.close()
	rejected = min(c.runs[refused], retained)
	return rejected, min(c.runs[yielded], retained-rejected)
}

// joinFrontier frames the frontier of a provider and puts the state of the linker behind it. Nil when there is none, or when both
// are too big together: the source is read in full then.
func joinFrontier(frontier []byte, links *record.Linker) []byte {
	if len(frontier) == 0 {
		return nil
	}
	out := binary.AppendUvarint(make([]byte, 0, len(frontier)+64), uint64(len(frontier)))
	if out = links.AppendState(append(out, frontier...)); len(out) > maxStored {
		return nil
	}
	return out
}

func splitFrontier(stored []byte) (frontier, links []byte, ok bool) {
	n, used := binary.Uvarint(stored)
	if used <= 0 || n == 0 || n > math.MaxInt32 || uint64(len(stored)-used) < n {
		return nil, nil, false
	}
	return stored[used : used+int(n)], stored[used+int(n):], true
}
