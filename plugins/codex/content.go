package codex

import (
	"errors"
	"io"

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
)

// content is the open file of a rollout, raw or compressed. It is read in one pass, without temporary files; more than one pass
// means more than one call of restart.
type content struct {
	file   *jsonl.File
	packed *zstd.Decoder
	limit  *unpacked
}

// openContent opens a rollout below a route.
func openContent(route, locator string, work *jsonl.Work) (*content, error) {
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
	c.packed, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		file.Close()
		return nil, err
	}
	c.limit = &unpacked{from: c.packed, left: int64(min(maxUnpacked, unpackFactor*size+unpackAllowed))}
	return c, nil
}

// stream starts the content from its first byte.
func (c *content) stream() (io.Reader, error) {
	section := io.NewSectionReader(c.file, 0, int64(c.file.Observation().Size))
	if c.packed == nil {
		return section, nil
	}
	if err := c.packed.Reset(section); err != nil {
		return nil, malformed("not readable as Zstandard")
	}
	limit := *c.limit
	return &limit, nil
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

// Close releases the file and the memory of the decoder.
func (c *content) Close() {
	if c.packed != nil {
		c.packed.Close()
	}
	c.file.Close()
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
	if err != nil && !errors.Is(err, io.EOF) {
		var file *jsonl.Failure
		if !errors.As(err, &file) {
			err = malformed("not readable as Zstandard")
		}
	}
	return n, err
}

// malformed is the failure of a file of which nothing can be trusted, in the form that readers pass on.
func malformed(reason string) *jsonl.Failure {
	return &jsonl.Failure{Class: string(sdkplugin.MalformedSource), Reason: reason}
}
