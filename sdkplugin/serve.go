package sdkplugin

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// Memory of a provider process, unless GOMEMLIMIT or GOGC say otherwise. Scans make little garbage beside the batches, which are
// reused: a rare collection costs less than the few megabytes it would save.
const (
	memoryLimit = 200 << 20
	gcPercent   = 300
)

const (
	exitGrace      = time.Second            // for open calls to end once the host is gone
	reconnectGrace = 500 * time.Millisecond // without any connection before the host counts as gone
	firstConnect   = time.Minute            // for the host to connect at all
)

// Serve runs the provider until the host goes away. It is the whole main function of a provider:
//
//	func main() { sdkplugin.Serve(acme.New()) }
//
// Started by hand it prints a line about that and exits with status 1. It returns, or ends the process, when the host closes the
// connection or dies. The log (hclog.FromContext) goes to stderr; stdout belongs to the protocol.
func Serve(p Provider) {
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit)
	}
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	prepareProcess()
	log := hclog.New(&hclog.LoggerOptions{
		Output: os.Stderr, JSONFormat: true, Level: logLevel(os.Getenv(LogLevelEnv)),
	})
	life := &lifetime{log: log}
	if os.Getenv(Handshake.MagicCookieKey) == Handshake.MagicCookieValue {
		if err := life.makeSocketDir(); err != nil {
			log.Error("no private directory for the socket", "error", err)
			os.Exit(1)
		}
		gone := waitForHost(os.Getenv(HostPIDEnv))
		go func() { <-gone; life.stop("the host process is gone") }()
		time.AfterFunc(firstConnect, func() { life.stopUnconnected("the host never connected") })
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: Handshake,
		Plugins:         plugin.PluginSet{PluginName: &GRPCPlugin{Provider: p, Log: log}},
		Logger:          log,
		GRPCServer:      life.newServer,
	})
	life.cleanUp()
}

func logLevel(s string) hclog.Level {
	if level := hclog.LevelFromString(s); level != hclog.NoLevel {
		return level
	}
	return hclog.Warn
}

// serverOptions are those of every provider's gRPC server.
func serverOptions(handler stats.Handler) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newWireCodec()),
		grpc.MaxRecvMsgSize(MaxWireMessage),
		grpc.MaxSendMsgSize(MaxWireMessage),
		grpc.WriteBufferSize(256 << 10),
		grpc.StatsHandler(handler),
	}
}

// exits is what is to be done when the process ends.
var exits struct {
	sync.Mutex
	all []func()
}

// AtExit has f called when the process of a provider ends in order, for files that nobody needs afterwards.
func AtExit(f func()) {
	exits.Lock()
	defer exits.Unlock()
	exits.all = append(exits.all, f)
}

// lifetime ends the process when its host is gone. Two signs count: the host's process is no more, or its last connection has
// closed. A host that is killed leaves both; one that is asked to stop leaves the second. A provider started through a wrapper
// script only sees the second.
type lifetime struct {
	log       hclog.Logger
	socketDir string // made for this process; empty = not made

	mu     sync.Mutex
	server *grpc.Server
	open   int
	once   sync.Once
}

func (l *lifetime) newServer(opts []grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(append(opts, serverOptions(l)...)...)
	l.mu.Lock()
	l.server = s
	l.mu.Unlock()
	return s
}

// stop ends the server, so that plugin.Serve returns, and the process itself if a call does not give up.
func (l *lifetime) stop(why string) {
	l.once.Do(func() {
		l.log.Debug("exiting", "reason", why)
		time.AfterFunc(exitGrace, func() {
			l.cleanUp()
			os.Exit(0)
		})
		l.mu.Lock()
		s := l.server
		l.mu.Unlock()
		if s == nil { // before the handshake
			l.cleanUp()
			os.Exit(0)
		}
		s.Stop()
	})
}

// makeSocketDir gives the socket a directory that nobody else can enter, unless the host has chosen one.
func (l *lifetime) makeSocketDir() error {
	if runtime.GOOS == "windows" || os.Getenv(plugin.EnvUnixSocketDir) != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "ctx-p-") // mode 0700; short, as socket paths must be
	if err != nil {
		return err
	}
	l.socketDir = dir
	return os.Setenv(plugin.EnvUnixSocketDir, dir)
}

func (l *lifetime) cleanUp() {
	exits.Lock()
	defer exits.Unlock()
	for _, f := range exits.all {
		f()
	}
	exits.all = nil
	if l.socketDir != "" {
		_ = os.RemoveAll(l.socketDir)
	}
}

// HandleConn counts connections.
func (l *lifetime) HandleConn(_ context.Context, s stats.ConnStats) {
	l.mu.Lock()
	switch s.(type) {
	case *stats.ConnBegin:
		l.open++
	case *stats.ConnEnd:
		l.open--
	}
	last := l.open == 0
	l.mu.Unlock()
	if last {
		time.AfterFunc(reconnectGrace, func() { l.stopUnconnected("the host closed its connection") })
	}
}

func (l *lifetime) stopUnconnected(why string) {
	l.mu.Lock()
	connected := l.open > 0
	l.mu.Unlock()
	if !connected {
		l.stop(why)
	}
}

// The other methods of a stats.Handler have nothing to do.

func (l *lifetime) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (l *lifetime) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (l *lifetime) HandleRPC(context.Context, stats.RPCStats)                         {}
