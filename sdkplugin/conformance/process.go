package conformance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

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
