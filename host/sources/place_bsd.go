//go:build darwin || freebsd

package sources

import "golang.org/x/sys/unix"

func fileSystem(path string) (fsKind, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return fsLocal, err
	}
	if st.Flags&unix.MNT_LOCAL == 0 {
		return fsRemote, nil
	}
	return fsLocal, nil
}
