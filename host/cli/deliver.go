package cli

import (
	"bufio"
	"io"
	"os"
	"path/filepath"

	"github.com/agenthistory/ctx/host/fault"
)

// deliver runs write against stdout, or, when out names a file, against a staged file that takes the place of out only after
// everything was written: on any failure an existing file stays as it was.
func (a *App) deliver(out string, write func(io.Writer) error) error {
	if out == "" {
		return write(a.Stdout)
	}
	staged, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*")
	if err != nil {
		return cannotWrite(err, out)
	}
	if err := writeStaged(staged, write); err != nil {
		_ = os.Remove(staged.Name())
		return err
	}
	if err := os.Rename(staged.Name(), out); err != nil {
		_ = os.Remove(staged.Name())
		return cannotWrite(err, out)
	}
	return nil
}

func writeStaged(staged *os.File, write func(io.Writer) error) error {
	buf := bufio.NewWriterSize(staged, 256<<10)
	err := write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if err == nil {
		err = staged.Sync()
	}
	if closeErr := staged.Close(); err == nil && closeErr != nil {
		err = cannotWrite(closeErr, staged.Name())
	}
	return err
}

func cannotWrite(err error, path string) error {
	return fault.Wrap(err, fault.ResourceUnavailable, "%s cannot be written", quoteWord(path)).
		WithHint("name a file in a directory that you may write to, with space left")
}
