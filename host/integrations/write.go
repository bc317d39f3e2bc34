package integrations

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agenthistory/ctx/host/durable"
)

// newFileMode is that of a file which we make: it may get secrets of other servers.
const newFileMode = 0o600

// replaceFile writes the new text of somebody's file in one step. A link stays a link, the mode stays; a file that has changed
// since it was read is left alone.
func replaceFile(path string, old []byte, existed bool, text []byte, backup bool) error {
	mode := os.FileMode(newFileMode)
	if existed {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return plainPathError(err)
		}
		path = real
		info, err := os.Stat(path)
		if err != nil {
			return plainPathError(err)
		}
		mode = info.Mode().Perm()
		if err := replaceable(path, info); err != nil {
			return err
		}
		now, err := readConfig(path)
		if err != nil || !bytes.Equal(now, old) {
			return errors.New("the file is being changed by another program; try again")
		}
		if backup {
			if err := keep(path, old, mode); err != nil {
				return fmt.Errorf("no backup could be written: %w", err)
			}
		}
	} else if _, err := os.Lstat(path); err == nil {
		return errors.New("the file is a link to one that does not exist; make that first")
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return plainPathError(err)
	}
	return plainPathError(durable.Replace(path, text, mode))
}

// replaceable tells whether a file may be changed: replacing it needs no right to write to it, but who took that right away had a
// reason, and the new file would be ours.
func replaceable(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o200 == 0 {
		return errors.New("the file is read-only")
	}
	if !oursToReplace(info) {
		return errors.New("the file belongs to another user")
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return plainPathError(err)
	}
	return f.Close()
}

// keep writes a backup under a name that is free.
func keep(path string, text []byte, mode os.FileMode) error {
	for n := 0; n < 1000; n++ {
		name := path + ".ctx-backup"
		if n > 0 {
			name = fmt.Sprintf("%s.%d", name, n)
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return plainPathError(err)
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Sync(), f.Close())
	}
	return errors.New("too many backups lie beside the file")
}
