package sdkplugin

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Version of the SDK; providers report it.
const Version = "1.0.0"

// ProtocolVersion is the version of the contract between host and provider.
const ProtocolVersion = 1

// PluginName is the name of the one plugin that a provider process serves.
const PluginName = "history"

// Environment variables between host and provider process.
const (
	// LogLevelEnv sets the level of the provider's log on stderr: trace, debug, info, warn (default), error or off.
	LogLevelEnv = "CTX_PROVIDER_LOG_LEVEL"
	// HostPIDEnv holds the process id of the host; without it the provider takes its parent for the host.
	HostPIDEnv = "CTX_PROVIDER_HOST_PID"
)

// Handshake is what host and provider must agree on before anything else. It keeps people from starting a provider by hand; it is
// no protection.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "CTX_HISTORY_PROVIDER",
	MagicCookieValue: "2f6d1f0e-8c0c-4b0f-9a7e-6f1f4c6f5b1d",
}

// Plugins is the plugin set of the host side: Dispense(PluginName) gives a historyv1.ProviderClient.
func Plugins() plugin.PluginSet { return plugin.PluginSet{PluginName: &GRPCPlugin{}} }

// GRPCPlugin connects go-plugin with the service. Provider is nil on the host side.
type GRPCPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	Provider Provider
	Log      hclog.Logger
}

// GRPCServer registers the provider.
func (p *GRPCPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	log := p.Log
	if log == nil {
		log = hclog.NewNullLogger()
	}
	historyv1.RegisterProviderServer(s, &server{provider: p.Provider, log: log})
	return nil
}

// GRPCClient returns a historyv1.ProviderClient.
func (p *GRPCPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return historyv1.NewProviderClient(c), nil
}

// Flow control windows of the host: they bound what a provider can have sent before the host has taken it.
const (
	StreamWindow     = 8 << 20
	ConnectionWindow = 16 << 20
)

// ClientConfig is how a host starts a provider: the handshake, gRPC only, message caps and windows, and a private channel. That
// is a unix socket in a directory of the user, or, where there are none, loopback with certificates made for this one process.
// The host adds timeouts and where stderr goes. The provider's environment is cmd.Env, or that of the host when it is nil.
func ClientConfig(cmd *exec.Cmd, log hclog.Logger) *plugin.ClientConfig {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, HostPIDEnv+"="+strconv.Itoa(os.Getpid()))
	return &plugin.ClientConfig{
		SkipHostEnv:      true, // it would be added behind cmd.Env and win
		HandshakeConfig:  Handshake,
		Plugins:          Plugins(),
		Cmd:              cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         runtime.GOOS == "windows",
		Logger:           log,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxWireMessage), grpc.MaxCallSendMsgSize(MaxWireMessage)),
			grpc.WithInitialWindowSize(StreamWindow),
			grpc.WithInitialConnWindowSize(ConnectionWindow),
			grpc.WithReadBufferSize(256 << 10),
		},
	}
}
