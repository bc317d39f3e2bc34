//go:build unix && !linux

package pluginhost

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const memoryInterval = 2 * time.Second

// residentBytes asks ps, which prints KiB.
func residentBytes(pid int) (uint64, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/bin/ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, false
	}
	kib, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
	return kib << 10, err == nil
}
