package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line in both directions, its newline included.
const maxLine = 1 << 20

var errLineTooLong = errors.New("line too long")

// lineReader splits the input into lines.
type lineReader struct {
	r   *bufio.Reader
	buf []byte
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line that is not blank, without the white space around it; it is valid until the next call. A line of more than
// maxLine bytes is passed over and gives errLineTooLong, after which reading goes on. A last line without a newline counts.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if errors.Is(err, errLineTooLong) {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil // an error of the input comes again with the next read
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	if cap(l.buf) > 256<<10 {
		l.buf = nil // one long line is no reason to keep its memory
	}
	l.buf = l.buf[:0]
	size := 0
	for {
		piece, err := l.r.ReadSlice('\n')
		size += len(piece)
		if size <= maxLine {
			l.buf = append(l.buf, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if size > maxLine {
			return nil, errLineTooLong
		}
		return l.buf, err
	}
}
