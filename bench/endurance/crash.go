package endurance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Fault is what was done to one kind of process, and what came of it.
type Fault struct {
	Victim   string
	Rounds   int
	Kills    int           // the others found no process of the kind in time
	Searches int           // answered meanwhile
	Slowest  time.Duration // until a refresh had made good for a kill
}

// Victims of Crash, in turn.
var Victims = []string{"daemon", "provider", "worker"}

// Crash kills so many processes at random moments, while agents write and people search, and checks the index after every one. The
// first thing that is wrong ends it.
func Crash(w *World, rounds int) ([]Fault, error) {
	faults := make([]Fault, len(Victims))
	for n := range 4 {
		if err := w.write(session(n), false); err != nil {
			return nil, err
		}
	}
	if _, err := w.run(true, "setup", "--wait"); err != nil {
		return nil, err
	}
	for n := range rounds {
		f := &faults[n%len(Victims)]
		f.Victim = Victims[n%len(Victims)]
		f.Rounds++
		if err := w.round(f); err != nil {
			return faults, fmt.Errorf("round %d, %s: %w", n, f.Victim, err)
		}
		w.say("round %d: %s, %d events", n, f.Victim, w.expected())
	}
	return faults, w.Stop()
}

// round is one kill.
func (w *World) round(f *Fault) error {
	auto := f.Victim != "worker"
	if !auto {
		// A worker and a daemon are never there together.
		if pid := w.daemon(); pid != 0 {
			if err := kill(pid); err != nil {
				return err
			}
		}
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failed error
	fail := func(err error) {
		mu.Lock()
		failed = errors.Join(failed, err)
		mu.Unlock()
	}
	wait.Go(func() { fail(w.agents(stop)) })
	wait.Go(func() { n, err := w.reader(auto, stop); fail(err); f.Searches += n })
	delay := time.Duration(w.Rand.IntN(600)) * time.Millisecond
	killed, err := w.strike(f.Victim, delay)
	fail(err)
	if killed {
		f.Kills++
	}
	close(stop)
	wait.Wait()
	if failed != nil {
		return failed
	}
	began := time.Now()
	if _, err := w.run(auto, "import", "--all"); err != nil {
		return err
	}
	f.Slowest = max(f.Slowest, time.Since(began))
	return w.check(auto)
}

// agents write until they are stopped: old sessions grow, now and then a new one begins.
func (w *World) agents(stop <-chan struct{}) error {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
		name := session(n % 4)
		if n%23 == 0 {
			w.mu.Lock()
			name = session(len(w.lines))
			w.mu.Unlock()
		}
		if err := w.write(name, n%5 == 0); err != nil {
			return err
		}
	}
}

// reader searches until it is stopped. A search never fails and never loses what it has found before.
func (w *World) reader(auto bool, stop <-chan struct{}) (answered int, err error) {
	seen := 0
	for {
		select {
		case <-stop:
			return answered, nil
		default:
		}
		out, err := w.run(auto, "search", "zephyr", "--refresh", "off", "--format", "json")
		if err != nil && strings.Contains(err.Error(), "generation_changed") {
			continue // it says that trying again helps
		}
		if err != nil {
			return answered, err
		}
		var answer struct {
			Coverage struct {
				Events int `json:"events"`
			} `json:"coverage"`
		}
		if err := json.Unmarshal(out, &answer); err != nil {
			return answered, err
		}
		if answer.Coverage.Events < seen {
			return answered, fmt.Errorf("a search covers %d events after one that covered %d", answer.Coverage.Events, seen)
		}
		seen = answer.Coverage.Events
		answered++
	}
}

// strike starts a refresh and kills a process of a kind in it.
func (w *World) strike(victim string, delay time.Duration) (killed bool, err error) {
	refresh := w.command(victim != "worker", "import", "--all")
	if err := refresh.Start(); err != nil {
		return false, err
	}
	ended := make(chan struct{})
	go func() { _ = refresh.Wait(); close(ended) }() // it fails or not: its daemon may have been killed
	defer func() { <-ended }()
	var pid int
	switch victim {
	case "worker":
		time.Sleep(delay)
		select {
		case <-ended:
		default:
			return true, refresh.Process.Kill()
		}
		return false, nil
	case "daemon":
		time.Sleep(delay)
		pid = w.daemon()
	default:
		daemon := w.daemon()
		for deadline := time.Now().Add(5 * time.Second); pid == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			pid = provider(daemon)
		}
		time.Sleep(delay / 20)
	}
	if pid == 0 {
		return false, nil
	}
	err = kill(pid)
	var gone *exec.Error
	if errors.As(err, &gone) || err != nil && strings.Contains(err.Error(), "finished") {
		return false, nil
	}
	return err == nil, err
}
