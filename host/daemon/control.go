package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
)

// Bounds of a caller.
const (
	healthWait   = 500 * time.Millisecond // for a short answer
	startWait    = 30 * time.Second       // until a daemon that lives answers
	shutdownWait = 5 * time.Second
	maxCrashes   = 3 // in a row; then a search starts the next daemon only after a pause
	crashPause   = 10 * time.Second
	reattach     = 3 // how often a caller follows its request into the next daemon
)

// service is the trigger of a daemon that a service manager started.
const service = "service"

// Codes of a caller that finds no daemon.
const (
	Unavailable  = "daemon_unavailable"
	otherCode    = "daemon_other_version"
	endingCode   = "daemon_ending"
	disabledCode = "daemon_disabled"
)

// Control reaches the daemon of a data root, and starts one where that is wanted.
type Control struct {
	Config     *config.Config
	Executable string // of this program
	// Borrowed only uses a daemon that lives: none is started, replaced or brought back.
	Borrowed bool
}

func (c *Control) place() place { return place{c.Config.DataRoot} }

// Automatic reports whether a daemon is wanted at all.
func (c *Control) Automatic() bool { return c.Config.Indexing.Mode == config.ModeAuto }

// Suppressed names what keeps this process from starting a daemon, "" when nothing does.
func (c *Control) Suppressed() string {
	switch {
	case !c.Automatic():
		return disabledCode
	case c.Config.Daemon.AutostartOff:
		return "autostart_off"
	case c.Borrowed:
		return "no_daemon"
	}
	return ""
}

// Health asks the living daemon, within 500 ms. Nil without error: none lives.
func (c *Control) Health(ctx context.Context) (*Health, error) { return c.ask(ctx, call{Op: opHealth}) }

// Ensure sends one wake, content free and within 500 ms, and starts a daemon that is missing, without waiting for it. It reports
// whether a daemon was reached or is on its way. It never starts one where ctx was not set up, in manual mode, or against
// CTX_DAEMON_AUTOSTART_OFF; a failure is no error, because whoever calls answers from what is there.
func (c *Control) Ensure(ctx context.Context, trigger string) bool {
	if !c.Automatic() {
		return false
	}
	h, err := c.ask(ctx, call{Op: opWake, Trigger: trigger, Contract: core.Contract()})
	if err != nil {
		return false // it lives and does not answer, or speaks another language
	}
	if h != nil && !h.Ending {
		return h.Contract == core.Contract()
	}
	if c.Suppressed() != "" || !c.recoverable() {
		return false
	}
	_, err = c.spawn(trigger)
	return err == nil
}

// recoverable reports whether a search may start a daemon: ctx was set up here, and the last ones did not crash one after the other.
func (c *Control) recoverable() bool {
	p := c.place()
	if _, err := os.Stat(filepath.Join(c.Config.DataRoot, "core")); err != nil {
		if _, err := os.Stat(p.dir()); err != nil {
			return false
		}
	}
	s := p.readState()
	since := time.Since(time.UnixMilli(s.StartedAtMS))
	return s.Status != "running" || s.Crashes < maxCrashes || since < 0 || since > crashPause
}

// Start makes sure that a daemon answers, and starts one when none lives. One that lives and does not answer yet is given time; one of
// another version is replaced.
func (c *Control) Start(ctx context.Context, trigger string) (*Health, error) {
	var child <-chan error
	for deadline := time.Now().Add(startWait); ; {
		h, err := c.Health(ctx)
		switch {
		case c.Borrowed && (h != nil && h.Contract != core.Contract() || fault.Code(err) == otherCode):
			return nil, otherVersion()
		case h != nil && h.Contract != core.Contract(), fault.Code(err) == otherCode:
			err = c.Stop(ctx)
			if err != nil {
				return nil, err
			}
			continue
		case h != nil && !h.Ending:
			return h, nil
		case err == nil && child == nil:
			if why := c.Suppressed(); why != "" {
				return nil, fault.New(Unavailable, "no background process runs, and none may be started (%s)", why).WithHint("ctx index mode auto")
			}
			if child, err = c.spawn(trigger); err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-child:
			if child = nil; err != nil && !c.place().held() { // else another one was quicker
				return nil, fault.New(Unavailable, "the background process did not start: %s", c.place().lastWords()).WithHint("ctx daemon run")
			}
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, fault.New(Unavailable, "the background process does not answer").WithHint("ctx daemon status").WithRetry(true)
		}
	}
}

