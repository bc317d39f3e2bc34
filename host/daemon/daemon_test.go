package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/status"
)

func TestOneDaemon(t *testing.T) {
	w := newWorld(t)
	over, stop := w.start()
	if err := Run(context.Background(), w.options); fault.Code(err) != "already_running" {
		t.Errorf("the second daemon: %v", err)
	}
	info, err := os.Stat(w.health().Address)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the endpoint: %v %v", info, err)
	}
	stop()
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	if d, h := w.Observe(context.Background()); d.Status != "stopped" || d.Running || h != nil || d.FinishedAtMS == 0 {
		t.Errorf("after the end: %+v", d)
	}
	w.start() // the lock and the endpoint are free again
}

// Looking at a data root where nobody ever worked makes nothing there.
func TestObserveMakesNothing(t *testing.T) {
	w := newWorld(t)
	for mode, want := range map[string]string{"manual": "disabled", "auto": "stopped"} {
		w.configure("[indexing]\nmode = \"" + mode + "\"\n")
		w.load()
		d, h := w.Observe(context.Background())
		if d.Status != want || d.Enabled != (mode == "auto") || d.Running || h != nil || d.LockPath != filepath.Join(w.root, "daemon", "daemon.lock") ||
			d.Supervisor.Status == "" || d.Jobs.CoreRefresh.Status != "not_running" {
			t.Errorf("%s: %+v", mode, d)
		}
	}
	if entries, err := os.ReadDir(w.root); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestStopEndsIt(t *testing.T) {
	w := newWorld(t)
	over, _ := w.start()
	if err := w.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	if err := w.Stop(context.Background()); err != nil {
		t.Errorf("stopping nothing: %v", err)
	}
}

func TestChangeIsSeen(t *testing.T) {
	w := newWorld(t)
	var used atomic.Int64
	w.options.Plugins = func(*config.Config) Plugins { used.Add(1); return w.provider }
	w.start()
	w.idle()
	before := w.provider.listed.Load()
	used.Store(0)
	write(t, filepath.Join(w.home, ".claude", "projects", "a"), "x")
	w.until("an attempt", func() bool { return w.provider.listed.Load() > before })
	w.idle()
	if n := used.Load(); n != 1 {
		t.Errorf("providers were used %d times: a change of a file is no reason to look for routes and watch them anew", n)
	}
	if h := w.health(); h.Last.Trigger != "automatic" || h.Last.Scope != "claude" || h.Watch.Mode != "native" {
		t.Errorf("the attempt: %+v, %+v", h.Last, h.Watch)
	}
}

// A wake runs what is due, and nothing when nothing changed.
func TestWakeAloneCostsNothing(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.idle()
	before := w.provider.listed.Load()
	for range 50 {
		if !w.Ensure(context.Background(), "search") {
			t.Fatal("the daemon was not reached")
		}
	}
	w.idle()
	if n := w.provider.listed.Load(); n != before {
		t.Errorf("%d attempts for nothing", n-before)
	}
}

func TestPolling(t *testing.T) {
	w := newWorld(t)
	w.options.Poll = 20 * time.Millisecond
	w.options.limit = 2 // the home and the data root, but no route
	mkdir(t, w.home, ".claude", "projects", "p")
	w.start()
	w.idle()
	if h := w.health(); h.Watch.Mode != "polling" || len(h.Watch.Polled) != 1 || h.Watch.Polled[0].Reason == "" {
		t.Fatalf("watch: %+v", h.Watch)
	}
	before := w.provider.listed.Load()
	write(t, filepath.Join(w.home, ".claude", "projects", "p", "a"), "x")
	w.until("an attempt", func() bool { return w.provider.listed.Load() > before })
}

// A request that comes while an attempt runs follows it, and is answered by one successor, together with its equals.
func TestRequestsShareOneSuccessor(t *testing.T) {
	w := newWorld(t)
	w.provider.blocked = make(chan struct{})
	w.start()
	w.until("the first inventory", func() bool { return w.provider.listed.Load() == 1 })
	var wait sync.WaitGroup
	var mu sync.Mutex
	phases := map[string]bool{}
	for range 4 {
		wait.Go(func() {
			report, standing, err := w.Refresh(context.Background(), w.request("import"), func(p Progress) {
				mu.Lock()
				phases[p.Standing.Phase] = true
				mu.Unlock()
			})
			if err != nil || report.Outcome != refresh.Success || standing.Phase != phaseTerminal || standing.RequestState != statePublished ||
				standing.Outcome != "completed" {
				t.Errorf("%+v %+v %v", report, standing, err)
				return
			}
			row := report.Providers[0]
			if row.RequestID == "" || row.Request.Owner != "daemon" || row.Request.Trigger != "import" {
				t.Errorf("row %+v", row)
			}
		})
	}
	w.until("the requests", func() bool { return w.health().Pending == 4 })
	if files, _ := filepath.Glob(filepath.Join(w.root, "daemon", "jobs", "*")); len(files) != 4 {
		t.Errorf("%d requests are kept", len(files))
	}
	w.until("progress of the running attempt", func() bool { mu.Lock(); defer mu.Unlock(); return phases[phaseAttached] })
	close(w.provider.blocked)
	wait.Wait()
	w.idle()
	if n := w.provider.listed.Load(); n != 2 {
		t.Errorf("%d attempts, want the running one and one successor", n)
	}
	if files, _ := filepath.Glob(filepath.Join(w.root, "daemon", "jobs", "*")); len(files) != 0 {
		t.Errorf("answered requests are kept: %q", files)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.provider.blocked = make(chan struct{})
	w.start()
	for n := range maxPending + 1 {
		s, err := w.Submit(context.Background(), w.request("setup"))
		if n < maxPending && (err != nil || s.RequestState != stateQueued || s.Phase != phaseAttached) {
			t.Fatalf("request %d: %+v %v", n, s, err)
		}
		if n == maxPending && (fault.Code(err) != fault.ResourceUnavailable || fault.From(err).Retryable == nil) {
			t.Errorf("one too many: %v", err)
		}
	}
	close(w.provider.blocked)
	w.idle()
}

// Those that an attempt serves count: a daemon that is killed leaves no more of them than the next one takes.
func TestRunningRequestsCount(t *testing.T) {
	w := newWorld(t)
	d := &daemon{Options: w.options, place: place{w.root}, followers: map[*follower]bool{}, attempt: new(attempt)}
	mkdir(t, d.place.jobs())
	for n := range maxPending + 1 {
		r := w.request("import")
		if _, err := d.admit(&r); (err == nil) != (n < maxPending) {
			t.Errorf("request %d: %v", n, err)
		}
		d.attempt.jobs, d.pending = append(d.attempt.jobs, d.pending...), nil
	}
}

// A place that is missing is looked at again, even when nothing has changed since: only then do its sources count as gone.
func TestMissingPlaceIsLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	for _, unsettled := range []bool{false, true} {
		d := &daemon{
			Options: w.options, config: w.Config, schedule: newSchedule(), watcher: newWatcher(10), ctx: context.Background(),
			tasks: make(chan func()), reconcileAt: time.Now(),
		}
		d.look()
		d.baseline = sumOf(d.routes)
		d.conclude(&attempt{report: &refresh.Report{Unsettled: unsettled}})
		d.housekeeping(time.Now())
		(<-d.tasks)()
		d.watcher.close()
		if due := len(d.schedule.marked()) > 0; due != unsettled {
			t.Errorf("unsettled %v: looked at %v", unsettled, due)
		}
	}
}

// A wake is one short line without content, and nobody waits for a process that does not answer, or for the one that is started.
func TestWakeIsBounded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts are no programs there")
	}
	w := newWorld(t)
	p := place{w.root}
	lock, err := p.acquire(0)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("unix", p.defaultSocket())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	heard := make(chan string, 8)
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(conn) // until the caller hangs up
			conn.Close()
			heard <- string(text)
		}
	}()
	if w.Ensure(context.Background(), "search") {
		t.Error("a process that does not answer counts as woken")
	}
	want := fmt.Sprintf(`{"protocol":%d,"op":"wake","contract":"%s","trigger":"search"}`+"\n", protocol, core.Contract())
	if got := <-heard; got != want || len(heard) > 0 {
		t.Errorf("the wake: %q and %d more", got, len(heard))
	}
	// It is gone: the next one is started, and ends only after the wake has returned.
	silent.Close()
	lock.Close()
	mkdir(t, w.root, "core")
	w.Executable = filepath.Join(w.home, "ctx")
	script := "#!/bin/sh\ncd " + w.home + "; echo . >>begun; while [ ! -e go ]; do sleep 0.01; done; echo . >>ended"
	if err := os.WriteFile(w.Executable, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if !w.Ensure(context.Background(), "search") {
		t.Error("none was started")
	}
	write(t, filepath.Join(w.home, "go"), "")
	lines := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(w.home, name))
		return string(text)
	}
	w.until("its end", func() bool { return lines("ended") != "" })
	if lines("begun") != ".\n" {
		t.Errorf("started: %q", lines("begun"))
	}
}

