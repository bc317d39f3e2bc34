package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sample is what one process tree used.
type sample struct {
	wall, cpu  time.Duration
	hostRSS    int64 // peak resident bytes of the program itself
	privateRSS int64 // peak anonymous resident bytes of the program itself, as far as polling saw it
	pluginRSS  int64 // peak of the largest provider process
	stdout     []byte
}

// exec runs the program once. CPU is that of the whole tree: the program waits for its providers.
func (b *bench) exec(home, root string, args ...string) (sample, error) {
	cmd := exec.Command(b.ctx, args...)
	cmd.Env = b.environment(home, root)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	watch := newWatch(cmd.Process.Pid, args[0] == "import")
	err := cmd.Wait()
	s := sample{wall: time.Since(start), stdout: out.Bytes()}
	watch.stop(&s)
	state := cmd.ProcessState
	s.cpu = state.UserTime() + state.SystemTime()
	if err != nil {
		return s, fmt.Errorf("ctx %s: %w: %s", strings.Join(args, " "), err, firstLine(errs.Bytes()))
	}
	return s, nil
}

// environment is all that a process under test sees.
func (b *bench) environment(home, root string) []string {
	return []string{"HOME=" + home, "CTX_DATA_ROOT=" + root, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"CTX_DAEMON_AUTOSTART_OFF=1", "CTX_LOCAL_USAGE_ENABLED=0"}
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line)
}

// watch polls /proc for the memory of a process and its children; elsewhere it sees nothing.
type watch struct {
	quit, done chan struct{}
	seen       sample
}

// newWatch looks at the children too only where providers run: the look itself must not slow down what is measured.
func newWatch(pid int, children bool) *watch {
	w := &watch{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			w.look(pid, children)
			select {
			case <-w.quit:
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

func (w *watch) look(pid int, inner bool) {
	peak, private := memory(pid)
	w.seen.hostRSS = max(w.seen.hostRSS, peak)
	w.seen.privateRSS = max(w.seen.privateRSS, private)
	if !inner {
		return
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		more, _ := os.ReadFile(t)
		children = append(append(children, ' '), more...)
	}
	for _, field := range strings.Fields(string(children)) {
		if child, err := strconv.Atoi(field); err == nil {
			peak, _ := memory(child)
			w.seen.pluginRSS = max(w.seen.pluginRSS, peak)
		}
	}
}

func (w *watch) stop(s *sample) {
	close(w.quit)
	<-w.done
	s.hostRSS, s.privateRSS, s.pluginRSS = w.seen.hostRSS, w.seen.privateRSS, w.seen.pluginRSS
}

// memory returns the peak resident and the current anonymous resident bytes of a process.
func memory(pid int) (peak, private int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		name, value, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmHWM":
			peak = kb << 10
		case "RssAnon":
			private = kb << 10
		}
	}
	return peak, private
}
