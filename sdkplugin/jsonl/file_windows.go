package jsonl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// Windows has no opening relative to a directory in its documented interface. So every part of the path below the route is
// looked at for a reparse point, the file is opened without following one, and the final path of the handle, which the system
// reports with everything resolved, must lie where the locator says: a directory swapped in between is found out.

const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// openRegular opens a file without keeping its writer from writing, renaming or deleting it.
func openRegular(route, name string) (*os.File, Observation, error) {
	if err := checkParts(route, name); err != nil {
		return nil, Observation{}, err
	}
	handle, err := openPath(join(route, name), windows.GENERIC_READ, name != "")
	if err != nil {
		return nil, Observation{}, err
	}
	seen, err := observation(handle)
	if err == nil {
		err = checkFinal(handle, route, name)
	}
	if err != nil {
		windows.CloseHandle(handle)
		return nil, Observation{}, err
	}
	return os.NewFile(uintptr(handle), name), seen, nil
}

func observeRegular(route, name string) (Observation, error) {
	if err := checkParts(route, name); err != nil {
		return Observation{}, err
	}
	handle, err := openPath(join(route, name), windows.FILE_READ_ATTRIBUTES, name != "")
	if err != nil {
		return Observation{}, err
	}
	defer windows.CloseHandle(handle)
	if err := checkFinal(handle, route, name); err != nil {
		return Observation{}, err
	}
	return observation(handle)
}

func observeHandle(file *os.File) (Observation, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return Observation{}, err
	}
	var seen Observation
	var lookErr error
	if err := raw.Control(func(fd uintptr) { seen, lookErr = observation(windows.Handle(fd)) }); err != nil {
		return Observation{}, err
	}
	return seen, lookErr
}

func observation(handle windows.Handle) (Observation, error) {
	if kind, err := windows.GetFileType(handle); err != nil {
		return Observation{}, err
	} else if kind != windows.FILE_TYPE_DISK {
		return Observation{}, errSpecial
	}
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(handle, &info); err != nil {
		return Observation{}, err
	}
	switch {
	case info.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		return Observation{}, errLink
	case info.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		return Observation{}, errSpecial
	}
	return Observation{
		Size:    uint64(info.FileSizeHigh)<<32 | uint64(info.FileSizeLow),
		MtimeNS: info.LastWriteTime.Nanoseconds(),
		Device:  uint64(info.VolumeSerialNumber),
		FileID:  uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow),
	}, nil
}

// openPath opens a file or directory. With below set a reparse point itself is opened, not its target.
func openPath(path string, access uint32, below bool) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return windows.InvalidHandle, err
	}
	flags := uint32(windows.FILE_ATTRIBUTE_NORMAL | windows.FILE_FLAG_BACKUP_SEMANTICS)
	if below {
		flags |= windows.FILE_FLAG_OPEN_REPARSE_POINT
	}
	return windows.CreateFile(name, access, shareAll, nil, windows.OPEN_EXISTING, flags, 0)
}

func join(route, name string) string {
	if name == "" {
		return route
	}
	return filepath.Join(route, filepath.FromSlash(name))
}

// checkParts refuses a reparse point in any part below the route and a last part that is no regular file, before it is opened.
func checkParts(route, name string) error {
	if name == "" {
		return nil
	}
	path := route
	for part := range strings.SplitSeq(name, "/") {
		path = filepath.Join(path, part)
		wide, err := windows.UTF16PtrFromString(path)
		if err != nil {
			return err
		}
		attributes, err := windows.GetFileAttributes(wide)
		if err != nil {
			return err
		}
		if attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
			return errLink
		}
	}
	return nil
}

func checkFinal(handle windows.Handle, route, name string) error {
	if name == "" {
		return nil
	}
	root, err := openPath(route, windows.FILE_READ_ATTRIBUTES, false)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(root)
	above, err := finalPath(root)
	if err != nil {
		return err
	}
	full, err := finalPath(handle)
	if err != nil {
		return err
	}
	if !strings.EqualFold(full, strings.TrimSuffix(above, `\`)+`\`+filepath.FromSlash(name)) {
		return errLink
	}
	return nil
}

func finalPath(handle windows.Handle) (string, error) {
	buf := make([]uint16, 512)
	for {
		n, err := windows.GetFinalPathNameByHandle(handle, &buf[0], uint32(len(buf)), 0)
		if err != nil {
			return "", err
		}
		if int(n) < len(buf) {
			return windows.UTF16ToString(buf[:n]), nil
		}
		buf = make([]uint16, n+1)
	}
}

// gone tells whether the error means that a part of the path is no longer there.
func gone(err error) bool {
	return errors.Is(err, windows.ERROR_PATH_NOT_FOUND) || errors.Is(err, windows.ERROR_DIRECTORY) || errors.Is(err, windows.ERROR_DELETE_PENDING)
}