// A request survives the daemon that took it, and is answered by the next one under the same id.
func TestRequestSurvivesACrash(t *testing.T) {
	w := newWorld(t)
	p := place{w.root}
	mkdir(t, p.jobs())
	r := w.request("setup")
	text, err := marshalRequest(&r)
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.job(r.ID), string(text))
	write(t, p.job("no-request"), "{}")
	write(t, p.job(uuid.NewString()), string(text)) // under a wrong name
	w.provider.blocked = make(chan struct{})
	w.start()
	w.until("the attempt", func() bool { return w.provider.listed.Load() == 1 })
	if h := w.health(); h.Running == nil || len(h.Running.Requests) != 1 || h.Running.Requests[0] != r.ID {
		t.Errorf("running: %+v", h.Running)
	}
	close(w.provider.blocked)
	if _, s, err := w.Refresh(context.Background(), r, nil); err != nil || s.RequestID != r.ID {
		t.Errorf("%+v %v", s, err)
	}
	w.idle()
	if _, s, err := w.Refresh(context.Background(), r, nil); err != nil || s.Phase != phaseTerminal {
		t.Errorf("asked again: %+v %v", s, err)
	}
	if files, _ := filepath.Glob(p.job("*")); len(files) != 0 {
		t.Errorf("left: %q", files)
	}
}

