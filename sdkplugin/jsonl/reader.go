package jsonl

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
)

// LineKind says what a line holds.
type LineKind uint8

// The kinds of lines.
const (
	Record  LineKind = iota // bytes to parse
	Blank                   // nothing, or white space only
	Padding                 // NUL bytes only, as a crash leaves them
	TooLong                 // longer than MaxLine; Bytes is empty
)

// Line is one complete line. Bytes is valid until the next call of Next.
type Line struct {
	Kind    LineKind
	Ordinal uint64 // from 0, counting every line of the file
	Start   uint64 // byte offset of the line in the file
	Offset  uint64 // byte offset of Bytes[0]: behind a byte order mark and leading NUL bytes
	Length  uint64 // length in the file with its line end
	Bytes   []byte // without line end, byte order mark, leading and trailing NUL bytes
}

// Checkpoint is a place between two lines from which reading can go on.
type Checkpoint struct {
	Offset uint64   // certified bytes: everything before is complete lines
	Lines  uint64   // ordinal of the next line
	Digest [32]byte // SHA-256 of the first Offset bytes
}

const (
	firstBuffer = 256 << 10   // stays in the second-level cache
	lastBuffer  = MaxLine + 2 // the longest line, its carriage return, and one byte that proves a longer one
)

// Reader hands out the complete lines of a source one after another, in one pass and one buffer, which it keeps from source to
// source. The buffer holds 256 KiB and grows for longer lines up to MaxLine. The zero Reader is ready for Reset.
type Reader struct {
	source io.Reader
	file   *File
	sum    hash.Hash
	line   Line
	err    error
	ended  bool
	// buf[from:to] is read but not handed out, buf[from:seen] holds no line feed, buf[:summed] is in the digest.
	buf                    []byte
	from, to, seen, summed int
	base                   uint64 // offset of buf[0] in the source
	lines                  uint64
	total                  uint64
	skipped                uint64 // length of an unfinished tail that did not fit the buffer
	undigested             bool
}

// Reset makes the reader start f from its first byte, up to the frozen length.
func (r *Reader) Reset(f *File) {
	r.ResetStream(nil)
	r.rewind(f)
}

// ResetStream makes the reader start a stream that is no file, such as the output of a decompressor. Its end takes the place of
// the frozen length; offsets and digest count what the stream yields.
func (r *Reader) ResetStream(source io.Reader) {
	buf, sum := r.buf, r.sum
	if buf == nil {
		buf, sum = make([]byte, firstBuffer), sha256.New()
	}
	sum.Reset()
	*r = Reader{source: source, sum: sum, buf: buf}
}

func (r *Reader) rewind(f *File) {
	total := r.total
	r.ResetStream(io.NewSectionReader(f, 0, int64(f.opened.Size)))
	r.file, r.total = f, total
}

// Undigested makes the reader hash nothing until the next Reset, for a look at lines that certifies nothing.
func (r *Reader) Undigested() { r.undigested = true }

// Verify reads the first c.Offset bytes. If they are still what c describes, the reader stands behind them and same is true;
// else it starts again from the first byte (a stream must then be given to ResetStream anew). To be called before Next.
func (r *Reader) Verify(ctx context.Context, c Checkpoint) (same bool, err error) {
	if r.file != nil && c.Offset > r.file.opened.Size {
		return false, nil
	}
	for left := c.Offset; left > 0; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := r.source.Read(r.buf[:min(uint64(len(r.buf)), left)])
		r.sum.Write(r.buf[:n])
		r.total += uint64(n)
		left -= uint64(n)
		if err == nil || left == 0 {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return false, classify(err)
		}
		if r.file != nil {
			return false, &Failure{Class: Changed, Reason: "the file was cut during the scan"}
		}
		return false, nil
	}
	var digest [sha256.Size]byte
	if r.sum.Sum(digest[:0]); digest != c.Digest {
		if r.file != nil {
			r.rewind(r.file)
		}
		return false, nil
	}
	r.base, r.lines = c.Offset, c.Lines
	return true, nil
}

// Next reads the next complete line and tells whether there was one.
func (r *Reader) Next() bool {
	for r.err == nil {
		if at := bytes.IndexByte(r.buf[r.seen:r.to], '\n'); at >= 0 {
			r.take(r.seen + at)
			return true
		}
		r.seen = r.to
		if r.to-r.from >= lastBuffer {
			return r.skipLong()
		}
		if !r.fill() {
			return false
		}
	}
	return false
}

// Line returns the line that Next read.
func (r *Reader) Line() *Line { return &r.line }

// Err returns the *Failure that ended the lines, nil at the regular end.
func (r *Reader) Err() error { return r.err }

// Checkpoint returns the place behind the last line that Next returned.
func (r *Reader) Checkpoint() Checkpoint {
	r.digest(r.from)
	c := Checkpoint{Offset: r.base + uint64(r.from), Lines: r.lines}
	r.sum.Sum(c.Digest[:0])
	return c
}

