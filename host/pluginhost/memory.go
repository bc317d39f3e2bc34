package pluginhost

import "time"

// watchMemory ends the plugin when it holds more resident memory than it may. Linux gives the figure for nothing four times a
// second, children included. Windows is asked as often about the process alone. Elsewhere the figure of the process comes from
// ps every two seconds; where that fails, memory stays unwatched and only the caps on messages and events hold.
func (p *Plugin) watchMemory() {
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.process.exited:
			return
		case <-ticker.C:
		}
		used, ok := residentBytes(p.process.pid())
		if ok && used > p.limits.Memory {
			p.end(failure(p.name, Memory, nil, "it used %d MiB of memory, at most %d are allowed", used>>20, p.limits.Memory>>20))
			return
		}
	}
}
