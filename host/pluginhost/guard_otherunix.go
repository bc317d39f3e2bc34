//go:build unix && !linux

package pluginhost

import "syscall"

// attributes put the process into a group of its own. These systems have no parent-death signal; a plugin watches its host.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
