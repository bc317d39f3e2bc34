package core

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// recordsFormat is pinned: a newer pebble must not change published files by itself.
	recordsFormat = pebble.FormatTableFormatV6
	tableFormat   = sstable.TableFormatPebblev6

	// Uncompressed sizes of blocks, the units of compression and of a read. Events are a few KB of JSON that repeat each other: over
	// blocks of 128 KB they compress to 44 % where pebble's usual 4 KB leave more than half, and reading one record still takes less
	// than half a millisecond. Keys gain nothing from large blocks, and looking one up reads a whole one.
	recordBlock = 128 << 10
	keyBlock    = 32 << 10

	// tableTarget is the size at which a table of small keys is closed. Records tables end with their segment.
	tableTarget = 32 << 20

	// levelZeroTables is how many tables of small keys may lie over each other before a merge compacts them. Every refresh adds one.
	levelZeroTables = 4

	readerCache = 8 << 20 // block cache of a reader
)

// tableCompression is as fast as snappy and makes smaller files. Zstandard at its fastest would save another fifth for three times the
// time, more than the import can spend.
var tableCompression = block.MinLZCompression

func recordsOptions(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                          fs,
		EventListener:               &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}}, // comes back as an error too
		DisableWAL:                  true,                                                                      // everything arrives as finished tables
		FormatMajorVersion:          recordsFormat,
		Logger:                      silentLogger{},
		DisableAutomaticCompactions: true,
		DisableTableStats:           true,
		CacheSize:                   readerCache,
		MaxOpenFiles:                500,
		MemTableSize:                256 << 10,
		FlushSplitBytes:             tableTarget,
		LBaseMaxBytes:               8 << 20,
	}
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize = keyBlock
		l.IndexBlockSize = 256 << 10
		l.Compression = func() *block.CompressionProfile { return tableCompression }
		o.TargetFileSizes[i] = tableTarget
	}
	o.EnsureDefaults()
	return o
}

// tableOptions are the options of every table we write. Level 0 says that the table may lie over others: in tables written for the lowest
// level pebble hides tombstones.
func tableOptions(blockSize int) sstable.WriterOptions {
	o := recordsOptions(vfs.Default).MakeWriterOptions(0, tableFormat)
	o.BlockSize = blockSize
	return o
}

// openPublishedRecords opens the record store of a published generation for reading.
func openPublishedRecords(dir string, cache int64) (*pebble.DB, error) {
	o := recordsOptions(publishedFS{vfs.Default})
	o.CacheSize = max(cache, readerCache)
	o.ReadOnly = true
	o.ErrorIfNotExists = true
	o.DisableConsistencyCheck = true // the manifest was compared with the sizes of all files
	return pebble.Open(dir, o)
}

// candidateRecords is the record store of a candidate, open for ingestion.
type candidateRecords struct {
	silentLogger
	db    *pebble.DB
	fs    *candidateFS
	fatal chan error
}

// openCandidateRecords opens the record store of a candidate for ingestion.
func (s *Store) openCandidateRecords(dir string, create bool) (*candidateRecords, error) {
	r := &candidateRecords{fs: newCandidateFS(s), fatal: make(chan error, 1)}
	o := recordsOptions(r.fs)
	o.ErrorIfNotExists = !create
	o.ErrorIfExists = create
	o.Logger = r
	err := r.call(func() (err error) {
		r.db, err = pebble.Open(dir, o)
		return err
	})
	return r, err
}

// call runs f. What pebble considers fatal for the process, in f or in a goroutine of its own, is an ordinary error here: candidates are
// disposable. It also reports failed writes, which pebble does not see.
func (r *candidateRecords) call(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return errors.Join(r.fs.failure(), err)
	case err := <-r.fatal:
		return err
	}
}

// fatalError is what pebble considered fatal for the process.
type fatalError struct{ text string }

func (e fatalError) Error() string { return "record store: " + e.text }

// Fatalf must not return, and its caller may hold any lock, so it waits for ever. From now on nothing is written any more.
func (r *candidateRecords) Fatalf(format string, args ...any) {
	err := fatalError{text: fmt.Sprintf(format, args...)}
	r.fs.note(err)
	select {
	case r.fatal <- err:
	default:
	}
	select {}
}

// silentLogger drops pebble's log: everything that matters comes back as an error.
type silentLogger struct{}

func (silentLogger) Infof(string, ...any)  {}
func (silentLogger) Errorf(string, ...any) {}
func (silentLogger) Fatalf(format string, args ...any) {
	panic(fatalError{text: fmt.Sprintf(format, args...)})
}

// publishedFS is the file system of the record store of a published generation, which is opened read-only. It takes no lock: published
// files do not change, so any number of processes may read them at once.
type publishedFS struct{ vfs.FS }

func (publishedFS) Unwrap() vfs.FS { return vfs.Default }

func (publishedFS) Lock(string) (io.Closer, error) { return unlocked{}, nil }

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
	file := nowhere()
	c.attempt(func() error {
		made, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fileMode)
		if err = errors.Join(err, made.Close()); err != nil {
			return err
		}
		opened, err := c.FS.OpenReadWrite(name, category)
		if err == nil {
			file = opened
		}
		return err
	})
	return &candidateFile{file, c}, nil
}

// nowhere takes what is written after a failure.
func nowhere() vfs.File {
	file, _ := vfs.NewMem().Create("nowhere", vfs.WriteCategoryUnspecified)
	return file
}

func (c *candidateFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return c.Create(newname, category)
}

func (c *candidateFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errors.New("files of a candidate are written once")
}

func (c *candidateFS) OpenDir(name string) (vfs.File, error) {
	return &candidateFile{nowhere(), c}, nil
}

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

// candidateFile is a file of a candidateFS.
type candidateFile struct {
	vfs.File
	fs *candidateFS
}

func (c *candidateFile) Write(p []byte) (int, error) {
	c.fs.attempt(func() error {
		_, err := countingWriter{c.fs.store, c.File}.Write(p)
		return err
	})
	return len(p), nil
}

func (c *candidateFile) Close() error {
	c.fs.note(c.File.Close())
	return nil
}

func (c *candidateFile) Preallocate(int64, int64) error { return nil }
func (c *candidateFile) Prefetch(int64, int64) error    { return nil }
func (c *candidateFile) Sync() error                    { return nil }
func (c *candidateFile) SyncData() error                { return nil }
func (c *candidateFile) SyncTo(int64) (bool, error)     { return false, nil }
func (c *candidateFile) Fd() uintptr                    { return vfs.InvalidFd }
