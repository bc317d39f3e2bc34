package daemon

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Times of a daemon, besides those of the schedule.
const (
	pollEvery     = 30 * time.Second
	reclaimAfter  = time.Minute     // generations that readers held are looked at again
	calmAfter     = 5 * time.Second // after an attempt, memory is given back
	pointless     = time.Minute     // without any source to read, a daemon ends
	summonerGrace = 3 * time.Second // whoever started the daemon in order to ask for a refresh comes first
	takeoverWait  = 8 * time.Second // a daemon that ends may need this long
	maxPreempted  = 3               // a merge that had to make room so often runs to its end
	maxPending    = 8
	lookAround    = time.Minute // nothing tells that a directory above the data root was renamed
)

// Plugins starts providers: to read, to describe themselves, and to name their places.
type Plugins interface {
	refresh.Plugins
	Describe(ctx context.Context, name string) (*historyv1.DescribeResponse, error)
	Resolve(ctx context.Context, name string, req *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error)
}

// Options says what a daemon serves.
type Options struct {
	DataRoot    string
	Environment config.Environment
	Store       *core.Store
	Plugins     func(*config.Config) Plugins
	Executable  string // of this program; its replacement ends the daemon
	Version     string
	StartMode   string        // auto: another process started it; manual: a person did
	Trigger     string        // the command that started it
	Force       bool          // run in manual mode too
	Poll        time.Duration // 0 = 30 s
	Log         func(format string, args ...any)
	// Memory is told when the daemon rests and when it works again: the limits of the process are its owner's.
	Memory func(resting bool)

	limit     int           // of watches, in tests
	pointless time.Duration // in tests
	around    time.Duration // in tests
}

// daemon is the state of a running one. Everything but the endpoint and the attempts themselves happens in one goroutine, the
// loop; others hand it functions.
type daemon struct {
	Options
	place    place
	lock     *os.File
	listener net.Listener
	identity Identity
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    chan func()
	over     chan struct{} // closed when the loop has ended
	conns    sync.WaitGroup
	build    os.FileInfo
	shown    atomic.Pointer[Health] // how the daemon was when the loop was last free
	crashes  int                    // daemons before this one that did not live to the end of an attempt

	config   *config.Config
	reload   Reload
	routes   []sources.Route
	watcher  *watcher
	polled   []*polled
	replan   bool
	baseline uint64 // fingerprint of everything at the last reconcile

	schedule  *schedule
	pending   []*job
	attempt   *attempt
	merge     *merge
	mergeDue  bool
	unsettled bool // a missing place has to be looked at again
	preempts  int
	latest    *Attempt
	known     refresh.Known
	finals    []final
	followers map[*follower]bool

	pollAt, reconcileAt, reclaimAt, calmAt, aroundAt time.Time

	active    time.Time // of the last request or attempt
	ending    string    // why the daemon ends; "" = it does not
	vanished  bool      // the data root is gone: nothing is written any more
	uninstall bool      // the program was missing when somebody last looked
}

// merge is a running merge.
type merge struct {
	cancel context.CancelFunc
	done   chan error
}

// Run is a daemon from its start to its end. Faults: already_running when another daemon lives, daemon_disabled in manual mode
// without Force, resource_unavailable when the data root cannot be written, program_replaced when a service manager has to start the
// new program.
func Run(ctx context.Context, opt Options) error {
	d := &daemon{
		Options: opt, place: place{opt.DataRoot}, tasks: make(chan func()), over: make(chan struct{}),
		schedule: newSchedule(), followers: map[*follower]bool{}, active: time.Now(),
	}
	d.identity = Identity{PID: os.Getpid(), Version: d.Version, StartMode: d.StartMode, Trigger: d.Trigger, StartedAtMS: time.Now().UnixMilli()}
	d.pointless, d.around = cmp.Or(d.pointless, pointless), cmp.Or(d.around, lookAround)
	if d.Poll <= 0 {
		d.Poll = pollEvery
	}
	if d.Log == nil {
		d.Log = func(string, ...any) {}
	}
	if d.Memory == nil {
		d.Memory = func(bool) {}
	}
	if err := d.open(ctx); err != nil {
		return err
	}
	defer d.lock.Close()
	d.ctx, d.cancel = context.WithCancel(ctx)
	defer d.cancel()
	d.watcher = newWatcher(cmp.Or(d.limit, maxWatches()))
	defer func() { d.watcher.close() }()
	d.shown.Store(d.health())
	d.conns.Go(d.serve)
	d.loop()
	d.cancel()
	d.close()
	if d.Trigger == service && d.ending == "completed" && d.replaced() { // the manager starts again what did not end well
		return fault.New("program_replaced", "the program was replaced")
	}
	return nil
}

