//go:build unix

package codex

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time of the process, which other work on the machine does not change.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
