//go:build unix

package daemon

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// detach gives a process a session of its own: it lives on when the terminal or the parent ends.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// private refuses a directory that somebody else could use.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode()&(fs.ModeSymlink|0o077) != 0 || !ok || int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a private directory of this user", dir)
	}
	return nil
}
