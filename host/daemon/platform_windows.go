package daemon

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach gives a process no console and a group of its own: it lives on when the console is closed.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// private: the temporary directory of Windows lies in the profile of its user.
func private(string) error { return nil }
