package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
)

// Times of one connection.
const (
	callWait  = 2 * time.Second // for the line of the caller
	writeWait = 5 * time.Second // for a caller that does not read
	maxConns  = 64
)

// serve takes connections until the listener is closed.
func (d *daemon) serve() {
	slots := make(chan struct{}, maxConns)
	for {
		conn, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example too many open files: others end theirs
			time.Sleep(50 * time.Millisecond)
			continue
		}
		slots <- struct{}{}
		d.conns.Go(func() {
			defer func() { <-slots }()
			defer conn.Close()
			d.converse(conn)
		})
	}
}

// converse reads one call and answers it.
func (d *daemon) converse(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(callWait))
	in := bufio.NewReader(io.LimitReader(conn, maxLine))
	line, err := in.ReadBytes('\n')
	var c call
	if err != nil || json.Unmarshal(line, &c) != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	if c.Protocol != protocol && c.Op != opStop {
		if c.Op == opWake { // of the program that replaced this one, perhaps
			d.promptly(c)
		}
		send(conn, answer{Fault: fault.From(otherVersion()), End: true})
		return
	}
	switch c.Op {
	case opHealth, opWake, opStop:
		send(conn, answer{Health: d.promptly(c), End: true})
	case opRefresh, opFollow:
		d.accompany(conn, c)
	default:
		send(conn, answer{Fault: fault.From(fault.New(fault.InvalidRequest, "unknown call")), End: true})
	}
}

func otherVersion() error {
	return fault.New(otherCode, "the background process is of another version of ctx").WithHint("ctx setup")
}

// ask runs a function in the loop and waits for it; it reports false when there is no loop any more.
func (d *daemon) ask(f func()) bool {
	done := make(chan struct{})
	d.post(func() { f(); close(done) })
	select {
	case <-done:
		return true
	case <-d.over:
		return false
	}
}

// promptly makes a short call. A loop that finds the routes again may be busy for seconds: then the answer is how the daemon was
// before, and what was asked for follows.
func (d *daemon) promptly(c call) *Health {
	answered := make(chan *Health, 1)
	d.conns.Go(func() { d.ask(func() { answered <- d.control(c) }) })
	var late *Health
	select {
	case h := <-answered:
		return h
	case <-d.over:
	case <-time.After(healthWait / 2):
		if late = d.shown.Load(); c.Op == opStop {
			d.cancel() // ends what the loop waits for, too
		}
	}
	select {
	case h := <-answered:
		return h
	default:
		return late
	}
}

// control answers the calls that need no waiting.
func (d *daemon) control(c call) *Health {
	switch c.Op {
	case opWake:
		d.active = time.Now()
		d.schedule.urge(d.active)
		if d.replaced() && d.idle() {
			d.ending = "completed"
		}
	case opStop:
		d.ending = "stopped"
	}
	return d.health()
}

// accompany answers a request or a follower with lines until its end.
func (d *daemon) accompany(conn net.Conn, c call) {
	var f *follower
	err := error(fault.New(endingCode, "the background process is ending").WithRetry(true))
	d.ask(func() {
		switch {
		case c.Op == opFollow:
			f, err = d.follow(), nil
		case c.Contract != core.Contract():
			err = otherVersion()
		case c.Request == nil || !c.Request.valid():
			err = fault.New(fault.InvalidRequest, "the request is not valid")
		default:
			f, err = d.admit(c.Request)
		}
	})
	if err != nil {
		send(conn, answer{Fault: fault.From(err), End: true})
		return
	}
	if c.Detach {
		var s Standing
		d.ask(func() { s = d.standing(f.job, d.attempt); d.leave(f) })
		send(conn, answer{Standing: &s, End: true})
		return
	}
	// A caller sends nothing more: the end of its side means that it went away.
	away := make(chan struct{})
	go func() {
		_, _ = conn.Read(make([]byte, 1))
		close(away)
	}()
	for {
		select {
		case a, open := <-f.lines:
			if !open || !send(conn, a) || a.End {
				d.post(func() { d.leave(f) })
				return
			}
		case <-away:
			d.post(func() { d.leave(f) })
			return
		}
	}
}

func send(conn net.Conn, a answer) bool {
	text, err := json.Marshal(a)
	if err != nil {
		return false
	}
	_ = conn.SetWriteDeadline(time.Now().Add(writeWait))
	_, err = conn.Write(append(text, '\n'))
	return err == nil
}

// health describes the daemon, bounded to what fits into a line.
func (d *daemon) health() *Health {
	now := time.Now()
	h := &Health{
		Identity: d.identity, Contract: core.Contract(), NowMS: now.UnixMilli(), Supervised: d.Trigger == service, Pending: len(d.pending), Last: d.latest,
		Marked: d.schedule.marked(), Retrying: d.schedule.waiting(now), Merging: d.merge != nil, Config: d.reload, Ending: d.ending != "",
		Blocked: d.schedule.blocked.wait > 0,
		Watch:   d.watching(),
	}
	var owner *job
	if d.attempt != nil {
		running := d.attempt.Attempt
		h.Running, h.Progress = &running, d.attempt.last.Load()
		if len(d.attempt.jobs) > 0 {
			owner = d.attempt.jobs[0]
		}
	}
	if owner == nil && len(d.pending) > 0 {
		owner = d.pending[0]
	}
	h.Standing = d.standing(owner, d.attempt)
	return h
}

const maxPolledShown = 16

func (d *daemon) watching() Watch {
	w := Watch{Mode: "native", Directories: d.watcher.count(), Routes: len(d.routes)}
	for _, p := range d.polled[:min(len(d.polled), maxPolledShown)] {
		w.Polled = append(w.Polled, p.Polled)
	}
	switch {
	case len(d.polled) > 0 && (d.watcher.fs == nil || len(d.polled) == len(d.routes)):
		w.Mode = "polling"
	case len(d.polled) > 0:
		w.Mode = "mixed"
	}
	return w
}
