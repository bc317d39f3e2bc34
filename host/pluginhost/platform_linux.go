package pluginhost

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attributes put the process into a group of its own and have the kernel end it with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

const (
	memoryInterval = 250 * time.Millisecond
	mostProcesses  = 64 // children that are added up
)

// residentBytes adds up the resident memory of a process and its descendants.
func residentBytes(pid int) (used uint64, ok bool) {
	queue := []string{strconv.Itoa(pid)}
	for i := 0; i < len(queue) && i < mostProcesses; i++ {
		proc := "/proc/" + queue[i]
		statm, _ := os.ReadFile(proc + "/statm")
		if fields := bytes.Fields(statm); len(fields) > 1 {
			pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
			used += pages * uint64(os.Getpagesize())
			ok = ok || err == nil
		}
		children, _ := os.ReadFile(proc + "/task/" + queue[i] + "/children")
		queue = append(queue, strings.Fields(string(children))...)
	}
	return used, ok
}
