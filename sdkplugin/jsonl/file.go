package jsonl

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// MaxLocator is the longest locator in bytes.
const MaxLocator = 32 << 10

// File is an open regular file with the length it had when it was opened.
type File struct {
	handle *os.File
	route  string
	name   string
	opened Observation
	work   *Work
}

// Open opens the file at the locator name ('/' separated, below route) for reading. An empty name opens the route itself,
// which is the user's own choice and may be a link. work may be nil. Errors are *Failure.
func Open(route, name string, work *Work) (*File, error) {
	if !ValidLocator(name) {
		return nil, &Failure{Class: Unreadable, Reason: "not a locator below the route"}
	}
	handle, seen, err := openRegular(route, name)
	if err != nil {
		return nil, classify(err)
	}
	work = work.counted()
	work.FilesOpened.Add(1)
	return &File{handle: handle, route: route, name: name, opened: seen, work: work}, nil
}

// Observe looks at the file at the locator name without opening it, under the same rules as Open.
func Observe(route, name string, work *Work) (Observation, error) {
	if !ValidLocator(name) {
		return Observation{}, &Failure{Class: Unreadable, Reason: "not a locator below the route"}
	}
	seen, err := observeRegular(route, name)
	if err != nil {
		return Observation{}, classify(err)
	}
	work.counted().FilesObserved.Add(1)
	return seen, nil
}

// Observation returns what was seen when the file was opened; its Size is the frozen length.
func (f *File) Observation() Observation { return f.opened }

// Close releases the file.
func (f *File) Close() error { return f.handle.Close() }

// ReadAt reads inside the frozen length, as io.ReaderAt.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	left := int64(f.opened.Size) - offset
	if offset < 0 || left <= 0 {
		return 0, io.EOF
	}
	short := int64(len(p)) > left
	if short {
		p = p[:left]
	}
	n, err := f.handle.ReadAt(p, offset)
	f.work.BytesRead.Add(uint64(n))
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// Recheck looks at the file again, by its handle and by its name, and returns the observation that a certificate over the
// frozen length may carry: the one of the opening, also when the file has only grown since (its next inventory then differs,
// and an append follows). A *Failure of class Vanished or Changed says that what was read can not be certified.
func (f *File) Recheck() (Observation, error) {
	held, err := observeHandle(f.handle)
	if err != nil {
		return Observation{}, classify(err)
	}
	named, err := observeRegular(f.route, f.name)
	switch {
	case err != nil:
		return Observation{}, classify(err)
	case !named.SameFile(f.opened):
		return Observation{}, &Failure{Class: Changed, Reason: "the file was replaced during the scan"}
	case held.Size < f.opened.Size:
		return Observation{}, &Failure{Class: Changed, Reason: "the file was cut during the scan"}
	case held.Size == f.opened.Size && held.MtimeNS != f.opened.MtimeNS:
		return Observation{}, &Failure{Class: Changed, Reason: "the file was rewritten during the scan"}
	}
	return f.opened, nil
}

// ValidLocator tells whether name can be joined to a route without leaving it, on this system: empty (the route itself), or a
// '/' separated path of UTF-8 without empty, "." or ".." parts, NUL, and, on Windows, drive letters, backslashes, alternate
// data streams and reserved device names.
func ValidLocator(name string) bool {
	if name == "" {
		return true
	}
	return len(name) <= MaxLocator && name != "." && fs.ValidPath(name) && strings.IndexByte(name, 0) < 0 &&
		filepath.ToSlash(name) == name && filepath.IsLocal(name)
}

// validName tells whether a directory entry can be part of a locator. A name that is not UTF-8 can not travel.
func validName(name string) bool {
	return utf8.ValidString(name) && strings.IndexByte(name, '/') < 0
}

var (
	errLink    = errors.New("a link")
	errSpecial = errors.New("not a regular file")
)

// classify turns an error of the system into a failure.
func classify(err error) *Failure {
	var known *Failure
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, errLink):
		return &Failure{Class: Unreadable, Reason: "links are not followed", cause: err}
	case errors.Is(err, errSpecial):
		return &Failure{Class: Unreadable, Reason: "not a regular file", cause: err}
	case errors.Is(err, fs.ErrNotExist), gone(err):
		return &Failure{Class: Vanished, Reason: "the file is gone", cause: err}
	case errors.Is(err, fs.ErrPermission):
		return &Failure{Class: Unreadable, Reason: "no permission to read", cause: err}
	}
	return &Failure{Class: Unreadable, Reason: "reading failed", cause: err}
}

// ClassOf returns the class of a *Failure, "" for any other error.
func ClassOf(err error) string {
	var failure *Failure
	if !errors.As(err, &failure) {
		return ""
	}
	return failure.Class
}

// Work counts what was done, for tests that hold the package to its bounds. The zero Work is ready; a nil one counts nothing.
// It may be shared by goroutines.
type Work struct {
	FilesOpened, BytesRead, DirectoriesRead, FilesObserved atomic.Uint64
}

// counted is the work itself, or one that nobody looks at.
func (w *Work) counted() *Work { return cmp.Or(w, new(Work)) }

// Observation is what distinguishes one state of a file from another: size in bytes, modification time in nanoseconds since
// 1970, device and file number (volume serial and file index on Windows).
type Observation struct {
	Size    uint64
	MtimeNS int64
	Device  uint64
	FileID  uint64
}

const (
	tokenVersion = 1
	tokenLength  = 1 + 4*8
)

// Token returns the opaque form that travels to the host and comes back; equal tokens mean an unchanged file.
func (o Observation) Token() []byte { return o.AppendToken(make([]byte, 0, tokenLength)) }

// AppendToken appends the token to dst: a version byte, then size, time, device and file number as 64-bit big-endian numbers.
func (o Observation) AppendToken(dst []byte) []byte {
	dst = append(dst, tokenVersion)
	dst = binary.BigEndian.AppendUint64(dst, o.Size)
	dst = binary.BigEndian.AppendUint64(dst, uint64(o.MtimeNS))
	dst = binary.BigEndian.AppendUint64(dst, o.Device)
	return binary.BigEndian.AppendUint64(dst, o.FileID)
}

// Newer tells whether a file of the same content is the newer one: by its time, then by its length.
func (o Observation) Newer(p Observation) bool {
	return cmp.Or(cmp.Compare(o.MtimeNS, p.MtimeNS), cmp.Compare(o.Size, p.Size)) > 0
}

// SameFile tells whether both observations are of one file, whatever its size and time.
func (o Observation) SameFile(p Observation) bool {
	return o.Device == p.Device && o.FileID == p.FileID
}
