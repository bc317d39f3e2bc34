package core

import (
	"errors"
	"io/fs"
	"os"

	"github.com/agenthistory/ctx/host/durable"
)

// A lease is a locked file. A generation has one lease file, made by its writer before publication: every reader holds a shared
// lock on an open file of its own, the collector needs the exclusive one. So a reader needs no right to write, a dead process lets
// go by itself, and readers leave no litter.
type lease struct{ file *os.File }

// takeLease locks the lease of a generation directory. It returns nil without an error when the lock is not to be had at the moment
// or the lease is gone.
func (s *Store) takeLease(directory string, exclusive bool) (*lease, error) {
	f, err := os.Open(s.leasePath(directory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ok, err := durable.TryLock(f, exclusive)
	if err != nil || !ok {
		return nil, errors.Join(err, f.Close())
	}
	return &lease{file: f}, nil
}

// makeLease creates the lease file of a directory when it is missing.
func (s *Store) makeLease(directory string) error {
	f, err := os.OpenFile(s.leasePath(directory), os.O_CREATE|os.O_RDONLY, fileMode)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l *lease) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
