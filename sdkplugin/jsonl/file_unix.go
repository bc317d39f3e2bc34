//go:build unix

package jsonl

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Directories below the route are opened one part after another, each relative to the one before and never through a link, so
// that a directory swapped for a link in the middle of a scan leads nowhere. O_NONBLOCK keeps the opening of a pipe that
// appears between the look and the opening from blocking.
const (
	openFile = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	openDir  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
)

func openRegular(route, name string) (*os.File, Observation, error) {
	dir, base, err := openParent(route, name)
	if err != nil {
		return nil, Observation{}, err
	}
	flags, look := openFile, unix.AT_SYMLINK_NOFOLLOW
	if dir == unix.AT_FDCWD {
		flags, look = openFile&^unix.O_NOFOLLOW, 0
	} else {
		defer unix.Close(dir)
	}
	if _, err := observeAt(dir, base, look); err != nil {
		return nil, Observation{}, err
	}
	fd, err := openAt(dir, base, flags)
	if err != nil {
		return nil, Observation{}, linkError(dir, base, err)
	}
	handle := os.NewFile(uintptr(fd), base)
	seen, err := observeHandle(handle)
	if err != nil {
		handle.Close()
		return nil, Observation{}, err
	}
	return handle, seen, nil
}

func observeRegular(route, name string) (Observation, error) {
	dir, base, err := openParent(route, name)
	if err != nil {
		return Observation{}, err
	}
	if dir == unix.AT_FDCWD {
		return observeAt(dir, base, 0)
	}
	defer unix.Close(dir)
	return observeAt(dir, base, unix.AT_SYMLINK_NOFOLLOW)
}

// openParent opens the directory that holds name and returns the last part of it. For the route itself it returns AT_FDCWD and
// the whole route.
func openParent(route, name string) (dir int, base string, err error) {
	if name == "" {
		return unix.AT_FDCWD, route, nil
	}
	dir, err = openAt(unix.AT_FDCWD, route, openDir)
	if err != nil {
		return -1, "", err
	}
	for {
		part, rest, more := strings.Cut(name, "/")
		if !more {
			return dir, part, nil
		}
		next, err := openAt(dir, part, openDir|unix.O_NOFOLLOW)
		if err != nil {
			err = linkError(dir, part, err)
		}
		unix.Close(dir)
		if err != nil {
			return -1, "", err
		}
		dir, name = next, rest
	}
}

// linkError replaces the several errors with which systems refuse to follow a link by one.
func linkError(dir int, base string, err error) error {
	var st unix.Stat_t
	if statAt(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return errLink
	}
	return err
}

func observeAt(dir int, base string, flags int) (Observation, error) {
	var st unix.Stat_t
	if err := statAt(dir, base, &st, flags); err != nil {
		return Observation{}, err
	}
	return observation(&st)
}

func observeHandle(handle *os.File) (Observation, error) {
	raw, err := handle.SyscallConn()
	if err != nil {
		return Observation{}, err
	}
	var st unix.Stat_t
	var statErr error
	if err := raw.Control(func(fd uintptr) { statErr = unix.Fstat(int(fd), &st) }); err != nil {
		return Observation{}, err
	}
	if statErr != nil {
		return Observation{}, statErr
	}
	return observation(&st)
}

func observation(st *unix.Stat_t) (Observation, error) {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return Observation{
			Size: uint64(st.Size), MtimeNS: st.Mtim.Nano(), Device: uint64(st.Dev), FileID: uint64(st.Ino),
		}, nil
	case unix.S_IFLNK:
		return Observation{}, errLink
	}
	return Observation{}, errSpecial
}

func openAt(dir int, base string, flags int) (fd int, err error) {
	for {
		if fd, err = unix.Openat(dir, base, flags, 0); err != unix.EINTR {
			return fd, err
		}
	}
}

func statAt(dir int, base string, st *unix.Stat_t, flags int) (err error) {
	for {
		if err = unix.Fstatat(dir, base, st, flags); err != unix.EINTR {
			return err
		}
	}
}

// gone tells whether the error means that a part of the path is no longer there.
func gone(err error) bool { return errors.Is(err, unix.ENOTDIR) }
