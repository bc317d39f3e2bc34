package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
)

// job is a request that waits for its attempt, or is served by it.
type job struct {
	Request
	state, phase string
	seen         []*follower
}

// covers reports whether one run answers two requests.
func (r Request) covers(o Request) bool {
	return r.scope() == o.scope() && r.Path == o.Path && r.Resume == o.Resume && r.Reset == o.Reset && reflect.DeepEqual(r.Environment, o.Environment)
}

// scope is the part of the schedule that a run settles.
func (r Request) scope() string {
	if r.Provider != "" {
		return r.Provider
	}
	return everything
}

// attempt is a run of the refresh. The fields below done are written by its goroutine before done is closed.
type attempt struct {
	Attempt
	request   Request
	marked    bool // changes of its scope had been seen
	elsewhere bool // it looked at other places than those of the daemon
	jobs      []*job
	started   time.Time
	cancel    context.CancelFunc
	last      atomic.Pointer[refresh.Progress]

	done   chan *attempt
	report *refresh.Report
	err    error
}

// final is the answer to a request, kept for a caller that lost its connection.
type final struct {
	id     string
	answer answer
}

// follower is a connection that is told what happens.
type follower struct {
	job   *job // nil: it asked for nothing
	lines chan answer
}

const followerRoom = 32

// show passes a progress event on, unless the connection is slow: progress may be lost, the end may not.
func (f *follower) show(a answer) {
	if len(f.lines) < followerRoom/2 {
		f.lines <- a
	}
}

func (f *follower) end(a answer) {
	f.lines <- a
	close(f.lines)
}

// admit takes a request. One that was answered already, or that waits already, is not taken twice.
func (d *daemon) admit(r *Request) (*follower, error) {
	f := &follower{lines: make(chan answer, followerRoom)}
	for _, old := range d.finals {
		if old.id == r.ID {
			f.end(old.answer)
			return f, nil
		}
	}
	d.active = time.Now()
	if f.job = d.find(r.ID); f.job == nil {
		if d.replaced() {
			d.ending = "completed"
			return nil, fault.New(endingCode, "the background process makes room for a new version").WithRetry(true)
		}
		if n := len(d.jobs()); n >= maxPending {
			return nil, fault.New(fault.ResourceUnavailable, "%d requests wait already", n).WithRetry(true)
		}
		if err := d.store(r); err != nil {
			return nil, err
		}
		f.job = &job{Request: *r, state: stateQueued, phase: phaseDirect}
		if d.attempt != nil {
			f.job.phase = phaseAttached
		}
		d.pending = append(d.pending, f.job)
	}
	f.job.seen = append(f.job.seen, f)
	d.followers[f] = true
	return f, nil
}

// jobs are the requests that are not answered: those that wait, and those of the running attempt.
func (d *daemon) jobs() []*job {
	if d.attempt == nil {
		return d.pending
	}
	return slices.Concat(d.pending, d.attempt.jobs)
}

// find returns the living request of an id.
func (d *daemon) find(id string) *job {
	jobs := d.jobs()
	if n := slices.IndexFunc(jobs, func(j *job) bool { return j.ID == id }); n >= 0 {
		return jobs[n]
	}
	return nil
}

// follow lets a connection see what is under way. It ends when nothing is.
func (d *daemon) follow() *follower {
	f := &follower{lines: make(chan answer, followerRoom)}
	if !d.busy() {
		f.end(answer{End: true})
		return f
	}
	d.followers[f] = true
	return f
}

// busy reports whether something that a waiting person means is under way: a run, a request, or changes that were seen.
func (d *daemon) busy() bool {
	return d.attempt != nil || len(d.pending) > 0 || len(d.schedule.marks) > 0 && d.schedule.blocked.wait == 0
}

// leave forgets a connection that went away. Its request goes on.
func (d *daemon) leave(f *follower) { delete(d.followers, f) }

