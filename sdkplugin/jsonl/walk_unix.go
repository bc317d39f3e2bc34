//go:build unix

package jsonl

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func (w *walker) root() error {
	fd, err := openAt(unix.AT_FDCWD, w.Route, openDir)
	if errors.Is(err, unix.ENOTDIR) {
		if _, err := observeAt(unix.AT_FDCWD, w.Route, 0); err == nil || errors.Is(err, errSpecial) {
			return &Failure{Class: Unreadable, Reason: "not a directory"}
		}
	}
	if err != nil {
		return classify(err)
	}
	return w.directory(fd, "", 1)
}

// chunk is how many entries are read and reported at a time, so that a huge directory meets the bounds early.
const chunk = 4096

// directory reads an open directory and closes it. prefix is its locator with a slash behind it, empty for the route. Files are
// looked at relative to the directory: short names, which the kernel resolves several times faster than whole paths.
func (w *walker) directory(fd int, prefix string, depth int) error {
	dir := os.NewFile(uintptr(fd), filepath.Join(w.Route, prefix))
	defer dir.Close()
	if err := w.enter(depth); err != nil {
		return err
	}
	for {
		entries, err := dir.ReadDir(chunk)
		var part Tree
		if err != nil && !errors.Is(err, io.EOF) {
			part.trouble(strings.TrimSuffix(prefix, "/"), err)
		}
		for _, entry := range entries {
			if err := w.entry(&part, fd, prefix, entry, depth); err != nil {
				return err
			}
		}
		if err := w.merge(part); err != nil {
			return err
		}
		if err != nil {
			return nil
		}
	}
}

func (w *walker) entry(part *Tree, dir int, prefix string, entry fs.DirEntry, depth int) error {
	locator, ok := part.locate(prefix, entry.Name())
	if !ok {
		return nil
	}
	switch entry.Type() {
	case 0:
		if !w.Match(locator) {
			return nil
		}
		seen, err := observeAt(dir, entry.Name(), unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			part.trouble(locator, err)
			return nil
		}
		w.Work.FilesObserved.Add(1)
		part.Entries = append(part.Entries, Entry{locator, seen})
	case fs.ModeDir:
		if w.Descend != nil && !w.Descend(locator) {
			return nil
		}
		fd, err := openAt(dir, entry.Name(), openDir|unix.O_NOFOLLOW)
		if err != nil {
			part.trouble(locator, linkError(dir, entry.Name(), err))
			return nil
		}
		return w.spread(func() error { return w.directory(fd, locator+"/", depth+1) })
	case fs.ModeSymlink:
		part.SkippedLinks++
	default:
		part.SkippedSpecial++
	}
	return nil
}
