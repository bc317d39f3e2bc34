package core

import (
	"errors"
	"fmt"

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
		L0CompactionThreshold:       levelZeroTables,
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
func openPublishedRecords(dir string) (*pebble.DB, error) {
	o := recordsOptions(publishedFS{vfs.Default})
	o.ReadOnly = true
	o.ErrorIfNotExists = true
	o.DisableConsistencyCheck = true // the manifest was compared with the sizes of all files
	return pebble.Open(dir, o)
}

// candidateRecords is the record store of a candidate, open for ingestion.
type candidateRecords struct {
	db *pebble.DB
	fs *candidateFS
}

// openCandidateRecords opens the record store of a candidate for ingestion. With merge set, pebble may compact tables of small keys that
// lie over each other.
func (s *Store) openCandidateRecords(dir string, create, merge bool) (r *candidateRecords, err error) {
	r = &candidateRecords{fs: newCandidateFS(s)}
	o := recordsOptions(r.fs)
	o.ErrorIfNotExists = !create
	o.ErrorIfExists = create
	o.DisableAutomaticCompactions = !merge
	err = r.call(func() (err error) {
		r.db, err = pebble.Open(dir, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// call runs f, turns a fatal error of pebble into an ordinary one and reports failed writes that pebble did not see.
func (r *candidateRecords) call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			fatal, ok := p.(fatalError)
			if !ok {
				panic(p)
			}
			err = fatal
		}
		err = errors.Join(r.fs.failure(), err)
	}()
	return f()
}

// close closes the store unless a fatal error left it unusable.
func (r *candidateRecords) close() error {
	return r.call(r.db.Close)
}

// fatalError is what pebble considered fatal for the process. Candidates are disposable, so it only ends the refresh.
type fatalError struct{ text string }

func (e fatalError) Error() string { return "record store: " + e.text }

// silentLogger drops pebble's log: everything that matters comes back as an error.
type silentLogger struct{}

func (silentLogger) Infof(string, ...any)  {}
func (silentLogger) Errorf(string, ...any) {}
func (silentLogger) Fatalf(format string, args ...any) {
	panic(fatalError{text: fmt.Sprintf(format, args...)})
}
