package pluginhost

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// The test binary plays every part in these tests: started with `provider serve NAME` it is a built-in provider, with
// `plugin MODE` a third-party one that is wrong in some way, and with `host MODE` a host.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "provider":
			sdkplugin.Serve(&provider{})
			return
		case "plugin":
			playPlugin(os.Args[2])
			return
		case "host":
			playHost(os.Args[2])
			return
		}
	}
	os.Exit(m.Run())
}

// provider is a correct one: each route holds Explicit ? 1 : 3 sources, each source gives two sessions of fifty events.
type provider struct{}

func (provider) Describe(_ context.Context, _ sdkplugin.DescribeRequest, d *sdkplugin.DescribeResponse) {
	d.Id, d.DisplayName, d.Version, d.ParserRevision = "acme", "Acme", "1.0.0", "acme-1"
	d.Formats = []*sdkplugin.Format{{Name: "acme_tree", SchemaVariant: "acme-v1", Family: sdkplugin.JSONLTranscript}}
	d.Environment = []string{"ACME_HOME", "ACME_API_KEY"}
}

func (provider) Resolve(_ context.Context, req *sdkplugin.ResolveRequest, resp *sdkplugin.ResolveResponse) error {
	for name, value := range req.Environment {
		resp.Candidates = append(resp.Candidates, &sdkplugin.Candidate{Path: value, Format: "acme_tree", Role: name})
	}
	return nil
}

func (provider) Inventory(_ context.Context, req sdkplugin.InventoryRequest, out *sdkplugin.InventoryWriter) error {
	for i := range req.Routes {
		for n := range 3 {
			err := out.Source(sdkplugin.Source{
				Route: i, Anchor: sdkplugin.NativeAnchor("acme", sdkplugin.U64(uint64(n))), Format: "acme_tree", Locator: fmt.Sprintf("%d.jsonl", n),
				Observation: []byte("seen"), Size: 100,
			})
			if err != nil {
				return err
			}
		}
		out.Route(i, sdkplugin.RouteComplete)
	}
	return nil
}

func (provider) Scan(_ context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	fmt.Println("printed by the provider's own code")
	for s := range 2 {
		session, err := out.Session(sdkplugin.Session{Ref: sdkplugin.SessionRef{Kind: "s", Key: sdkplugin.NativeID("acme", sdkplugin.U64(uint64(s)))}})
		if err != nil {
			return err
		}
		for n := range 50 {
			err := out.Event(&sdkplugin.Event{
				Key: sdkplugin.NativeID("acme", sdkplugin.U64(uint64(n))), Kind: "e", Session: session, Sequence: uint64(n), Type: "message",
				Body: sdkplugin.Value{Present: true, Bytes: []byte("text")},
			})
			if err != nil {
				return err
			}
			out.Retain(1)
		}
	}
	return out.End(sdkplugin.Ending{Observation: req.Source.Observation, CertifiedBytes: 100})
}

// playPlugin is wrong in the way that mode names.
func playPlugin(mode string) {
	switch mode {
	case "exit":
		os.Exit(3)
	case "silent":
		time.Sleep(time.Hour)
	case "closes-stdout":
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Println("Hello! This is no handshake, but <secret> text.")
		time.Sleep(time.Hour)
	case "endless-garbage":
		for {
			if _, err := os.Stdout.Write([]byte(strings.Repeat("x", 4096))); err != nil {
				os.Exit(1)
			}
		}
	case "other-version":
		fmt.Println("1|99|unix|/nowhere|grpc")
		time.Sleep(time.Hour)
	case "foreign-socket":
		fmt.Println("1|1|unix|/var/run/docker.sock|grpc")
		time.Sleep(time.Hour)
	case "foreign-port":
		fmt.Println("1|1|tcp|127.0.0.1:80|grpc")
		time.Sleep(time.Hour)
	case "deaf", "deaf-with-child":
		if mode == "deaf-with-child" {
			child := exec.Command(os.Args[0], "plugin", "silent")
			if err := child.Start(); err != nil {
				os.Exit(1)
			}
			fmt.Fprintln(os.Stderr, "child", child.Process.Pid)
		}
		listener, err := net.Listen("unix", filepath.Join(os.Getenv(plugin.EnvUnixSocketDir), "plugin1"))
		if err != nil {
			os.Exit(1)
		}
		fmt.Printf("1|1|unix|%s|grpc\n", listener.Addr())
		for {
			if conn, err := listener.Accept(); err == nil {
				go io.Copy(io.Discard, conn)
			}
		}
	default:
		fmt.Fprintln(os.Stderr, "mode", mode)
		plugin.Serve(&plugin.ServeConfig{
			HandshakeConfig: sdkplugin.Handshake, GRPCServer: plugin.DefaultGRPCServer,
			Plugins: plugin.PluginSet{sdkplugin.PluginName: &liarPlugin{mode: mode}},
		})
	}
}

type liarPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	mode string
}

func (l *liarPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	historyv1.RegisterProviderServer(s, &liar{mode: l.mode})
	return nil
}

func (l *liarPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// playHost starts one plugin, prints its process id and waits to be killed.
func playHost(mode string) {
	launcher := &Launcher{Self: os.Args[0]}
	spec := Spec{Name: "acme"}
	if mode != "built-in" {
		spec.Command = []string{os.Args[0], "plugin", mode}
	}
	p, err := launcher.Start(context.Background(), spec)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.process.pid(), p.process.dir)
	time.Sleep(time.Hour)
}
