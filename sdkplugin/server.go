package sdkplugin

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// server puts a Provider behind the gRPC service. A panic of the provider is an error of the one call, or of the one source in
// Scan.
type server struct {
	historyv1.UnimplementedProviderServer
	provider Provider
	log      hclog.Logger

	describeOnce sync.Once
	described    *historyv1.DescribeResponse
	describeErr  error
}

func (s *server) context(ctx context.Context) context.Context {
	return hclog.WithContext(ctx, s.log)
}

func (s *server) recovered(call string, err *error) {
	if p := recover(); p != nil {
		s.log.Error("the provider panicked", "call", call, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "the provider panicked in %s", call)
	}
}

// Describe asks the provider once: the answer is static.
func (s *server) Describe(ctx context.Context, req *historyv1.DescribeRequest) (*historyv1.DescribeResponse, error) {
	s.describeOnce.Do(func() { s.described, s.describeErr = s.describe(ctx, req) })
	return s.described, s.describeErr
}

func (s *server) describe(ctx context.Context, req *historyv1.DescribeRequest) (out *historyv1.DescribeResponse, err error) {
	defer s.recovered("Describe", &err)
	var d DescribeResponse
	s.provider.Describe(s.context(context.WithoutCancel(ctx)), DescribeRequest{HostVersion: req.GetHostVersion()}, &d)
	_, d.Resolves = s.provider.(Resolver)
	complete(&d)
	if err := ValidateDescription(&d); err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "the provider's description is invalid: %v", err)
	}
	return &d, nil
}

func (s *server) Resolve(ctx context.Context, req *historyv1.ResolveRequest) (out *historyv1.ResolveResponse, err error) {
	defer s.recovered("Resolve", &err)
	resolver, ok := s.provider.(Resolver)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "the provider declares all its locations")
	}
	var resp ResolveResponse
	if err := resolver.Resolve(s.context(ctx), req, &resp); err != nil {
		return nil, callError(ctx, err)
	}
	for _, i := range resp.Issues {
		i.Message = clip(i.Message)
	}
	return &resp, nil
}

func (s *server) Inventory(req *historyv1.InventoryRequest, stream grpc.ServerStreamingServer[historyv1.InventoryMessage]) (err error) {
	defer s.recovered("Inventory", &err)
	ctx := s.context(stream.Context())
	in := InventoryRequest{Routes: routesFromWire(req.Routes), MaxSources: int(req.MaxSources)}
	out := newInventoryWriter(ctx, in, stream.Send)
	seen, limited := s.observe(ctx, in.Routes, req.Changed)
	if out.end.Limited = limited; limited {
		for i := range seen {
			err = cmp.Or(err, out.Source(seen[i]))
		}
	} else {
		err = s.provider.Inventory(ctx, in, out)
	}
	if err == nil {
		err = out.finish()
	}
	if err != nil {
		return callError(ctx, err)
	}
	return nil
}

// observe looks at the files that changed; ok is false when everything has to be listed.
func (s *server) observe(ctx context.Context, routes []Route, changed []*historyv1.Source) (seen []Source, ok bool) {
	observer, ok := s.provider.(Observer)
	if !ok || len(changed) == 0 {
		return nil, false
	}
	for _, c := range changed {
		known := sourceFromWire(c)
		if known.Route >= len(routes) {
			return nil, false
		}
		now, err := observer.Observe(ctx, routes[known.Route], known)
		if err != nil {
			return nil, false
		}
		if len(now.Anchor) > 0 {
			now.Route = known.Route
			seen = append(seen, now)
		}
	}
	return seen, true
}

func (s *server) Scan(stream grpc.BidiStreamingServer[historyv1.ScanSource, historyv1.ScanMessage]) error {
	described, err := s.Describe(stream.Context(), &historyv1.DescribeRequest{})
	if err != nil {
		return err
	}
	scan := &scanStream{provider: s.provider, stream: stream}
	return scan.run(s.context(stream.Context()), parallelSources(described.GetLimits().GetParallelSources()))
}

// callError hides the text of unknown errors, which may name files or quote the history, and keeps that of the ones made for the
// host.
func callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	f := failureOf(err)
	return status.Errorf(codes.Internal, "%s: %s", f.Class, clip(f.Message))
}

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
