//go:build unix

package jsonl

import (
	"strings"

	"golang.org/x/sys/unix"
)

// headReader reads beginnings of files and keeps the directory of the last one open.
type headReader struct {
	route, dir string
	fd         int
	open       bool
}

func (r *headReader) read(locator string, buf []byte) (n int, err error) {
	at := strings.LastIndexByte(locator, '/')
	if dir := locator[:max(at, 0)]; !r.open || dir != r.dir {
		r.close()
		if r.fd, _, err = openParent(r.route, locator); err != nil {
			return 0, err
		}
		r.dir, r.open = dir, true
	}
	fd, err := openAt(r.fd, locator[at+1:], openFile)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	if _, err := observation(&st); err != nil {
		return 0, err
	}
	return unix.Pread(fd, buf, 0)
}

func (r *headReader) close() {
	if r.open {
		unix.Close(r.fd)
		r.open = false
	}
}
