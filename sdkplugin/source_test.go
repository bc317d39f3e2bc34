package sdkplugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// scripted is a Provider of functions.
type scripted struct {
	describe  func(*DescribeResponse)
	inventory func(context.Context, InventoryRequest, *InventoryWriter) error
	scan      func(context.Context, ScanRequest, *SourceWriter) error
	parallel  uint32
}

func (s *scripted) Describe(_ context.Context, _ DescribeRequest, d *DescribeResponse) {
	*d = DescribeResponse{Id: "acme", ParserRevision: "1", NoKnownLocation: true, Limits: &ProviderLimits{ParallelSources: s.parallel},
		Formats: []*Format{{Name: "acme_jsonl", SchemaVariant: "v1", Family: JSONLTranscript}}}
	if s.describe != nil {
		s.describe(d)
	}
}

func (s *scripted) Inventory(ctx context.Context, req InventoryRequest, out *InventoryWriter) error {
	return s.inventory(ctx, req, out)
}

func (s *scripted) Scan(ctx context.Context, req ScanRequest, out *SourceWriter) error {
	return s.scan(ctx, req, out)
}

// fakeStream is the host's side of a Scan without a network; batches go
// through the codec.
type fakeStream struct {
	grpc.ServerStream
	ctx  context.Context
	jobs chan *historyv1.ScanSource

	mu       sync.Mutex
	messages []*historyv1.ScanMessage
	sizes    []int
	sent     chan struct{} // one token for each message; nil = nobody waits
	sendErr  error
}

func (f *fakeStream) Context() context.Context { return f.ctx }

func (f *fakeStream) Recv() (*historyv1.ScanSource, error) {
	select {
	case s, ok := <-f.jobs:
		if !ok {
			return nil, io.EOF
		}
		return s, nil
	case <-f.ctx.Done():
		return nil, status.FromContextError(f.ctx.Err()).Err()
	}
}

func (f *fakeStream) Send(m *historyv1.ScanMessage) error { return f.SendMsg(m) }

func (f *fakeStream) SendMsg(v any) error {
	data, err := newWireCodec().Marshal(v)
	if err != nil {
		return err
	}
	defer data.Free()
	wire := data.Materialize()
	var m historyv1.ScanMessage
	if err := proto.Unmarshal(wire, &m); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sendErr != nil {
		return f.sendErr
	}
	f.messages = append(f.messages, &m)
	f.sizes = append(f.sizes, len(wire))
	if f.sent != nil {
		f.sent <- struct{}{}
	}
	return nil
}

func job(ordinal uint32) *historyv1.ScanSource {
	return &historyv1.ScanSource{Ordinal: ordinal, RoutePath: "/r", Mode: historyv1.Mode_MODE_FULL,
		Source: &historyv1.Source{Locator: fmt.Sprintf("s%d", ordinal)}}
}

// runScan scans n sources and returns the messages of each.
func runScan(t *testing.T, p *scripted, jobs ...*historyv1.ScanSource) (*fakeStream, [][]*historyv1.ScanMessage) {
	t.Helper()
	f := &fakeStream{ctx: t.Context(), jobs: make(chan *historyv1.ScanSource, len(jobs))}
	for _, j := range jobs {
		f.jobs <- j
	}
	close(f.jobs)
	s := &server{provider: p, log: nullLog()}
	if err := s.Scan(f); err != nil {
		t.Fatal(err)
	}
	out := make([][]*historyv1.ScanMessage, len(jobs))
	for _, m := range f.messages {
		n := ordinalOf(m)
		out[n] = append(out[n], m)
	}
	return f, out
}

func ordinalOf(m *historyv1.ScanMessage) uint32 {
	switch m := m.Message.(type) {
	case *historyv1.ScanMessage_Begin:
		return m.Begin.Source
	case *historyv1.ScanMessage_Batch:
		return m.Batch.Source
	case *historyv1.ScanMessage_End:
		return m.End.Source
	case *historyv1.ScanMessage_Failure:
		return m.Failure.Source
	}
	panic("no message")
}