// Where histories lie is what the shell said that started the daemon. A request is served in its own shell's terms, and the daemon looks at
// its own places again afterwards; setup moves it.
func TestRequestBringsItsSurroundings(t *testing.T) {
	w := newWorld(t)
	w.start()
	own := filepath.Join(w.home, ".claude", "projects")
	other := mkdir(t, w.home, "other", ".claude", "projects")
	ask := func(trigger string, from func(*Surroundings)) (listed int64) {
		t.Helper()
		w.idle()
		before := w.provider.listed.Load()
		r := w.request(trigger)
		from(r.Environment)
		if _, _, err := w.Refresh(context.Background(), r, nil); err != nil {
			t.Fatal(err)
		}
		w.idle()
		return w.provider.listed.Load() - before
	}
	home := func(s *Surroundings) { s.Home = filepath.Join(w.home, "other") }
	notices := func(dir string) {
		t.Helper()
		before := w.provider.listed.Load()
		write(t, filepath.Join(dir, uuid.NewString()), "x")
		w.until("an attempt", func() bool { return w.provider.listed.Load() > before })
		w.idle()
	}
	if n := ask("import", func(s *Surroundings) { s.WorkDir = filepath.Join(w.home, "other") }); n != 1 {
		t.Errorf("%d runs for an import from another directory", n)
	}
	ask("import", home)
	if got := w.provider.places(); !slices.Contains(got, other) || got[len(got)-1] != own {
		t.Errorf("listed for an import: %q", got)
	}
	notices(own)
	ask("setup", home)
	if got := w.provider.places(); got[len(got)-1] != other {
		t.Errorf("listed for setup: %q", got)
	}
	notices(other)
}