// open takes the lock, the endpoint and the configuration.
func (d *daemon) open(ctx context.Context) (err error) {
	wait := lockWait
	if d.StartMode == "auto" {
		wait = takeoverWait
		// Whoever started this process made the directory. A data root that was deleted meanwhile does not come back.
		if _, err := os.Stat(d.place.dir()); errors.Is(err, os.ErrNotExist) {
			return fault.New(Unavailable, "the data root is gone")
		}
	}
	if d.config, err = config.Load(d.DataRoot, d.Environment); err != nil {
		return err
	}
	if d.config.Indexing.Mode != config.ModeAuto && !d.Force {
		return fault.New(disabledCode, "indexing is in manual mode, so no background process runs").WithHint("ctx index mode auto")
	}
	if d.Trigger == service { // one that a command started makes room, or the manager would try again forever
		_ = (&Control{Config: d.config}).Stop(ctx)
	}
	if d.lock, err = d.place.acquire(wait); err != nil {
		if errors.Is(err, errHeld) {
			return fault.New("already_running", "the background process is running already, as process %d", d.place.readState().PID).
				WithHint("ctx status")
		}
		return notWritable(err)
	}
	defer func() {
		if err != nil {
			d.lock.Close()
		}
	}()
	if d.identity.Address, err = d.place.socket(); err == nil {
		_ = os.Remove(d.identity.Address) // of a dead daemon: the lock is ours
		d.listener, err = net.Listen("unix", d.identity.Address)
	}
	if err == nil {
		err = os.Chmod(d.identity.Address, 0o600)
	}
	if err != nil {
		return fault.Wrap(err, fault.ResourceUnavailable, "the background process cannot listen: %v", err)
	}
	d.build, _ = os.Stat(d.Executable)
	if before := d.place.readState(); before.Status == "running" {
		d.crashes = before.Crashes + 1
	}
	d.restore()
	d.keep("running")
	d.Log("background process started: version %s, process %d", d.Version, os.Getpid())
	return nil
}

// notWritable is what a read-only data root means: queries go on, nothing is refreshed.
func notWritable(err error) error {
	return fault.Wrap(err, fault.ResourceUnavailable, "the data root cannot be written, so nothing is refreshed; what is indexed still answers").
		WithHint("make the data root writable, or choose another with --data-root")
}

// keep writes status.json.
func (d *daemon) keep(status string) {
	if d.vanished {
		return
	}
	s := state{Status: status, Identity: d.identity, HeartbeatAtMS: time.Now().UnixMilli(), Crashes: d.crashes}
	if s.Last = d.latest; s.Last != nil {
		s.LastError = s.Last.LastError
	}
	if status != "running" {
		s.FinishedAtMS, s.Address = s.HeartbeatAtMS, ""
	}
	if err := d.place.write(s); err != nil {
		d.log("status.json cannot be written: %v", err)
	}
}

// log writes a line unless the data root is gone: it must not come back by our doing.
func (d *daemon) log(format string, args ...any) {
	if !d.vanished && !d.place.gone(d.lock) {
		d.Log(format, args...)
	}
}

// loop is the life of the daemon.
func (d *daemon) loop() {
	now := time.Now()
	d.schedule.touch(everything, now).urgent = true
	d.look()
	now = time.Now()
	d.baseline = sumOf(d.routes)
	d.reconcileAt, d.aroundAt = now.Add(reconcileEvery+rand.N(reconcileJitter)), now.Add(d.around)
	if len(d.pending) == 0 && d.Trigger != "" && d.Trigger != "search" {
		d.schedule.rest = now.Add(summonerGrace)
		d.schedule.marks[everything].urgent = false
	}
	timer := time.NewTimer(0)
	for d.ending == "" {
		next := d.step(time.Now())
		if d.ending != "" {
			break
		}
		timer.Reset(max(0, time.Until(next)))
		var ended <-chan *attempt
		var merged <-chan error
		if d.attempt != nil {
			ended = d.attempt.done
		}
		if d.merge != nil {
			merged = d.merge.done
		}
		select {
		case <-d.ctx.Done():
			d.ending = "stopped"
		case f := <-d.tasks:
			f()
		case c := <-d.watcher.changes:
			d.changed(c)
		case a := <-ended:
			d.finished(a)
		case err := <-merged:
			d.merged(err)
		case <-timer.C:
		}
		if d.vanished = d.vanished || d.place.gone(d.lock); d.vanished {
			d.ending = "stopped"
		}
	}
	timer.Stop()
	close(d.over)
}

