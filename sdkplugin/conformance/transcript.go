package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

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

// jobs asks for every source, in append where there is a base with a frontier.
func (i *inventory) jobs(bases map[string]*transcript) []scanJob {
	jobs := make([]scanJob, len(i.sources))
	for n, s := range i.sources {
		jobs[n].source = s
		if base := bases[s.Locator]; base != nil && len(base.end.Frontier) > 0 {
			jobs[n].base = base
		}
	}
	return jobs
}

func (p *process) inventory(ctx context.Context, routes ...*historyv1.Route) *inventory {
	return p.ask(ctx, &historyv1.InventoryRequest{Routes: routes, MaxSources: sdkplugin.MaxSources})
}

func (p *process) ask(ctx context.Context, req *historyv1.InventoryRequest) *inventory {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream := must(p.api.Inventory(ctx, req))
	inv := &inventory{}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			failf("inventory: %v%s", err, p.stderr.quote())
		}
		if inv.end != nil {
			failf("inventory: a message after the end")
		}
		inv.end = m.GetEnd()
		inv.sources = append(inv.sources, m.GetSources().GetSources()...)
		if n := len(m.GetSources().GetSources()); n > 512 {
			failf("inventory: a message of %d sources, at most 512", n)
		}
	}
	if inv.end == nil || len(inv.end.Routes) != len(req.Routes) {
		failf("inventory: states of %d routes at the end, asked for %d", len(inv.end.GetRoutes()), len(req.Routes))
	}
	return inv
}

// transcript is what a scan said about one source.
type transcript struct {
	source     *historyv1.Source
	begin      *historyv1.SourceBegin
	sessions   map[uint32]*historyv1.Session
	events     []*historyv1.Event
	rejections []*historyv1.Rejection
	end        *historyv1.SourceEnd
	failure    *historyv1.SourceFailure
}

// scanJob asks for one source.
type scanJob struct {
	source *historyv1.Source
	// base is what an append goes on from; nil = full.
	base *transcript
}

// scan reads sources of one route and checks the order of messages.
func (p *process) scan(ctx context.Context, route *historyv1.Route, jobs ...scanJob) []*transcript {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream := must(p.api.Scan(ctx))
	out := make([]*transcript, len(jobs))
	for i, job := range jobs {
		out[i] = &transcript{source: job.source, sessions: map[uint32]*historyv1.Session{}}
	}
	// Both directions at once: the provider takes a source only when it has room for it. A broken stream shows when receiving.
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
			failf("scan: %v%s", err, p.stderr.quote())
		}
		if err := take(out, m); err != nil {
			failf("scan: %v", err)
		}
	}
	for _, t := range out {
		if t.end == nil && t.failure == nil {
			failf("scan: the stream ended without an end of %q", t.source.Locator)
		}
	}
	return out
}

// scanAll scans every source of an inventory in mode full, and none may fail.
func (p *process) scanAll(ctx context.Context, route *historyv1.Route, inv *inventory) []*transcript {
	out := p.scan(ctx, route, inv.jobs(nil)...)
	for _, t := range out {
		try(t.succeeded(historyv1.Mode_MODE_FULL))
	}
	return out
}

func (t *transcript) succeeded(mode historyv1.Mode) error {
	switch {
	case t.failure != nil:
		return fmt.Errorf("%q failed: %s: %s", t.source.Locator, t.failure.Class, t.failure.Message)
	case t.begin.GetMode() != mode:
		return fmt.Errorf("%q was read in %v, want %v", t.source.Locator, t.begin.GetMode(), mode)
	}
	return nil
}

// after is what base and the append that went on behind it say together.
func (t *transcript) after(base *transcript) *transcript {
	if t.begin.GetMode() != historyv1.Mode_MODE_APPEND {
		return t
	}
	whole := *t
	whole.events = slices.Concat(base.events, t.events)
	whole.rejections = slices.Concat(base.rejections, t.rejections)
	return &whole
}

