package sdkplugin

import (
	"os"
	"strconv"

	"golang.org/x/sys/windows"
)

// prepareProcess has nothing to do: the channel is loopback with certificates.
func prepareProcess() {}

// waitForHost returns a channel that is closed when the host process is gone.
func waitForHost(hostPID string) <-chan struct{} {
	gone := make(chan struct{})
	pid := os.Getppid()
	if want, err := strconv.Atoi(hostPID); err == nil && want > 0 {
		pid = want
	}
	go func() {
		h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
		if err != nil {
			// Not allowed to look: the connection tells.
			if err == windows.ERROR_INVALID_PARAMETER { // no such process
				close(gone)
			}
			return
		}
		defer windows.CloseHandle(h)
		if event, err := windows.WaitForSingleObject(h, windows.INFINITE); err == nil && event == windows.WAIT_OBJECT_0 {
			close(gone)
		}
	}()
	return gone
}
