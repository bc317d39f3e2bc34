//go:build !linux

package conformance

func isRunning(int) (running, known bool) { return false, false }