func ownSession() Session {
	return Session{Ref: SessionRef{Kind: "acme-session", Key: NativeID("acme.session", Utf8("s"))}}
}

func note(session uint32, sequence uint64, text string) *Event {
	return &Event{Session: session, Kind: "acme-event", Key: NativeID("acme.event", U64(sequence)), Sequence: sequence,
		Type: Message, Body: Inline(text)}
}

func end() Ending { return Ending{Observation: []byte("o")} }

func TestScanOfOneSource(t *testing.T) {
	p := &scripted{scan: func(_ context.Context, req ScanRequest, out *SourceWriter) error {
		if req.Path() != "/r/s0" || req.Mode != ModeAppend || string(req.Frontier) != "f" {
			return fmt.Errorf("request %+v", req)
		}
		if err := out.Begin(ModeAppend); err != nil {
			return err
		}
		s, err := out.Session(ownSession())
		if err != nil {
			return err
		}
		if again, err := out.Session(ownSession()); again != s || err != nil {
			return errors.New("the same session has two numbers")
		}
		e := note(s, 1, "first")
		if err := out.Event(e); err != nil {
			return err
		}
		*e = *note(s, 2, "second") // the first one was copied
		if err := out.Event(e); err != nil {
			return err
		}
		out.Retain(2)
		out.Ignore(3)
		if err := out.Reject(Rejection{Line: 7, ByteOffset: 0, HasOffset: true, Damaged: true, Detail: "torn\nline", Locator: "../x"}); err != nil {
			return err
		}
		out.Diagnostics.Add(Diagnostic{Severity: SeverityWarning, Code: "odd", Message: "something\nodd"})
		if err := out.Progress(99); err != nil {
			return err
		}
		e2 := end()
		e2.CertifiedBytes, e2.Frontier, e2.ContentDigest[0] = 42, []byte("g"), 9
		e2.Metadata = []SessionMetadata{{Session: s, Title: "T", StartedAt: AtMillis(5), Models: []string{"m"}}}
		return out.End(e2)
	}}
	j := job(0)
	j.Mode, j.Frontier, j.Counts = historyv1.Mode_MODE_APPEND, []byte("f"), &historyv1.Counts{Complete: 10, Retained: 10}
	_, got := runScan(t, p, j)
	m := got[0]
	if len(m) != 3 {
		t.Fatalf("%d messages: %v", len(m), m)
	}
	if b := m[0].GetBegin(); b.GetMode() != historyv1.Mode_MODE_APPEND {
		t.Errorf("begin %v", b)
	}
	batch := m[1].GetBatch()
	if len(batch.GetSessions()) != 2 || len(batch.GetEvents()) != 2 || batch.ReadBytes != 99 {
		t.Fatalf("batch %v", batch)
	}
	if string(batch.Events[0].Body.Inline) != "first" || string(batch.Events[1].Body.Inline) != "second" {
		t.Errorf("events %v", batch.Events)
	}
	wantRejection := &historyv1.Rejection{Line: 7, ByteOffset: pointer(uint64(0)), Class: "damaged", Detail: "torn line"}
	if len(batch.Rejections) != 1 || !proto.Equal(batch.Rejections[0], wantRejection) {
		t.Errorf("rejections %v", batch.Rejections)
	}
	digest := make([]byte, 32)
	digest[0] = 9
	wantEnd := &historyv1.SourceEnd{Observation: []byte("o"), CertifiedBytes: 42, ContentDigest: digest, Frontier: []byte("g"),
		Counts: &historyv1.Counts{Complete: 16, Retained: 12, Rejected: 1, Ignored: 3}, RejectionsTotal: 1,
		Metadata:    []*historyv1.SessionMetadata{{Title: "T", StartedAtMs: pointer(int64(5)), Models: []string{"m"}}},
		Diagnostics: []*historyv1.Diagnostic{{Severity: historyv1.Diagnostic_SEVERITY_WARNING, Code: "odd", Message: "something odd"}}}
	if e := m[2].GetEnd(); !proto.Equal(e, wantEnd) {
		t.Errorf("end %v\nwant %v", e, wantEnd)
	}
}

