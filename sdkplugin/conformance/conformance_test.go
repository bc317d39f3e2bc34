package conformance_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/conformance"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// defectEnv names the way in which the process started by a test is wrong.
const defectEnv = "SCRIBBLE_DEFECT"

func TestMain(m *testing.M) {
	defect := os.Getenv(defectEnv)
	byHost := os.Getenv(sdkplugin.Handshake.MagicCookieKey) != ""
	switch {
	case len(os.Args) > 1 && os.Args[1] == "fixture":
		fixtureCommand(os.Args[2:])
	case defect == "runs-by-hand" && !byHost, defect == "never-starts":
		time.Sleep(time.Hour) // an empty select would be found out as a deadlock
	case defect == "exits-well":
		os.Exit(0)
	case defect == "stays", strings.HasPrefix(defect, "raw-"):
		serveRaw(defect)
	}
	conformance.Main(m, &scribbler{Defect: defect})
}

// serveRaw serves without the SDK's own server process.
func serveRaw(defect string) {
	var p plugin.Plugin = &sdkplugin.GRPCPlugin{Provider: &scribbler{}}
	if defect != "stays" {
		p = &rawPlugin{server: &rawServer{defect: defect}}
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: sdkplugin.Handshake, GRPCServer: plugin.DefaultGRPCServer,
		Plugins: plugin.PluginSet{sdkplugin.PluginName: p},
	})
	os.Exit(1)
}

type rawPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *rawServer
}

func (p *rawPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	historyv1.RegisterProviderServer(s, p.server)
	return nil
}

func (p *rawPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// rawServer does the little that lets the kit go on to the check in question.
type rawServer struct {
	historyv1.UnimplementedProviderServer
	defect string
}

func (s *rawServer) Describe(context.Context, *historyv1.DescribeRequest) (*historyv1.DescribeResponse, error) {
	return &historyv1.DescribeResponse{
		Id: "raw", CliName: "raw", DisplayName: "Raw", ParserRevision: "1", NoKnownLocation: true,
		Formats: []*historyv1.Format{{Name: "raw", Leaf: "raw", SchemaVariant: "raw", IdentityVersion: 1, Family: historyv1.Family_FAMILY_EVENT_LOG}},
	}, nil
}

func (s *rawServer) Scan(stream grpc.BidiStreamingServer[historyv1.ScanSource, historyv1.ScanMessage]) error {
	<-stream.Context().Done()
	if s.defect == "raw-cancel-kills" {
		os.Exit(5)
	}
	return stream.Context().Err()
}

func scribble() conformance.Lines {
	return conformance.Lines{
		FormatName: scribbleFormat,
		Role:       scribbleRole,
		Name:       func(session int) string { return fmt.Sprintf("p%02d/s%05d.jsonl", session%7, session) },
		Header:     func(int) []byte { return []byte("{\"kind\":\"header\"}\n") },
		Line: func(_, record int, text string) []byte {
			return fmt.Appendf(nil, `{"id":"r%d","role":"user","text":%q,"at":%d}`, record, text, 1767323045000+record)
		},
	}
}

func TestScribbleConforms(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Config{Command: conformance.Self(), Fixture: scribble()})
}

// Every check fails for a provider that breaks its promise.
func TestDefectsAreFound(t *testing.T) {
	t.Parallel()
	cases := []struct{ defect, check, detail string }{
		{"runs-by-hand", "manual_start", "keeps running"},
		{"exits-well", "manual_start", "status 0"},
		{"never-starts", "handshake", ""},
		{"describe-unstable", "describe", "two processes"},
		{"describe-incomplete", "describe", "parser revision"},
		{"missing-is-complete", "missing_route", "deleted"},
		{"empty-is-incomplete", "empty_route", "not complete"},
		{"vanished-is-empty", "missing_source", "was read"},
		{"raw-cancel-kills", "cancelled_call", "does not answer"},
		{"inventory-drops", "inventory_complete", "missing"},
		{"same-anchor", "inventory_complete", "same anchor"},
		{"inventory-crash", "inventory_complete", ""},
		{"inventory-order", "inventory_complete", "comes before"},
		{"scan-panic", "scan_complete", "panicked"},
		{"scan-crash", "scan_complete", ""},
		{"no-end", "scan_complete", "without End"},
		{"counts-wrong", "scan_complete", "retained"},
		{"key-twice", "events_valid", "same key"},
		{"not-canonical", "events_valid", "canonical"},
		{"body-not-utf8", "events_valid", "UTF-8"},
		{"too-big", "events_valid", "bytes"},
		{"key-by-chance", "scan_twice", "event 0"},
		{"append-repeats", "append_equals_full", "events"},
		{"observation-constant", "observation_changes", "never be read again"},
		{"observation-by-chance", "observation_changes", "every time"},
		{"observe-stale", "changed_file", "instead of"},
		{"digest-wrong", "certified_digest", "another digest"},
		{"reads-tail", "torn_tail", "line feed"},
		{"damaged-fails", "damaged_record", "malformed_source"},
		{"long-line-kept", "long_line", "events"},
		{"long-line-fails", "long_line", "too long"},
		{"append-unverified", "rewritten_prefix", "no longer there"},
		{"vanished-is-empty", "vanished_file", "certified"},
		{"unreadable-is-empty", "unreadable_file", "certified"},
		{"follows-links", "links_and_pipes", "3 sources"},
		{"ignores-cancel", "cancelled_scan", "still running"},
		{"inventory-order", "sample_scan", "comes before"},
		{"key-by-chance", "sample_scan", "read twice"},
		{"append-repeats", "sample_append", "appended and full"},
		{"inventory-cap", "many_sources", "100 sessions"},
		{"stays", "host_gone", "still runs"},
	}
	found := map[string]bool{}
	sample := sampleFolder(t)
	for _, c := range cases {
		found[c.check] = true
		t.Run(c.defect+"/"+c.check, func(t *testing.T) {
			t.Parallel()
			report := conformance.Check(context.Background(), conformance.Config{
				Command: conformance.Self(), Env: []string{defectEnv + "=" + c.defect}, Fixture: scribble(), Sample: sample,
				Only: []string{c.check}, Sources: 150,
			})
			got, ok := report.Get(c.check)
			switch {
			case !ok:
				t.Fatal("the check did not run")
			case got.Status == conformance.NotRun && os.Geteuid() == 0 && c.check == "unreadable_file":
				t.Skip(got.Detail)
			case got.Status != conformance.Failed || got.Passed || report.OK():
				t.Fatalf("%s: %s", got.Status, got.Detail)
			case !strings.Contains(got.Detail, c.detail):
				t.Fatalf("detail %q does not hold %q", got.Detail, c.detail)
			}
		})
	}
	for _, name := range conformance.Names() {
		if !found[name] {
			t.Errorf("no defect makes %s fail", name)
		}
	}
}

