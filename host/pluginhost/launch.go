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

	life    context.Context // its cause is why the plugin was ended
	doom    context.CancelCauseFunc
	closing sync.Once
}

// Descriptor returns what the plugin said about itself when it started. It must not be changed.
func (p *Plugin) Descriptor() *historyv1.DescribeResponse { return p.descriptor }

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
	dir, err := privateDir()
	if err != nil {
		return nil, failure(spec.Name, NotStarted, err, "no private directory could be made")
	}
	stderr := &stderrLog{name: spec.Name, out: l.LogFile}
	p := &Plugin{
		name: spec.Name, limits: l.Limits.withDefaults(), log: l.log().With("provider", spec.Name), codec: newCodec(),
		stderr: stderr, process: newProcess(command, l.environment(), dir, stderr),
	}
	p.life, p.doom = context.WithCancelCause(context.Background())
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
	config.Cmd, config.SkipHostEnv, config.StartTimeout = nil, true, p.limits.Start
	config.UnixSocketConfig = &plugin.UnixSocketConfig{TempDir: p.process.dir}
	config.RunnerFunc = p.run
	stop := context.AfterFunc(ctx, func() {
		<-p.process.tried
		p.kill()
	})
	address, err := plugin.NewClient(config).Start()
	switch {
	case !stop():
		return failure(p.name, Cancelled, context.Cause(ctx), "the start was cancelled")
	case err != nil:
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
func (p *Plugin) doomed() error { return context.Cause(p.life) }

// end ends the plugin for a reason. The first one counts and is returned.
func (p *Plugin) end(why *fault.Error) error {
	p.doom(why)
	fate := p.doomed()
	if fate == error(why) {
		p.log.Warn("ended", "class", string(ClassOf(why)), "error", why.Detail())
		p.kill()
	}
	return fate
}

// watchMemory ends the plugin when it holds more resident memory than it may. Linux gives the figure for nothing four times a
// second, children included. Windows is asked as often about the process alone. Elsewhere the figure of the process comes from
// ps every two seconds; where that fails, memory stays unwatched and only the caps on messages and events hold.
func (p *Plugin) watchMemory() {
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.process.exited:
			return
		case <-ticker.C:
		}
		used, ok := residentBytes(p.process.pid())
		if ok && used > p.limits.Memory {
			p.end(failure(p.name, Memory, nil, "it used %d MiB of memory, at most %d are allowed", used>>20, p.limits.Memory>>20))
			return
		}
	}
}

func (p *Plugin) kill() { _ = p.process.Kill(context.Background()) }

// Close asks the plugin to exit, ends it if it does not within Limits.Stop, and removes its private directory. It may be called
// more than once. Calls under way fail.
func (p *Plugin) Close() {
	p.closing.Do(func() {
		stopped := failure(p.name, Cancelled, nil, "the provider was stopped")
		if p.doom(stopped); p.doomed() == error(stopped) {
			p.shutDown()
		}
		if p.process.pid() != 0 {
			p.kill()
			<-p.process.exited
		}
		if p.conn != nil {
			p.conn.Close()
		}
		p.stderr.close()
		_ = os.RemoveAll(p.process.dir)
	})
}
