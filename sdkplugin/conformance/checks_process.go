package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

func (k *kit) manualStart() string {
	cmd := k.command()
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	try(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var exit *exec.ExitError
	select {
	case err := <-done:
		if !errors.As(err, &exit) {
			failf("it exits with status 0")
		}
	case <-time.After(exitTimeout):
		_ = cmd.Process.Kill()
		<-done
		failf("it keeps running without a host")
	}
	if stdout.Len() > 0 {
		failf("it writes to standard output: %.80q", stdout.Bytes())
	}
	return fmt.Sprintf("exit status %d", exit.ExitCode())
}

func (k *kit) handshake() string {
	began := time.Now()
	p := k.live()
	return fmt.Sprintf("protocol %d in %v", p.client.NegotiatedVersion(), time.Since(began).Round(time.Millisecond))
}

func (k *kit) describe() string {
	p := k.live()
	first := must(p.describe(k.ctx))
	try(sdkplugin.ValidateDescription(first))
	if !proto.Equal(first, must(p.describe(k.ctx))) {
		failf("two calls give two descriptions")
	}
	other := k.start()
	defer other.stop()
	if !proto.Equal(first, must(other.describe(k.ctx))) {
		failf("two processes give two descriptions")
	}
	k.described = first
	return fmt.Sprintf("%s (%s), parser revision %s, %d formats", first.Id, first.DisplayName, first.ParserRevision, len(first.Formats))
}

func (k *kit) missingRoute() string {
	return k.listsNothing(historyv1.RouteEnd_STATE_MISSING, k.route(filepath.Join(k.workspace(), "not", "there")))
}

func (k *kit) emptyRoute() string {
	kind := k.described.GetRoot().GetPathKind()
	if l := k.location(); l != nil {
		kind = l.PathKind
	}
	if k.cfg.Fixture == nil && kind == historyv1.PathKind_PATH_KIND_FILE {
		skipf("the first declared route is a file")
	}
	return k.listsNothing(historyv1.RouteEnd_STATE_COMPLETE, k.route(k.workspace()))
}

// listsNothing lists a route without history.
func (k *kit) listsNothing(want historyv1.RouteEnd_State, route *historyv1.Route) string {
	inv := k.live().inventory(k.ctx, route)
	complete := want == historyv1.RouteEnd_STATE_COMPLETE
	switch {
	case len(inv.sources) > 0:
		failf("%d sources out of nowhere", len(inv.sources))
	case complete && !inv.end.Complete:
		failf("nothing to list, and not complete: state %v", inv.state())
	case !complete && (inv.end.Complete || inv.state() == historyv1.RouteEnd_STATE_COMPLETE):
		failf("listed as complete: all that was imported from it would count as deleted")
	case inv.state() != want:
		failf("state %v, want %v", inv.state(), want)
	}
	return ""
}

func (k *kit) missingSource() string {
	source := &historyv1.Source{
		Anchor: sdkplugin.NativeAnchor("conformance", sdkplugin.Utf8("missing")), Format: k.described.Formats[0].Leaf,
		Locator: "not/there.jsonl", Observation: []byte("none"),
	}
	out := k.live().scan(k.ctx, k.route(k.workspace()), scanJob{source: source})
	if out[0].failure == nil {
		failf("it was read")
	}
	try(knownClass(out[0].failure))
	return out[0].failure.Class
}

func knownClass(f *historyv1.SourceFailure) error {
	switch sdkplugin.FailureClass(f.Class) {
	case sdkplugin.Unreadable, sdkplugin.Vanished, sdkplugin.Changed, sdkplugin.MalformedSource, sdkplugin.UnsupportedSchema, sdkplugin.Internal:
		if len(f.Message) > sdkplugin.MaxMessage {
			return fmt.Errorf("a message of %d bytes", len(f.Message))
		}
		return nil
	}
	return fmt.Errorf("unknown failure class %q", f.Class)
}

func (k *kit) cancelledCall() string {
	p := k.live()
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	stream := must(p.api.Scan(ctx))
	p.answers(k.ctx) // frames of a connection keep their order: the scan has arrived
	cancel()
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		failf("after the cancellation: %v", err)
	}
	for range afterCancel / (50 * time.Millisecond) { // what the cancellation sets off takes its time
		p.answers(k.ctx)
		time.Sleep(50 * time.Millisecond)
	}
	p.answers(k.ctx)
	return ""
}

// afterCancel is how long a provider is watched after a cancelled call.
const afterCancel = time.Second

// hostGone closes the connection without the shutdown that a host which is killed cannot send.
func (k *kit) hostGone() string {
	p := k.start()
	defer p.stop()
	must(p.describe(k.ctx))
	_ = must(p.client.Client()).(*plugin.GRPCClient).Conn.Close()
	began := time.Now()
	for !p.client.Exited() {
		if time.Since(began) > exitTimeout {
			failf("it still runs %v after its host has gone", exitTimeout)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Sprintf("after %v", time.Since(began).Round(time.Millisecond))
}

// process is one running provider.
type process struct {
	client *plugin.Client
	api    historyv1.ProviderClient
	stderr *tail
}

func (k *kit) command() *exec.Cmd {
	cmd := exec.Command(k.cfg.Command[0], k.cfg.Command[1:]...)
	cmd.Env = append(os.Environ(), k.cfg.Env...)
	cmd.Env = append(cmd.Env, selfEnv+"=1", plugin.EnvUnixSocketDir+"="+k.sockets)
	return cmd
}

// start runs the provider and waits for the handshake.
func (k *kit) start() *process {
	stderr := &tail{}
	cfg := sdkplugin.ClientConfig(k.command(), hclog.NewNullLogger())
	cfg.StartTimeout = startTimeout
	cfg.Stderr = stderr
	p := &process{client: plugin.NewClient(cfg), stderr: stderr}
	protocol, err := p.client.Client()
	var api any
	if err == nil {
		api, err = protocol.Dispense(sdkplugin.PluginName)
	}
	if err != nil {
		p.stop()
		failf("%v%s", err, stderr.quote())
	}
	p.api = api.(historyv1.ProviderClient)
	return p
}

func (p *process) stop() {
	if p != nil {
		p.client.Kill()
	}
}

// pid of the provider, 0 when unknown.
func (p *process) pid() int {
	if r := p.client.ReattachConfig(); r != nil {
		return r.Pid
	}
	return 0
}

func (p *process) describe(ctx context.Context) (*historyv1.DescribeResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	return p.api.Describe(ctx, &historyv1.DescribeRequest{ProtocolVersion: sdkplugin.ProtocolVersion, HostVersion: "conformance"})
}

// answers ends the check when the provider is not usable any more.
func (p *process) answers(ctx context.Context) {
	if _, err := p.describe(ctx); err != nil {
		failf("it does not answer any more: %v", err)
	}
}

// live returns the shared process, started again if it has died.
func (k *kit) live() *process {
	if k.shared == nil || k.shared.client.Exited() {
		k.shared = k.start()
	}
	return k.shared
}

// tail keeps the end of the provider's log, to show it with a failure.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailBytes = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	if extra := len(t.data) - tailBytes; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(b), nil
}

func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(t.data)
	if len(text) == 0 {
		return ""
	}
	return fmt.Sprintf("; its log ends with %q", text)
}
