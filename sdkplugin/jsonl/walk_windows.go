package jsonl

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// Offsets inside FILE_ID_BOTH_DIR_INFO of the Windows interface, which gives size, time and file number of every entry of a
// directory without opening it.
const (
	infoNext       = 0
	infoWritten    = 24
	infoSize       = 40
	infoAttributes = 56
	infoNameBytes  = 60
	infoFileID     = 96
	infoName       = 104
)

func (w *walker) root() error {
	handle, err := openPath(w.Route, windows.FILE_LIST_DIRECTORY, false)
	if err != nil {
		return classify(err)
	}
	return w.directory(handle, "", 1)
}

// directory reads an open directory and closes it. prefix is its locator with a slash behind it, empty for the route.
func (w *walker) directory(handle windows.Handle, prefix string, depth int) error {
	defer windows.CloseHandle(handle)
	if err := w.enter(depth); err != nil {
		return err
	}
	here := strings.TrimSuffix(prefix, "/")
	var part Tree
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(handle, &info); err != nil {
		part.trouble(here, err)
		return w.merge(part)
	}
	if info.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY == 0 {
		return &Failure{Class: Unreadable, Reason: "not a directory"}
	}
	if depth > 1 && info.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		return w.merge(Tree{SkippedLinks: 1})
	}
	buf := make([]byte, 64<<10)
	for {
		err := windows.GetFileInformationByHandleEx(handle, windows.FileIdBothDirectoryInfo, &buf[0], uint32(len(buf)))
		switch {
		case errors.Is(err, windows.ERROR_NO_MORE_FILES), errors.Is(err, windows.ERROR_FILE_NOT_FOUND):
			return nil
		case err != nil:
			part.trouble(here, err)
			return w.merge(part)
		}
		for entry := buf; ; {
			if err := w.entry(&part, entry, uint64(info.VolumeSerialNumber), prefix, depth); err != nil {
				return err
			}
			next := binary.LittleEndian.Uint32(entry[infoNext:])
			if next == 0 {
				break
			}
			entry = entry[next:]
		}
		if err := w.merge(part); err != nil {
			return err
		}
		part = Tree{}
	}
}

func (w *walker) entry(part *Tree, entry []byte, volume uint64, prefix string, depth int) error {
	name := entryName(entry)
	if name == "." || name == ".." {
		return nil
	}
	locator, ok := part.locate(prefix, name)
	if !ok {
		return nil
	}
	attributes := binary.LittleEndian.Uint32(entry[infoAttributes:])
	switch {
	case attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		part.SkippedLinks++
		return nil
	case attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		return w.subdirectory(part, locator, depth)
	case attributes&windows.FILE_ATTRIBUTE_DEVICE != 0:
		part.SkippedSpecial++
		return nil
	case !w.Match(locator):
		return nil
	}
	written := binary.LittleEndian.Uint64(entry[infoWritten:])
	filetime := windows.Filetime{LowDateTime: uint32(written), HighDateTime: uint32(written >> 32)}
	w.Work.FilesObserved.Add(1)
	part.Entries = append(part.Entries, Entry{locator, Observation{
		Size:    binary.LittleEndian.Uint64(entry[infoSize:]),
		MtimeNS: filetime.Nanoseconds(),
		Device:  volume,
		FileID:  binary.LittleEndian.Uint64(entry[infoFileID:]),
	}})
	return nil
}

// entryName returns the name of an entry. An unpaired surrogate, legal in Windows names, leaves invalid UTF-8 behind, which
// locate refuses: a replaced character would name another file.
func entryName(entry []byte) string {
	raw := entry[infoName:][:binary.LittleEndian.Uint32(entry[infoNameBytes:])]
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return windows.UTF16ToString(units)
}

func (w *walker) subdirectory(part *Tree, locator string, depth int) error {
	if w.Descend != nil && !w.Descend(locator) {
		return nil
	}
	handle, err := openPath(filepath.Join(w.Route, filepath.FromSlash(locator)), windows.FILE_LIST_DIRECTORY, true)
	if err != nil {
		part.trouble(locator, err)
		return nil
	}
	if err := checkFinal(handle, w.Route, locator); err != nil {
		windows.CloseHandle(handle)
		part.trouble(locator, err)
		return nil
	}
	return w.spread(func() error { return w.directory(handle, locator+"/", depth+1) })
}