func sampleFolder(t *testing.T) *conformance.Sample {
	t.Helper()
	dir := t.TempDir()
	if err := scribble().Write(dir, 0, 8, 12); err != nil {
		t.Fatal(err)
	}
	return &conformance.Sample{Path: dir}
}

func TestSample(t *testing.T) {
	t.Parallel()
	sample := sampleFolder(t)
	report := conformance.Check(context.Background(), conformance.Config{Command: conformance.Self(), Sample: sample,
		Only: []string{"sample_scan", "sample_append"}})
	if report.Count(conformance.Passed) != 3 {
		t.Fatalf("%+v", report.Checks)
	}
	if c, _ := report.Get("sample_append"); c.Detail != "8 of 8 files were read on" {
		t.Error(c.Detail)
	}
	report = conformance.Check(context.Background(), conformance.Config{Command: conformance.Self(),
		Sample: &conformance.Sample{Path: t.TempDir()}, Only: []string{"sample_scan"}})
	if report.OK() {
		t.Errorf("an empty sample: %+v", report.Checks)
	}
}

func TestWithoutFixture(t *testing.T) {
	t.Parallel()
	report := conformance.Check(context.Background(), conformance.Config{Command: conformance.Self()})
	if !report.OK() || report.Provider.GetId() != scribbleID {
		t.Fatalf("%+v", report)
	}
	run := []string{"manual_start", "handshake", "describe", "missing_route", "empty_route",
		"missing_source", "cancelled_call", "host_gone"}
	for _, c := range report.Checks {
		want := conformance.NotRun
		if slices.Contains(run, c.Name) {
			want = conformance.Passed
		}
		if c.Status != want || want == conformance.NotRun && c.Detail == "" {
			t.Errorf("%s: %s (%s), want %s", c.Name, c.Status, c.Detail, want)
		}
	}
}

func TestUnusableCommand(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{nil, {"/does/not/exist"}} {
		report := conformance.Check(context.Background(), conformance.Config{Command: command, Only: []string{"handshake", "missing_route"}})
		if report.OK() {
			t.Errorf("%v: %+v", command, report)
		}
		if c, _ := report.Get("missing_route"); c.Status != conformance.NotRun {
			t.Errorf("%v: %+v", command, c)
		}
	}
}

func TestCancelledRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	report := conformance.Check(ctx, conformance.Config{Command: conformance.Self()})
	if n := report.Count(conformance.NotRun); n != len(conformance.Names()) {
		t.Fatalf("%d checks not run", n)
	}
}

// fixtureCommand is this test binary as a fixture command.
func fixtureCommand(args []string) {
	number := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	var err error
	f := scribble()
	switch args[0] {
	case "route":
		fmt.Println(f.Route())
	case "write":
		err = f.Write(args[1], number(2), number(3), number(4))
	case "append":
		err = f.Append(args[1], number(2), number(3), number(4))
	case "file":
		fmt.Println(f.File(number(1)))
	case "record":
		var record []byte
		if record, err = f.Record(number(1), number(2), args[3]); err == nil {
			fmt.Println(string(record))
		}
	default:
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestCommandFixture(t *testing.T) {
	t.Parallel()
	fixture, err := conformance.NewCommandFixture([]string{conformance.Self()[0], "fixture"})
	if err != nil {
		t.Fatal(err)
	}
	conformance.Run(t, conformance.Config{Command: conformance.Self(), Fixture: fixture, Sources: 50,
		Only: []string{"scan_complete", "append_equals_full", "torn_tail", "long_line", "many_sources"}})
	if _, err := conformance.NewCommandFixture([]string{"/does/not/exist"}); err == nil {
		t.Fatal("a missing command makes a fixture")
	}
}