// spawn starts a daemon that is detached from this process. Its end is told, should it come while somebody listens.
func (c *Control) spawn(trigger string) (<-chan error, error) {
	p := c.place()
	if err := os.MkdirAll(p.dir(), 0o700); err != nil {
		return nil, notWritable(err)
	}
	// What it prints is kept for the case that it crashes; lines of the log go to the log.
	out, err := os.OpenFile(p.stderr(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, notWritable(err)
	}
	defer out.Close()
	cmd := exec.Command(c.Executable, "--data-root", c.Config.DataRoot, "daemon", "run", "--detached", "--trigger", trigger)
	cmd.Dir = filepath.VolumeName(c.Config.DataRoot) + string(filepath.Separator)
	cmd.Stdout, cmd.Stderr = out, out
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fault.Wrap(err, Unavailable, "the background process cannot be started: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // leaves no zombie behind a server that lives long
	return ended, nil
}

// Stop ends the daemon and waits until its lock is free, at most 5 s.
func (c *Control) Stop(ctx context.Context) error {
	if !c.place().held() {
		return nil
	}
	_, _ = c.ask(ctx, call{Op: opStop}) // one that is ending already cannot answer: its lock tells
	for deadline := time.Now().Add(shutdownWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if !c.place().held() {
			return nil
		}
	}
	return fault.New(Unavailable, "the background process, number %d, does not end", c.place().readState().PID)
}

// NewRequest returns a request of this process.
func (c *Control) NewRequest(trigger string) Request {
	return Request{ID: uuid.NewString(), Intent: Import, Trigger: trigger, Environment: SurroundingsOf(c.Config.Environment)}
}

// Submit hands a request over, to the next daemon when one ends meanwhile, and does not wait for its end.
func (c *Control) Submit(ctx context.Context, r Request) (s Standing, err error) {
	err = c.pursue(ctx, r.Trigger, func() error {
		return c.exchange(ctx, call{Op: opRefresh, Request: &r, Detach: true}, func(a answer) {
			if a.Standing != nil {
				s = *a.Standing
			}
		})
	})
	return s, err
}

// pursue makes a call again with the next daemon when one ends meanwhile.
func (c *Control) pursue(ctx context.Context, trigger string, call func() error) error {
	for n := 0; ; n++ {
		err := call()
		if code := fault.Code(err); n == reattach || code != endingCode && code != otherCode && code != Unavailable {
			return err
		}
		if _, err := c.Start(ctx, trigger); err != nil {
			return err
		}
	}
}

// Refresh hands a request over and follows it to its end, into the next daemon when one ends meanwhile. Faults are those of the
// refresh itself, and daemon_unavailable.
func (c *Control) Refresh(ctx context.Context, r Request, show func(Progress)) (report *refresh.Report, s Standing, err error) {
	err = c.pursue(ctx, r.Trigger, func() (err error) {
		report, s, err = c.attach(ctx, r, show)
		return err
	})
	return report, s, err
}

func (c *Control) attach(ctx context.Context, r Request, show func(Progress)) (report *refresh.Report, s Standing, err error) {
	end := false
	err = c.exchange(ctx, call{Op: opRefresh, Request: &r}, func(a answer) {
		switch {
		case a.Progress != nil && show != nil:
			show(*a.Progress)
		case a.Report != nil:
			report = a.Report
		}
		if a.Standing != nil {
			s = *a.Standing
		}
		end = end || a.End
	})
	if err == nil && (!end || report == nil) {
		err = fault.New(endingCode, "the background process ended before the refresh did").WithRetry(true)
	}
	return report, s, err
}

// Follow waits until nothing is under way in the daemon, and asks for nothing. It reports false when no daemon lives.
func (c *Control) Follow(ctx context.Context, show func(Progress)) bool {
	return c.exchange(ctx, call{Op: opFollow}, func(a answer) {
		if a.Progress != nil && show != nil {
			show(*a.Progress)
		}
	}) == nil
}

// ask makes a short call.
func (c *Control) ask(ctx context.Context, q call) (*Health, error) {
	if !c.place().held() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	var h *Health
	err := c.exchange(ctx, q, func(a answer) { h = a.Health })
	if err == nil && h == nil {
		err = fault.New(Unavailable, "the background process is ending").WithRetry(true)
	}
	return h, err
}

// exchange sends a call and hands every answer on. The daemon has to answer, however long that takes, while the context lasts.
func (c *Control) exchange(ctx context.Context, q call, on func(answer)) error {
	address := c.place().readState().Address
	if address == "" {
		address = c.place().defaultSocket()
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", address)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	q.Protocol, q.Contract = protocol, core.Contract()
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return unreachable(ctx, err)
	}
	in := bufio.NewReaderSize(conn, maxLine)
	for {
		line, err := readLine(in)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return unreachable(ctx, err)
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			return unreachable(ctx, err)
		}
		if a.Fault != nil {
			return a.Fault
		}
		if on(a); a.End {
			return nil
		}
	}
}

// readLine reads a line of bounded length.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line bytes.Buffer
	for {
		part, err := in.ReadSlice('\n')
		line.Write(part)
		switch {
		case err == nil:
			return line.Bytes(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case line.Len() > maxReport:
			return nil, errors.New("an answer without end")
		}
	}
}

func unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return fault.Wrap(err, Unavailable, "the background process does not answer").WithHint("ctx daemon status").WithRetry(true)
}