// launch starts a run, with all the waiting requests that it answers.
func (d *daemon) launch(r Request) {
	if d.vanished = d.place.gone(d.lock); d.vanished {
		d.ending = "stopped"
		return
	}
	settings, elsewhere := d.settle(r)
	a := &attempt{request: r, started: time.Now(), elsewhere: elsewhere, done: make(chan *attempt, 1)}
	a.Attempt = Attempt{ID: uuid.NewString(), Trigger: r.Trigger, Scope: "all", State: stateRunning, StartedAtMS: a.started.UnixMilli()}
	if r.Provider != "" {
		a.Scope = r.Provider
	}
	if r.Path != "" {
		a.Scope = "path"
	}
	waiting := d.pending[:0]
	for _, j := range d.pending {
		if r.Intent != Import || !r.covers(j.Request) {
			waiting = append(waiting, j)
			continue
		}
		if j.state = stateRunning; j.phase == phaseAttached {
			j.phase = phaseSuccessor
		}
		a.jobs, a.Requests = append(a.jobs, j), append(a.Requests, j.ID)
	}
	d.pending = waiting
	for _, j := range d.pending {
		j.phase = phaseAttached
	}
	var touched map[string][]string
	if r.Path == "" {
		touched, a.marked = d.schedule.take(r.scope(), a.started)
	}
	if r.Intent == Import {
		touched = nil
	}
	ctx, cancel := context.WithCancel(d.ctx)
	a.cancel = cancel
	d.attempt = a
	d.Memory(false)
	plugins := d.Plugins(settings)
	req := refresh.Request{
		Config: settings, Store: d.Store, Plugins: plugins, Resolve: plugins.Resolve, Executable: d.Executable, All: r.All, Provider: r.Provider, Path: r.Path,
		Resume: r.Resume, Reset: r.Reset, Trigger: r.Trigger, Touched: touched, Known: &d.known, Log: d.log, MergeLater: true,
		Progress: func(p refresh.Progress) { a.last.Store(&p); d.post(func() { d.show(a, p) }) },
	}
	go func() {
		defer cancel()
		a.report, a.err = refresh.Run(ctx, req)
		a.done <- a
	}()
}

// settle reads the settings of the next run. The daemon keeps the surroundings of its start; a request that comes from others is read
// in them, and only setup, which says where the histories of this user lie, moves the daemon there. elsewhere tells that the run looks at
// other places than the daemon does; another working directory only adds some.
func (d *daemon) settle(r Request) (c *config.Config, elsewhere bool) {
	asked := d.Environment
	if r.Environment != nil {
		asked = r.Environment.environment(os.LookupEnv, d.Environment)
	}
	own, theirs := SurroundingsOf(d.Environment), SurroundingsOf(asked)
	foreign := !reflect.DeepEqual(own, theirs)
	if foreign && r.Trigger == "setup" {
		d.Environment, d.replan, foreign = asked, true, false
	}
	if d.load(); d.replan {
		d.look()
	}
	if !foreign {
		return d.config, false
	}
	c, err := config.Load(d.DataRoot, asked)
	if err != nil {
		return d.config, false // load has told that the file cannot be used
	}
	own.WorkDir = theirs.WorkDir
	return c, r.Path == "" && !reflect.DeepEqual(own, theirs)
}

// post hands a function to the loop, or drops it when there is no loop any more.
func (d *daemon) post(f func()) {
	select {
	case d.tasks <- f:
	case <-d.over:
	}
}

// show tells the progress of an attempt to everybody who follows.
func (d *daemon) show(a *attempt, p refresh.Progress) {
	if p.Done {
		return // the end is told with its outcome
	}
	for f := range d.followers {
		f.show(answer{Progress: &Progress{Progress: p, Standing: d.standing(f.job, a)}})
	}
}

// standing describes where a request stands; a follower without a request sees maintenance.
func (d *daemon) standing(j *job, a *attempt) Standing {
	s := Standing{Maintenance: j == nil}
	if a != nil {
		s.AttemptID, s.AttemptState, s.OwnerState = a.ID, a.State, a.State
		if len(a.Requests) > 0 {
			s.OwnerID = a.Requests[0]
		}
	}
	if j != nil {
		s.RequestID, s.LogicalID, s.RequestState, s.Phase = j.ID, j.ID, j.state, j.phase
		if a == nil {
			s.Phase = phaseWaiting
		}
	}
	return s
}

// finished settles an attempt and answers its requests.
func (d *daemon) finished(a *attempt) {
	d.conclude(a)
	now := time.Now()
	d.active, d.crashes = now, 0
	if a.Changed || a.State == stateFailed {
		d.keep("running")
	}
	d.calmAt = now.Add(calmAfter)
	if a.elsewhere { // it settled what was marked, but not here
		d.schedule.touch(everything, now)
	}
	if a.Changed {
		d.reclaimAt = now.Add(reclaimAfter)
	}
	if d.busy() {
		return
	}
	for f := range d.followers {
		d.leave(f)
		f.end(answer{End: true})
	}
}