// PaddedTail tells whether what follows the last complete line is NUL bytes only, as a crash leaves them.
func (r *Reader) PaddedTail() bool {
	tail := r.buf[r.from:r.to]
	return len(tail) > 0 && r.skipped == 0 && len(bytes.Trim(tail, "\x00")) == 0
}

// BytesRead returns how many bytes were read since Reset, the verified prefix included.
func (r *Reader) BytesRead() uint64 { return r.total }

// fill reads more bytes behind those not yet handed out, which move to the front of the buffer.
func (r *Reader) fill() bool {
	if r.ended {
		return false
	}
	r.digest(r.from)
	if r.from > 0 {
		copy(r.buf, r.buf[r.from:r.to])
		r.base += uint64(r.from)
		r.seen -= r.from
		r.to -= r.from
		r.from, r.summed = 0, 0
	}
	if r.to == len(r.buf) {
		grown := make([]byte, min(2*len(r.buf), lastBuffer))
		copy(grown, r.buf[:r.to])
		r.buf = grown
	}
	return r.read()
}

// read appends bytes of the source to the buffer and tells whether there were any. It takes no more at a time than a new buffer holds, so
// that a look at the beginning of a file costs the same whatever was read with this buffer before.
func (r *Reader) read() bool {
	for {
		n, err := r.source.Read(r.buf[r.to:min(len(r.buf), r.to+firstBuffer)])
		r.to += n
		r.total += uint64(n)
		switch {
		case errors.Is(err, io.EOF):
			r.ended = true
			if r.file != nil && r.base+uint64(r.to) != r.file.opened.Size {
				r.err = &Failure{Class: Changed, Reason: "the file was cut during the scan"}
				return false
			}
			return n > 0
		case err != nil:
			r.err = classify(err)
			return false
		case n > 0:
			return true
		}
	}
}

func (r *Reader) digest(end int) {
	if end > r.summed && !r.undigested {
		r.sum.Write(r.buf[r.summed:end])
		r.summed = end
	}
}

// take hands out buf[from:end], which is followed by a line feed.
func (r *Reader) take(end int) {
	b := r.buf[r.from:end]
	start := r.base + uint64(r.from)
	r.line = Line{Ordinal: r.lines, Start: start, Length: uint64(end - r.from + 1)}
	r.lines++
	r.from, r.seen = end+1, end+1
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	if r.line.Offset = start; len(b) > MaxLine {
		r.line.Kind = TooLong
		if len(bytes.Trim(b, "\x00")) == 0 {
			r.line.Kind = Padding
		}
		return
	}
	trimmed := b
	if r.line.Ordinal == 0 {
		trimmed = bytes.TrimPrefix(trimmed, []byte("\xef\xbb\xbf"))
	}
	unmarked := len(trimmed)
	if unmarked > 0 && (trimmed[0] == 0 || trimmed[unmarked-1] == 0) {
		trimmed = bytes.TrimLeft(trimmed, "\x00")
		r.line.Offset += uint64(len(b) - len(trimmed))
		trimmed = bytes.TrimRight(trimmed, "\x00")
	} else {
		r.line.Offset += uint64(len(b) - unmarked)
	}
	r.line.Bytes = trimmed
	switch {
	case len(trimmed) == 0 && unmarked > 0:
		r.line.Kind = Padding
	case blank(trimmed):
		r.line.Kind = Blank
	}
}

// skipLong passes a line that does not fit the buffer. Its bytes enter the digest as they come; if the line turns out to be the
// unfinished tail, the digest returns to the state before it.
func (r *Reader) skipLong() bool {
	r.digest(r.from)
	before, err := r.sum.(hash.Cloner).Clone()
	if err != nil {
		r.err = &Failure{Class: Unreadable, Reason: "digest state", cause: err}
		return false
	}
	start, tail := r.base+uint64(r.from), uint64(r.to-r.from)
	padding := true
	for {
		end := bytes.IndexByte(r.buf[r.from:r.to], '\n')
		rest := r.buf[r.from:r.to]
		if end >= 0 {
			rest = rest[:end]
		}
		padding = padding && len(bytes.Trim(rest, "\x00")) == 0
		if end >= 0 {
			r.from += end + 1
			r.seen = r.from
			break
		}
		r.digest(r.to)
		r.base += uint64(r.to)
		r.from, r.to, r.seen, r.summed = 0, 0, 0, 0
		if r.ended || !r.read() {
			// The unfinished tail is no line: everything is as it was before it.
			r.sum, r.ended, r.base, r.skipped = before, true, start, tail
			return false
		}
		tail += uint64(r.to)
	}
	kind := TooLong
	if padding {
		kind = Padding
	}
	length := r.base + uint64(r.from) - start
	r.line = Line{Kind: kind, Ordinal: r.lines, Start: start, Offset: start, Length: length}
	r.lines++
	return true
}

// blank tells whether b is white space only.
func blank(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\v', '\f':
		default:
			return false
		}
	}
	return true
}
