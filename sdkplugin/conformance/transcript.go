package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// inventory lists one route.
type inventory struct {
	sources []*historyv1.Source
	end     *historyv1.InventoryEnd
}

func (i *inventory) byLocator(locator string) *historyv1.Source {
	for _, s := range i.sources {
		if s.Locator == locator {
			return s
		}
	}
	return nil
}

func (i *inventory) state() historyv1.RouteEnd_State {
	if len(i.end.GetRoutes()) == 0 {
		return historyv1.RouteEnd_STATE_UNSPECIFIED
	}
	return i.end.Routes[0].State
}

func (p *process) inventory(ctx context.Context, routes ...*historyv1.Route) (*inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream, err := p.api.Inventory(ctx, &historyv1.InventoryRequest{Routes: routes, MaxSources: sdkplugin.MaxSources})
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	inv := &inventory{}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("inventory: %w%s", err, p.stderr.quote())
		}
		if inv.end != nil {
			return nil, errors.New("inventory: a message after the end")
		}
		inv.end = m.GetEnd()
		inv.sources = append(inv.sources, m.GetSources().GetSources()...)
		if n := len(m.GetSources().GetSources()); n > 512 {
			return nil, fmt.Errorf("inventory: a message of %d sources, at most 512", n)
		}
	}
	if inv.end == nil {
		return nil, errors.New("inventory: no end")
	}
	if len(inv.end.Routes) != len(routes) {
		return nil, fmt.Errorf("inventory: states of %d routes, asked for %d", len(inv.end.Routes), len(routes))
	}
	return inv, nil
}

// transcript is what a scan said about one source.
type transcript struct {
	source     *historyv1.Source
	asked      historyv1.Mode
	begin      *historyv1.SourceBegin
	sessions   map[uint32]*historyv1.Session
	events     []*historyv1.Event
	rejections []*historyv1.Rejection
	end        *historyv1.SourceEnd
	failure    *historyv1.SourceFailure
	batches    int
}

// scanJob asks for one source.
type scanJob struct {
	source *historyv1.Source
	// base is what an append goes on from; nil = full.
	base *transcript
}

// scan reads sources of one route and checks the order of messages. Errors
// are broken promises of the stream itself.
func (p *process) scan(ctx context.Context, route *historyv1.Route, jobs ...scanJob) ([]*transcript, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream, err := p.api.Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	out := make([]*transcript, len(jobs))
	for i, job := range jobs {
		out[i] = &transcript{source: job.source, asked: historyv1.Mode_MODE_FULL, sessions: map[uint32]*historyv1.Session{}}
		if job.base != nil {
			out[i].asked = historyv1.Mode_MODE_APPEND
		}
	}
	// Both directions at once: the provider takes a source only when it has
	// room for it. A broken stream shows when receiving.
	go func() {
		for i, job := range jobs {
			if stream.Send(scanSource(route, uint32(i), job)) != nil {
				return
			}
		}
		_ = stream.CloseSend()
	}()
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("scan: %w%s", err, p.stderr.quote())
		}
		if err := take(out, m); err != nil {
			return nil, fmt.Errorf("scan: %w", err)
		}
	}
	for _, t := range out {
		if t.end == nil && t.failure == nil {
			return nil, fmt.Errorf("scan: the stream ended without an end of %q", t.source.Locator)
		}
	}
	return out, nil
}

func scanSource(route *historyv1.Route, ordinal uint32, job scanJob) *historyv1.ScanSource {
	s := &historyv1.ScanSource{Ordinal: ordinal, RoutePath: route.Path, Source: job.source, Mode: historyv1.Mode_MODE_FULL}
	if ordinal == 0 {
		s.Routes = []*historyv1.Route{route}
	}
	if job.base != nil {
		end := job.base.end
		s.Mode, s.Frontier, s.CertifiedBytes = historyv1.Mode_MODE_APPEND, end.Frontier, end.CertifiedBytes
		s.ContentDigest, s.Counts = end.ContentDigest, end.Counts
	}
	return s
}

