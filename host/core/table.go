package core

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// outputBuffer is the size of one write of an output. Postings and tables arrive in small pieces.
const outputBuffer = 256 << 10

// output writes a new file of a candidate and computes its digest on the way. It is not synced on close: a candidate is worth nothing
// before it is complete, so all its files are synced together, once.
type output struct {
	*bufio.Writer // keeps the first error
	file          *os.File
	hash          hash.Hash
}

func (s *Store) newOutput(path string) (*output, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	return &output{Writer: bufio.NewWriterSize(io.MultiWriter(countingWriter{s, f}, h), outputBuffer), file: f, hash: h}, nil
}

// close finishes the file and gives its entry for the manifest, named name.
func (o *output) close(name string) (File, error) {
	err := o.Flush()
	info, statErr := o.file.Stat()
	if err = errors.Join(err, statErr, o.file.Close()); err != nil {
		return File{}, err
	}
	return File{Name: name, Bytes: info.Size(), Digest: [32]byte(o.hash.Sum(nil))}, nil
}

// abandon closes and removes the file.
func (o *output) abandon() {
	if o.file.Close() == nil {
		os.Remove(o.file.Name()) // what stays behind is collected with the candidate
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
	info, err := os.Stat(t.out.file.Name())
	return stagedTable{path: t.out.file.Name(), info: info, file: file}, err
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
	return t.out.Flush()
}

func (t tableSink) Abort() {}
