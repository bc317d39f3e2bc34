//go:build unix

package sdkplugin

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// prepareProcess makes the socket accessible to its owner only, whatever the directory it lies in, and lets the process live on when it
// logs to a host that has died: the signal would end it before it has removed its files.
func prepareProcess() {
	syscall.Umask(0o077)
	signal.Ignore(syscall.SIGPIPE)
}

// waitForHost returns a channel that is closed when the host process is gone.
//
// It watches the parent: a process whose parent dies gets another one. The parent-death signal of Linux would be quicker, but it
// also comes when only the thread that started the provider ends. Reading the parent's id twice a second costs nothing for a
// process that lives as long as a refresh.
func waitForHost(hostPID string) <-chan struct{} {
	gone := make(chan struct{})
	parent := os.Getppid()
	if want, err := strconv.Atoi(hostPID); err == nil && want > 1 && want != parent {
		// Started through something else, or the host died before this line.
		if syscall.Kill(want, 0) == syscall.ESRCH {
			close(gone)
			return gone
		}
	}
	go func() {
		defer close(gone)
		for os.Getppid() == parent {
			time.Sleep(500 * time.Millisecond)
		}
	}()
	return gone
}
