package sdkplugin_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// The test binary is also the provider, and the host that gets killed.
const roleEnv = "SDKPLUGIN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "provider":
		sdkplugin.Serve(stream{})
		os.Exit(0)
	case "host":
		host()
	}
	os.Exit(m.Run())
}

// stream is a provider that sends events without reading anything: what is
// measured is the SDK, the transport and the host's decoding.
type stream struct{}

const (
	streamEvents = 20000
	streamText   = 1750 // bytes of structured content: 350 MB of text in 200,000 events
)

func (stream) Describe(_ context.Context, _ sdkplugin.DescribeRequest, d *sdkplugin.DescribeResponse) {
	*d = sdkplugin.DescribeResponse{Id: "stream", ParserRevision: "1", NoKnownLocation: true,
		Formats: []*sdkplugin.Format{{Name: "stream", SchemaVariant: "1", Family: sdkplugin.EventLog}}}
}

func (stream) Inventory(_ context.Context, _ sdkplugin.InventoryRequest, out *sdkplugin.InventoryWriter) error {
	return nil
}

func (stream) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	s, err := out.Session(sdkplugin.Session{Ref: sdkplugin.SessionRef{Kind: "k", Key: sdkplugin.NativeID("n", sdkplugin.Utf8("s"))}})
	if err != nil {
		return err
	}
	text := strings.Repeat("lorem ipsum ", streamText/12)
	structured := []byte(`{"content":"` + text + `","type":"tool_result"}`)
	e := sdkplugin.Event{
		Session: s, Kind: "k-event", Type: sdkplugin.ToolOutput, Role: sdkplugin.RoleTool, Structured: structured,
		Body:   sdkplugin.Pieces(sdkplugin.Span{Offset: 11, Length: uint32(len(text) + 2), Quoted: true}),
		CallID: sdkplugin.Utf8("toolu_0123456789"),
		Result: &sdkplugin.Result{Text: sdkplugin.Present(sdkplugin.Pieces(sdkplugin.Span{Offset: 11, Length: uint32(len(text) + 2), Quoted: true})),
			Structured: sdkplugin.Present(sdkplugin.Pieces(sdkplugin.Span{Length: uint32(len(structured))}))},
		Facts: []sdkplugin.Fact{{Kind: sdkplugin.FactSessionCWD, Value: "/home/dev/project"}, {Kind: sdkplugin.FactBranch, Value: "main"}},
	}
	key := make([]byte, 0, 64)
	n := req.Source.Size
	for i := range n {
		key = sdkplugin.AppendU64(sdkplugin.AppendUtf8(sdkplugin.AppendComposite(key[:0], "n.event", 2), "0b03403c-ae54-8cc9-bbaa-c0084c89c0af"), i)
		e.Key, e.Sequence, e.At = key, i<<16, sdkplugin.AtMillis(1767323045000+int64(i))
		if err := out.Event(&e); err != nil {
			return err
		}
	}
	out.Retain(n)
	return out.End(sdkplugin.Ending{Observation: []byte("o")})
}

func start(tb testing.TB, log io.Writer) (*plugin.Client, historyv1.ProviderClient) {
	tb.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), roleEnv+"=provider", sdkplugin.LogLevelEnv+"=debug")
	cfg := sdkplugin.ClientConfig(cmd, hclog.NewNullLogger())
	cfg.Stderr = log
	client := plugin.NewClient(cfg)
	tb.Cleanup(client.Kill)
	protocol, err := client.Client()
	if err != nil {
		tb.Fatal(err)
	}
	api, err := protocol.Dispense(sdkplugin.PluginName)
	if err != nil {
		tb.Fatal(err)
	}
	return client, api.(historyv1.ProviderClient)
}

// drain scans two sources of n events each and returns how many came.
func drain(tb testing.TB, api historyv1.ProviderClient, n uint64) (events int, bytes int64) {
	tb.Helper()
	scan, err := api.Scan(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for i := range uint32(2) {
		if err := scan.Send(&historyv1.ScanSource{Ordinal: i, RoutePath: "/r", Mode: historyv1.Mode_MODE_FULL,
			Source: &historyv1.Source{Size: n}}); err != nil {
			tb.Fatal(err)
		}
	}
	_ = scan.CloseSend()
	for {
		m, err := scan.Recv()
		if err == io.EOF {
			return events, bytes
		}
		if err != nil {
			tb.Fatal(err)
		}
		if f := m.GetFailure(); f != nil {
			tb.Fatal(f)
		}
		for _, e := range m.GetBatch().GetEvents() {
			events++
			bytes += int64(len(e.Structured))
		}
	}
}

func TestServeInAProcess(t *testing.T) {
	t.Parallel()
	client, api := start(t, io.Discard)
	d, err := api.Describe(t.Context(), &historyv1.DescribeRequest{})
	if err != nil || d.Id != "stream" || d.SdkVersion != sdkplugin.Version {
		t.Fatalf("%v, %v", d, err)
	}
	if n, _ := drain(t, api, 3000); n != 6000 {
		t.Fatalf("%d events", n)
	}
	if r := client.ReattachConfig(); runtime.GOOS != "windows" {
		info, err := os.Stat(r.Addr.String())
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("the socket is open to others: %v, %v", info, err)
		}
	}
}

