package core

import (
	"crypto/sha256"
	"errors"
	"hash"
	"os"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// outputBuffer is the size of one write of an output. Postings and tables arrive in small pieces.
const outputBuffer = 256 << 10

// output writes a new file of a candidate and computes its digest on the way. It is not synced on close: a candidate is worth nothing
// before it is complete, so all its files are synced together, once.
type output struct {
	store *Store
	path  string
	file  *os.File
	hash  hash.Hash
	buf   []byte
	size  int64
	err   error
}

func (s *Store) newOutput(path string) (*output, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	return &output{store: s, path: path, file: f, hash: sha256.New(), buf: make([]byte, 0, outputBuffer)}, nil
}

// Write implements io.Writer. The first error stays.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && o.err == nil {
		k := copy(o.buf[len(o.buf):cap(o.buf)], p)
		o.buf = o.buf[:len(o.buf)+k]
		p = p[k:]
		if len(o.buf) == cap(o.buf) {
			o.flush()
		}
	}
	if o.err != nil {
		return 0, o.err
	}
	return n, nil
}

func (o *output) flush() {
	if len(o.buf) == 0 || o.err != nil {
		return
	}
	if o.err = o.store.mayWrite(len(o.buf)); o.err == nil {
		_, o.err = o.file.Write(o.buf)
	}
	o.hash.Write(o.buf)
	o.size += int64(len(o.buf))
	o.buf = o.buf[:0]
}

// close finishes the file and gives its entry for the manifest, named name.
func (o *output) close(name string) (File, error) {
	o.flush()
	if err := errors.Join(o.err, o.file.Close()); err != nil {
		return File{}, err
	}
	o.buf = nil
	return File{Name: name, Bytes: o.size, Digest: [32]byte(o.hash.Sum(nil))}, nil
}

// abandon closes and removes the file.
func (o *output) abandon() {
	o.buf = nil
	if o.file.Close() == nil {
		os.Remove(o.path) // what stays behind is collected with the candidate
	}
}

// table writes one table of the record store. Keys come in ascending order.
type table struct {
	out     *output
	writer  *sstable.Writer
	entries uint64
}

// stagedTable is a finished table that waits for ingestion. Ingestion links it under a name of pebble's choice, so it is recognised by
// its identity in the file system.
type stagedTable struct {
	path string
	info os.FileInfo
	file File // Name is empty
}

func (s *Store) newTable(path string, options sstable.WriterOptions) (*table, error) {
	out, err := s.newOutput(path)
	if err != nil {
		return nil, err
	}
	return &table{out: out, writer: sstable.NewWriter(tableSink{out}, options)}, nil
}

func (t *table) set(key, value []byte) error {
	t.entries++
	return t.writer.Set(key, value)
}

func (t *table) delete(key []byte) error {
	t.entries++
	return t.writer.Delete(key)
}

// size estimates the bytes on disk so far.
func (t *table) size() uint64 { return t.writer.Raw().EstimatedSize() }

func (t *table) close() (stagedTable, error) {
	if err := t.writer.Close(); err != nil {
		return stagedTable{}, errors.Join(err, t.out.file.Close())
	}
	file, err := t.out.close("")
	if err != nil {
		return stagedTable{}, err
	}
	info, err := os.Stat(t.out.path)
	return stagedTable{path: t.out.path, info: info, file: file}, err
}

func (t *table) abandon() {
	_ = t.writer.Close() // the file goes with the candidate
	t.out.abandon()
}

// tableSink is an output in the shape that pebble's table writer wants.
type tableSink struct{ out *output }

func (t tableSink) Write(p []byte) error {
	_, err := t.out.Write(p)
	return err
}

// Finish leaves the file open: table.close takes the digest.
func (t tableSink) Finish() error {
	t.out.flush()
	return t.out.err
}

func (t tableSink) Abort() {}
