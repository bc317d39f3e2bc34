package core

import (
	"crypto/sha256"
	"errors"
	"hash"
	"os"
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
