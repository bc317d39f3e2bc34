//go:build !linux

package conformance

func isRunning(int) (running, known bool) { return false, false }

func peakMemory(int) (uint64, bool) { return 0, false }
