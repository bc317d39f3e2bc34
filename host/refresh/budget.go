package refresh

import "runtime/debug"

// Memory of a big run. The store bounds its own buffers; the limit makes the collector work harder before the whole process
// comes near 600 MiB of resident memory, which includes what the limit does not see: mapped files and the stacks of libraries.
const (
	bigRunBytes   = 64 << 20 // of source to read
	memoryLimit   = 480 << 20
	storeMemory   = 240 << 20
	bigRunPercent = 200
	// A small run allocates some 1.5 KiB a source and is over in a moment; collecting in between would double its time.
	smallRunPercent = 400
)

// withinBudget sets the limits of a small run, which widen changes into those of a big one, and returns what restores the former
// ones. A limit that the user set lower stays.
func withinBudget() (restore func()) {
	percent := debug.SetGCPercent(smallRunPercent)
	limit := debug.SetMemoryLimit(-1) // reads only
	debug.SetMemoryLimit(min(limit, memoryLimit))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// widen prepares for reading so many bytes of source.
func widen(bytes uint64) {
	if bytes >= bigRunBytes {
		debug.SetGCPercent(bigRunPercent)
	}
}
