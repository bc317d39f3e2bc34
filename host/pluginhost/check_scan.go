package pluginhost

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

const (
	eventsInBatch   = 65_536
	sessionsInBatch = 65_536
	mostModels      = 256
)

// message follows the source by one message and checks it. The error is a *broken. After an error nothing of the source is
// believed any more, but it still counts as open until the plugin ends it.
func (s *scanned) message(m *historyv1.ScanMessage, limits *Limits) error {
	switch m := m.GetMessage().(type) {
	case *historyv1.ScanMessage_Failure:
		s.over = true
		tidyFailure(m.Failure)
		return nil
	case *historyv1.ScanMessage_End:
		s.over = true
		if s.refused {
			return nil
		}
		return s.end(m.End)
	case *historyv1.ScanMessage_Begin:
		if s.refused {
			return nil
		}
		return s.begin(m.Begin)
	case *historyv1.ScanMessage_Batch:
		if s.refused {
			return nil
		}
		return s.batch(m.Batch, limits)
	}
	return brokenf("a message without content in a scan")
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
		if err := s.session(session, limits); err != nil {
			return err
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
	for _, r := range b.GetRejections() {
		if err := checkRejection(r); err != nil {
			return err
		}
	}
	return nil
}

// session accepts the next number, or one again that has been declared.
func (s *scanned) session(m *historyv1.Session, limits *Limits) error {
	switch index := m.GetIndex(); {
	case int(index) > len(s.last):
		return brokenf("session %d after %d sessions", index, len(s.last))
	case index >= limits.Sessions:
		return brokenf("a source of more than %d sessions", limits.Sessions)
	case int(index) == len(s.last):
		s.last = append(s.last, 0)
	}
	if m.GetRef() == nil {
		return brokenf("a session without a key")
	}
	for _, ref := range []*historyv1.SessionRef{m.GetRef(), m.GetParent(), m.GetRoot(), m.GetYieldsTo()} {
		if ref == nil {
			continue
		}
		if err := checkRef(ref); err != nil {
			return err
		}
	}
	switch {
	case m.GetRelationship() < 0 || m.GetRelationship() > historyv1.Relationship_RELATIONSHIP_WORKFLOW_CHILD:
		return brokenf("relationship %d", m.GetRelationship())
	case m.GetScope() < 0 || m.GetScope() > historyv1.Scope_SCOPE_SUBAGENT:
		return brokenf("scope %d", m.GetScope())
	case len(m.GetProviderSessionId()) > sdkplugin.MaxString:
		return brokenf("a session id of %d bytes", len(m.GetProviderSessionId()))
	}
	return nil
}

func checkRef(ref *historyv1.SessionRef) error {
	switch {
	case len(ref.GetAnchor()) > longestAnchor:
		return brokenf("an anchor of %d bytes", len(ref.GetAnchor()))
	case len(ref.GetKey()) == 0 || len(ref.GetKey()) > longestNativeKey:
		return brokenf("a session key of %d bytes", len(ref.GetKey()))
	case ref.GetKind() == "" || len(ref.GetKind()) > sdkplugin.MaxLabel:
		return brokenf("a session kind of %d bytes", len(ref.GetKind()))
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
	if err := checkCounts(m.GetCounts()); err != nil {
		return err
	}
	for _, meta := range m.GetMetadata() {
		if int(meta.GetIndex()) >= len(s.last) {
			return brokenf("metadata of an undeclared session")
		}
		if err := checkMetadata(meta); err != nil {
			return err
		}
	}
	return checkDiagnostics(m.GetDiagnostics(), math.MaxInt)
}

// checkCounts holds to complete = retained + rejected + ignored, without overflow.
func checkCounts(c *historyv1.Counts) error {
	sum, first := bits.Add64(c.GetRetained(), c.GetRejected(), 0)
	sum, second := bits.Add64(sum, c.GetIgnored(), 0)
	if first+second != 0 || sum != c.GetComplete() {
		return brokenf("counts that do not add up")
	}
	return nil
}

func checkMetadata(m *historyv1.SessionMetadata) error {
	if len(m.GetModels()) > mostModels {
		return brokenf("metadata with %d models", len(m.GetModels()))
	}
	texts := []string{
		m.GetTitle(), m.GetModel(), m.GetAgentName(), m.GetCwd(), m.GetWorkspaceLabel(), m.GetBranch(), m.GetLastBranch(), m.GetVersion(),
		m.GetLastVersion(), m.GetEntrypoint(), m.GetLastEntrypoint(),
	}
	for _, text := range append(texts, m.GetModels()...) {
		if len(text) > sdkplugin.MaxString {
			return brokenf("metadata of %d bytes", len(text))
		}
	}
	return nil
}

func checkRejection(r *historyv1.Rejection) error {
	switch {
	case r.GetLocator() != "" && !cleanLocator(r.GetLocator()):
		return brokenf("a rejection with a locator that leaves its route")
	case r.GetClass() != "" && r.GetClass() != "damaged":
		return brokenf("a rejection of an unknown class")
	case len(r.GetDetail()) > sdkplugin.MaxMessage || len(r.GetPayloadType()) > sdkplugin.MaxMessage:
		return brokenf("a rejection of %d bytes", len(r.GetDetail())+len(r.GetPayloadType()))
	}
	return checkTexts([]string{r.GetDetail(), r.GetPayloadType()})
}

var failureClasses = []string{"unreadable", "vanished", "changed", "malformed_source", "unsupported_schema", "internal"}

// tidyFailure makes a failure fit to be shown: it ends its source in any case.
func tidyFailure(f *historyv1.SourceFailure) {
	if !slices.Contains(failureClasses, f.Class) {
		f.Class = "internal"
	}
	f.Message = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, f.Message)
	if len(f.Message) > sdkplugin.MaxMessage {
		cut := sdkplugin.MaxMessage
		for !utf8.RuneStart(f.Message[cut]) {
			cut--
		}
		f.Message = f.Message[:cut]
	}
}
