//go:build unix

package conformance

import (
	"os"
	"syscall"
)

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }

func makeUnreadable(path string) error { return os.Chmod(path, 0) }
