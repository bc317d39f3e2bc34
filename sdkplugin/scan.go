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

// scanStream is one Scan call.
type scanStream struct {
	provider Provider
	stream   grpc.BidiStreamingServer[historyv1.ScanSource, historyv1.ScanMessage]

	sending sync.Mutex // one message at a time
	over    bool       // nothing may be sent any more
}

// grace is how long a cancelled Scan waits for providers to notice. The call is over after it; what they still report goes
// nowhere.
const grace = 50 * time.Millisecond

var errStreamOver = errors.New("the scan is over")

// run reads sources as the host names them, several at once. It takes the next one only when a worker is free, so the host is
// held back by flow control.
func (s *scanStream) run(ctx context.Context, parallel int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errStreamOver)
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
	s.sending.Lock()
	s.over = true
	s.sending.Unlock()
	if err == nil {
		err = context.Cause(ctx)
	}
	return asStatus(err)
}

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
	err := s.callScan(ctx, source, w)
	if ended, broken := w.abandon(errEnded); ended || ctx.Err() != nil {
		return // the provider has said all, or nobody listens any more
	} else if err == nil {
		err = broken
	}
	if err == nil {
		err = Fail(Internal, "the provider returned without End")
	}
	f := failureOf(err)
	// A stream that is broken is noticed by receive.
	_ = s.send(&historyv1.ScanMessage{Message: &historyv1.ScanMessage_Failure{Failure: &historyv1.SourceFailure{
		Source: source.Ordinal, Class: string(f.Class), Message: clip(f.Message)}}})
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
		Routes: routesFromWire(source.Routes), Source: sourceFromWire(source.Source), Mode: source.Mode,
		Frontier: source.Frontier, CertifiedBytes: source.CertifiedBytes, ContentDigest: source.ContentDigest,
		Counts: countsFromWire(source.Counts),
	}
	if req.Mode != ModeFull && req.Mode != ModeAppend {
		return req, Fail(Internal, "the host asked for no known mode")
	}
	if !ValidLocator(req.Source.Locator) {
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

// send takes a message, or a batch that is encoded already.
func (s *scanStream) send(m any) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.over {
		return errStreamOver
	}
	return s.stream.SendMsg(m)
}

// parallelSources is how many sources are read at once.
func parallelSources(limit uint32) int {
	n := runtime.GOMAXPROCS(0)
	if limit > 0 {
		return min(n, int(limit))
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
