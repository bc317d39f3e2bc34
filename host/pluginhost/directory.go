package pluginhost

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// directoryName starts the names of private directories; the host's process id to the base 36 and a random part follow.
const directoryName = "ctxplugin-"

// socketRoom is what go-plugin and the plugin add to the path of a private directory. The whole path of a unix socket may have
// little more than 100 bytes.
const (
	socketRoom  = len("/plugin-dir4294967295/plugin4294967295")
	longestPath = 103
)

// privateDir makes the directory for the socket of one plugin, which only the user can enter.
func privateDir() (string, error) {
	pattern := directoryName + strconv.FormatInt(int64(os.Getpid()), 36) + "-"
	dir, err := os.MkdirTemp("", pattern)
	if err != nil || len(dir)+socketRoom <= longestPath || runtime.GOOS == "windows" {
		return dir, err
	}
	_ = os.Remove(dir)
	return os.MkdirTemp("/tmp", pattern)
}

var sweepOnce sync.Once

// sweep removes the private directories of hosts that were killed. Those of other users can not be removed.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), directoryName)
		number, random, more := strings.Cut(rest, "-")
		pid, err := strconv.ParseInt(number, 36, 32)
		if !ours || !more || strings.Trim(random, "0123456789") != "" || err != nil || pid <= 0 || !entry.IsDir() || alive(int(pid)) {
			continue
		}
		_ = os.RemoveAll(filepath.Join(parent, entry.Name()))
	}
}
