package sqlitesnap

import "golang.org/x/sys/windows"

// freeSpace returns the bytes that may be written below a directory.
func freeSpace(dir string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}