// A whole attempt that fails is tried again by itself, and status does not call that work in progress.
func TestBlocked(t *testing.T) {
	w := newWorld(t)
	var full atomic.Bool
	w.options.Store = core.Open(filepath.Join(w.root, "core"), core.Options{Write: func(int) error {
		if full.Load() {
			return syscall.ENOSPC
		}
		return nil
	}})
	full.Store(true)
	w.start()
	w.until("the failure", func() bool { h := w.health(); return h.Blocked && h.Running == nil })
	report := &status.Report{}
	Present(report, w.health())
	if report.Refresh.Status != "stale" || report.Refresh.RequestState != stateFailed || report.Refresh.LastError == "" {
		t.Errorf("%+v", report.Refresh)
	}
	full.Store(false)
	if _, _, err := w.Refresh(context.Background(), w.request("import"), nil); err != nil {
		t.Fatal(err) // a request does not wait for the retry
	}
	w.until("an end of the wait", func() bool { return !w.health().Blocked })
}

// A daemon that is stopped keeps the requests that it did not answer.
func TestStopKeepsRequests(t *testing.T) {
	w := newWorld(t)
	w.provider.blocked = make(chan struct{})
	over, stop := w.start()
	r := w.request("setup")
	if _, err := w.Submit(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := w.ended(over); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(place{w.root}.job(r.ID)); err != nil {
		t.Fatal(err)
	}
	close(w.provider.blocked)
	w.start()
	w.until("its answer", func() bool { _, err := os.Stat(place{w.root}.job(r.ID)); return os.IsNotExist(err) })
}

func TestDataRootGoes(t *testing.T) {
	w := newWorld(t)
	over, _ := w.start()
	w.idle()
	if err := os.RemoveAll(w.root); err != nil {
		t.Fatal(err)
	}
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.root); !os.IsNotExist(err) {
		t.Error("the data root came back")
	}
}

func TestDataRootIsReplaced(t *testing.T) {
	w := newWorld(t)
	over, _ := w.start()
	w.idle()
	if err := os.Rename(filepath.Join(w.root, "daemon"), filepath.Join(w.root, "old")); err != nil {
		t.Fatal(err)
	}
	w.ended(over)
	w.start() // the next one does not mind
}

func TestManualModeEndsIt(t *testing.T) {
	w := newWorld(t)
	over, _ := w.start()
	w.idle()
	w.configure("[indexing]\nmode = \"manual\"\n")
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	if err := Run(context.Background(), w.options); fault.Code(err) != disabledCode {
		t.Errorf("in manual mode: %v", err)
	}
	w.options.Force = true
	w.start()
}

func TestConfigIsReadAgain(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.idle()
	w.configure("[sources\n")
	w.until("the failure", func() bool { return w.health().Config.Failed != "" })
	before := w.provider.listed.Load()
	w.configure("[sources]\nautomatic = false\n")
	w.until("the new settings", func() bool { return w.health().Config.Failed == "" && w.health().Watch.Routes == 0 })
	w.idle()
	if n := w.provider.listed.Load(); n != before {
		t.Errorf("%d inventories of a provider without a route", n-before)
	}
}

// Without anything to read, and without anybody who asks, a daemon ends.
func TestPointless(t *testing.T) {
	w := newWorld(t)
	if err := os.RemoveAll(filepath.Join(w.home, ".claude")); err != nil {
		t.Fatal(err)
	}
	w.options.pointless = 50 * time.Millisecond
	over, _ := w.start()
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	if d, _ := w.Observe(context.Background()); d.Status != "completed" {
		t.Errorf("status %s", d.Status)
	}
}

