package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// exitNotice is how long a failed call waits for news that the process has ended: a connection breaks a little before that.
const exitNotice = 300 * time.Millisecond

// drain is how long the pipes of an ended process stay open for what it printed last. Its children may hold them for ever.
const drain = 200 * time.Millisecond

// process is the subprocess of a plugin. It implements the runner of go-plugin, so that the process has its own group, no
// standard input and an address of which the host knows where it leads.
type process struct {
	cmd     *exec.Cmd
	dir     string // private, holds the socket
	stdout  *os.File
	printed atomic.Int64 // bytes of stdout
	guard   guard        // the system's own means to end and to bound the process

	running  atomic.Pointer[os.Process]
	tried    chan struct{} // closed when running or startErr is there
	startErr error
	exited   chan struct{}
	exitErr  error // valid after exited
	killOnce sync.Once
	killed   atomic.Bool
}

func newProcess(command, env []string, dir string, stderr io.Writer) *process {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.WaitDelay = env, dir, stderr, drain
	cmd.SysProcAttr = attributes()
	return &process{cmd: cmd, dir: dir, tried: make(chan struct{}), exited: make(chan struct{})}
}

// Start runs the process. go-plugin calls it.
func (p *process) Start(context.Context) error {
	out, outWriter, err := os.Pipe()
	if err != nil {
		return err
	}
	p.stdout, p.cmd.Stdout = out, outWriter
	go p.own(outWriter)
	<-p.tried
	return p.startErr
}

// own starts the process and waits for its end on one thread that does nothing else. The parent-death signal of Linux comes
// when the thread that started the process ends, so that thread must live as long as the process.
func (p *process) own(stdout *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	stdout.Close()
	if err == nil {
		p.running.Store(p.cmd.Process)
		p.guard.attach(p.cmd.Process)
	}
	p.startErr = err
	close(p.tried)
	if err == nil {
		err = p.cmd.Wait()
		p.guard.endGroup(p.cmd.Process)
	}
	p.exitErr = err
	close(p.exited)
	time.Sleep(drain)
	p.stdout.Close()
}

// Wait waits for the end of the process.
func (p *process) Wait(context.Context) error {
	<-p.exited
	return p.exitErr
}

// Kill ends the process and its group at once. A process that has printed nothing gets a moment, for it may be about to end by
// itself: its exit status then tells more.
func (p *process) Kill(context.Context) error {
	running := p.running.Load()
	if running == nil {
		return nil
	}
	p.killOnce.Do(func() {
		if p.printed.Load() == 0 {
			p.ended(50 * time.Millisecond)
		}
		select {
		case <-p.exited:
		default:
			p.killed.Store(true)
			p.guard.endGroup(running)
			_ = running.Kill()
		}
	})
	return nil
}

// ended tells whether the process ends within a time, and how it did.
func (p *process) ended(within time.Duration) (how string, ended bool) {
	select {
	case <-p.exited:
	case <-time.After(within):
		select { // both may have come
		case <-p.exited:
		default:
			return "", false
		}
	}
	var exit *exec.ExitError
	switch {
	case p.killed.Load():
		return "ended by ctx", true
	case p.exitErr == nil, errors.Is(p.exitErr, exec.ErrWaitDelay):
		return "exit status 0", true
	case errors.As(p.exitErr, &exit):
		return exit.ProcessState.String(), true
	}
	return "unknown exit status", true
}

// Stdout, Stderr, Name, ID and Diagnose are for go-plugin.
func (p *process) Stdout() io.ReadCloser           { return counted{p.stdout, p} }
func (p *process) Stderr() io.ReadCloser           { return io.NopCloser(strings.NewReader("")) } // goes to the log
func (p *process) Name() string                    { return filepath.Base(p.cmd.Path) }
func (p *process) ID() string                      { return strconv.Itoa(p.pid()) }
func (p *process) Diagnose(context.Context) string { return "" }

func (p *process) pid() int {
	if running := p.running.Load(); running != nil {
		return running.Pid
	}
	return 0
}

// PluginToHost checks the address that the plugin printed. A unix socket must lie in the private directory, a port must be a
// local one: a plugin can not make the host talk to anybody else.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	switch network {
	case "unix":
		inside, err := filepath.Rel(p.dir, address)
		if err != nil || !filepath.IsAbs(address) || !filepath.IsLocal(inside) {
			return "", "", errors.New("the socket lies outside the private directory")
		}
		info, err := os.Lstat(address)
		if err != nil || info.Mode().Type()&os.ModeSocket == 0 && runtime.GOOS != "windows" {
			return "", "", errors.New("there is no socket at the address")
		}
		return network, address, nil
	case "tcp":
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsLoopback() && runtime.GOOS == "windows" {
			return network, address, nil
		}
	}
	return "", "", fmt.Errorf("an address of network %.8q is not allowed", network)
}

// HostToPlugin is the other direction, which is not used.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// counted counts what is read from stdout: a process that printed nothing has not even tried to shake hands.
type counted struct {
	*os.File
	p *process
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.File.Read(b)
	c.p.printed.Add(int64(n))
	return n, err
}
