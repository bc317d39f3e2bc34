package core

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// publishedFS is the file system of the record store of a published generation. It never writes and takes no lock: published files do
// not change, so any number of processes may read them at once.
type publishedFS struct{ vfs.FS }

func (publishedFS) Unwrap() vfs.FS { return vfs.Default }

func (publishedFS) Lock(string) (io.Closer, error) { return unlocked{}, nil }

func (publishedFS) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }

func (publishedFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}

func (publishedFS) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}
func (publishedFS) Link(string, string) error          { return errReadOnly }
func (publishedFS) Remove(string) error                { return errReadOnly }
func (publishedFS) RemoveAll(string) error             { return errReadOnly }
func (publishedFS) Rename(string, string) error        { return errReadOnly }
func (publishedFS) MkdirAll(string, os.FileMode) error { return errReadOnly }

var errReadOnly = errors.New("a published generation is never written")

type unlocked struct{}

func (unlocked) Close() error { return nil }

// candidateFS is the file system of the record store of a candidate.
//
// It does not sync, because the candidate syncs all its files together before publication. And it does not let pebble see a failed
// write: pebble treats some of those as fatal for the process. The failure is remembered, later writes are swallowed, and the
// candidate is given up as soon as the call into pebble returns (see failure).
type candidateFS struct {
	vfs.FS
	store *Store
	mu    sync.Mutex
	err   error
}

func newCandidateFS(s *Store) *candidateFS { return &candidateFS{FS: vfs.Default, store: s} }

// failure returns the first failed write.
func (c *candidateFS) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// attempt runs a change of the disk unless one failed before, and swallows its error.
func (c *candidateFS) attempt(change func() error) {
	if c.failure() != nil {
		return
	}
	c.note(change())
}

func (c *candidateFS) note(err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *candidateFS) Unwrap() vfs.FS { return vfs.Default }

func (c *candidateFS) Lock(string) (io.Closer, error) { return unlocked{}, nil }

func (c *candidateFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file := &candidateFile{fs: c}
	c.attempt(func() error {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_TRUNC, fileMode)
		file.f = f
		return err
	})
	return file, nil
}

func (c *candidateFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return c.Create(newname, category)
}

func (c *candidateFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errors.New("files of a candidate are written once")
}

func (c *candidateFS) OpenDir(name string) (vfs.File, error) { return &candidateFile{fs: c}, nil }

func (c *candidateFS) Rename(from, to string) error {
	c.attempt(func() error { return os.Rename(from, to) })
	return nil
}

func (c *candidateFS) Remove(name string) error {
	err := os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) && c.failure() != nil {
		return nil
	}
	return err
}

// candidateFile is a file or directory that is open for writing. Without a file it swallows everything.
type candidateFile struct {
	fs *candidateFS
	f  *os.File
}

func (c *candidateFile) Write(p []byte) (int, error) {
	c.fs.attempt(func() error {
		if c.f == nil {
			return nil
		}
		if err := c.fs.store.mayWrite(len(p)); err != nil {
			return err
		}
		_, err := c.f.Write(p)
		return err
	})
	return len(p), nil
}

func (c *candidateFile) WriteAt(p []byte, off int64) (int, error) {
	c.fs.attempt(func() error {
		if c.f == nil {
			return nil
		}
		if err := c.fs.store.mayWrite(len(p)); err != nil {
			return err
		}
		_, err := c.f.WriteAt(p, off)
		return err
	})
	return len(p), nil
}

func (c *candidateFile) Read(p []byte) (int, error) {
	if c.f == nil {
		return 0, io.EOF
	}
	return c.f.Read(p)
}

func (c *candidateFile) ReadAt(p []byte, off int64) (int, error) {
	if c.f == nil {
		return 0, io.EOF
	}
	return c.f.ReadAt(p, off)
}

func (c *candidateFile) Close() error {
	if c.f != nil {
		c.fs.note(c.f.Close())
	}
	return nil
}

func (c *candidateFile) Stat() (vfs.FileInfo, error) {
	if c.f == nil {
		return nil, fs.ErrInvalid
	}
	return c.fs.Stat(c.f.Name())
}

func (c *candidateFile) Preallocate(int64, int64) error { return nil }
func (c *candidateFile) Prefetch(int64, int64) error    { return nil }
func (c *candidateFile) Sync() error                    { return nil }
func (c *candidateFile) SyncData() error                { return nil }
func (c *candidateFile) SyncTo(int64) (bool, error)     { return false, nil }
func (c *candidateFile) Fd() uintptr                    { return vfs.InvalidFd }
