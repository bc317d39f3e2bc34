// Package endurance treats the built program badly and checks that it loses nothing: it is killed at random moments while agents
// write and people search (Crash), fed by many agents at once (Live), and left alone (Idle). It works on invented sessions in a
// directory of its own, with processes as a user has them.
package endurance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// World is a home with sessions that grow, a data root, and the program.
type World struct {
	Ctx  string    // the program
	Dir  string    // of its own; the caller removes it
	Log  io.Writer // what happens, line by line
	Rand *rand.Rand

	mu    sync.Mutex
	lines map[string]int // lines of every session
	bytes int64          // written by agents
}

func (w *World) home() string { return filepath.Join(w.Dir, "h") }

// run executes the program. Mode auto lets it use its background process.
func (w *World) run(auto bool, args ...string) ([]byte, error) {
	cmd := w.command(auto, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("ctx %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

func (w *World) command(auto bool, args ...string) *exec.Cmd {
	cmd := exec.Command(w.Ctx, args...)
	cmd.Env = []string{"HOME=" + w.home(), "CTX_DATA_ROOT=" + filepath.Join(w.Dir, "d"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"CTX_LOCAL_USAGE_ENABLED=0", "CTX_DAEMON_ENABLED=" + strconv.FormatBool(auto)}
	return cmd
}

// say writes a line of the log.
func (w *World) say(format string, args ...any) {
	if w.Log != nil {
		fmt.Fprintf(w.Log, format+"\n", args...)
	}
}

// write appends a line to a session, as its agent does: one write, sometimes torn into two.
func (w *World) write(session string, torn bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lines == nil {
		w.lines = map[string]int{}
	}
	n := w.lines[session]
	text := fmt.Sprintf(`{"type":"user","uuid":"%s-%d","sessionId":"%s","timestamp":"2026-05-01T08:00:00.000Z","cwd":"/w","message":{"role":"user","content":"zephyr line %d of %s %s"}}`+"\n",
		session, n, session, n, session, strings.Repeat("and so on ", n%7))
	path := filepath.Join(w.home(), ".claude", "projects", "-w", session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	cut := len(text)
	if torn {
		cut = len(text) / 2
	}
	if _, err := f.WriteString(text[:cut]); err != nil {
		return err
	}
	if torn {
		time.Sleep(2 * time.Millisecond)
		if _, err := f.WriteString(text[cut:]); err != nil {
			return err
		}
	}
	w.lines[session], w.bytes = n+1, w.bytes+int64(len(text))
	return nil
}

func session(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }

// expected is how many events the index has to hold.
func (w *World) expected() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, lines := range w.lines {
		n += lines
	}
	return n
}

// daemon returns the number of the living background process, 0 when there is none.
func (w *World) daemon() int {
	out, err := w.run(true, "daemon", "status", "--format", "json")
	var answer struct {
		Daemon struct {
			LivePID int `json:"live_pid"`
		} `json:"daemon"`
	}
	if err != nil || json.Unmarshal(out, &answer) != nil {
		return 0
	}
	return answer.Daemon.LivePID
}

// provider returns a provider process of a parent, 0 when there is none.
func provider(parent int) int {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		return 0
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks {
		more, _ := os.ReadFile(task)
		children = append(append(children, ' '), more...)
	}
	for _, field := range strings.Fields(string(children)) {
		command, _ := os.ReadFile("/proc/" + field + "/cmdline")
		if bytes.Contains(command, []byte("provider\x00serve")) {
			pid, _ := strconv.Atoi(field)
			return pid
		}
	}
	return 0
}

// kill ends a process as a power failure would.
func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// Stop ends the background process.
func (w *World) Stop() error {
	_, err := w.run(true, "index", "mode", "manual")
	return err
}

// check compares the index with what the agents wrote: the deep examination finds nothing, every line is an event once, and another
// refresh finds nothing new.
func (w *World) check(auto bool) error {
	if _, err := w.run(auto, "import", "--all"); err != nil {
		return err
	}
	out, err := w.run(auto, "doctor", "--deep", "--format", "json")
	if err != nil {
		return err
	}
	var health struct {
		Deep struct {
			Problems []string `json:"problems"`
		} `json:"deep"`
	}
	if err := json.Unmarshal(out, &health); err != nil {
		return err
	}
	if len(health.Deep.Problems) > 0 {
		return fmt.Errorf("doctor --deep: %q", health.Deep.Problems)
	}
	if err := w.complete(auto); err != nil {
		return err
	}
	if out, err = w.run(auto, "import", "--all", "--format", "json"); err != nil {
		return err
	}
	var again struct {
		Totals struct {
			Change string `json:"change"`
		} `json:"totals"`
	}
	if err := json.Unmarshal(out, &again); err != nil {
		return err
	}
	if again.Totals.Change != "no_op" {
		return fmt.Errorf("the refresh after the last one says %s", again.Totals.Change)
	}
	return nil
}

// complete compares the listed events with the lines.
func (w *World) complete(auto bool) error {
	out, err := w.run(auto, "export", "--format", "jsonl")
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	events := 0
	for line := range bytes.Lines(out) {
		var row struct {
			Type string `json:"record_type"`
			ID   string `json:"ctx_event_id"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		if row.Type == "event" {
			ids[row.ID] = true
			events++
		}
	}
	if want := w.expected(); events != want || len(ids) != want {
		return fmt.Errorf("%d events with %d ids for %d lines", events, len(ids), want)
	}
	return nil
}
