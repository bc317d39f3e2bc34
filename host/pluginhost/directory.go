package pluginhost

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin/leftover"
)

// directoryName starts the names of private directories.
const directoryName = "ctxplugin-"

// socketRoom is what go-plugin and the plugin add to the path of a private directory. The whole path of a unix socket may have
// little more than 100 bytes.
const (
	socketRoom  = len("/plugin-dir4294967295/plugin4294967295")
	longestPath = 103
)

var sweepOnce sync.Once

// privateDir makes the directory for the socket of one plugin, and takes away those of hosts that were killed.
func privateDir() (string, error) {
	dir, err := leftover.Mkdir("", directoryName)
	if err == nil && len(dir)+socketRoom > longestPath && runtime.GOOS != "windows" {
		_ = os.Remove(dir)
		dir, err = leftover.Mkdir("/tmp", directoryName)
	}
	if err == nil {
		sweepOnce.Do(func() { go leftover.Sweep(filepath.Dir(dir), directoryName) })
	}
	return dir, err
}
