package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenthistory/ctx/host/durable"
)

// place is where a daemon keeps its few files, <data root>/daemon.
type place struct{ root string }

func (p place) dir() string           { return filepath.Join(p.root, "daemon") }
func (p place) lock() string          { return filepath.Join(p.dir(), "daemon.lock") }
func (p place) status() string        { return filepath.Join(p.dir(), "status.json") }
func (p place) jobs() string          { return filepath.Join(p.dir(), "jobs") }
func (p place) stderr() string        { return filepath.Join(p.dir(), "stderr.log") }
func (p place) job(id string) string  { return filepath.Join(p.jobs(), id+".json") }
func (p place) defaultSocket() string { return filepath.Join(p.dir(), "query.sock") }

// longestSocket is what every platform takes as the path of a socket; macOS has room for 104 bytes with the final zero.
const longestSocket = 100

// socket is the path to listen on. A path that is too long for a socket is replaced by a short one in a private directory of the user.
// Callers never guess it: they read it from status.json.
func (p place) socket() (string, error) {
	path := p.defaultSocket()
	if len(path) <= longestSocket {
		return path, nil
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("ctx-%d", os.Getuid()))
	if len(dir)+1+16+5 > longestSocket {
		dir = filepath.Join("/tmp", fmt.Sprintf("ctx-%d", os.Getuid()))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	if err := private(dir); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".sock"), nil
}

const lockWait = 500 * time.Millisecond

// errHeld says that another daemon lives.
var errHeld = errors.New("another daemon holds the lock")

// acquire takes the daemon lock. It waits a little, because a process that only looks who is alive holds the lock for an instant.
// What a dead holder left in the file does not matter: its lock ended with it.
func (p place) acquire(wait time.Duration) (*os.File, error) {
	if err := durable.MkdirAll(p.jobs(), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p.lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := durable.Lock(context.Background(), f, wait)
	if !ok {
		return nil, errors.Join(cmp.Or(err, errHeld), f.Close())
	}
	return f, nil
}

// held reports whether a daemon lives, by the only thing that cannot be stale.
func (p place) held() bool {
	f, err := os.Open(p.lock())
	if err != nil {
		return false
	}
	defer f.Close()
	ok, err := durable.TryLock(f, false)
	return err == nil && !ok
}

// gone reports whether the directory of a lock was deleted, or replaced by another one: its daemon has nothing to serve any more.
func (p place) gone(lock *os.File) bool {
	mine, err := lock.Stat()
	if err != nil {
		return true
	}
	there, err := os.Stat(p.lock())
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	return !os.SameFile(mine, there)
}

// state is the content of status.json: where a living daemon listens, and what is left to tell of a dead one.
type state struct {
	SchemaVersion int    `json:"schema_version"`
	Status        string `json:"status"` // running, completed, stopped
	Identity
	HeartbeatAtMS int64    `json:"heartbeat_at_ms"`
	FinishedAtMS  int64    `json:"finished_at_ms,omitempty"`
	LastError     string   `json:"last_error,omitempty"`
	Crashes       int      `json:"crashes,omitempty"` // daemons in a row that died before the end of an attempt
	Last          *Attempt `json:"last_attempt,omitempty"`
}

// write replaces status.json. It is not made durable: after a power failure the lock tells that nobody lives.
func (p place) write(s state) error {
	s.SchemaVersion = 1
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp := p.status() + ".tmp"
	if err := os.WriteFile(tmp, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return durable.Rename(tmp, p.status())
}

func (p place) readState() (s state) {
	if text, err := durable.ReadFile(p.status(), 1<<20); err == nil {
		_ = json.Unmarshal(text, &s)
	}
	return s
}

// lastWords is the first line that a daemon printed which could not start.
func (p place) lastWords() string {
	text, _ := os.ReadFile(p.stderr())
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line[:min(len(line), 200)]
}