// conclude records how an attempt ended, and answers its requests.
func (d *daemon) conclude(a *attempt) {
	d.attempt = nil
	now := time.Now()
	a.FinishedAtMS = now.UnixMilli()
	reply := answer{End: true}
	switch {
	case a.err != nil:
		a.State, a.Outcome, a.LastError = stateFailed, fault.Code(a.err), fault.From(a.err).Message
		reply.Fault = fault.From(a.err)
		if errors.Is(a.err, context.Canceled) || d.ctx.Err() != nil {
			d.requeue(a)
			return
		}
		d.log("refresh of %s failed: %s", a.Scope, fault.From(a.err).Detail())
		if a.marked {
			d.schedule.broke(a.request.scope(), now)
		}
	default:
		a.outcome()
		d.mergeDue = d.mergeDue || a.report.MergeDue
		d.unsettled = a.report.Unsettled
		if a.request.Path == "" {
			d.schedule.ended(a.request.scope(), retryable(a.report), now.Sub(a.started), now)
		}
		reply.Report = a.report
	}
	d.latest = &a.Attempt
	for _, j := range a.jobs {
		j.state, j.phase = a.State, phaseTerminal
		told := reply
		s := d.standing(j, a)
		s.Outcome = a.Outcome
		told.Standing = &s
		if p := a.last.Load(); p != nil { // the last event says that it is done
			for _, f := range j.seen {
				f.show(answer{Progress: &Progress{Progress: *p, Standing: s}})
			}
		}
		d.answer(j, told)
	}
}

// requeue keeps the requests of an attempt that was stopped with the daemon: the next daemon serves them.
func (d *daemon) requeue(a *attempt) {
	for _, j := range a.jobs {
		j.state = stateQueued
	}
	d.pending = append(a.jobs, d.pending...)
}

// answer ends a request.
func (d *daemon) answer(j *job, told answer) {
	_ = os.Remove(d.place.job(j.ID))
	d.finals = append(d.finals, final{j.ID, told})
	d.finals = d.finals[max(0, len(d.finals)-maxPending):]
	for _, f := range j.seen {
		if d.followers[f] {
			d.leave(f)
			f.end(told)
		}
	}
}

// outcome fills in what a report says about its attempt, and who asked in its rows.
func (a *attempt) outcome() {
	r := a.report
	a.Looked = r.Receipt.Looked
	a.State, a.Outcome, a.Generation, a.Changed = statePublished, r.Outcome.Structured(), r.Generation, r.Totals.Change == refresh.Changed
	if r.Outcome == refresh.Failure {
		a.State = stateFailed
		if len(r.Failures) > 0 {
			a.LastError = r.Failures[0].Detail
		}
	}
	if len(a.jobs) == 0 {
		return
	}
	meta := &refresh.Owner{Owner: "daemon", Operation: "core_refresh", Trigger: a.Trigger, Provenance: "explicit_command"}
	for _, row := range r.Providers {
		row.RequestID, row.Request = a.jobs[0].ID, meta
	}
}

// retryable names the providers with sources that may be readable later, without having changed.
func retryable(r *refresh.Report) map[string]bool {
	failing := map[string]bool{}
	for _, row := range r.Failures {
		if row.Class != "malformed_source" && row.Class != "unsupported_schema" {
			failing[row.Provider] = true
		}
	}
	return failing
}

const maxRequest = 12 << 10

func marshalRequest(r *Request) ([]byte, error) {
	text, err := json.Marshal(r)
	if err == nil && len(text) > maxRequest {
		err = fault.New(fault.InvalidRequest, "the request and the variables that name places of histories are too long")
	}
	return append(text, '\n'), err
}

// readRequest reads a request that was kept. A file of another name, or with another content, is none.
func readRequest(file string) (*Request, error) {
	text, err := durable.ReadFile(file, maxRequest+1)
	if err != nil {
		return nil, err
	}
	r := new(Request)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if !r.valid() || filepath.Base(file) != r.ID+".json" {
		return nil, fmt.Errorf("%s holds no request", file)
	}
	return r, nil
}

// valid checks what a caller or a file says.
func (r *Request) valid() bool {
	id, err := uuid.Parse(r.ID)
	chosen := 0
	if r.All {
		chosen++
	}
	if r.Provider != "" {
		chosen++
	}
	return err == nil && id.String() == r.ID && r.Intent == Import && chosen == 1 && (r.Path == "" || filepath.IsAbs(r.Path) && r.Provider != "")
}
