package refresh

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

func routeEndState(n int32) historyv1.RouteEnd_State { return historyv1.RouteEnd_State(n) }

// newWorldSequential is newWorld for a test that needs several worlds.
func newWorldSequential(t *testing.T) *world {
	t.Helper()
	return buildWorld(t)
}

// ofSource lets a change happen to the messages of source 0 only.
func ofFirst(change func(m *historyv1.ScanMessage) *historyv1.ScanMessage) func(*historyv1.ScanMessage) *historyv1.ScanMessage {
	return func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
		if m.GetMessage() != nil && sourceOf(m) == 0 {
			return change(m)
		}
		return m
	}
}

func TestHostileScans(t *testing.T) {
	end := func(change func(*historyv1.SourceEnd)) func(*historyv1.ScanMessage) *historyv1.ScanMessage {
		return func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
			if e := m.GetEnd(); e != nil {
				change(e)
			}
			return m
		}
	}
	batch := func(change func(*historyv1.Batch)) func(*historyv1.ScanMessage) *historyv1.ScanMessage {
		return func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
			if b := m.GetBatch(); b != nil {
				change(b)
			}
			return m
		}
	}
	without := func(drop func(*historyv1.ScanMessage) bool) func(*historyv1.ScanMessage) *historyv1.ScanMessage {
		return func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
			if drop(m) {
				return nil
			}
			return m
		}
	}
	for name, change := range map[string]func(*historyv1.ScanMessage) *historyv1.ScanMessage{
		"counts do not add up":  end(func(e *historyv1.SourceEnd) { e.Counts.Complete++ }),
		"counts overflow":       end(func(e *historyv1.SourceEnd) { e.Counts.Retained, e.Counts.Rejected = 1<<63, 1<<63 }),
		"no counts":             end(func(e *historyv1.SourceEnd) { e.Counts, e.RejectionsTotal = nil, 7 }),
		"huge bytes":            end(func(e *historyv1.SourceEnd) { e.CertifiedBytes = 1 << 60 }),
		"metadata of nobody":    end(func(e *historyv1.SourceEnd) { e.Metadata[0].Index = 7 }),
		"too many rejections":   end(func(e *historyv1.SourceEnd) { e.RejectionsTotal = 5 }),
		"event of nobody":       batch(func(b *historyv1.Batch) { b.Events[0].Session = 9 }),
		"session of another":    batch(func(b *historyv1.Batch) { b.Sessions[0].Ref.Anchor = []byte{2} }),
		"session without a key": batch(func(b *historyv1.Batch) { b.Sessions[0].Ref.Key = nil }),
		"no end":                without(func(m *historyv1.ScanMessage) bool { return m.GetEnd() != nil }),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(projects+"a", "k1 this one is long and comes first") // biggest first: source 0
			w.put(projects+"b", "k1 good")
			w.provider.hostile = ofFirst(change)
			rep := w.run()
			w.expect("b present: good")
			if rep.Outcome != WithFailures || rep.Totals.FailedSources != 1 || rep.Failures[0].Class != classInternal {
				t.Errorf("%+v", rep)
			}
		})
	}
}

func TestHostileAppendKeepsTheOldRecords(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one", "k2 two")
	w.run()
	w.add(projects+"a", "k3 three")
	w.provider.hostile = func(m *historyv1.ScanMessage) *historyv1.ScanMessage {
		if e := m.GetEnd(); e != nil {
			e.CertifiedBytes = 1
		}
		return m
	}
	rep := w.run()
	w.expect("a present: one two")
	if rep.Outcome != Failure || !rep.Failures[0].CarriedForward {
		t.Errorf("%+v", rep)
	}
}

func TestHostileInventories(t *testing.T) {
	for name, change := range map[string]func(*historyv1.Source){
		"unknown format": func(s *historyv1.Source) { s.Format = "other" },
		"huge":           func(s *historyv1.Source) { s.Size = 1 << 63 },
		"no anchor":      func(s *historyv1.Source) { s.Anchor = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(projects+"a", "k1 one")
			w.run()
			w.add(projects+"a", "k2 two")
			w.provider.inventory = change
			rep := w.run()
			w.opened()
			w.expect("a present: one")
			if rep.Outcome != Failure || rep.Failures[0].Class != classInternal || !rep.Failures[0].CarriedForward {
				t.Errorf("%+v", rep)
			}
		})
	}
}

