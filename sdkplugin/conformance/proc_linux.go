package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// isRunning tells whether any thread of the process runs or wants to (proc(5), state R).
func isRunning(pid int) (running, known bool) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false, false
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		// The command in parentheses may hold anything; the state is behind it.
		if state := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(state) > 0 && string(state[0]) == "R" {
			return true, true
		}
	}
	return false, true
}