func take(out []*transcript, m *historyv1.ScanMessage) error {
	ordinal, ok := ordinalOf(m)
	if !ok || int(ordinal) >= len(out) {
		return fmt.Errorf("a message of the unknown source %d", ordinal)
	}
	t := out[ordinal]
	if t.end != nil || t.failure != nil {
		return fmt.Errorf("%q: a message after its end", t.source.Locator)
	}
	if t.begin == nil && m.GetBegin() == nil && m.GetFailure() == nil {
		return fmt.Errorf("%q: a message before its begin", t.source.Locator)
	}
	switch m := m.Message.(type) {
	case *historyv1.ScanMessage_Begin:
		if t.begin != nil {
			return fmt.Errorf("%q: two begins", t.source.Locator)
		}
		t.begin = m.Begin
	case *historyv1.ScanMessage_Batch:
		t.batches++
		for _, s := range m.Batch.Sessions {
			t.sessions[s.Index] = s
		}
		t.events = append(t.events, m.Batch.Events...)
		t.rejections = append(t.rejections, m.Batch.Rejections...)
	case *historyv1.ScanMessage_End:
		t.end = m.End
	case *historyv1.ScanMessage_Failure:
		t.failure = m.Failure
	}
	return nil
}

func ordinalOf(m *historyv1.ScanMessage) (uint32, bool) {
	switch m := m.Message.(type) {
	case *historyv1.ScanMessage_Begin:
		return m.Begin.GetSource(), true
	case *historyv1.ScanMessage_Batch:
		return m.Batch.GetSource(), true
	case *historyv1.ScanMessage_End:
		return m.End.GetSource(), true
	case *historyv1.ScanMessage_Failure:
		return m.Failure.GetSource(), true
	}
	return 0, false
}

// differs compares two transcripts of equal bytes and names the first
// difference; "" = they agree.
func (t *transcript) differs(u *transcript) string {
	if !proto.Equal(t.failure, u.failure) {
		return fmt.Sprintf("failures %v and %v", t.failure, u.failure)
	}
	if len(t.events) != len(u.events) {
		return fmt.Sprintf("%d and %d events", len(t.events), len(u.events))
	}
	for i := range t.events {
		if !bytes.Equal(t.eventBytes(i), u.eventBytes(i)) {
			return fmt.Sprintf("event %d is not the same", i)
		}
	}
	if len(t.rejections) != len(u.rejections) {
		return fmt.Sprintf("%d and %d rejections", len(t.rejections), len(u.rejections))
	}
	for i := range t.rejections {
		if !proto.Equal(t.rejections[i], u.rejections[i]) {
			return fmt.Sprintf("rejection %d is not the same", i)
		}
	}
	return t.endDiffers(u)
}

// endDiffers compares what is certified: counts, bytes, digest, sessions and
// their metadata. Frontiers may differ, they are the provider's own business.
func (t *transcript) endDiffers(u *transcript) string {
	a, b := t.end, u.end
	switch {
	case (a == nil) != (b == nil):
		return "only one has an end"
	case a == nil:
		return ""
	case !proto.Equal(a.Counts, b.Counts):
		return fmt.Sprintf("counts {%v} and {%v}", a.Counts, b.Counts)
	case a.CertifiedBytes != b.CertifiedBytes:
		return fmt.Sprintf("%d and %d certified bytes", a.CertifiedBytes, b.CertifiedBytes)
	case !bytes.Equal(a.ContentDigest, b.ContentDigest):
		return "content digests differ"
	}
	return t.sessionsDiffer(u)
}

func (t *transcript) sessionsDiffer(u *transcript) string {
	a, b := t.describeSessions(), u.describeSessions()
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d sessions", len(a), len(b))
	}
	for ref, text := range a {
		if other, ok := b[ref]; !ok || other != text {
			return fmt.Sprintf("a session or its metadata is not the same: %s | %s", text, other)
		}
	}
	return ""
}

// describeSessions gives every session with its metadata, by its reference:
// the numbers that stand for sessions on the wire may differ between scans.
func (t *transcript) describeSessions() map[string]string {
	out := map[string]string{}
	byIndex := map[uint32]*historyv1.SessionMetadata{}
	for _, m := range t.end.GetMetadata() {
		byIndex[m.Index] = m
	}
	for index, s := range t.sessions {
		s = proto.CloneOf(s)
		s.Index = 0
		m := &historyv1.SessionMetadata{}
		if found, ok := byIndex[index]; ok {
			m = proto.CloneOf(found)
			m.Index = 0
		}
		out[t.ref(index)] = fmt.Sprintf("{%v} {%v}", s, m)
	}
	return out
}

func (t *transcript) ref(index uint32) string {
	s := t.sessions[index]
	return s.GetRef().GetKind() + "\x00" + string(s.GetRef().GetKey())
}

// eventBytes is an event with its session named instead of numbered.
func (t *transcript) eventBytes(i int) []byte {
	e := proto.CloneOf(t.events[i])
	ref := t.ref(e.Session)
	e.Session = 0
	return append(deterministic(e), ref...)
}

func deterministic(m proto.Message) []byte {
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return []byte(err.Error())
	}
	return out
}
