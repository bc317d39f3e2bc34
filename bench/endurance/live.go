package endurance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// LiveResult is what many agents at once cost.
type LiveResult struct {
	Lines, Publications int
	Appended, Written   int64 // bytes: by the agents, and by the background process to its disk
	CPU                 time.Duration
	Lag                 time.Duration // from the last line to the search that covers it
}

// Live lets so many agents write a line every interval, for a while.
func Live(w *World, agents int, every, length time.Duration) (r LiveResult, err error) {
	for n := range agents {
		if err := w.write(session(n), false); err != nil {
			return r, err
		}
	}
	if _, err := w.run(true, "setup", "--wait"); err != nil {
		return r, err
	}
	pid := w.daemon()
	before := usageOf(pid)
	from, bytes := w.expected(), w.bytes
	generations := map[string]bool{}
	for end := time.Now().Add(length); time.Now().Before(end); {
		next := time.Now().Add(every)
		for n := range agents {
			if err := w.write(session(n), false); err != nil {
				return r, err
			}
		}
		if active, err := os.ReadFile(filepath.Join(w.Dir, "d", "core", "active.json")); err == nil {
			generations[string(active)] = true
		}
		time.Sleep(time.Until(next))
	}
	last := time.Now()
	for w.covered() < w.expected() {
		if time.Since(last) > time.Minute {
			return r, fmt.Errorf("%d of %d lines are searchable after a minute", w.covered(), w.expected())
		}
		time.Sleep(20 * time.Millisecond)
	}
	after := usageOf(pid)
	r = LiveResult{
		Lines: w.expected() - from, Appended: w.bytes - bytes, Lag: time.Since(last), Publications: len(generations),
		Written: after.written - before.written, CPU: after.cpu - before.cpu,
	}
	if err := w.check(true); err != nil {
		return r, err
	}
	return r, w.Stop()
}

// covered is how many events a search looks at.
func (w *World) covered() int {
	out, err := w.run(true, "index", "--format", "json")
	var answer struct {
		Lexical struct {
			Events int `json:"indexed_events"`
		} `json:"lexical"`
	}
	if err != nil || json.Unmarshal(out, &answer) != nil {
		return -1
	}
	return answer.Lexical.Events
}

// IdleResult is what an idle background process costs.
type IdleResult struct {
	Length, CPU time.Duration
	RSS         int64 // bytes
	Wakeups     int64 // voluntary context switches of all its threads
}

// Idle leaves the background process of a home alone.
func Idle(w *World, sessions int, length time.Duration) (r IdleResult, err error) {
	for n := range sessions {
		if err := w.write(session(n), false); err != nil {
			return r, err
		}
	}
	if _, err := w.run(true, "setup", "--wait"); err != nil {
		return r, err
	}
	pid := w.daemon()
	time.Sleep(10 * time.Second) // what the start leaves behind is cleared
	before := usageOf(pid)
	time.Sleep(length)
	after := usageOf(pid)
	if pid == 0 || after.rss == 0 {
		return r, fmt.Errorf("the background process %d did not stay", pid)
	}
	r = IdleResult{Length: length, CPU: after.cpu - before.cpu, RSS: after.rss, Wakeups: after.switches - before.switches}
	return r, w.Stop()
}

// usage is what the system says about a process and the children that it has waited for.
type usage struct {
	cpu          time.Duration
	written, rss int64
	switches     int64
}

func usageOf(pid int) (u usage) {
	proc := fmt.Sprintf("/proc/%d", pid)
	if stat, err := os.ReadFile(proc + "/stat"); err == nil {
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 14 {
			for _, ticks := range f[11:15] { // user and system time, of the process and of its children
				n, _ := strconv.ParseInt(ticks, 10, 64)
				u.cpu += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	u.written = value(proc+"/io", "wchar:")
	u.rss = value(proc+"/status", "VmRSS:") << 10
	tasks, _ := filepath.Glob(proc + "/task/*/status")
	for _, task := range tasks {
		u.switches += value(task, "voluntary_ctxt_switches:")
	}
	return u
}

// value reads one number of a file of the system.
func value(file, name string) int64 {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}
