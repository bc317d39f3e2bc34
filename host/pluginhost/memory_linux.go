package pluginhost

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

const memoryInterval = 250 * time.Millisecond

// mostProcesses bounds how many children are added up.
const mostProcesses = 64

// residentBytes adds up the resident memory of a process and its descendants.
func residentBytes(pid int) (used uint64, ok bool) {
	queue := []string{strconv.Itoa(pid)}
	for i := 0; i < len(queue); i++ {
		proc := "/proc/" + queue[i]
		if pages, found := statmPages(proc); found {
			used += pages * uint64(os.Getpagesize())
			ok = true
		}
		children, err := os.ReadFile(proc + "/task/" + queue[i] + "/children")
		if err != nil {
			continue
		}
		for _, child := range strings.Fields(string(children)) {
			if len(queue) < mostProcesses {
				queue = append(queue, child)
			}
		}
	}
	return used, ok
}

// statmPages returns the second number of statm, the resident pages.
func statmPages(proc string) (uint64, bool) {
	statm, err := os.ReadFile(proc + "/statm")
	fields := bytes.Fields(statm)
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages, err == nil
}
