package core

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"github.com/agenthistory/ctx/host/lexical"
)

// entry is one secondary key of an event in a form that sorts fast. a and b are what stands before the document in the key:
//
//	e  a = uuid8 of the event
//	l  a = uuid8 of the ancestor
//	s  a = session<<32 | sequence>>32, b = sequence<<32 | suborder
//	t  a = untimed flag, b = mapped time or sequence
//
// pos is segment<<33 | doc<<1 | deleted. A document is either new or deleted in a refresh, never both, so no two entries of a run
// differ in the last bit only.
type entry struct{ a, b, pos uint64 }

const entrySize = 24

func position(d lexical.Doc, deleted bool) uint64 {
	p := uint64(d.Segment)<<33 | uint64(d.Doc)<<1
	if deleted {
		p |= 1
	}
	return p
}

func (e entry) doc() lexical.Doc {
	return lexical.Doc{Segment: uint32(e.pos >> 33), Doc: uint32(e.pos >> 1)}
}

func (e entry) deleted() bool { return e.pos&1 != 0 }

func (e entry) compare(o entry) int {
	switch {
	case e.a != o.a:
		return cmp.Compare(e.a, o.a)
	case e.b != o.b:
		return cmp.Compare(e.b, o.b)
	}
	return cmp.Compare(e.pos, o.pos)
}

// key appends the stored key of the entry.
func (e entry) key(k []byte, letter byte) []byte {
	k = append(k[:0], letter)
	switch letter {
	case keySessionOrder:
		k = binary.BigEndian.AppendUint64(k, e.a)
		k = binary.BigEndian.AppendUint64(k, e.b)
	case keyRangeOrder:
		k = append(k, byte(e.a))
		k = binary.BigEndian.AppendUint64(k, e.b)
	default:
		k = binary.BigEndian.AppendUint64(k, e.a)
	}
	return appendDoc(k, e.doc())
}

// runLetters are the kinds of entries in key order.
var runLetters = [...]byte{keyEvent, keyCopy, keySessionOrder, keyRangeOrder}

const (
	runEvent = iota
	runCopy
	runSession
	runRange
	runKinds
)

// rowKeys gives the entries that a document has because of its columns: by id, and in range order.
func rowKeys(row lexical.Row, d lexical.Doc, deleted bool) (event, order entry) {
	pos := position(d, deleted)
	event = entry{a: row.ID, pos: pos}
	if row.Timed {
		order = entry{a: 0, b: orderTime(row.Time), pos: pos}
	} else {
		order = entry{a: 1, b: row.Sequence, pos: pos}
	}
	return event, order
}

func sessionEntry(session uint32, sequence uint64, suborder uint32, d lexical.Doc, deleted bool) entry {
	return entry{
		a:   uint64(session)<<32 | sequence>>32,
		b:   sequence<<32 | uint64(suborder),
		pos: position(d, deleted),
	}
}

// runBuffer collects the entries of one goroutine and hands them over in sorted runs.
type runBuffer struct {
	runs    *runs
	entries [runKinds][]entry
}

// runLength is the number of entries after which a run is sorted and handed over: 1.5 MB.
const runLength = 64 << 10

func (b *runBuffer) add(kind int, e entry) error {
	b.entries[kind] = append(b.entries[kind], e)
	if len(b.entries[kind]) < runLength {
		return nil
	}
	return b.hand(kind)
}

// addRow adds the entries that every document has.
func (b *runBuffer) addRow(row lexical.Row, session uint32, sequence uint64, suborder uint32, d lexical.Doc, deleted bool) error {
	event, order := rowKeys(row, d, deleted)
	return cmp.Or(b.add(runEvent, event), b.add(runRange, order), b.add(runSession, sessionEntry(session, sequence, suborder, d, deleted)))
}

func (b *runBuffer) hand(kind int) error {
	if len(b.entries[kind]) == 0 {
		return nil
	}
	run := b.entries[kind]
	b.entries[kind] = nil
	slices.SortFunc(run, entry.compare)
	return b.runs.take(kind, run)
}

func (b *runBuffer) flush() error {
	for kind := range runKinds {
		if err := b.hand(kind); err != nil {
			return err
		}
	}
	return nil
}

