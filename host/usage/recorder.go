package usage

import (
	"context"
	"time"

	"github.com/agenthistory/ctx/host/config"
)

// Bounds of recording. The first is met when another process holds the store, the second only on a file system that hangs; the
// answer is out by then, so they delay nothing but the end of a process.
const (
	lockWait   = 10 * time.Millisecond
	recordWait = 250 * time.Millisecond
)

// Recorder writes the calls of one process.
type Recorder struct {
	dataRoot, version string
	env               config.Environment
	now               func() time.Time
	wait              time.Duration
	turn              chan struct{} // held while a call is written
	on                bool          // last known state of the control; guarded by turn
}

// NewRecorder returns a recorder for the store of a data root; version is the version of the program. It touches nothing.
func NewRecorder(dataRoot string, env config.Environment, version string) *Recorder {
	return &Recorder{dataRoot: dataRoot, env: env, version: version, now: time.Now, wait: recordWait, turn: make(chan struct{}, 1)}
}

// Record counts one call. It returns when the call is stored, cannot be stored, or recordWait is over.
func (r *Recorder) Record(c Call) {
	timeout := time.NewTimer(r.wait)
	defer timeout.Stop()
	select {
	case r.turn <- struct{}{}:
	case <-timeout.C:
		return
	}
	done := make(chan struct{})
	go func() {
		defer func() { <-r.turn; close(done) }()
		_ = r.store(c) // fails open by contract; status and stats tell a store that cannot be used
	}()
	select {
	case <-done:
	case <-timeout.C:
	}
}

func (r *Recorder) store(c Call) error {
	if !named(c.Operation) || !r.enabled() {
		return nil
	}
	return write(context.Background(), r.dataRoot, c.row(r.version, r.now()), oldest(r.now()))
}

// enabled resolves the control again. A config that cannot be read keeps the last known state; before the first good reading
// nothing is counted, because the file may say so.
func (r *Recorder) enabled() bool {
	if settings, err := config.Load(r.dataRoot, r.env); err == nil {
		r.on = settings.LocalUsage.On
	}
	return r.on
}
