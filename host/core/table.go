package core

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/sstable"
)

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

func segmentName(id uint32) string { return fmt.Sprintf("%012x", id) }
