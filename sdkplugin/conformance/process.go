package conformance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

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
func (k *kit) start() (*process, error) {
	stderr := &tail{}
	cfg := sdkplugin.ClientConfig(k.command(), hclog.NewNullLogger())
	cfg.StartTimeout = startTimeout
	cfg.Stderr = stderr
	p := &process{client: plugin.NewClient(cfg), stderr: stderr}
	protocol, err := p.client.Client()
	if err != nil {
		p.client.Kill()
		return nil, fmt.Errorf("%w%s", err, stderr.quote())
	}
	api, err := protocol.Dispense(sdkplugin.PluginName)
	if err != nil {
		p.client.Kill()
		return nil, err
	}
	p.api = api.(historyv1.ProviderClient)
	return p, nil
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

// live returns the shared process, started again if it has died.
func (k *kit) live() (*process, error) {
	if k.shared != nil && !k.shared.client.Exited() {
		return k.shared, nil
	}
	p, err := k.start()
	if err == nil {
		k.shared = p
	}
	return p, err
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

// waitExit waits until the process of cmd has ended.
func waitExit(cmd *exec.Cmd, limit time.Duration) (err error, exited bool) {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err, true
	case <-time.After(limit):
		_ = cmd.Process.Kill()
		<-done
		return nil, false
	}
}
