//go:build unix

package integrations

import (
	"io/fs"
	"os"
	"syscall"
)

// oursToReplace tells whether a replaced file would keep its owner. A file of root's that a user may write to, or one of a user's in the
// hands of root, would change hands, and its program could perhaps not read it any more.
func oursToReplace(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(owner.Uid) == os.Geteuid()
}
