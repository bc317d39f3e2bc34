// Package logfile is the one log of ctx: <data root>/logs/ctx.log and its two predecessors ctx.log.1 and ctx.log.2.
//
// Several processes write it at once: the daemon, commands, MCP servers. So a line is one append to a file that is opened for
// it and closed again, and rotation happens under a lock. Logging is rare (a few lines for each refresh), so that costs
// nothing; in return no process keeps an old file open, and none is kept from renaming it.
//
// Files are readable by their owner only. Lines never hold text of the history: what is logged are names, numbers, classes of
// failures and, of foreign programs, what they print about themselves.
package logfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/agenthistory/ctx/host/durable"
)

const (
	// MaxBytes is the size at which a log is rotated.
	MaxBytes = 5 << 20
	// Files is how many files exist at most, the current one included.
	Files = 3
	// MaxLine is the longest line in bytes; the rest of a longer one is cut off.
	MaxLine = 16 << 10

	lockWait = 50 * time.Millisecond
)

// File appends lines to the log of one data root. It is safe for concurrent use, also by several processes. Nothing is created
// before the first line.
type File struct {
	path  string
	limit int64
	mutex sync.Mutex
}

// New returns the log of a data root.
func New(dataRoot string) *File {
	return &File{path: filepath.Join(dataRoot, "logs", "ctx.log"), limit: MaxBytes}
}

// Path returns the path of the current file.
func (f *File) Path() string { return f.path }

// Logger returns a logger that writes to the file from a level on.
func (f *File) Logger(level hclog.Level) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "ctx", Level: level, Output: f, TimeFn: func() time.Time { return time.Now().UTC() }, TimeFormat: "2006-01-02T15:04:05.000Z",
	})
}

// Write appends one line; a missing line feed is added. It implements io.Writer for loggers.
func (f *File) Write(line []byte) (int, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	full := len(line)
	if len(line) > MaxLine {
		line = append(append(make([]byte, 0, MaxLine+1), line[:MaxLine]...), '\n')
	} else if full == 0 || line[full-1] != '\n' {
		line = append(append(make([]byte, 0, full+1), line...), '\n')
	}
	if err := f.append(line); err != nil {
		return 0, err
	}
	return full, nil
}

func (f *File) append(line []byte) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	file, size, err := f.open()
	if err != nil {
		return err
	}
	if size > 0 && size+int64(len(line)) > f.limit {
		file.Close()
		if err := f.rotate(int64(len(line))); err != nil {
			return err
		}
		if file, _, err = f.open(); err != nil {
			return err
		}
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}

func (f *File) open() (*os.File, int64, error) {
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	// The profile directory of Windows is its user's own.
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(0o600)
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// rotate makes room unless another process just did. A rotation that cannot have the lock in time is left to the next line: the
// file then grows a little over its limit, which is better than a writer that waits.
func (f *File) rotate(more int64) error {
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if held, err := durable.Lock(context.Background(), lock, lockWait); !held {
		return err
	}
	info, err := os.Stat(f.path)
	if err != nil || info.Size()+more <= f.limit {
		return nil
	}
	for n := Files - 1; n > 0; n-- {
		older := f.path
		if n > 1 {
			older = fmt.Sprintf("%s.%d", f.path, n-1)
		}
		if err := os.Rename(older, fmt.Sprintf("%s.%d", f.path, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