// close ends what is under way and tells the world.
func (d *daemon) close() {
	if d.attempt != nil {
		d.attempt.cancel()
		d.conclude(<-d.attempt.done)
	}
	if d.merge != nil {
		d.merge.cancel()
		<-d.merge.done
	}
	d.listener.Close()
	for f := range d.followers {
		f.end(answer{Fault: fault.From(fault.New(endingCode, "the background process ended").WithRetry(true)), End: true})
	}
	d.conns.Wait()
	_ = os.Remove(d.identity.Address)
	d.keep(d.ending)
	d.log("background process ended: %s", d.ending)
}

// step starts what is due and returns when to look again.
func (d *daemon) step(now time.Time) (next time.Time) {
	if d.watcher.overflowed() {
		d.changed(change{missed: true})
	}
	if d.attempt == nil {
		next = d.begin(now)
	}
	sooner := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	d.housekeeping(now)
	sooner(d.reconcileAt)
	sooner(d.pollAt)
	sooner(d.reclaimAt)
	sooner(d.calmAt)
	sooner(d.aroundAt)
	if d.idle() && d.sourceless() {
		if sooner(d.active.Add(d.pointless)); now.Sub(d.active) >= d.pointless {
			d.ending = "completed"
		}
	}
	if !d.watcher.sees(d.DataRoot) {
		sooner(now.Add(5 * time.Second)) // nothing tells that the data root is gone
	}
	return next
}

func (d *daemon) idle() bool { return d.attempt == nil && d.merge == nil && len(d.pending) == 0 }

// begin starts the next attempt, or a merge when there is none. Requests come first and wait for nothing.
func (d *daemon) begin(now time.Time) (next time.Time) {
	providers, next := d.schedule.due(now)
	if len(d.pending) == 0 && len(providers) == 0 {
		if d.mergeDue && d.merge == nil && len(d.schedule.marks) == 0 {
			d.startMerge()
		}
		return next
	}
	if d.merge != nil {
		if d.preempts < maxPreempted || len(d.pending) > 0 {
			d.merge.cancel()
		}
		return next
	}
	if d.replaced() && d.handOver() {
		d.ending = "completed"
		return time.Time{}
	}
	if len(d.pending) > 0 {
		d.launch(d.pending[0].Request)
		return time.Time{}
	}
	r := Request{Intent: Maintenance, Trigger: "automatic", All: true}
	if len(providers) == 1 && providers[0] != everything {
		r.All, r.Provider = false, providers[0]
	}
	d.launch(r)
	return time.Time{}
}

// replaced reports whether the program on disk is not the one that runs: after an upgrade the new one takes over.
func (d *daemon) replaced() bool {
	if d.build == nil {
		return false
	}
	now, err := os.Stat(d.Executable)
	return err == nil && (now.Size() != d.build.Size() || !now.ModTime().Equal(d.build.ModTime()))
}

// handOver starts the new program in place of this one: the providers are part of it, and belong to its host. It reports false when
// there is nobody to do so.
func (d *daemon) handOver() bool {
	if d.StartMode != "auto" {
		return d.Trigger == service // its manager does
	}
	_, err := (&Control{Config: d.config, Executable: d.Executable}).spawn(d.Trigger)
	return err == nil
}

// uninstalled reports whether the program is not there any more, so that no provider can be started. An upgrade may need a moment.
func (d *daemon) uninstalled() bool {
	_, err := os.Stat(d.Executable)
	return errors.Is(err, os.ErrNotExist)
}

// restore reads the requests that an earlier daemon did not answer.
func (d *daemon) restore() {
	files, _ := filepath.Glob(d.place.job("*"))
	for _, file := range files {
		r, err := readRequest(file)
		if err != nil || len(d.pending) == maxPending {
			_ = os.Remove(file)
			continue
		}
		d.pending = append(d.pending, &job{Request: *r, phase: phaseDirect, state: stateQueued})
	}
}

// store keeps a request until it is answered.
func (d *daemon) store(r *Request) error {
	text, err := marshalRequest(r)
	if err != nil {
		return err
	}
	if err := durable.Replace(d.place.job(r.ID), text, 0o600); err != nil {
		return notWritable(err)
	}
	return nil
}
