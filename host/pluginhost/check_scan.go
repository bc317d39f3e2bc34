package pluginhost

import (
	"math/bits"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

const (
	eventsInBatch   = 65_536
	sessionsInBatch = 65_536
	mostModels      = 256
)

// scanned is what is known of one source of a scan.
type scanned struct {
	ordinal uint32
	asked   historyv1.Mode
	begun   bool
	over    bool // the plugin has ended it
	refused bool // it broke a rule; what still comes of it is dropped

	last       []uint64 // by session: sequence of the last event
	events     uint64
	batches    uint64
	read       uint64
	rejections int
	dropped    int // messages after the refusal
}

// message follows the source by one message and checks it. The error is a *broken. After an error nothing of the source is
// believed any more, but it still counts as open until the plugin ends it.
func (s *scanned) message(m *historyv1.ScanMessage, limits *Limits) error {
	failed := m.GetFailure() != nil
	s.over = failed || m.GetEnd() != nil
	switch {
	case failed, s.refused:
		return nil
	case s.over:
		return s.end(m.GetEnd())
	case m.GetBegin() != nil:
		return s.begin(m.GetBegin())
	}
	return s.batch(m.GetBatch(), limits)
}

func (s *scanned) begin(m *historyv1.SourceBegin) error {
	full, more := historyv1.Mode_MODE_FULL, historyv1.Mode_MODE_APPEND
	switch {
	case s.begun:
		return brokenf("a source that begins twice")
	case m.GetMode() != full && m.GetMode() != more, m.GetMode() == more && s.asked != more:
		return brokenf("mode %d in answer to mode %d", m.GetMode(), s.asked)
	}
	s.begun = true
	return nil
}

func (s *scanned) batch(b *historyv1.Batch, limits *Limits) error {
	switch {
	case !s.begun:
		return brokenf("a batch before the begin")
	case len(b.GetEvents()) > eventsInBatch || len(b.GetSessions()) > sessionsInBatch:
		return brokenf("a batch of %d events and %d sessions", len(b.GetEvents()), len(b.GetSessions()))
	case b.GetReadBytes() < s.read:
		return brokenf("progress that goes back")
	case s.batches == limits.Events:
		return brokenf("a source of more than %d batches", limits.Events)
	}
	s.batches++
	s.read = b.GetReadBytes()
	for _, session := range b.GetSessions() {
		switch index := session.GetIndex(); { // the next number, or one again that has been declared
		case int(index) > len(s.last):
			return brokenf("session %d after %d sessions", index, len(s.last))
		case index >= limits.Sessions:
			return brokenf("a source of more than %d sessions", limits.Sessions)
		case int(index) == len(s.last):
			s.last = append(s.last, 0)
		}
	}
	if s.events += uint64(len(b.GetEvents())); s.events > limits.Events {
		return brokenf("a source of more than %d events", limits.Events)
	}
	for _, e := range b.GetEvents() {
		if err := s.event(e); err != nil {
			return err
		}
	}
	if s.rejections += len(b.GetRejections()); s.rejections > sdkplugin.MaxRejections {
		return brokenf("more than %d rejections", sdkplugin.MaxRejections)
	}
	return nil
}

// event checks what concerns more than one record: the session is declared, the order does not go back, and pieces lie inside the
// structured content and do not blow up. Everything else of an event costs only that event, when package record converts it.
func (s *scanned) event(e *historyv1.Event) error {
	session := e.GetSession()
	switch {
	case int(session) >= len(s.last):
		return brokenf("an event of an undeclared session")
	case e.GetSequence() < s.last[session]:
		return brokenf("an event before its predecessor")
	}
	s.last[session] = e.GetSequence()
	for _, v := range [...]*historyv1.Value{
		e.GetBody(), e.GetInvocation().GetArguments().GetValue(), e.GetResult().GetText().GetValue(), e.GetResult().GetStructured().GetValue(),
	} {
		if err := checkSpans(v.GetSpans(), uint64(len(e.GetStructured()))); err != nil {
			return err
		}
	}
	return nil
}

// checkSpans checks the pieces of a value. They may overlap, so their sum has a bound of its own: a few bytes of the wire could
// otherwise stand for terabytes of text.
func checkSpans(spans []*historyv1.Span, structured uint64) error {
	total := uint64(0)
	for _, span := range spans {
		length := uint64(span.GetLength())
		if uint64(span.GetOffset())+length > structured {
			return brokenf("a piece outside the structured content")
		}
		if total += length + 1; total > sdkplugin.MaxWireMessage {
			return brokenf("pieces of more than %d bytes", sdkplugin.MaxWireMessage)
		}
	}
	return nil
}

func (s *scanned) end(m *historyv1.SourceEnd) error {
	switch {
	case !s.begun:
		return brokenf("an end before the begin")
	case len(m.GetObservation()) == 0 || len(m.GetObservation()) > sdkplugin.MaxObservation:
		return brokenf("an observation of %d bytes", len(m.GetObservation()))
	case len(m.GetContentDigest()) != 32:
		return brokenf("a content digest of %d bytes", len(m.GetContentDigest()))
	case len(m.GetFrontier()) > sdkplugin.MaxFrontier:
		return brokenf("a frontier of %d bytes", len(m.GetFrontier()))
	case uint64(s.rejections) > m.GetRejectionsTotal():
		return brokenf("%d rejections of a total of %d", s.rejections, m.GetRejectionsTotal())
	case len(m.GetMetadata()) > len(s.last):
		return brokenf("metadata of %d sessions of %d", len(m.GetMetadata()), len(s.last))
	}
	c := m.GetCounts()
	sum, first := bits.Add64(c.GetRetained(), c.GetRejected(), 0)
	sum, second := bits.Add64(sum, c.GetIgnored(), 0)
	if first+second != 0 || sum != c.GetComplete() {
		return brokenf("counts that do not add up")
	}
	for _, meta := range m.GetMetadata() {
		if int(meta.GetIndex()) >= len(s.last) {
			return brokenf("metadata of an undeclared session")
		}
		if len(meta.GetModels()) > mostModels {
			return brokenf("metadata with %d models", len(meta.GetModels()))
		}
	}
	return nil
}
