package claude

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin"
)

// A frontier is what an append needs to go on: which file was read, how many lines, and the state of the mapping. A state that
// does not fit is left out; the append then builds it again from the certified prefix, which it has to read for the digest
// anyway.

const (
	frontierVersion = 1
	withState       = 1
	withoutState    = 2
)

// frontier is the decoded form.
type frontier struct {
	device, fileID uint64
	lines          uint64
	complete       bool // the state is there
}

// appendFrontier encodes a frontier of at most limit bytes.
func appendFrontier(f frontier, s *state, limit int) []byte {
	dst := make([]byte, 0, 512+8*s.seen.count)
	dst = append(dst, frontierVersion, withState)
	dst = binary.AppendUvarint(dst, f.device)
	dst = binary.AppendUvarint(dst, f.fileID)
	dst = binary.AppendUvarint(dst, f.lines)
	head := len(dst)
	if 8*s.seen.count < limit {
		dst = s.encode(dst)
	}
	if len(dst) == head || len(dst) > limit {
		dst = dst[:head]
		dst[1] = withoutState
	}
	return dst
}

var errFrontier = errors.New("the frontier is none of this provider")

// parseFrontier decodes a frontier and, if it holds one, the state.
func parseFrontier(src []byte, s *state) (f frontier, err error) {
	if len(src) < 2 || src[0] != frontierVersion || (src[1] != withState && src[1] != withoutState) {
		return f, errFrontier
	}
	d := decoder{src: src[2:]}
	f = frontier{device: d.number(), fileID: d.number(), lines: d.number(), complete: src[1] == withState}
	if f.complete {
		s.decode(&d)
	}
	if d.bad || len(d.src) > 0 {
		return f, errFrontier
	}
	return f, nil
}

func (s *state) encode(dst []byte) []byte {
	dst = append(dst, byte(s.lineage))
	dst = appendText(dst, s.ancestor)
	for _, text := range s.texts() {
		dst = appendText(dst, *text)
	}
	for _, list := range [...][]string{s.titles.custom, s.titles.worktrees, s.models} {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for _, text := range list {
			dst = appendText(dst, text)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.titles.summaries)))
	for _, summary := range s.titles.summaries {
		dst = appendText(binary.BigEndian.AppendUint64(dst, summary.leaf), summary.title)
	}
	timed := byte(0)
	if s.timed {
		timed = 1
	}
	dst = binary.AppendVarint(append(dst, timed), s.started)
	dst = binary.AppendVarint(dst, s.ended)
	dst = binary.AppendUvarint(dst, s.pairs)
	dst = binary.AppendUvarint(dst, uint64(len(s.occurrences)))
	digests := make([][16]byte, 0, len(s.occurrences))
	for digest := range s.occurrences {
		digests = append(digests, digest)
	}
	slices.SortFunc(digests, func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) })
	for _, digest := range digests {
		dst = binary.AppendUvarint(append(dst, digest[:]...), s.occurrences[digest])
	}
	dst = binary.AppendUvarint(dst, uint64(s.seen.count))
	for _, h := range s.seen.sorted() {
		dst = binary.BigEndian.AppendUint64(dst, h)
	}
	return dst
}

// texts lists the single strings of the state in the order of the frontier.
func (s *state) texts() []*string {
	return []*string{
		&s.titles.ai, &s.titles.prompt, &s.titles.command, &s.cwd, &s.relocated, &s.worktree, &s.branch, &s.lastBranch,
		&s.model, &s.version, &s.lastVersion, &s.entrypoint, &s.lastEntrypoint,
	}
}

func (s *state) decode(d *decoder) {
	s.lineage = lineage(d.byte())
	s.ancestor = d.text()
	for _, text := range s.texts() {
		*text = d.text()
	}
	for _, list := range [...]*[]string{&s.titles.custom, &s.titles.worktrees, &s.models} {
		for n := d.number(); n > 0 && !d.bad; n-- {
			*list = append(*list, d.text())
		}
	}
	for n := d.number(); n > 0 && !d.bad; n-- {
		s.titles.summaries = append(s.titles.summaries, summaryTitle{d.fixed(), d.text()})
	}
	s.timed = d.byte() == 1
	s.started, s.ended = d.signed(), d.signed()
	s.pairs = d.number()
	for n := d.number(); n > 0 && !d.bad; n-- {
		var digest [16]byte
		copy(digest[:], d.take(uint64(len(digest))))
		s.occurrences[digest] = d.number()
	}
	for n := d.number(); n > 0 && !d.bad; n-- {
		s.seen.add(d.fixed())
	}
	d.bad = d.bad || s.lineage > lineageResumed
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// decoder reads the fields of a frontier; bad is set when one does not fit.
type decoder struct {
	src []byte
	bad bool
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.src)) {
		d.bad, d.src = true, nil
		return nil
	}
	b := d.src[:n]
	d.src = d.src[n:]
	return b
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.src)
	if n <= 0 {
		d.bad, d.src = true, nil
		return 0
	}
	d.src = d.src[n:]
	return v
}

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.src)
	if n <= 0 {
		d.bad, d.src = true, nil
		return 0
	}
	d.src = d.src[n:]
	return v
}

func (d *decoder) byte() byte {
	if b := d.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) fixed() uint64 {
	if b := d.take(8); len(b) == 8 {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) text() string { return string(d.take(d.number())) }

// maxFrontier is the longest frontier that is written.
const maxFrontier = sdkplugin.MaxFrontier