func TestReplacedProgram(t *testing.T) {
	w := newWorld(t)
	w.options.Executable = filepath.Join(w.home, "ctx")
	write(t, w.options.Executable, "version 1")
	over, _ := w.start()
	w.idle()
	write(t, w.options.Executable, "version 2")
	h, err := w.ask(context.Background(), call{Op: opWake})
	if err != nil || !h.Ending {
		t.Errorf("%+v %v", h, err)
	}
	w.ended(over)

	over, _ = w.start()
	w.idle()
	write(t, w.options.Executable, " that speaks another language")
	conn, err := net.Dial("unix", w.health().Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, `{"protocol":%d,"op":"wake"}`+"\n", protocol+1)
	w.ended(over)
}

// The providers are part of the program, so the old one does not go on with those of the new one: it starts the new one in its place.
func TestReplacedProgramHandsOver(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts are no programs there")
	}
	w := newWorld(t)
	w.options.Executable, w.options.StartMode, w.options.Trigger = filepath.Join(w.home, "ctx"), "auto", "setup"
	mkdir(t, w.root, "daemon")
	write(t, w.options.Executable, "version 1")
	over, _ := w.start()
	w.idle()
	before, told := w.provider.listed.Load(), filepath.Join(w.home, "told")
	script := "#!/bin/sh\nexec >" + told + ".new; for word; do echo \"$word\"; done; mv " + told + ".new " + told
	if err := os.WriteFile(w.options.Executable+".new", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.options.Executable+".new", w.options.Executable); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.home, ".claude", "projects", "a"), "x")
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	w.until("the new program", func() bool { _, err := os.Stat(told); return err == nil })
	text, _ := os.ReadFile(told)
	if want := "--data-root\n" + w.root + "\ndaemon\nrun\n--detached\n--trigger\nsetup\n"; string(text) != want {
		t.Errorf("started with %q", text)
	}
	if n := w.provider.listed.Load(); n != before {
		t.Errorf("%d attempts of the old program", n-before)
	}
}

