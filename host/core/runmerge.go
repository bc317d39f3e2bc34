package core

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// merge is a k-way merge of sorted runs: a binary heap of cursors ordered by their next entry.
type merge struct {
	heap []*cursor
	err  error
}

// cursor walks one run, in memory or on disk.
type cursor struct {
	next entry
	held []entry
	disk *bufio.Reader
}

func newMerge(disk []*bufio.Reader, held [][]entry) *merge {
	m := &merge{}
	for _, r := range disk {
		m.start(&cursor{disk: r})
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
	ok, err := c.advance()
	if err != nil {
		m.err = err
	}
	if ok {
		m.heap = append(m.heap, c)
	}
}

func (c *cursor) advance() (bool, error) {
	if c.disk == nil {
		if len(c.held) == 0 {
			return false, nil
		}
		c.next, c.held = c.held[0], c.held[1:]
		return true, nil
	}
	var b [entrySize]byte
	if _, err := io.ReadFull(c.disk, b[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return false, err
	}
	c.next = entry{
		a:   binary.LittleEndian.Uint64(b[0:]),
		b:   binary.LittleEndian.Uint64(b[8:]),
		pos: binary.LittleEndian.Uint64(b[16:]),
	}
	return true, nil
}

// next returns the least entry that is left; false at the end.
func (m *merge) next() (entry, bool, error) {
	if m.err != nil || len(m.heap) == 0 {
		return entry{}, false, m.err
	}
	c := m.heap[0]
	e := c.next
	ok, err := c.advance()
	if err != nil {
		m.err = err
		return entry{}, false, err
	}
	if !ok {
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
			if m.heap[child].next.compare(m.heap[least].next) < 0 {
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
