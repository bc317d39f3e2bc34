package config

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
)

// lockFile excludes two editors of one config file; a reader needs no lock, because the file is replaced in one step.
const lockFile = "config.lock"

// lockWait is how long an editor waits for another one.
const lockWait = 5 * time.Second

// Edit changes config.toml: change gets the present settings and text (empty when there is no file) and returns the new text. One lock spans
// reading, validation and the durable replacement. Nothing is written when change or the validation of its result fails, or when the
// text stays the same; change may be called twice.
func Edit(root string, env Environment, change func(now *Config, text []byte) ([]byte, error)) (changed bool, err error) {
	if _, err := os.Lstat(filepath.Join(root, lockFile)); errors.Is(err, fs.ErrNotExist) {
		// The first editor ever looks before it makes anything: a refused change leaves no trace.
		if _, _, changed, err := edited(root, env, change); err != nil || !changed {
			return false, err
		}
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		if bad := rootFault(root, err); bad != nil {
			return false, bad
		}
		return false, notWritable(err)
	}
	unlock, err := lockConfig(root)
	if err != nil {
		return false, err
	}
	defer unlock()
	path, text, changed, err := edited(root, env, change)
	if err != nil || !changed {
		return false, err
	}
	if err := durable.Replace(path, text, modeOf(path)); err != nil {
		return false, notWritable(err)
	}
	return true, nil
}

// edited returns the validated new text, whether it differs, and the file that holds it: a link is kept.
func edited(root string, env Environment, change func(now *Config, text []byte) ([]byte, error)) (path string, text []byte, changed bool, err error) {
	path = filepath.Join(root, FileName)
	if real, err := Resolve(path); err == nil {
		path = real
	}
	before, exists, err := readFile(path)
	if err != nil {
		return "", nil, false, err
	}
	now, err := parse(root, before, exists, env)
	if err != nil {
		return "", nil, false, err
	}
	text, err = change(now, bytes.Clone(before))
	if err != nil {
		return "", nil, false, err
	}
	_, err = decode(root, text, true, env)
	var bad *broken
	if errors.As(err, &bad) {
		err = fault.New(fault.InvalidRequest, "config.toml stays as it is: %s", bad.rule).WithHint("ctx sources --all")
	}
	return path, text, !bytes.Equal(text, before), err
}

func notWritable(err error) error {
	return fault.Wrap(err, fault.ResourceUnavailable, "config.toml cannot be written").
		WithHint("make the data root writable, or choose another with --data-root")
}

// modeOf keeps the mode of an existing file.
func modeOf(path string) os.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o600
}

func lockConfig(root string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(root, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, notWritable(err)
	}
	switch ok, err := durable.Lock(context.Background(), f, lockWait); {
	case err != nil:
		return nil, errors.Join(notWritable(err), f.Close())
	case !ok:
		f.Close()
		return nil, fault.New(fault.Busy, "another process is changing config.toml").WithHint("try again")
	}
	return func() { f.Close() }, nil
}

// Set gives table.key of config.toml a value, a text or a truth, and returns the settings as they are then.
func Set[T string | bool](root string, env Environment, table, key string, value T) (*Config, error) {
	_, err := Edit(root, env, func(_ *Config, text []byte) ([]byte, error) {
		return setKey(text, []string{table}, key, literalOf(value))
	})
	if err != nil {
		return nil, err
	}
	return Load(root, env)
}