// A service manager starts again what ends with a fault. One that a command started makes room for the service, so that the manager
// does not try forever; a replaced program ends with a fault, one that was told to stop does not.
func TestService(t *testing.T) {
	w := newWorld(t)
	over, _ := w.start()
	w.idle()
	w.options.Trigger, w.options.Executable = service, filepath.Join(w.home, "ctx")
	write(t, w.options.Executable, "version 1")
	supervised, _ := w.start()
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	w.until("the service", func() bool { h := w.health(); return h != nil && h.Supervised })
	write(t, w.options.Executable, "version 2")
	write(t, filepath.Join(w.home, ".claude", "projects", "a"), "x")
	if err := w.ended(supervised); fault.Code(err) != "program_replaced" {
		t.Errorf("replaced: %v", err)
	}
	supervised, _ = w.start()
	if err := w.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := w.ended(supervised); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

func TestNotWritable(t *testing.T) {
	w := newWorld(t)
	write(t, filepath.Join(w.root, "daemon"), "a file where the directory should be")
	if err := Run(context.Background(), w.options); fault.Code(err) != fault.ResourceUnavailable || !strings.Contains(err.Error(), "nothing is refreshed") {
		t.Errorf("%v", err)
	}
	if w.Ensure(context.Background(), "search") {
		t.Error("a search believes that a daemon was started")
	}
}

// The right to write is lost and comes back: requests say so, and the daemon goes on.
func TestPermissionIsLost(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("nothing is forbidden to this user")
	}
	w := newWorld(t)
	w.start()
	w.idle()
	if err := os.Chmod(filepath.Join(w.root, "daemon", "jobs"), 0o500); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Refresh(context.Background(), w.request("import"), nil); fault.Code(err) != fault.ResourceUnavailable {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(filepath.Join(w.root, "daemon", "jobs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Refresh(context.Background(), w.request("import"), nil); err != nil {
		t.Errorf("%v", err)
	}
}

func TestWhoMayStartOne(t *testing.T) {
	w := newWorld(t)
	if w.Ensure(context.Background(), "search") {
		t.Error("a search started a daemon where ctx was never set up")
	}
	mkdir(t, w.root, "core")
	if !w.recoverable() {
		t.Error("a search may not recover the daemon")
	}
	p := place{w.root}
	mkdir(t, p.dir())
	for _, tt := range []struct {
		started time.Duration
		want    bool
	}{{-time.Second, false}, {-time.Minute, true}, {time.Hour, true}} { // the last one: the clock was set back
		if err := p.write(state{Status: "running", Crashes: maxCrashes, Identity: Identity{StartedAtMS: time.Now().Add(tt.started).UnixMilli()}}); err != nil {
			t.Fatal(err)
		}
		if w.recoverable() != tt.want {
			t.Errorf("crashed, started %v ago: recoverable %v", tt.started, !tt.want)
		}
	}
	w.configure("[indexing]\nmode = \"manual\"\n")
	w.load()
	if w.Suppressed() != disabledCode || w.Ensure(context.Background(), "search") {
		t.Error("manual mode does not keep one from starting")
	}
	w.Config.Indexing.Mode, w.Config.Daemon.AutostartOff = config.ModeAuto, true
	if _, err := w.Start(context.Background(), "import"); fault.Code(err) != Unavailable {
		t.Errorf("autostart off: %v", err)
	}
}

func TestStaleLock(t *testing.T) {
	w := newWorld(t)
	p := place{w.root}
	mkdir(t, p.dir())
	write(t, p.lock(), "")
	write(t, p.defaultSocket(), "") // what a killed daemon leaves behind
	if err := p.write(state{Status: "running", Identity: Identity{PID: 1, Address: p.defaultSocket()}}); err != nil {
		t.Fatal(err)
	}
	if d, _ := w.Observe(context.Background()); d.Status != "stale_lock" || d.Running || d.LockIdentity.Active {
		t.Errorf("%+v", d)
	}
	w.start()
}

// A path that is too long for a socket gets a short one in a private directory.
func TestLongPath(t *testing.T) {
	w := newWorld(t)
	w.root = mkdir(t, w.root, strings.Repeat("x", 120))
	w.options.DataRoot = w.root
	w.load()
	w.start()
	if h := w.health(); len(h.Address) > longestSocket {
		t.Errorf("address %s", h.Address)
	}
}

func TestStrangeCallers(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.idle()
	for _, line := range []string{"", "\n", "no json\n", `{"op":"health"}` + "\n", `{"protocol":1,"op":"dance"}` + "\n", strings.Repeat("x", 1<<20),
		`{"protocol":1,"op":"refresh"}` + "\n", `{"protocol":1,"op":"refresh","request":{"request_id":"../../x","intent":"selected_import","all":true}}` + "\n"} {
		conn, err := net.Dial("unix", w.health().Address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(line))
		conn.Close()
	}
	err := w.exchange(context.Background(), call{Op: opRefresh, Request: &Request{ID: "../../x", Intent: Import, All: true}}, func(answer) {})
	if fault.Code(err) != fault.InvalidRequest {
		t.Errorf("a request with a path for an id: %v", err)
	}
	if h := w.health(); h == nil || h.Pending != 0 {
		t.Errorf("afterwards: %+v", h)
	}
}

func TestHealthFitsIntoALine(t *testing.T) {
	t.Parallel()
	d := &daemon{watcher: &watcher{}, schedule: newSchedule()}
	for range 64 {
		d.routes = append(d.routes, d.routes...)
		d.polled = append(d.polled, &polled{Polled: Polled{"claude", "/" + strings.Repeat("long/", 100), "it has too many directories to watch"}})
	}
	text, err := json.Marshal(answer{Health: d.health()})
	if err != nil || len(text) > maxLine {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestReportTravels(t *testing.T) {
	t.Parallel()
	n, gen := uint64(0), "g1"
	offset := uint64(7)
	r := &refresh.Report{
		Summary: refresh.Summary{SchemaVersion: 2, Outcome: refresh.WithFailures}, Generation: gen,
		Providers:  []*refresh.ProviderRow{{Provider: "claude", PublishedGeneration: &gen}},
		Path:       &refresh.PathRow{Provider: "claude", Path: "/x"},
		Failures:   []*refresh.FailureRow{{Provider: "claude", Class: "unreadable", Detail: "no"}},
		Rejections: []*refresh.RejectionRow{{RejectedRecord: refresh.RejectedRecord{Rejection: core.Rejection{Line: 3, ByteOffset: &offset}}}},
	}
	r.Totals.Current.Sources = &n // zero is not the same as unknown
	r.Receipt = refresh.Receipt{State: "published", Providers: map[string]refresh.ProviderReceipt{"claude": {ReceiptCounts: refresh.ReceiptCounts{Sources: 1}}}}
	text, err := json.Marshal(answer{Report: r})
	if err != nil {
		t.Fatal(err)
	}
	var back answer
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(r.Document())
	if have, _ := json.Marshal(back.Report.Document()); string(have) != string(want) || !reflect.DeepEqual(back.Report, r) {
		t.Errorf("came as %s\nsent as %s", have, want)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"request_id":"0b6f8f0e-54a8-4b8c-9d6f-0f3c1f5f7a01","intent":"selected_import","trigger":"import","all":true}`))
	f.Add([]byte(`{"request_id":"..","intent":"selected_import","provider":"claude","exact_source":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Request
		if json.Unmarshal(text, &r) != nil || !r.valid() {
			return
		}
		if filepath.Base(r.ID) != r.ID || r.Path != "" && !filepath.IsAbs(r.Path) {
			t.Errorf("taken: %+v", r)
		}
	})
}

func TestServiceFiles(t *testing.T) {
	t.Parallel()
	c := &Control{Config: &config.Config{DataRoot: "/home/u/.ctx"}, Executable: "/opt/my tools/ctx"}
	c.Config.Environment = config.NewEnvironment(config.Linux, "/home/u", "/", 1000, func(string) (string, bool) { return "", false })
	linux, ok := c.unit("linux")
	if !ok || linux.file != "/home/u/.config/systemd/user/ctx.service" ||
		!strings.Contains(linux.text, `ExecStart="/opt/my tools/ctx" "--data-root" "/home/u/.ctx" "daemon" "run"`) {
		t.Errorf("%s\n%s", linux.file, linux.text)
	}
	c.Config.DataRoot = "/srv/a&b"
	mac, ok := c.unit("darwin")
	if !ok || !strings.Contains(mac.text, "<string>/srv/a&amp;b</string>") || !strings.HasPrefix(filepath.Base(mac.file), "io.github.agenthistory.ctx-") {
		t.Errorf("%s\n%s", mac.file, mac.text)
	}
	if _, ok := c.unit("windows"); ok {
		t.Error("a service on windows")
	}
}

// What is written for a service manager is read by parsers that are not ours, where this machine has them.
func TestServiceFilesAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"c tx", "c%tx", "c$tx", "c$$tx", `c"tx`, "c'tx", `c\tx`, `c\\t"x' %n;#{$HOME}`} {
		dir := mkdir(t, t.TempDir(), "a & b 100%")
		program, root := filepath.Join(dir, name), dir+`/"$x" \y`
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Logf("no program %q here: %v", name, err)
			continue
		}
		c := &Control{Config: &config.Config{DataRoot: root}, Executable: program}
		c.Config.Environment = config.NewEnvironment(config.Linux, dir, "/", 1000, func(string) (string, bool) { return "", false })
		check := func(goos, tool string, args ...string) {
			u, _ := c.unit(goos)
			file := filepath.Join(dir, u.name)
			if goos == "darwin" {
				file += ".plist"
			}
			if err := os.WriteFile(file, []byte(u.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := exec.LookPath(tool); err != nil {
				t.Logf("%s is not here", tool)
				return
			}
			run := exec.Command(tool, append(args, file)...)
			run.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "WANT="+program+"\n--data-root\n"+root+"\ndaemon\nrun\n--trigger\n"+service)
			if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s\n%s", tool, err, out, u.text)
			}
		}
		check("linux", "systemd-analyze", "--user", "--man=no", "--generators=no", "verify")
		check("darwin", "python3", "-c", `import os, plistlib, sys
d = plistlib.load(open(sys.argv[1], "rb"))
assert d["Label"].startswith("io.github.agenthistory.ctx-") and d["RunAtLoad"] is True and d["KeepAlive"] == {"SuccessfulExit": False}, d
assert d["ProgramArguments"] == os.environ["WANT"].split("\n"), d`)
	}
}

