package logfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock until the file is closed.
func tryLock(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// restrict has nothing to do: the profile directory of Windows is its user's own.
func restrict(*os.File) error { return nil }
