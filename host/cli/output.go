package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/onscreen"
	"github.com/agenthistory/ctx/host/internal/plain"
)

// resultWriter buffers stdout and remembers the first write error, so that a broken pipe is met once and told once.
type resultWriter struct {
	buf    *bufio.Writer
	stream *metered
	err    error
}

func newResultWriter(w io.Writer) *resultWriter {
	stream := &metered{w: w}
	var to io.Writer = stream
	if _, terminal := terminalOf(w); terminal {
		to = onscreen.Writer(stream)
	}
	return &resultWriter{buf: bufio.NewWriterSize(to, 64<<10), stream: stream}
}

// metered counts the bytes that a stream took.
type metered struct {
	w io.Writer
	n atomic.Int64
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.n.Add(int64(n))
	return n, err
}

// streamBehind returns the stream that the bytes of w go to, to ask whether it is a terminal.
func streamBehind(w io.Writer) io.Writer {
	if r, ok := w.(*resultWriter); ok {
		w = r.stream
	}
	if m, ok := w.(*metered); ok {
		w = m.w
	}
	return w
}

func (r *resultWriter) Write(p []byte) (int, error) {
	n, err := r.buf.Write(p)
	return n, r.keep(err)
}

// Flush hands everything to the operating system.
func (r *resultWriter) Flush() error { return r.keep(r.buf.Flush()) }

func (r *resultWriter) keep(err error) error {
	if err != nil && r.err == nil {
		r.err = &outputError{err}
	}
	return r.err
}

// outputError is a failed write to stdout.
type outputError struct{ err error }

func (e *outputError) Error() string { return "the output could not be written" }
func (e *outputError) Unwrap() error { return e.err }

// brokenPipe tells that the reader of stdout went away.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed)
}

// answer writes a result: as a JSON document, or as text that show lays out.
func (a *App) answer(result any, show func(*page)) error {
	if a.format == "json" {
		return writeDocument(a.Stdout, result)
	}
	p := a.page()
	show(p)
	return p.err
}

// reporting makes cmd a command whose answer is one result in text or JSON: run makes it from an open session, show lays it out.
func reporting[T any](a *App, cmd *cobra.Command, run func(*cobra.Command, *session, []string) (T, error), show func(*page, T)) *cobra.Command {
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, args []string) error {
		result, err := run(cmd, s, args)
		if err != nil {
			return err
		}
		return a.answer(result, func(p *page) { show(p, result) })
	})
	return a.formats(cmd, "text", "json")
}

// writeDocument writes one JSON document, indented by two spaces and ended by a newline.
func writeDocument(w io.Writer, value any) error {
	compact, err := marshal(value)
	if err != nil {
		return err
	}
	return writeIndented(w, compact)
}

// writeIndented is writeDocument for JSON that is already encoded; values keep their exact spelling.
func writeIndented(w io.Writer, compact []byte) error {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, compact, "", "  "); err != nil {
		return fault.Wrap(err, fault.Internal, "the answer could not be written as JSON")
	}
	pretty.WriteByte('\n')
	_, err := w.Write(pretty.Bytes())
	return err
}

// writeLine writes one compact JSON value and a newline.
func writeLine(w io.Writer, value any) error {
	compact, err := marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(compact, '\n'))
	return err
}

func marshal(value any) ([]byte, error) {
	compact, err := plain.JSON(value)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the answer could not be written as JSON")
	}
	return compact, nil
}
