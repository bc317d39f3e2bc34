package sqlitesnap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/leftover"
)

const (
	copyName = "copy.db"
	dirName  = "ctx-sqlitesnap-"
	tries    = 3
)

// linger is how long a copy stays behind its last snapshot: a provider reads one session after the other.
var linger = time.Second

// privateCopy is a copy of a database with its log in a directory of its own, which only this user can enter.
type privateCopy struct {
	dir   string
	path  string
	seen  files
	users int
	timer *time.Timer
}

// copies are those of this process.
var copies struct {
	sync.Mutex
	all []*privateCopy
}

// shareCopy returns a copy of the state that was seen, a new one only if the process has none.
func shareCopy(ctx context.Context, path string, seen files, limit int64) (*privateCopy, error) {
	copies.Lock()
	defer copies.Unlock()
	for _, c := range copies.all {
		if c.path == path && c.seen.same(seen) {
			c.users++
			return c, nil
		}
	}
	total := size(seen.database) + size(seen.log)
	if total > limit {
		return nil, sdkplugin.Fail(sdkplugin.Unreadable, "the database can only be read as a copy, and %d MiB are more than are copied", total>>20)
	}
	if free, err := freeSpace(os.TempDir()); err == nil && uint64(total)+uint64(total)/8 > free {
		return nil, sdkplugin.Fail(sdkplugin.Unreadable, "the database can only be read as a copy, and there is no room for %d MiB", total>>20)
	}
	dir, err := leftover.Mkdir("", dirName)
	if err != nil {
		return nil, sdkplugin.Fail(sdkplugin.Unreadable, "no private directory for a copy of the database")
	}
	c := &privateCopy{dir: dir, path: path, seen: seen, users: 1}
	if err := c.fill(ctx); err != nil {
		c.remove()
		return nil, err
	}
	copies.all = append(copies.all, c)
	return c, nil
}

// fill copies until nothing changed meanwhile.
func (c *privateCopy) fill(ctx context.Context) error {
	for range tries {
		for _, suffix := range [...]string{"", "-wal", "-journal"} {
			to := filepath.Join(c.dir, copyName+suffix)
			err := copyFile(ctx, c.path+suffix, to)
			if errors.Is(err, fs.ErrNotExist) && suffix != "" {
				// A log of an earlier try belongs to another state of the database.
				if err = os.Remove(to); errors.Is(err, fs.ErrNotExist) {
					continue
				}
			}
			if err != nil {
				return err
			}
		}
		now, err := look(c.path)
		if err != nil {
			return err
		}
		if now.same(c.seen) {
			return nil
		}
		c.seen = now
	}
	return busy("the database changes faster than it can be copied")
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", err, sdkplugin.Fail(sdkplugin.Vanished, "the database is not there"))
		}
		return sdkplugin.Fail(sdkplugin.Unreadable, "the database cannot be opened")
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return sdkplugin.Fail(sdkplugin.Unreadable, "the private copy cannot be written")
	}
	_, err = io.Copy(out, cancellable{ctx, in})
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil && ctx.Err() == nil {
		return sdkplugin.Fail(sdkplugin.Unreadable, "the database cannot be copied")
	}
	return err
}

type cancellable struct {
	ctx context.Context
	io.Reader
}

func (r cancellable) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// release gives a copy back; it goes when nobody wants it for a while.
func (c *privateCopy) release() {
	if c == nil {
		return
	}
	copies.Lock()
	defer copies.Unlock()
	if c.users--; c.users > 0 {
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(linger, func() {
		copies.Lock()
		defer copies.Unlock()
		if c.users == 0 {
			copies.all = slices.DeleteFunc(copies.all, func(other *privateCopy) bool { return other == c })
			c.remove()
		}
	})
}

// removeCopies is for the end of the process: no timer runs any more. A copy that is being made is left to the sweep of a later
// run.
func removeCopies() {
	if !copies.TryLock() {
		return
	}
	defer copies.Unlock()
	for _, c := range copies.all {
		c.remove()
	}
	copies.all = nil
}

func (c *privateCopy) remove() { _ = os.RemoveAll(c.dir) } // what is left, a later run sweeps away

// sweepOnce removes copies that a process left behind when it crashed, and sees to those of this one.
var sweepOnce = sync.OnceFunc(func() {
	sdkplugin.AtExit(removeCopies)
	leftover.Sweep(os.TempDir(), dirName)
})
