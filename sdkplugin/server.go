package sdkplugin

import (
	"context"
	"runtime/debug"
	"sync"

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
	if err := s.provider.Inventory(ctx, in, out); err != nil {
		return callError(ctx, err)
	}
	if err := out.finish(); err != nil {
		return callError(ctx, err)
	}
	return nil
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