func TestStartedByHand(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), roleEnv+"=provider")
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), "plugin") {
		t.Fatalf("%v: %s", err, out)
	}
}

// host starts the provider, tells its pid and socket, and waits to be killed.
func host() {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), roleEnv+"=provider")
	client := plugin.NewClient(sdkplugin.ClientConfig(cmd, hclog.NewNullLogger()))
	if os.Getenv("SDKPLUGIN_TEST_CONNECT") != "" {
		if _, err := client.Client(); err != nil {
			fmt.Println("error", err)
		}
	} else if _, err := client.Start(); err != nil {
		fmt.Println("error", err)
	}
	r := client.ReattachConfig()
	fmt.Println(r.Pid, r.Addr)
	select {}
}

// A provider ends with its host, however that ends, and leaves no socket.
func TestProviderEndsWithItsHost(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs unix signals")
	}
	for _, env := range []string{"SDKPLUGIN_TEST_CONNECT=", "SDKPLUGIN_TEST_CONNECT=1", sdkplugin.LogLevelEnv + "=debug"} {
		t.Run(env, func(t *testing.T) { // the last one logs to a host that is gone
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), roleEnv+"=host", env)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			words := strings.Fields(line)
			if err != nil || len(words) != 2 {
				t.Fatalf("%q, %v", line, err)
			}
			pid, err := strconv.Atoi(words[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			deadline := time.Now().Add(10 * time.Second)
			for alive(pid) {
				if time.Now().After(deadline) {
					t.Fatal("the provider outlives its host")
				}
				time.Sleep(20 * time.Millisecond)
			}
			if _, err := os.Stat(filepath.Dir(words[1])); !os.IsNotExist(err) {
				t.Errorf("the socket directory is left behind: %v", err)
			}
		})
	}
}

// alive tells whether a process that is no child of this one still runs.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// A zombie that nobody collects has ended.
		return !strings.Contains(string(stat), ") Z ")
	}
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(signalZero) == nil
}

// BenchmarkProcessPair measures events that go from the provider's SDK through
// the socket into messages of the host.
func BenchmarkProcessPair(b *testing.B) {
	client, api := start(b, io.Discard)
	b.ReportAllocs()
	var events int
	var bytes int64
	began, cpu := time.Now(), processorTime(client.ReattachConfig().Pid)
	for b.Loop() {
		n, size := drain(b, api, streamEvents/2)
		events, bytes = events+n, bytes+size
	}
	took := time.Since(began).Seconds()
	b.ReportMetric(float64(events)/took, "events/s")
	b.ReportMetric(float64(bytes)/1e6/took, "MB/s")
	if used := processorTime(client.ReattachConfig().Pid) - cpu; used > 0 {
		b.ReportMetric(used.Seconds()*1e9/float64(bytes)*1e6/1e6, "provider-ms/MB")
	}
}

// processorTime of another process, 0 where it cannot be read.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// BenchmarkManySources measures what a source costs beside its events.
func BenchmarkManySources(b *testing.B) {
	const sources = 2000
	client, api := start(b, io.Discard)
	cpu := processorTime(client.ReattachConfig().Pid)
	for b.Loop() {
		scan, err := api.Scan(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			for i := range uint32(sources) {
				_ = scan.Send(&historyv1.ScanSource{Ordinal: i, RoutePath: "/r", Mode: historyv1.Mode_MODE_FULL,
					Source: &historyv1.Source{Size: 2}})
			}
			_ = scan.CloseSend()
		}()
		for {
			if _, err := scan.Recv(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*sources), "µs/source")
	used := processorTime(client.ReattachConfig().Pid) - cpu
	b.ReportMetric(float64(used.Microseconds())/float64(b.N*sources), "provider-µs/source")
}