// accounted checks that the numbers of an end add up.
func (t *transcript) accounted() error {
	c := t.end.Counts
	complete, retained, rejected, ignored := c.GetComplete(), c.GetRetained(), c.GetRejected(), c.GetIgnored()
	wrong := ""
	switch n := len(t.end.Observation); {
	case complete != retained+rejected+ignored:
		wrong = fmt.Sprintf("%d complete is not %d retained + %d rejected + %d ignored", complete, retained, rejected, ignored)
	case retained > uint64(len(t.events)) && t.begin.GetMode() == historyv1.Mode_MODE_FULL:
		wrong = fmt.Sprintf("%d records retained, %d events", retained, len(t.events))
	case n == 0 || n > sdkplugin.MaxObservation:
		wrong = fmt.Sprintf("an observation of %d bytes at the end", n)
	case len(t.end.ContentDigest) != 32:
		wrong = fmt.Sprintf("a content digest of %d bytes", len(t.end.ContentDigest))
	case len(t.end.Frontier) > sdkplugin.MaxFrontier:
		wrong = fmt.Sprintf("a frontier of %d bytes", len(t.end.Frontier))
	case t.end.RejectionsTotal < uint64(len(t.rejections)) || len(t.rejections) > sdkplugin.MaxRejections:
		wrong = fmt.Sprintf("%d rejections travelled, %d in total", len(t.rejections), t.end.RejectionsTotal)
	default:
		return nil
	}
	return fmt.Errorf("%q: %s", t.source.Locator, wrong)
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
	begin, batch, end, failure := m.GetBegin(), m.GetBatch(), m.GetEnd(), m.GetFailure()
	// Only one of them is set, and a missing message has source 0.
	ordinal := begin.GetSource() + batch.GetSource() + end.GetSource() + failure.GetSource()
	if m.Message == nil || int(ordinal) >= len(out) {
		return fmt.Errorf("a message of the unknown source %d", ordinal)
	}
	t := out[ordinal]
	switch {
	case t.end != nil || t.failure != nil:
		return fmt.Errorf("%q: a message after its end", t.source.Locator)
	case t.begin == nil && begin == nil && failure == nil:
		return fmt.Errorf("%q: a message before its begin", t.source.Locator)
	case t.begin != nil && begin != nil:
		return fmt.Errorf("%q: two begins", t.source.Locator)
	case begin != nil:
		t.begin = begin
	}
	for _, s := range batch.GetSessions() {
		t.sessions[s.Index] = s
	}
	t.events = append(t.events, batch.GetEvents()...)
	t.rejections = append(t.rejections, batch.GetRejections()...)
	t.end, t.failure = end, failure
	return nil
}

// differs compares two transcripts of equal bytes and names the first difference; "" = they agree.
func (t *transcript) differs(u *transcript) string {
	if !proto.Equal(t.failure, u.failure) {
		return fmt.Sprintf("failures %v and %v", t.failure, u.failure)
	}
	if len(t.events) != len(u.events) {
		return fmt.Sprintf("%d and %d events", len(t.events), len(u.events))
	}
	for i := range t.events {
		a, b := t.events[i], u.events[i]
		b = proto.CloneOf(b)
		b.Session = a.Session
		if t.ref(a.Session) != u.ref(u.events[i].Session) || !proto.Equal(a, b) {
			return fmt.Sprintf("event %d is not the same", i)
		}
	}
	same := func(a, b *historyv1.Rejection) bool { return proto.Equal(a, b) }
	if !slices.EqualFunc(t.rejections, u.rejections, same) {
		return fmt.Sprintf("the rejections are not the same: %v and %v", t.rejections, u.rejections)
	}
	// Frontiers may differ, they are the provider's own business.
	a, b := t.end, u.end
	switch {
	case (a == nil) != (b == nil):
		return "only one has an end"
	case !proto.Equal(a.GetCounts(), b.GetCounts()):
		return fmt.Sprintf("counts {%v} and {%v}", a.Counts, b.Counts)
	case a.GetCertifiedBytes() != b.GetCertifiedBytes():
		return fmt.Sprintf("%d and %d certified bytes", a.CertifiedBytes, b.CertifiedBytes)
	case !bytes.Equal(a.GetContentDigest(), b.GetContentDigest()):
		return "content digests differ"
	case a != nil && !maps.Equal(t.describeSessions(), u.describeSessions()):
		return fmt.Sprintf("the sessions or their metadata are not the same: %v and %v", t.describeSessions(), u.describeSessions())
	}
	return ""
}

// describeSessions gives every session with its metadata, by its reference: the numbers that stand for sessions on the wire may
// differ between scans.
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
		proto.Merge(m, byIndex[index])
		m.Index = 0
		out[t.ref(index)] = fmt.Sprintf("{%v} {%v}", s, m)
	}
	return out
}

func (t *transcript) ref(index uint32) string {
	s := t.sessions[index]
	return s.GetRef().GetKind() + "\x00" + string(s.GetRef().GetKey())
}
