package core

import "path/filepath"

// Options configures a Store. The zero value is ready for use.
type Options struct {
	// Step is called before every step that changes the disk, with the name of the step; an error stops the operation there. It is
	// the seam for crash and fault tests and costs nothing when nil. See Steps.
	Step func(name string) error
	// Write is called before every write of file content with its length in bytes; an error fails the write. It counts the cost of a
	// refresh and stands for a full disk in tests.
	Write func(bytes int) error

	noLinks bool // in tests: as on a file system without hard links
}

// Store is the record and index store of one data root. It holds no file open; use is safe from several goroutines and processes.
type Store struct {
	dir string
	opt Options
}

// Open returns the store kept in dir (<data root>/core). It touches nothing on disk; the first Begin creates the directory.
func Open(dir string, opt Options) *Store {
	return &Store{dir: filepath.Clean(dir), opt: opt}
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }
