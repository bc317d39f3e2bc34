package pluginhost

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

const memoryInterval = 250 * time.Millisecond

var getProcessMemoryInfo = windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// memoryCounters is PROCESS_MEMORY_COUNTERS of the Windows interface.
type memoryCounters struct {
	size, pageFaults                                         uint32
	peakWorkingSet, workingSet                               uintptr
	peakPagedPool, pagedPool, peakNonPagedPool, nonPagedPool uintptr
	pagefile, peakPagefile                                   uintptr
}

// residentBytes returns the working set of a process.
func residentBytes(pid int) (uint64, bool) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.PROCESS_VM_READ, false, uint32(pid))
	if err != nil {
		return 0, false
	}
	defer windows.CloseHandle(process)
	counters := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
	ok, _, _ := getProcessMemoryInfo.Call(uintptr(process), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size))
	return uint64(counters.workingSet), ok != 0
}
