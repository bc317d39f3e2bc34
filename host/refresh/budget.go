package refresh

import "runtime/debug"

// Memory of a big run. The store bounds its own buffers; the limit makes the collector work harder before the whole process
// comes near 600 MiB of resident memory, which includes what the limit does not see: mapped files and the stacks of libraries.
const (
	bigRunBytes   = 64 << 20 // of source to read
	memoryLimit   = 480 << 20
	storeMemory   = 240 << 20
	bigRunPercent = 100
)

// withinBudget sets the limits of a big run and returns what restores them. A limit that the user set lower stays.
func withinBudget(bytes uint64) (restore func()) {
	if bytes < bigRunBytes {
		return func() {}
	}
	percent := debug.SetGCPercent(bigRunPercent)
	limit := debug.SetMemoryLimit(-1) // reads only
	debug.SetMemoryLimit(min(limit, memoryLimit))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