// A full read after an append was asked starts the counts again.
func TestFullAnswerToAppendRestartsCounts(t *testing.T) {
	j := job(0)
	j.Mode, j.Counts = historyv1.Mode_MODE_APPEND, &historyv1.Counts{Complete: 10, Retained: 10}
	_, got := runScan(t, &scripted{scan: func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
		out.Ignore(1)
		return out.End(end()) // begins with ModeFull by itself
	}}, j)
	m := got[0]
	if m[0].GetBegin().GetMode() != historyv1.Mode_MODE_FULL || m[1].GetEnd().GetCounts().GetComplete() != 1 {
		t.Fatalf("%v", m)
	}
}

func TestBatchesAreCutBySize(t *testing.T) {
	body := strings.Repeat("x", 100<<10)
	f, got := runScan(t, &scripted{scan: func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
		s, err := out.Session(ownSession())
		for i := uint64(0); i < 20 && err == nil; i++ {
			err = out.Event(note(s, i, body))
		}
		if err != nil {
			return err
		}
		if err := out.Event(note(s, 20, strings.Repeat("y", 5<<20))); err != nil { // one huge event is one message
			return err
		}
		return out.End(end())
	}}, job(0))
	events, next := 0, uint64(0)
	for i, m := range f.messages {
		if f.sizes[i] > flushBytes+5<<20+100<<10 {
			t.Errorf("a message of %d bytes", f.sizes[i])
		}
		for _, e := range m.GetBatch().GetEvents() {
			if e.Sequence != next {
				t.Fatalf("event %d after %d", e.Sequence, next)
			}
			next++
			events++
		}
	}
	if events != 21 || len(got[0]) != 2+4 { // 3 full batches, and the last with the huge event
		t.Fatalf("%d events in %d messages", events, len(got[0]))
	}
}

// What a slow provider has found is sent although nothing new comes.
func TestOldBatchIsSent(t *testing.T) {
	f := &fakeStream{ctx: t.Context(), jobs: make(chan *historyv1.ScanSource, 1), sent: make(chan struct{}, 10)}
	f.jobs <- job(0)
	close(f.jobs)
	proceed := make(chan struct{})
	s := &server{log: nullLog(), provider: &scripted{scan: func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
		id, err := out.Session(ownSession())
		if err != nil {
			return err
		}
		if err := out.Event(note(id, 1, "early")); err != nil {
			return err
		}
		<-proceed
		return out.End(end())
	}}}
	done := make(chan error)
	go func() { done <- s.Scan(f) }()
	<-f.sent // begin
	<-f.sent // the batch, while the provider waits
	close(proceed)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if b := f.messages[1].GetBatch(); len(b.GetEvents()) != 1 || f.messages[2].GetEnd() == nil || len(f.messages) != 3 {
		t.Fatalf("%v", f.messages)
	}
}

