//go:build !windows

package lexical

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a whole file. It asks the system directly: os.Open also registers a file for polling, and a generation has two files a
// segment that every command opens.
func mapFile(path string) (mapping, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return mapping{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) // the mapping outlives the descriptor
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return mapping{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if info.Size == 0 {
		return mapping{}, errEmptyFile
	}
	data, err := unix.Mmap(fd, 0, int(info.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return mapping{}, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return mapping{data: data, unmap: func() error { return unix.Munmap(data) }}, nil
}