// runs holds the sorted runs of a candidate: in memory up to a limit, on disk beyond it.
type runs struct {
	store *Store
	dir   string // of spill files
	limit int64  // bytes in memory

	mu     sync.Mutex
	memory int64
	held   [runKinds][][]entry
	spills [runKinds]spill
}

// spill is the file of the runs of one kind, one after the other.
type spill struct {
	file  *os.File
	parts []int64 // lengths in bytes
}

func (r *runs) take(kind int, run []entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[kind] = append(r.held[kind], run)
	r.memory += int64(cap(run)) * entrySize
	if r.memory <= r.limit {
		return nil
	}
	for kind := range runKinds {
		if err := r.spillLocked(kind); err != nil {
			return err
		}
	}
	r.memory = 0
	return nil
}

// spillLocked moves the runs of one kind to disk, merged into one.
func (r *runs) spillLocked(kind int) error {
	if len(r.held[kind]) == 0 {
		return nil
	}
	sp := &r.spills[kind]
	if sp.file == nil {
		f, err := os.OpenFile(filepath.Join(r.dir, fmt.Sprintf("run-%c", runLetters[kind])), os.O_CREATE|os.O_RDWR|os.O_EXCL, fileMode)
		if err != nil {
			return err
		}
		sp.file = f
	}
	w := bufio.NewWriterSize(countingWriter{r.store, sp.file}, outputBuffer)
	var n int64
	for m := newMerge(nil, r.held[kind]); ; n += entrySize {
		e, ok, _ := m.next() // in memory nothing fails
		if !ok {
			break
		}
		if _, err := w.Write(bytesOf([]entry{e})); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	sp.parts = append(sp.parts, n)
	r.held[kind] = nil
	return nil
}

// merge returns all entries of a kind in order. No entry may be added any more.
func (r *runs) merge(kind int) *merge {
	r.mu.Lock()
	defer r.mu.Unlock()
	var readers []io.Reader
	var off int64
	for _, n := range r.spills[kind].parts {
		readers = append(readers, io.NewSectionReader(r.spills[kind].file, off, n))
		off += n
	}
	return newMerge(readers, r.held[kind])
}

// close removes the spill files.
func (r *runs) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for kind := range r.spills {
		if f := r.spills[kind].file; f != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
		r.spills[kind] = spill{}
		r.held[kind] = nil
	}
	return err
}

// merge is a k-way merge of sorted runs: a binary heap of cursors ordered by their next entry.
type merge struct {
	heap []*cursor
	err  error
}

// cursor walks one run: what is left of it in memory, and what follows on disk.
type cursor struct {
	held []entry
	disk io.Reader
	room []entry
}

// diskEntries is how many entries are read at once.
const diskEntries = 4 << 10

func newMerge(disk []io.Reader, held [][]entry) *merge {
	m := &merge{}
	for _, r := range disk {
		m.start(&cursor{disk: r, room: make([]entry, diskEntries)})
	}
	for _, r := range held {
		m.start(&cursor{held: r})
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m
}

func (m *merge) start(c *cursor) {
	if m.fill(c); len(c.held) > 0 {
		m.heap = append(m.heap, c)
	}
}

// fill reads on when nothing is left in memory.
func (m *merge) fill(c *cursor) {
	if len(c.held) > 0 || c.disk == nil || m.err != nil {
		return
	}
	n, err := io.ReadFull(c.disk, bytesOf(c.room))
	if c.held = c.room[:n/entrySize]; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		m.err = err
	}
}

// bytesOf views entries as bytes, in the order of this machine: a spilled run is read by the process that wrote it.
func bytesOf(entries []entry) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(entries))), len(entries)*entrySize)
}

// next returns the least entry that is left; false at the end.
func (m *merge) next() (e entry, ok bool, err error) {
	if m.err != nil || len(m.heap) == 0 {
		return e, false, m.err
	}
	c := m.heap[0]
	e, c.held = c.held[0], c.held[1:]
	if m.fill(c); len(c.held) == 0 {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.down(0)
	return e, true, nil
}

// down restores the heap below i.
func (m *merge) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.heap[child].held[0].compare(m.heap[least].held[0]) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}
