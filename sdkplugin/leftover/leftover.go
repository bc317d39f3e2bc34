// Package leftover makes temporary directories that name the process they belong to, and removes those whose process is no more:
// one that is killed cannot clean up.
package leftover

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// base of the number of a process: the paths of sockets must be short.
const base = 36

// Mkdir makes a directory below parent, the system's own place when that is empty, which only the user can enter. Its name is
// the given one, the number of this process and a random part.
func Mkdir(parent, name string) (string, error) {
	return os.MkdirTemp(parent, name+strconv.FormatInt(int64(os.Getpid()), base)+"-")
}

// Sweep removes the directories of a name whose processes have ended. Those of other users cannot be removed.
func Sweep(parent, name string) {
	entries, _ := os.ReadDir(parent)
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), name)
		number, random, more := strings.Cut(rest, "-")
		pid, err := strconv.ParseInt(number, base, 32)
		if ours && more && strings.Trim(random, "0123456789") == "" && err == nil && pid > 0 && entry.IsDir() && !alive(int(pid)) {
			_ = os.RemoveAll(filepath.Join(parent, entry.Name()))
		}
	}
}

// alive tells whether a process exists; one that may not be looked at does.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return errors.Is(err, os.ErrPermission)
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
