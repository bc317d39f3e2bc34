//go:build unix && !linux

package pluginhost

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attributes put the process into a group of its own. These systems have no parent-death signal; a plugin watches its host.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

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
