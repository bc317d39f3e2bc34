// Package durable holds the few file operations that must survive a crash or another process: a lock on a whole file, the
// durable replacement of a file, and making a directory's entries durable.
package durable

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Replace gives path new content in one step; see Write.
func Replace(path string, content []byte, mode os.FileMode) error {
	return ReplaceInSteps(path, content, mode, func(int) error { return nil })
}

// ReplaceInSteps is Replace that tells before each of its steps which one comes: 0 writing, 1 renaming, 2 syncing the directory. An error
// ends it there.
func ReplaceInSteps(path string, content []byte, mode os.FileMode, before func(step int) error) error {
	if err := before(0); err != nil {
		return err
	}
	return replace(path, mode, before, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// Write gives path the content that write writes, in one step: a temporary file beside it, fsync, rename, fsync of the directory.
// Readers see the old or the new content; after a crash one of them is there. The file gets the given mode.
func Write(path string, mode os.FileMode, write func(io.Writer) error) error {
	return replace(path, mode, func(int) error { return nil }, write)
}

func replace(path string, mode os.FileMode, before func(step int) error, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = before(1)
	}
	if err == nil {
		err = Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := before(2); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// ReadFile reads a regular file of at most so many bytes. In place of anything else, such as a pipe whose writer nobody would want to
// wait for, it fails.
func ReadFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, &os.PathError{Op: "read", Path: path, Err: errUnfit}
	}
	return os.ReadFile(path)
}

var errUnfit = errors.New("not an ordinary file of a sensible size")

// Lock takes an exclusive lock as TryLock does and waits for it, at most so long; false means that somebody still holds a conflicting one.
func Lock(ctx context.Context, f *os.File, wait time.Duration) (bool, error) {
	for deadline := time.Now().Add(wait); ; {
		held, err := TryLock(f, true)
		if held || err != nil || time.Now().After(deadline) {
			return held, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// MkdirAll is os.MkdirAll whose new directories survive a crash: the parent of each is synced.
func MkdirAll(path string, mode os.FileMode) error { return mkdirAll(path, mode, SyncDir) }

func mkdirAll(path string, mode os.FileMode, sync func(string) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := mkdirAll(parent, mode, sync); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return sync(parent)
}