func TestFailuresOfASource(t *testing.T) {
	big := make([]byte, MaxFrontier+1)
	cases := map[string]struct {
		scan  func(context.Context, ScanRequest, *SourceWriter) error
		class FailureClass
		text  string
	}{
		"own failure": {func(context.Context, ScanRequest, *SourceWriter) error { return Fail(Vanished, "gone %d", 1) }, Vanished, "gone 1"},
		"file failure": {func(context.Context, ScanRequest, *SourceWriter) error {
			return &jsonl.Failure{Class: jsonl.Changed, Reason: "cut"}
		}, Changed, "cut"},
		"unknown error": {func(context.Context, ScanRequest, *SourceWriter) error { return errors.New("/secret/path") }, Internal, "*errors.errorString"},
		"panic":         {func(context.Context, ScanRequest, *SourceWriter) error { panic("secret") }, Internal, "panicked"},
		"no end":        {func(context.Context, ScanRequest, *SourceWriter) error { return nil }, Internal, "without End"},
		"nil map": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
			var m map[string]int
			m["x"]++
			return nil
		}, Internal, "panicked"},
		"swallowed": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error { _ = out.Begin(9); return nil }, Internal, "mode 9"},
		"begins twice": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
			_ = out.Begin(ModeFull)
			return out.Begin(ModeFull)
		}, Internal, "begun"},
		"no observation": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error { return out.End(Ending{}) }, Internal, "observation of 0"},
		"big frontier": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
			return out.End(Ending{Observation: []byte("o"), Frontier: big})
		}, Internal, "frontier of"},
		"unknown session": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error { return out.Event(note(0, 1, "x")) }, Internal, "event 0: session 0"},
		"bad session": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
			_, err := out.Session(Session{})
			return err
		}, Internal, "session 0"},
		"foreign metadata": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
			e := end()
			e.Metadata = []SessionMetadata{{Session: 3}}
			return out.End(e)
		}, Internal, "metadata 0"},
		"sequence goes back": {func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
			s, _ := out.Session(ownSession())
			_ = out.Event(note(s, 5, "x"))
			return out.Event(note(s, 4, "x"))
		}, Internal, "sequence 4 after 5"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &scripted{scan: func(ctx context.Context, req ScanRequest, out *SourceWriter) error {
				if req.Source.Locator == "s1" {
					return out.End(end())
				}
				return c.scan(ctx, req, out)
			}}
			_, got := runScan(t, p, job(0), job(1))
			f := got[0][len(got[0])-1].GetFailure()
			if f.GetClass() != string(c.class) || !strings.Contains(f.GetMessage(), c.text) || strings.Contains(f.GetMessage(), "secret") {
				t.Errorf("%v, want %s with %q", f, c.class, c.text)
			}
			if got[1][len(got[1])-1].GetEnd() == nil {
				t.Errorf("the other source: %v", got[1])
			}
		})
	}
}

func TestNothingAfterEnd(t *testing.T) {
	_, got := runScan(t, &scripted{scan: func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
		if err := out.End(end()); err != nil {
			return err
		}
		if out.Event(note(0, 1, "x")) == nil || out.End(end()) == nil {
			return errors.New("accepted")
		}
		return Fail(Internal, "ignored: the source has ended")
	}}, job(0))
	if m := got[0]; len(m) != 2 || m[1].GetEnd() == nil {
		t.Fatalf("%v", m)
	}
}

// Several sources are read at once, no more than the limit, and each keeps
// the order of its own messages.
func TestParallelSources(t *testing.T) {
	const sources, limit = 40, 2
	var mu sync.Mutex
	running, most := 0, 0
	both := make(chan struct{})
	p := &scripted{parallel: limit, scan: func(_ context.Context, req ScanRequest, out *SourceWriter) error {
		mu.Lock()
		running++
		if running > most {
			most = running
			if most == limit {
				close(both)
			}
		}
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		<-both // nobody goes on before two are at work
		s, err := out.Session(ownSession())
		for i := uint64(0); i < 30 && err == nil; i++ {
			err = out.Event(note(s, i, strings.Repeat(req.Source.Locator, 20<<10)))
		}
		if err != nil {
			return err
		}
		return out.End(end())
	}}
	jobs := make([]*historyv1.ScanSource, sources)
	for i := range jobs {
		jobs[i] = job(uint32(i))
	}
	if n := parallelSources(0); n < limit {
		t.Skipf("GOMAXPROCS is %d", n)
	}
	_, got := runScan(t, p, jobs...)
	if most != limit {
		t.Errorf("%d at once", most)
	}
	for i, m := range got {
		next := uint64(0)
		if m[0].GetBegin() == nil || m[len(m)-1].GetEnd() == nil {
			t.Fatalf("source %d: not from begin to end", i)
		}
		for _, one := range m {
			for _, e := range one.GetBatch().GetEvents() {
				if e.Sequence != next || !strings.HasPrefix(string(e.Body.Inline), fmt.Sprintf("s%d", i)) {
					t.Fatalf("source %d: event %d after %d", i, e.Sequence, next)
				}
				next++
			}
		}
		if next != 30 {
			t.Errorf("source %d: %d events", i, next)
		}
	}
}

