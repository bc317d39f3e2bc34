package cli

import (
	"bufio"
	"io"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
)

// deliver runs write against stdout, or, when out names a file, gives the file this content after everything was written: on any failure
// an existing file stays as it was.
func (a *App) deliver(out string, write func(io.Writer) error) error {
	if out == "" {
		return write(a.Stdout)
	}
	var failed error
	err := durable.Write(out, 0o600, func(w io.Writer) error {
		buf := bufio.NewWriterSize(w, 256<<10)
		if failed = write(buf); failed != nil {
			return failed
		}
		return buf.Flush()
	})
	if err == nil || failed != nil {
		return failed
	}
	return fault.Wrap(err, fault.ResourceUnavailable, "%s cannot be written", quoteWord(out)).
		WithHint("name a file in a directory that you may write to, with space left")
}
