package codex

import (
	"bufio"
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Bounds of a compressed rollout, in bytes. A small file may unpack to less than a big one.
const (
	maxPacked     = 256 << 20
	maxUnpacked   = 256 << 20
	unpackFactor  = 256
	unpackAllowed = 16 << 20
	maxWindow     = 1 << 27
	// smallWindow is what every content may have; bigger windows are used one at a time, so that all of them fit into the memory
	// of a provider. No compression level but the three highest asks for more.
	smallWindow = 8 << 20
)

// bigWindow is full while a window over smallWindow is in use.
var bigWindow = make(chan struct{}, 1)

// smallDecoders keeps decoders, whose memory is worth more than one file.
var smallDecoders = sync.Pool{New: func() any { return newDecoder(smallWindow) }}

func newDecoder(window uint64) *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		panic(err) // of constant options
	}
	return d
}

// windowOf returns the biggest window that the frames of a compressed file ask for, or the first frame alone. Decoding tells what
// is wrong with a file, not this.
func windowOf(file io.Reader, firstAlone bool) (window uint64) {
	r := bufio.NewReaderSize(file, 64<<10)
	for {
		var frame zstd.Header
		begin, _ := r.Peek(zstd.HeaderMaxSize)
		if frame.Decode(begin) != nil {
			return window
		}
		if _, err := r.Discard(frame.HeaderSize + int(frame.SkippableSize)); err != nil {
			return window
		}
		if frame.Skippable {
			continue
		}
		if window = max(window, frame.WindowSize); frame.SingleSegment {
			window = max(window, frame.FrameContentSize)
		}
		if firstAlone || !behindBlocks(r) {
			return window
		}
		if frame.HasCheckSum {
			_, _ = r.Discard(4)
		}
	}
}

// behindBlocks passes the blocks of one frame.
func behindBlocks(r *bufio.Reader) bool {
	const headBytes, runLength = 3, 1
	for {
		b, err := r.Peek(headBytes)
		if err != nil {
			return false
		}
		head := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		size := head >> 3
		if head>>1&3 == runLength {
			size = 1
		}
		if _, err := r.Discard(headBytes + size); err != nil {
			return false
		}
		if head&1 != 0 {
			return true
		}
	}
}

// content is the open file of a rollout, raw or compressed. It is read in one pass, without temporary files; more than one pass
// means more than one call of restart.
type content struct {
	file   *jsonl.File
	packed *zstd.Decoder
	big    bool // the window is over smallWindow
}

// reading says what a content is opened for.
type reading struct {
	beginning bool     // only its beginning is read
	beside    *content // it is read together with this one
}

// openContent opens a rollout below a route. It waits for a big window.
func openContent(ctx context.Context, route, locator string, work *jsonl.Work, how reading) (*content, error) {
	file, err := jsonl.Open(route, locator, work)
	if err != nil {
		return nil, err
	}
	c := &content{file: file}
	if name := locator; !packed(name) && (name != "" || !packed(route)) {
		return c, nil
	}
	size := file.Observation().Size
	if size == 0 || size > maxPacked {
		file.Close()
		return nil, malformed("a compressed file has 1 byte to 256 MiB")
	}
	if err := c.decoder(ctx, windowOf(io.NewSectionReader(file, 0, int64(size)), how.beginning), how.beside); err != nil {
		file.Close()
		return nil, err
	}
	return c, nil
}

// decoder gets the decoder of a compressed file.
func (c *content) decoder(ctx context.Context, window uint64, beside *content) error {
	switch {
	case window <= smallWindow:
		c.packed = smallDecoders.Get().(*zstd.Decoder)
		return nil
	case window > maxWindow:
		return malformed("a compressed file needs a window of at most 128 MiB")
	case beside != nil && beside.big:
		return malformed("the windows of two compressed files do not fit into the memory together")
	}
	select {
	case bigWindow <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.packed, c.big = newDecoder(maxWindow), true
	return nil
}

// stream starts the content from its first byte.
func (c *content) stream() (io.Reader, error) {
	size := int64(c.file.Observation().Size)
	section := io.NewSectionReader(c.file, 0, size)
	if c.packed == nil {
		return section, nil
	}
	if err := c.packed.Reset(section); err != nil {
		return nil, malformed("not readable as Zstandard")
	}
	return &unpacked{from: c, left: min(maxUnpacked, unpackFactor*size+unpackAllowed)}, nil
}

// restart makes a reader start the content from its first byte.
func (c *content) restart(r *jsonl.Reader) error {
	if c.packed == nil {
		r.Reset(c.file)
		return nil
	}
	source, err := c.stream()
	if err == nil {
		r.ResetStream(source)
	}
	return err
}

// Read reads on from where the decoder stands. Readers know the decoder only through the content, which lets it go when it is closed.
func (c *content) Read(p []byte) (int, error) { return c.packed.Read(p) }

// Close releases the file and the memory of the decoder.
func (c *content) Close() {
	c.file.Close()
	switch {
	case c.big:
		c.packed.Close()
		c.packed = nil
		debug.FreeOSMemory() // before the next one asks for as much
		<-bigWindow
	case c.packed != nil && c.packed.Reset(nil) == nil:
		smallDecoders.Put(c.packed)
	}
}

// unpacked is the output of a decoder with its bound.
type unpacked struct {
	from io.Reader
	left int64
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.from.Read(p[:min(int64(len(p)), u.left+1)])
	if u.left -= int64(n); u.left < 0 {
		return 0, malformed("the compressed file unpacks to more than it may")
	}
	if err != nil && !errors.Is(err, io.EOF) && jsonl.ClassOf(err) == "" {
		err = malformed("not readable as Zstandard")
	}
	return n, err
}

// malformed is the failure of a file of which nothing can be trusted, in the form that readers pass on.
func malformed(reason string) *jsonl.Failure {
	return &jsonl.Failure{Class: string(sdkplugin.MalformedSource), Reason: reason}
}