func TestProviderDies(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"bad", "k1 this one is long and comes first")
	w.put(projects+"a", "k1 one")
	w.put(projects+"b", "k1 two")
	w.provider.poison = map[string]bool{"bad": true}
	rep := w.run()
	w.expect("a present: one", "b present: two")
	rows := rep.Failures
	if rep.Outcome != WithFailures || w.provider.started != 2 || len(rows) != 2 || rows[0].SourceIdentity != "claude" ||
		rows[1].Selector != w.path(projects+"bad") {
		t.Errorf("%d starts, %+v", w.provider.started, rep)
	}
	w.provider.poison = nil
	w.run()
	w.opened("full bad")
}

func TestProviderDiesTooOften(t *testing.T) {
	w := newWorld(t)
	w.provider.poison = map[string]bool{}
	for _, name := range []string{"p1", "p2", "p3", "p4", "p5"} {
		w.put(projects+name, "k1 poison and more")
		w.provider.poison[name] = true
	}
	w.put(projects+"z", "k1 x")
	rep := w.run()
	// Three restarts make four processes; each of them reads one poisoned source.
	if rep.Outcome != Failure || rep.Totals.FailedSources != 1+6 || len(w.provider.opened) != 4 {
		t.Errorf("opened %q, %+v", w.provider.opened, rep.Totals)
	}
}

func TestCancelledRun(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.run()
	w.add(projects+"a", "k2 two")
	w.provider.blocked = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	w.provider.onOpened = cancel
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, w.request())
		ended <- err
	}()
	select {
	case err := <-ended:
		if fault.Code(err) != CodeCancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the run did not end")
	}
	w.provider.blocked, w.provider.onOpened = nil, nil
	w.expect("a present: one")
	w.run()
	w.expect("a present: one two")
}

func TestProgress(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one", "k2 two")
	var seen []Progress
	req := w.request()
	req.Progress = func(p Progress) { seen = append(seen, p) }
	w.runRequest(req)
	first, last := seen[0], seen[len(seen)-1]
	if first.Done || first.Stage != StagePreparing || first.Type != "ctx_progress" || first.Operation != "import" || first.TotalKnown {
		t.Errorf("first %+v", first)
	}
	size := uint64(len("k1 one\nk2 two\n"))
	if !last.Done || last.Stage != StageComplete || last.Percent != 100 || last.CompletedBytes != size || last.TotalBytes != size ||
		*last.CompletedFiles != 1 || *last.ImportedEvents != 2 || last.Messages != 2 || last.Sessions != 1 ||
		!slices.Equal(last.AgentHistories, []string{"claude"}) {
		t.Errorf("last %+v", last)
	}
}

func TestBusyWriter(t *testing.T) {
	w := newWorld(t)
	w.put(projects+"a", "k1 one")
	w.run()
	w.add(projects+"a", "k2 two")
	c, err := w.store.Begin(context.Background(), core.BeginOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), w.request()); fault.Code(err) != fault.Busy {
		t.Errorf("%v", err)
	}
	c.Discard()
	w.run()
	w.expect("a present: one two")
}

func FuzzFrontier(f *testing.F) {
	f.Add([]byte{3, 1, 2, 3})
	f.Add([]byte{0})
	f.Add(bytes.Repeat([]byte{0xff}, 12))
	f.Fuzz(func(t *testing.T, stored []byte) {
		frontier, links, ok := splitFrontier(stored)
		if ok && (len(frontier) == 0 || len(frontier)+len(links) >= len(stored)) {
			t.Fatalf("%d + %d of %d bytes", len(frontier), len(links), len(stored))
		}
		if len(stored) == 0 || len(stored) > 64<<10 {
			return
		}
		back, links, ok := splitFrontier(joinFrontier(stored, new(record.Linker)))
		if !ok || !bytes.Equal(back, stored) || new(record.Linker).RestoreState(links) != nil {
			t.Fatal("the frontier does not come back")
		}
	})
}
