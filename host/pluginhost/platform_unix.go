//go:build unix

package pluginhost

import (
	"os"
	"syscall"
)

// guard of unix: the process leads a group, so that whatever it starts ends with it.
type guard struct{}

func (guard) attach(*os.Process) {}

// endGroup kills every process of the group. After the leader was waited for, its number stays taken while others are left.
func (guard) endGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }
