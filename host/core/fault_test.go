package core

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// steps lists all steps in order.
func steps() []string {
	return []string{
		StepCreate, StepSegment, StepTables, StepClone, StepIngest, StepSnapshot, StepManifest, StepSync, StepLease, StepObserve,
		StepPointerWrite, StepPointerRename, StepPointerSync, StepCollect,
	}
}

// tryRefresh moves to a crash state with a candidate that may fail anywhere.
func (a *archive) tryRefresh(ctx context.Context, opt PublishOptions, state string) error {
	c, err := a.Begin(ctx, BeginOptions{segmentDocs: 10})
	if err != nil {
		return err
	}
	defer c.Discard()
	for _, s := range crashStates[state] {
		w, err := c.Replace(s.spec())
		if err != nil {
			return err
		}
		if err := s.feed(w); err != nil {
			return err
		}
		if err := w.Finish(s.certificate(), nil); err != nil {
			return err
		}
	}
	if err := dropOthers(c, state); err != nil {
		return err
	}
	_, err = c.Publish(ctx, opt)
	return err
}

// The disk becomes full at any write: the fault says so, the old state stays, nothing is left behind.
func TestDiskFullAtEveryWrite(t *testing.T) {
	t.Parallel()
	var left atomic.Int64
	left.Store(1 << 40)
	a := newArchiveWith(t, Options{Write: func(n int) error {
		if left.Add(-1) < 0 {
			return syscall.ENOSPC
		}
		return nil
	}})
	a.publish(crashStates["old"]...)
	before, pointer := files(t, a.Dir()), a.pin().ID()
	failures := 0
	for writes := int64(0); ; writes++ {
		left.Store(writes)
		err := a.tryRefresh(context.Background(), PublishOptions{}, "new")
		left.Store(1 << 40)
		if err == nil {
			break
		}
		failures++
		if fault.Code(err) != fault.ResourceUnavailable || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "disk is full") {
			t.Fatalf("after %d writes: %s", writes, describe(err))
		}
		g := a.pin()
		if g.ID() != pointer || whichState(a) != "old" {
			t.Fatalf("after %d writes: another state", writes)
		}
		a.must(g.Close())
		if now := files(t, a.Dir()); len(now) != len(before) {
			t.Fatalf("after %d writes: %d files, before %d", writes, len(now), len(before))
		}
	}
	if failures < 15 {
		t.Fatalf("only %d writes were met", failures)
	}
	a.verify()
}

// Any step can fail with an error. Before the pointer is renamed the old state stays; afterwards the new one is active.
func TestErrorAtEveryStep(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken step")
	var fail atomic.Pointer[string]
	a := newArchiveWith(t, Options{Step: func(name string) error {
		if f := fail.Load(); f != nil && *f == name {
			return broken
		}
		return nil
	}})
	a.publish(crashStates["old"]...)
	for _, step := range steps() {
		if step == StepObserve { // only when nothing is published
			continue
		}
		fail.Store(&step)
		err := a.tryRefresh(context.Background(), PublishOptions{}, "new")
		fail.Store(nil)
		state := whichState(a)
		switch step {
		case StepPointerSync:
			if err == nil || state == "old" || !strings.Contains(err.Error(), "active") {
				t.Errorf("%s: state %q, %v", step, state, err)
			}
		case StepCollect: // once at the beginning, where it fails the candidate
			if !errors.Is(err, broken) || state != "old" {
				t.Errorf("%s: state %q, %v", step, state, err)
			}
		default:
			if !errors.Is(err, broken) || state != "old" {
				t.Errorf("%s: state %q, %v", step, state, err)
			}
		}
		if step == StepPointerSync {
			a.refresh(func(c *Candidate) { moveTo(a, c, "old") })
		}
		if left := leftovers(t, a.Store, ""); len(left) > 0 {
			t.Errorf("%s: left behind: %v", step, left)
		}
	}
	a.verify()
}

func TestRecheckAndCancel(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.publish(crashStates["old"]...)
	moved := errors.New("a source changed meanwhile")
	err := a.tryRefresh(context.Background(), PublishOptions{Recheck: func(context.Context) error { return moved }}, "new")
	if !errors.Is(err, moved) || whichState(a) != "old" {
		t.Fatalf("recheck: %v", err)
	}
	for _, stage := range []string{StageMerging, StageSyncing, StagePhysical, StageLogical, StageActivation} {
		ctx, cancel := context.WithCancel(context.Background())
		err := a.tryRefresh(ctx, PublishOptions{Stage: func(name string, _, _ int64) {
			if name == stage {
				cancel()
			}
		}}, "new")
		cancel()
		if !errors.Is(err, context.Canceled) || whichState(a) != "old" {
			t.Fatalf("cancelled in %s: %v", stage, err)
		}
	}
	if left := leftovers(t, a.Store, ""); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
	var stages []string
	a.must(a.tryRefresh(context.Background(), PublishOptions{Stage: func(name string, _, _ int64) {
		if len(stages) == 0 || stages[len(stages)-1] != name {
			stages = append(stages, name)
		}
	}}, "new"))
	if want := []string{StageMerging, StageSyncing, StagePhysical, StageLogical, StageActivation}; !slices.Equal(stages, want) {
		t.Fatalf("stages %q", stages)
	}
}

// AddBatch waits while too much is queued, and comes back when the refresh is cancelled.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := a.Begin(ctx, BeginOptions{Workers: 1})
	a.must(err)
	defer c.Discard()
	w, err := c.Replace(numbered("one", 1, 1).spec())
	a.must(err)
	gate := make(chan struct{})
	block := func(func(*record.Event) error) error { <-gate; return nil }
	a.must(w.AddBatch(queueLimit, block))
	added := make(chan error, 1)
	go func() { added <- w.AddBatch(1, block) }()
	select {
	case err := <-added:
		t.Fatalf("a batch was queued beyond the limit: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	cancel()
	if err := <-added; !errors.Is(err, context.Canceled) {
		t.Fatalf("after the end of the refresh: %v", err)
	}
	close(gate)
	if err := w.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("wait after the end of the refresh: %v", err)
	}
}

// A batch larger than the limit still gets in, alone.
func TestHugeBatch(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.refresh(func(c *Candidate) {
		w, err := c.Replace(numbered("one", 1, 1).spec())
		a.must(err)
		n := 0
		for range 3 {
			a.must(w.AddBatch(3*queueLimit, func(func(*record.Event) error) error { n++; return nil }))
		}
		a.must(w.Wait())
		if n != 3 {
			t.Errorf("%d batches ran", n)
		}
		w.Abort()
	})
}
