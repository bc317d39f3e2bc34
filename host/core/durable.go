package core

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/agenthistory/ctx/host/durable"
)

// replaceDurably gives path new content in one step: temporary file, fsync, rename, fsync of the directory. The three step names
// are announced before write, rename and directory sync; empty names are not announced.
func (s *Store) replaceDurably(path string, content []byte, steps [3]string) (err error) {
	announce := func(name string) error {
		if name == "" {
			return nil
		}
		return s.step(name)
	}
	if err := announce(steps[0]); err != nil {
		return err
	}
	tmp := path + ".tmp"
	renamed := false
	defer func() {
		if err != nil && !renamed {
			err = errors.Join(err, removeIfThere(tmp))
		}
	}()
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	if err = s.mayWrite(len(content)); err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := announce(steps[1]); err != nil {
		return err
	}
	if err := durable.Rename(tmp, path); err != nil {
		return err
	}
	renamed = true
	if err := announce(steps[2]); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}
