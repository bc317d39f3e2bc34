//go:build unix

package sdkplugin_test

import "syscall"

const signalZero = syscall.Signal(0)
