// Package sqlitesnap reads SQLite databases that belong to somebody else and may be in use.
//
// Vocabulary. A snapshot is one state of a database, read through one connection. Its mode says how it is reached: immutable
// (nothing is pending beside the file: no lock, checked afterwards), live (a write-ahead log lies there with its index: one read
// transaction), or copied (the log lies there without its index, or the folder lets nobody read it: a private copy, shared by
// the snapshots of a process and removed soon after the last one). A table is what the caller may read: fixed names of columns
// and, in a table of keys and values, the keys. A cell is one value with its length in bytes, which is looked at before the
// value is.
//
// Nothing is written, and no file appears or goes beside the database: the engine reaches it through a file system that cannot.
// In the modes immutable and copied no lock is held; in mode live a writer can go on writing. A database that its writer holds
// exclusively, or that changed while it was read, is ErrBusy: worth another try later.
//
// Callers give no SQL. What is not in the tables of Options cannot be read, and names that look like credentials are refused
// there and left out of every result, so that a database that holds a login beside a history can be opened without risk.
package sqlitesnap

import (
	"errors"
	"fmt"

	sqlite "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/agenthistory/ctx/sdkplugin"
)

// ErrBusy is in the chain of errors that another try, later, may not meet: the writer holds the database, or it changed while it
// was read. Such an error counts as a failure of class sdkplugin.Changed.
var ErrBusy = errors.New("the database is in use")

func busy(reason string) error {
	return fmt.Errorf("%w: %w", ErrBusy, sdkplugin.Fail(sdkplugin.Changed, "%s", reason))
}

// failure gives an error of the engine a class. Its text stays behind: it may hold a path.
func failure(err error) error {
	var engine *sqlite.Error
	if !errors.As(err, &engine) {
		return err
	}
	switch engine.Code() & 0xff {
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_PROTOCOL:
		return busy("the database is locked by its writer")
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return sdkplugin.Fail(sdkplugin.MalformedSource, "the file is no intact database")
	case sqlitelib.SQLITE_ERROR:
		return sdkplugin.Fail(sdkplugin.UnsupportedSchema, "a table or column is missing")
	}
	return sdkplugin.Fail(sdkplugin.Unreadable, "the database cannot be read (code %d)", engine.Code())
}

// unopenable tells errors of a database whose log or index cannot be used in place.
func unopenable(err error) bool {
	var engine *sqlite.Error
	if !errors.As(err, &engine) {
		return false
	}
	code := engine.Code() & 0xff
	return code == sqlitelib.SQLITE_CANTOPEN || code == sqlitelib.SQLITE_READONLY || code == sqlitelib.SQLITE_PERM
}