// A provider that takes its time when it is asked for its places keeps nobody waiting who only wants to know, or to end it.
func TestAnswersWhileItLooks(t *testing.T) {
	w := newWorld(t)
	w.provider.describing = make(chan struct{})
	over := make(chan error, 1)
	go func() { over <- Run(context.Background(), w.options) }()
	w.until("an answer", func() bool { return w.health() != nil })
	if h, err := w.Start(context.Background(), "import"); err != nil || h.PID != os.Getpid() || len(h.Marked) == 0 {
		t.Errorf("%+v %v", h, err)
	}
	w.until("a wake", func() bool { return w.Ensure(context.Background(), "search") })
	if n := w.provider.listed.Load(); n != 0 {
		t.Errorf("%d inventories before the places are known", n)
	}
	if err := w.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
}

// A process that was started for a data root that is gone by now does not make it again.
func TestDeletedDataRootStaysAway(t *testing.T) {
	w := newWorld(t)
	if err := os.RemoveAll(w.root); err != nil {
		t.Fatal(err)
	}
	w.options.StartMode = "auto"
	if err := Run(context.Background(), w.options); fault.Code(err) != Unavailable {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(w.root); !os.IsNotExist(err) {
		t.Error("the data root came back")
	}
}

// No event tells that a directory above the data root got another name.
func TestDataRootMovesAway(t *testing.T) {
	w := newWorld(t)
	above := mkdir(t, w.root, "above")
	w.root = mkdir(t, above, "root")
	w.options.DataRoot, w.options.around = w.root, 10*time.Millisecond
	w.load()
	over, _ := w.start()
	w.idle()
	if err := os.Rename(above, above+"2"); err != nil {
		t.Fatal(err)
	}
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(above); !os.IsNotExist(err) {
		t.Error("the data root came back")
	}
}

// Without its program it can start no provider.
func TestUninstalled(t *testing.T) {
	w := newWorld(t)
	w.options.Executable, w.options.around = filepath.Join(w.home, "ctx"), 10*time.Millisecond
	write(t, w.options.Executable, "version 1")
	over, _ := w.start()
	w.idle()
	if err := os.Remove(w.options.Executable); err != nil {
		t.Fatal(err)
	}
	if err := w.ended(over); err != nil {
		t.Error(err)
	}
	if d, _ := w.Observe(context.Background()); d.Status != "completed" {
		t.Errorf("status %s", d.Status)
	}
}

// Somebody looks in the moment in which the daemon ends.
func TestObserveWhileItEnds(t *testing.T) {
	w := newWorld(t)
	p := place{w.root}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if lock, err := p.acquire(generous); err == nil {
				lock.Close()
			}
		}
	})
	for range 2000 {
		if d, h := w.Observe(context.Background()); h != nil || d.Running || d.Status != "stopped" && d.Status != "unknown" {
			t.Fatalf("%+v %+v", d, h)
		}
	}
	close(stop)
	wait.Wait()
}

// Who may only use a daemon that lives starts none, whatever happens.
func TestBorrowed(t *testing.T) {
	w := newWorld(t)
	w.Borrowed = true
	if _, err := w.Start(context.Background(), "import"); fault.Code(err) != Unavailable {
		t.Errorf("%v", err)
	}
	if _, _, err := w.Refresh(context.Background(), w.request("import"), nil); fault.Code(err) != Unavailable {
		t.Errorf("%v", err)
	}
	w.start()
	if _, _, err := w.Refresh(context.Background(), w.request("import"), nil); err != nil {
		t.Errorf("%v", err)
	}
}
