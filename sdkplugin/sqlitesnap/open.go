package sqlitesnap

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
)

// Mode is how a database is reached.
type Mode uint8

// The modes.
const (
	Immutable Mode = iota + 1
	Live
	Copied
)

// Options bound what is read.
type Options struct {
	Tables   []Table
	MaxValue int64 // longest value in bytes; 0 = 16 MiB
	MaxCopy  int64 // longest database with its log that is copied; 0 = 4 GiB
}

const (
	defaultValue = 16 << 20
	defaultCopy  = 4 << 30
	// cacheKiB bounds the pages that the engine keeps of one snapshot.
	cacheKiB = "-8192"
	// patience is how long, in milliseconds, a lock of a writer is waited for.
	patience = "250"
)

// How somebody else's database is opened: with the locks of a reader, and without.
var (
	inPlace  = []string{"vfs=" + readOnlySystem, "mode=ro", "readonly_shm=1"}
	unlocked = []string{"vfs=" + readOnlySystem, "mode=ro", "immutable=1"}
)

// Snapshot is one open state of a database. It belongs to one goroutine.
type Snapshot struct {
	options    Options
	path       string
	mode       Mode
	seen       files // before the first read
	db         *sql.DB
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	copy       *privateCopy
}

// Open opens the database at path. Errors have a class of package sdkplugin; ErrBusy is worth another try. A description of
// tables that names a credential is a defect of the caller and refused before the file is touched.
func Open(ctx context.Context, path string, options Options) (*Snapshot, error) {
	for i := range options.Tables {
		if err := options.Tables[i].validate(); err != nil {
			return nil, err
		}
	}
	options.MaxValue, options.MaxCopy = cmp.Or(options.MaxValue, defaultValue), cmp.Or(options.MaxCopy, defaultCopy)
	sweepOnce()
	if !registerReadOnly() {
		return nil, sdkplugin.Fail(sdkplugin.Internal, "the engine takes no file system")
	}
	seen, err := settled(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{options: options, path: path, seen: seen, statements: map[string]*sql.Stmt{}}
	switch {
	case seen.log != nil && seen.index != nil: // also an empty log: its writer may fill it at any time
		s.mode = Live
		if err = s.connect(ctx, path, inPlace...); unopenable(err) {
			err = s.copied(ctx)
		}
	case size(seen.log) > 0:
		err = s.copied(ctx)
	case seen.journal:
		err = s.journalled(ctx)
	default:
		s.mode = Immutable
		err = s.connect(ctx, path, unlocked...)
	}
	if err != nil {
		err = s.failed(ctx, err)
		s.Close()
		return nil, err
	}
	return s, nil
}

// journalled opens a database beside which lies a rollback journal. The engine's own lock tells whose it is: of a writer that
// holds the file now, of one that has changed nothing yet, or of one that crashed.
func (s *Snapshot) journalled(ctx context.Context) error {
	s.mode = Live
	err := s.connect(ctx, s.path, inPlace...)
	if unopenable(err) {
		return s.copied(ctx)
	}
	if err != nil {
		return err
	}
	s.disconnect() // a lock held for long would keep the writer from its commit
	s.mode = Immutable
	return s.connect(ctx, s.path, unlocked...)
}

func (s *Snapshot) copied(ctx context.Context) (err error) {
	s.disconnect()
	s.mode = Copied
	if s.copy, err = shareCopy(ctx, s.path, s.seen, s.options.MaxCopy); err != nil {
		return err
	}
	return s.connect(ctx, filepath.Join(s.copy.dir, copyName), "mode=rw")
}

// connect opens one connection with one read transaction and makes sure that the schema can be read.
func (s *Snapshot) connect(ctx context.Context, path string, parameters ...string) (err error) {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u := url.URL{Scheme: "file", Path: path}
	parameters = append(slices.Clip(parameters), "_busy_timeout="+patience, "_query_only=1", "_pragma=cache_size("+cacheKiB+")", "_pragma=mmap_size(0)",
		"_pragma=temp_store(2)", "_pragma=trusted_schema(0)")
	if s.db, err = sql.Open("sqlite", "file://"+u.EscapedPath()+"?"+strings.Join(parameters, "&")); err != nil {
		return err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if _, err = s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	var n int
	return s.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
}

func (s *Snapshot) disconnect() {
	for _, statement := range s.statements {
		statement.Close()
	}
	clear(s.statements)
	if s.conn != nil {
		_, _ = s.conn.ExecContext(context.Background(), "ROLLBACK") // nothing was written
		s.conn.Close()
	}
	if s.db != nil {
		s.db.Close()
	}
	s.conn, s.db = nil, nil
}

// Close ends the snapshot.
func (s *Snapshot) Close() {
	s.disconnect()
	s.copy.release()
	s.copy = nil
}

// Verify tells whether all that was read is one state of the database. To be asked when everything was read; the answer of an
// immutable snapshot is ErrBusy when the file changed meanwhile.
func (s *Snapshot) Verify() error {
	if s.mode != Immutable {
		return nil
	}
	if now, err := look(s.path); err != nil || !now.same(s.seen) {
		return busy("the database changed while it was read")
	}
	return nil
}

// files is what lies at the place of a database.
type files struct {
	database, log, index fs.FileInfo // index and log may be nil
	journal              bool        // of a change that may be under way
}

// look tells what lies there. The database itself is not opened: closing it again would end the locks that the engine holds for
// other snapshots of this process.
func look(path string) (f files, err error) {
	if f.database, err = os.Lstat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return f, sdkplugin.Fail(sdkplugin.Vanished, "the database is not there")
		}
		return f, sdkplugin.Fail(sdkplugin.Unreadable, "the database cannot be looked at")
	}
	if !f.database.Mode().IsRegular() {
		return f, sdkplugin.Fail(sdkplugin.Unreadable, "the database is no regular file")
	}
	f.log, _ = os.Lstat(path + "-wal")
	f.index, _ = os.Lstat(path + "-shm")
	// A log belongs to the other way of writing; a journal beside it is of no use to anybody.
	journal, _ := os.Lstat(path + "-journal")
	f.journal = f.log == nil && size(journal) > 0
	return f, nil
}

// tick is longer than the steps in which systems count the times of files.
const tick = 20 * time.Millisecond

// settled looks until the database was written longer than a tick ago: of two changes within a tick, the second leaves no trace
// by which Verify could know it. Times that lie ahead tell nothing.
func settled(ctx context.Context, path string) (f files, err error) {
	for range tries {
		if f, err = look(path); err != nil || size(f.log) > 0 {
			return f, err
		}
		age := time.Since(f.database.ModTime())
		if age < 0 || age >= tick {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return f, context.Cause(ctx)
		case <-time.After(tick - age):
		}
	}
	return f, nil
}

func size(info fs.FileInfo) int64 {
	if info == nil {
		return 0
	}
	return info.Size()
}

// same tells whether database and log are the same bytes as far as size and time tell.
func (f files) same(o files) bool {
	equal := func(a, b fs.FileInfo) bool {
		if size(a) == 0 && size(b) == 0 {
			return true // an empty log is no log
		}
		return a != nil && b != nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
	}
	return equal(f.database, o.database) && equal(f.log, o.log)
}