func TestCancelledScanEnds(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf=%v", deaf), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			f := &fakeStream{ctx: ctx, jobs: make(chan *historyv1.ScanSource, 1)}
			f.jobs <- job(0)
			release := make(chan struct{})
			started := make(chan struct{})
			late := make(chan error, 1)
			s := &server{log: nullLog(), provider: &scripted{scan: func(ctx context.Context, _ ScanRequest, out *SourceWriter) error {
				close(started)
				if deaf {
					<-release
				} else {
					<-ctx.Done()
				}
				_, err := out.Session(ownSession())
				late <- err
				return err
			}}}
			done := make(chan error)
			go func() { done <- s.Scan(f) }()
			<-started
			cancel()
			select {
			case err := <-done:
				if status.Code(err) != codes.Canceled {
					t.Errorf("%v", err)
				}
			case <-time.After(5 * time.Second):
				t.Fatal("the call does not end")
			}
			close(release)
			if err := <-late; err == nil {
				t.Error("a late call succeeds")
			}
		})
	}
}

func TestBrokenStreamStopsTheProvider(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeStream{ctx: ctx, jobs: make(chan *historyv1.ScanSource, 1), sendErr: io.ErrClosedPipe}
	f.jobs <- job(0)
	got := make(chan error, 1)
	s := &server{log: nullLog(), provider: &scripted{scan: func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
		err := out.Begin(ModeFull)
		got <- err
		return err
	}}}
	done := make(chan error)
	go func() { done <- s.Scan(f) }()
	if err := <-got; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	cancel()
	<-done
}

func TestBadRequestsOfTheHost(t *testing.T) {
	noMode, outside, nowhere := job(0), job(1), job(2)
	noMode.Mode = 0
	outside.Source.Locator = "../x"
	nowhere.RoutePath = ""
	_, got := runScan(t, &scripted{scan: func(_ context.Context, _ ScanRequest, out *SourceWriter) error { return out.End(end()) }},
		noMode, outside, nowhere)
	for i, m := range got {
		if len(m) != 1 || m[0].GetFailure().GetClass() != "internal" {
			t.Errorf("source %d: %v", i, m)
		}
	}
}

func TestRoutesOfTheFirstMessageCount(t *testing.T) {
	first, second := job(0), job(1)
	first.Routes = []*historyv1.Route{{Path: "/a"}, {Path: "/b"}}
	second.RoutePath, second.Source.Route = "", 1
	_, got := runScan(t, &scripted{parallel: 1, scan: func(_ context.Context, req ScanRequest, out *SourceWriter) error {
		if len(req.Routes) != 2 || req.Source.Route == 1 && req.Path() != "/b/s1" {
			return fmt.Errorf("%+v", req)
		}
		return out.End(end())
	}}, first, second)
	for i, m := range got {
		if m[len(m)-1].GetEnd() == nil {
			t.Errorf("source %d: %v", i, m)
		}
	}
}

func TestRejectionsAreCountedBeyondTheirLimit(t *testing.T) {
	_, got := runScan(t, &scripted{scan: func(_ context.Context, _ ScanRequest, out *SourceWriter) error {
		for range MaxRejections + 10 {
			if err := out.Reject(Rejection{Line: 1}); err != nil {
				return err
			}
		}
		return out.End(end())
	}}, job(0))
	travelled := 0
	for _, m := range got[0] {
		travelled += len(m.GetBatch().GetRejections())
	}
	e := got[0][len(got[0])-1].GetEnd()
	if travelled != MaxRejections || e.RejectionsTotal != MaxRejections+10 || e.Counts.Rejected != MaxRejections+10 {
		t.Fatalf("%d travelled, end %v", travelled, e)
	}
}

// The hot path: an event costs no allocation beside the buffer of its batch.
func TestEventAllocatesNothing(t *testing.T) {
	w := &SourceWriter{ctx: t.Context(), state: writing, last: []uint64{0, 0, 0, 0}, since: time.Now()}
	buf := make([]byte, 0, flushBytes)
	w.batch = &buf
	e := fullEvent()
	e.Policy, e.Body = Policy{}, Pieces(Span{Offset: 11, Length: 3, Quoted: true})
	if n := testing.AllocsPerRun(100, func() {
		*w.batch = (*w.batch)[:0]
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
