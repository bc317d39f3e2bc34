package pluginhost

import (
	"context"
	"net"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// connect opens the one connection to the plugin. go-plugin's own client is left out on purpose: it would also run a broker for
// further connections and a call without a deadline at the end, both of which a hostile plugin can abuse. Of what its server
// offers, two calls are made here: the one that drains redirected output and the one that asks to exit.
func (p *Plugin) connect(address net.Addr, config *plugin.ClientConfig) error {
	transport := insecure.NewCredentials()
	if config.TLSConfig != nil {
		transport = credentials.NewTLS(config.TLSConfig)
	}
	options := append(config.GRPCDialOptions[:len(config.GRPCDialOptions):len(config.GRPCDialOptions)],
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, address.Network(), address.String())
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(p.codec)),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithMaxHeaderListSize(64<<10),
	)
	conn, err := grpc.NewClient("passthrough:///provider", options...)
	if err != nil {
		return err
	}
	p.conn = conn
	p.client = historyv1.NewProviderClient(conn)
	go p.drainOutput()
	return nil
}

// drainOutput reads what the plugin's own code prints: go-plugin's server redirects it into a call, and a plugin whose output
// nobody takes stands still sooner or later. All of it is treated like stderr. It ends with the connection, not with the life
// of the calls: what is printed while the process exits is worth reading too.
func (p *Plugin) drainOutput() {
	stream, err := p.conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, "/plugin.GRPCStdio/StreamStdio",
		grpc.ForceCodecV2(encoding.GetCodecV2("proto")), grpc.MaxCallRecvMsgSize(1<<20))
	if err != nil || stream.SendMsg(&emptypb.Empty{}) != nil || stream.CloseSend() != nil {
		return
	}
	// StdioData is no public type; Any has the same field 2, the bytes. The channel in field 1 makes no difference.
	for message := new(anypb.Any); stream.RecvMsg(message) == nil; {
		_, _ = p.stderr.Write(message.GetValue())
	}
}

// shutDown asks the process to exit and waits for it, at most for the limit.
func (p *Plugin) shutDown() {
	if p.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.limits.Stop)
	defer cancel()
	go func() {
		_ = p.conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	}()
	select {
	case <-p.process.exited:
	case <-ctx.Done():
		p.log.Warn("did not exit in time", "limit", p.limits.Stop.Round(time.Millisecond).String())
	}
}
