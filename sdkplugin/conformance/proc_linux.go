package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// isRunning tells whether any thread of the process runs or wants to (proc(5),
// state R).
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

// peakMemory is VmHWM, in bytes.
func peakMemory(pid int) (uint64, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, false
	}
	kib, err := strconv.ParseUint(string(fields[0]), 10, 64)
	return kib << 10, err == nil
}
