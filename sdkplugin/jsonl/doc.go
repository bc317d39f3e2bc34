// Package jsonl reads append-only JSON Lines files that somebody else is writing, and the trees they live in.
//
// Vocabulary. A route is the directory (or single file) that the host names; everything below it is foreign and may change at
// any moment. A line is the bytes up to a line feed; its ordinal counts from 0 and never moves, whatever the line holds. The
// tail is what follows the last line feed: an unfinished write, never read, never counted. The certified prefix is every byte
// up to and including the last line feed that was read; its SHA-256 is its digest. An observation says which file with which
// size and time was seen; equal observations mean an unchanged file. A checkpoint is where a later run goes on.
//
// Safety. Nothing below the route is reached through a symbolic link or a reparse point; only regular files are opened, so
// that a pipe, socket or device is never touched; the length is frozen when the file is opened. A line longer than MaxLine is
// skipped without being held in memory.
package jsonl

import "fmt"

// MaxLine is the longest line in bytes, without its line feed and one carriage return, that is handed out.
const MaxLine = 16 << 20

// Classes of failures, as the plugin contract names them.
const (
	Unreadable = "unreadable" // no permission, an I/O error, a link, not a regular file
	Vanished   = "vanished"   // the file is no longer there
	Changed    = "changed"    // the file was replaced, cut or rewritten during the scan
)

// Failure is the error of every operation on a foreign file. Reason is a short line without paths or content.
type Failure struct {
	Class  string
	Reason string
	cause  error
}

func (f *Failure) Error() string {
	if f.cause == nil {
		return fmt.Sprintf("%s: %s", f.Class, f.Reason)
	}
	return fmt.Sprintf("%s: %s: %v", f.Class, f.Reason, f.cause)
}

// Unwrap returns the system's error, if one was the cause.
func (f *Failure) Unwrap() error { return f.cause }
