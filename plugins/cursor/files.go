package cursor

import (
	"context"
	"errors"
	"io"

	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Limits of files that are read whole. A plain-text transcript is one document: it is read whole or not at all.
const (
	maxPlain = 16 << 20
	maxSmall = 1 << 20
)

// whole returns what an open file holds, nil if that is more than a limit.
func whole(f *jsonl.File, limit uint64) ([]byte, error) {
	size := f.Observation().Size
	if size == 0 || size > limit {
		return nil, nil
	}
	text := make([]byte, size)
	switch _, err := f.ReadAt(text, 0); {
	case errors.Is(err, io.EOF):
		return nil, &jsonl.Failure{Class: jsonl.Changed, Reason: "the file was cut during the scan"}
	case err != nil:
		return nil, &jsonl.Failure{Class: jsonl.Unreadable, Reason: "reading failed"}
	}
	return text, nil
}

func vanished(err error) bool {
	var failure *jsonl.Failure
	return errors.As(err, &failure) && failure.Class == jsonl.Vanished
}

// small returns what a description beside a history holds.
func (l *library) small(route, locator string) ([]byte, error) {
	f, err := jsonl.Open(route, locator, l.Work)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return whole(f, maxSmall)
}

// prefix tells whether one of two files is the beginning of the other. A file that cannot be read is told when it is scanned.
func (l *library) prefix(ctx context.Context, a, b *found) (bool, error) {
	var open [2]*jsonl.File
	for i, f := range [...]*found{a, b} {
		file, err := jsonl.Open(l.routes[f.route].Path, f.locator, l.Work)
		if err != nil {
			return true, nil
		}
		defer file.Close()
		open[i] = file
	}
	var room [2][64 << 10]byte
	left := min(a.seen.Size, b.seen.Size)
	for at := uint64(0); at < left; {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n := int(min(left-at, uint64(len(room[0]))))
		for i, f := range open {
			if _, err := f.ReadAt(room[i][:n], int64(at)); err != nil {
				return true, nil
			}
		}
		if string(room[0][:n]) != string(room[1][:n]) {
			return false, nil
		}
		at += uint64(n)
	}
	return true, nil
}
