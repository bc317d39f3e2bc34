//go:build !windows

package sources

import (
	"io/fs"
	"syscall"
)

func ownedByUserOrRoot(info fs.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == uid)
}
