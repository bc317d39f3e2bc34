package sources

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// fsKind is what a file system means for reading history.
type fsKind uint8

const (
	fsLocal  fsKind = iota
	fsKernel        // /proc and /sys: files that are no files
	fsRemote        // network and user-space file systems: may hang, and may be somebody else's data
)

// place is a path that was looked at once, at its root.
type place struct {
	path   string // physical when it exists, else as asked for
	exists bool
	status Status // Missing, Unknown, Unsupported, or "" when it can be read
	reason string // a fixed sentence for Unknown and Unsupported
	sealed bool   // the history is encrypted
}

// examine looks at the root of a place without opening it: links are resolved once, and the result has to be an ordinary file
// or directory of the wanted kind that belongs to the user or to root when a link led to it, on a local file system (named
// roots may be remote), and apart from the data root.
func examine(path string, kind historyv1.PathKind, named bool, c *config.Config) place {
	resolved, err := config.Resolve(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || isNotDirectory(err) {
			return place{path: path, status: Missing}
		}
		if errors.Is(err, fs.ErrPermission) {
			return place{path: path, status: Unknown, reason: "the path cannot be read"}
		}
		return place{path: path, status: Unsupported, reason: "the path cannot be resolved safely"}
	}
	before, err := os.Lstat(resolved)
	if err != nil {
		return place{path: resolved, status: Unknown, reason: "the path changed while it was looked at"}
	}
	p := place{path: resolved, exists: true}
	switch {
	case before.Mode().Type() != 0 && !before.IsDir():
		return p.unsafe("the path is neither an ordinary file nor a directory")
	case !kindMatches(before, kind):
		return p.unsafe("the path is not a " + kindName(kind))
	case resolved != filepath.Clean(path) && !ownedByUserOrRoot(before, c.Environment.UserID):
		return p.unsafe("a link leads to a place that belongs to another user")
	case config.Overlaps(resolved, c.DataRoot):
		return p.unsafe("the path lies above, below or on the data root of ctx")
	}
	on, err := fileSystem(resolved)
	if err != nil {
		return place{path: resolved, exists: true, status: Unknown, reason: "the file system cannot be examined"}
	}
	if reason := on.refused(named); reason != "" {
		return p.unsafe(reason)
	}
	if after, err := os.Lstat(resolved); err != nil || !os.SameFile(before, after) {
		return place{path: resolved, exists: true, status: Unknown, reason: "the path changed while it was looked at"}
	}
	return p
}

// refused says why a place on a file system is not read. There is no list of good ones.
func (k fsKind) refused(named bool) string {
	switch {
	case k == fsKernel:
		return "the path lies on a file system of the kernel"
	case k == fsRemote && !named:
		return "the path lies on a remote file system; name it with ctx sources add to use it"
	}
	return ""
}

func (p place) unsafe(reason string) place {
	p.status, p.reason = Unsupported, reason
	return p
}

// isNotDirectory reports that a component of a path is a file, which proves that nothing lies below it.
func isNotDirectory(err error) bool {
	return runtime.GOOS != "windows" && errors.Is(err, syscall.ENOTDIR)
}
