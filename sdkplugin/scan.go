package sdkplugin

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// scanStream is one Scan call: the stream, and the writers at work on it.
type scanStream struct {
	provider Provider
	stream   grpc.BidiStreamingServer[historyv1.ScanSource, historyv1.ScanMessage]
	ctx      context.Context

	sending sync.Mutex // one message at a time

	mu      sync.Mutex
	writers map[uint32]*SourceWriter
}

// grace is how long a cancelled Scan waits for providers to notice. The call
// is over after it; what they still report goes nowhere.
const grace = 50 * time.Millisecond

// run reads sources as the host names them, several at once. It takes the next
// one only when a worker is free, so the host is held back by flow control.
func (s *scanStream) run(parallel int) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(errStreamOver)
	s.ctx = ctx
	flusher := time.NewTicker(flushAfter / 4)
	defer flusher.Stop()
	go s.flushOld(ctx, flusher.C)

	next := make(chan *historyv1.ScanSource)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for source := range next {
				s.scan(ctx, source)
			}
		})
	}
	err := s.receive(ctx, next)
	close(next)
	if err != nil {
		cancel(err)
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(grace):
		}
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	s.abandonAll(err)
	return asStatus(err)
}

var errStreamOver = errors.New("the scan is over")

// receive hands the sources on until the host closes its side.
func (s *scanStream) receive(ctx context.Context, next chan<- *historyv1.ScanSource) error {
	var routes []*historyv1.Route
	for {
		source, err := s.stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(source.Routes) > 0 {
			routes = source.Routes
		}
		source.Routes = routes
		select {
		case next <- source:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *scanStream) scan(ctx context.Context, source *historyv1.ScanSource) {
	w := &SourceWriter{ctx: ctx, out: s, source: source.Ordinal, base: countsFromWire(source.Counts)}
	if !s.add(w) {
		s.sendFailure(source.Ordinal, Fail(Internal, "the host used this ordinal twice"))
		return
	}
	defer s.remove(w)
	err := s.callScan(ctx, source, w)
	w.mu.Lock()
	over, broken := w.state == ended, w.err
	w.mu.Unlock()
	switch {
	case ctx.Err() != nil || over:
		// Nobody listens any more, or the provider has said all.
	case err != nil:
		s.sendFailure(source.Ordinal, failureOf(err))
	case broken != nil:
		s.sendFailure(source.Ordinal, failureOf(broken))
	default:
		s.sendFailure(source.Ordinal, Fail(Internal, "the provider returned without End"))
	}
	w.abandon(errEnded)
}

// callScan turns a panic into a failure of this source.
func (s *scanStream) callScan(ctx context.Context, source *historyv1.ScanSource, w *SourceWriter) (err error) {
	defer func() {
		if p := recover(); p != nil {
			hclog.FromContext(ctx).Error("the provider panicked in Scan", "stack", string(debug.Stack()))
			err = Fail(Internal, "the provider panicked")
		}
	}()
	req, err := scanRequest(source)
	if err != nil {
		return err
	}
	return s.provider.Scan(ctx, req, w)
}

func scanRequest(source *historyv1.ScanSource) (ScanRequest, error) {
	req := ScanRequest{
		Routes: routesFromWire(source.Routes), Source: sourceFromWire(source.Source), Mode: Mode(source.Mode),
		Frontier: source.Frontier, CertifiedBytes: source.CertifiedBytes, ContentDigest: source.ContentDigest,
		Counts: countsFromWire(source.Counts),
	}
	if req.Mode != ModeFull && req.Mode != ModeAppend {
		return req, Fail(Internal, "the host asked for no known mode")
	}
	if err := validLocator(req.Source.Locator); err != nil {
		return req, Fail(Internal, "the host sent a bad locator")
	}
	if req.Source.Route < len(req.Routes) {
		req.Route = req.Routes[req.Source.Route]
	}
	if source.RoutePath != "" {
		req.Route.Path = source.RoutePath
	}
	if req.Route.Path == "" {
		return req, Fail(Internal, "the host named no route")
	}
	return req, nil
}

func countsFromWire(c *historyv1.Counts) Counts {
	return Counts{Complete: c.GetComplete(), Retained: c.GetRetained(), Rejected: c.GetRejected(), Ignored: c.GetIgnored()}
}

func (s *scanStream) send(m *historyv1.ScanMessage) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.stream.Send(m)
}

func (s *scanStream) sendBatch(batch *[]byte) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.stream.SendMsg(&encodedBatch{batch})
}

func (s *scanStream) sendFailure(source uint32, f *Failure) {
	// A stream that is broken is noticed by receive.
	_ = s.send(&historyv1.ScanMessage{Message: &historyv1.ScanMessage_Failure{Failure: &historyv1.SourceFailure{
		Source: source, Class: string(f.Class), Message: clip(f.Message)}}})
}

func (s *scanStream) add(w *SourceWriter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.writers[w.source]; taken {
		return false
	}
	if s.writers == nil {
		s.writers = map[uint32]*SourceWriter{}
	}
	s.writers[w.source] = w
	return true
}

func (s *scanStream) remove(w *SourceWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writers, w.source)
}

func (s *scanStream) open() []*SourceWriter {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*SourceWriter, 0, len(s.writers))
	for _, w := range s.writers {
		out = append(out, w)
	}
	return out
}

func (s *scanStream) flushOld(ctx context.Context, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick:
			for _, w := range s.open() {
				w.flushOld(now)
			}
		}
	}
}

func (s *scanStream) abandonAll(err error) {
	if err == nil {
		err = errStreamOver
	}
	for _, w := range s.open() {
		w.abandon(err)
	}
}

// parallelSources is how many sources are read at once.
func parallelSources(limit uint32) int {
	n := runtime.GOMAXPROCS(0)
	if limit > 0 && int(limit) < n {
		return int(limit)
	}
	return n
}

// asStatus keeps gRPC errors as they are.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}
