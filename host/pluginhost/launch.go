package pluginhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Plugin is a running provider. Its calls may run side by side. After the first failure that ends the process every call
// returns that failure.
type Plugin struct {
	name       string
	limits     Limits
	log        hclog.Logger
	process    *process
	stderr     *stderrLog
	codec      *codec
	conn       *grpc.ClientConn
	client     historyv1.ProviderClient
	descriptor *historyv1.DescribeResponse

	mutex   sync.Mutex
	fate    *fault.Error  // why it was ended
	fated   chan struct{} // closed with fate
	closing sync.Once
}

func (l *Launcher) log() hclog.Logger {
	if l.Log == nil {
		return hclog.NewNullLogger()
	}
	return l.Log
}

// Start runs a provider and returns when it has described itself. The error is a *fault.Error; nothing is left running then.
func (l *Launcher) Start(ctx context.Context, spec Spec) (*Plugin, error) {
	if err := ctx.Err(); err != nil {
		return nil, failure(spec.Name, Cancelled, context.Cause(ctx), "the start was cancelled")
	}
	command, err := l.command(spec)
	if err != nil {
		return nil, err
	}
	env, err := l.environment(spec)
	if err != nil {
		return nil, err
	}
	dir, err := privateDir()
	if err != nil {
		return nil, failure(spec.Name, NotStarted, err, "no private directory could be made")
	}
	p := &Plugin{
		name: spec.Name, limits: l.Limits.withDefaults(), log: l.log().With("provider", spec.Name), codec: newCodec(), fated: make(chan struct{}),
		stderr: &stderrLog{name: spec.Name, out: l.LogFile}, process: newProcess(command[0], command[1:], env, dir),
	}
	sweepOnce.Do(func() { go sweep(filepath.Dir(dir)) })
	began := time.Now()
	if err := p.start(ctx, l.Version); err != nil {
		p.Close()
		p.log.Warn("not started", "class", string(ClassOf(err)), "error", fault.From(err).Detail())
		return nil, err
	}
	p.log.Debug("started", "pid", p.process.pid(), "milliseconds", time.Since(began).Milliseconds())
	return p, nil
}

// command returns the program of a spec after checking its pin.
func (l *Launcher) command(spec Spec) ([]string, error) {
	command := spec.Command
	if len(command) == 0 {
		command = []string{l.Self, "provider", "serve", spec.Name}
	}
	if !filepath.IsAbs(command[0]) {
		return nil, failure(spec.Name, NotStarted, nil, "the executable is not an absolute path")
	}
	if spec.SHA256 == "" {
		return command, nil
	}
	sum, err := hex.DecodeString(strings.TrimSpace(spec.SHA256))
	if err != nil || len(sum) != sha256.Size {
		return nil, failure(spec.Name, NotTrusted, err, "the pinned SHA-256 is malformed")
	}
	pin := plugin.SecureConfig{Checksum: sum, Hash: sha256.New()}
	switch same, err := pin.Check(command[0]); {
	case err != nil:
		return nil, failure(spec.Name, NotStarted, err, "the executable can not be read")
	case !same:
		return nil, failure(spec.Name, NotTrusted, plugin.ErrChecksumsDoNotMatch, "the executable has changed since it was trusted")
	}
	return command, nil
}

// start shakes hands, connects and asks for the description.
func (p *Plugin) start(ctx context.Context, version string) error {
	config := sdkplugin.ClientConfig(p.process.cmd, hclog.NewNullLogger()) // what go-plugin would log is logged here
	config.Cmd, config.SkipHostEnv, config.StartTimeout, config.Stderr = nil, true, p.limits.Start, p.stderr
	config.UnixSocketConfig = &plugin.UnixSocketConfig{TempDir: p.process.dir}
	config.RunnerFunc = p.run
	shaken := make(chan error, 1)
	client := plugin.NewClient(config)
	go func() {
		_, err := client.Start()
		shaken <- err
	}()
	select {
	case err := <-shaken:
		if err != nil {
			return p.startFault(err)
		}
	case <-ctx.Done():
		// The process may not be running yet: then it is ended as soon as it is.
		go func() {
			<-shaken
			p.kill()
		}()
		p.kill()
		return failure(p.name, Cancelled, context.Cause(ctx), "the start was cancelled")
	}
	address, err := client.Start() // has started: returns the address
	if err != nil {
		return p.startFault(err)
	}
	if err := p.connect(address, config); err != nil {
		return failure(p.name, Handshake, err, "no connection could be made")
	}
	go p.watchMemory()
	p.descriptor, err = p.describe(ctx, version)
	return err
}

// run gives go-plugin the process, with the variables of the handshake added to its environment.
func (p *Plugin) run(_ hclog.Logger, prepared *exec.Cmd, _ string) (runner.Runner, error) {
	p.process.cmd.Env = append(p.process.cmd.Env, prepared.Env...)
	return p.process, nil
}

// startFault finds out why there was no handshake. go-plugin's errors have no types, and its text may quote the plugin, so what
// counts is what the process did.
func (p *Plugin) startFault(err error) error {
	text := err.Error()
	how, ended := p.process.ended(exitNotice)
	killed := p.process.killed.Load()
	switch {
	case p.process.pid() == 0:
		return failure(p.name, NotStarted, err, "the executable could not be started")
	case strings.HasPrefix(text, "timeout while"):
		return failure(p.name, TimedOut, nil, "no handshake within %s", p.limits.Start)
	case strings.HasPrefix(text, "incompatible"):
		return failure(p.name, Incompatible, nil, "it speaks another version of the protocol")
	case p.process.printed.Load() == 0 && ended && !killed:
		return failure(p.name, Crashed, errors.New(how), "the process ended before the handshake (%s)", how)
	}
	return failure(p.name, Handshake, nil, "it is no provider: its first output is not the handshake")
}

// doomed returns why the plugin was ended, nil while it lives.
func (p *Plugin) doomed() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fate == nil {
		return nil
	}
	return p.fate
}

// end ends the plugin for a reason. The first one counts and is returned.
func (p *Plugin) end(why *fault.Error) error {
	p.mutex.Lock()
	first := p.fate == nil
	if first {
		p.fate = why
		close(p.fated)
	}
	why = p.fate
	p.mutex.Unlock()
	if first {
		p.log.Warn("ended", "class", string(ClassOf(why)), "error", why.Detail())
		p.kill()
	}
	return why
}

func (p *Plugin) kill() { _ = p.process.Kill(context.Background()) }

// Close asks the plugin to exit, ends it if it does not within Limits.Stop, and removes its private directory. It may be called
// more than once. Calls under way fail.
func (p *Plugin) Close() {
	p.closing.Do(func() {
		p.mutex.Lock()
		if p.fate == nil {
			p.fate = failure(p.name, Cancelled, nil, "the provider was stopped")
			close(p.fated)
			p.mutex.Unlock()
			p.shutDown()
		} else {
			p.mutex.Unlock()
		}
		if p.process.pid() != 0 {
			p.kill()
			<-p.process.exited
			select { // its last words
			case <-p.process.silent:
			case <-time.After(2 * drain):
			}
		}
		if p.conn != nil {
			p.conn.Close()
		}
		p.stderr.close()
		_ = os.RemoveAll(p.process.dir)
	})
}
