package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/cockroachdb/pebble/v2"
)

// rowLimit is how many bytes of small rows wait in memory before they are written to a table of their own.
const rowLimit = 16 << 20

// stageTable names the next table of small keys.
func (c *Candidate) stageTable() string {
	c.tables++
	return filepath.Join(c.path, stagingDir, fmt.Sprintf("keys-%d.sst", c.tables))
}

// spillRows writes the rows that wait when they are many. Tables are ingested in order, so a later row wins. Called with the lock held.
func (c *Candidate) spillRows() error {
	if c.rowBytes < rowLimit {
		return nil
	}
	if err := c.store.step(StepTables); err != nil {
		return err
	}
	t, err := c.store.newTable(c.stageTable(), tableOptions(keyBlock))
	if err != nil {
		return err
	}
	if err := c.writeRows(t); err != nil {
		t.abandon()
		return err
	}
	staged, err := t.close()
	c.rowTables = append(c.rowTables, staged)
	return err
}

// writeRows moves all waiting rows into a table.
func (c *Candidate) writeRows(t *table) error {
	for _, key := range slices.Sorted(maps.Keys(c.rows)) {
		value := c.rows[key]
		var err error
		if value == nil {
			err = t.delete([]byte(key))
		} else {
			err = t.set([]byte(key), value)
		}
		if err != nil {
			return err
		}
	}
	clear(c.rows)
	c.rowBytes = 0
	return nil
}

// keyTables writes what waits: the rows and certificates, and the sorted entries of every kind. In a large build the kinds are merged
// at the same time; in a small one everything goes into a single table, because every table costs a file in every later generation.
func (c *Candidate) keyTables() ([]stagedTable, error) {
	if err := c.store.step(StepTables); err != nil {
		return nil, err
	}
	for id, cert := range c.certificates {
		c.setRow(digestKey(keyCertificate, id), cert)
	}
	if len(c.segments) <= 1 && len(c.rowTables) == 0 {
		k := &keyTables{c: c}
		err := k.rows()
		for kind := 0; kind < runKinds && err == nil; kind++ {
			err = k.entries(kind)
		}
		return k.finish(err)
	}
	var parts [1 + runKinds][]stagedTable
	var errs [1 + runKinds]error
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(1, c.opt.Workers))
	for i := range parts {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			k := &keyTables{c: c}
			var err error
			if i == 0 {
				err = k.rows()
			} else {
				err = k.entries(i - 1)
			}
			parts[i], errs[i] = k.finish(err)
		})
	}
	wait.Wait()
	return slices.Concat(parts[:]...), errors.Join(errs[:]...)
}

// keyTables writes ascending keys to tables of bounded size.
type keyTables struct {
	c          *Candidate
	open       *table
	done       []stagedTable
	key        []byte
	collisions []collision
	counts     [runKinds]keyCount
}

// collision is a pair of documents whose event ids begin alike. Only their records can tell whether the ids are equal.
type collision struct{ a, b lexical.Doc }

func (k *keyTables) table() (*table, error) {
	if k.open != nil && k.open.size() >= tableTarget {
		if err := k.close(); err != nil {
			return nil, err
		}
	}
	if k.open == nil {
		k.c.mu.Lock()
		path := k.c.stageTable()
		k.c.mu.Unlock()
		t, err := k.c.store.newTable(path, tableOptions(keyBlock))
		if err != nil {
			return nil, err
		}
		k.open = t
	}
	return k.open, nil
}

func (k *keyTables) close() error {
	staged, err := k.open.close()
	k.open = nil
	if err == nil {
		k.done = append(k.done, staged)
	}
	return err
}

func (k *keyTables) finish(err error) ([]stagedTable, error) {
	if err == nil && k.open != nil {
		err = k.close()
	}
	if k.open != nil {
		k.open.abandon()
	}
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	k.c.collisions = append(k.c.collisions, k.collisions...)
	for kind, n := range k.counts {
		k.c.keyCounts[kind].set += n.set
		k.c.keyCounts[kind].deleted += n.deleted
	}
	return k.done, err
}

func (k *keyTables) rows() error {
	if len(k.c.rows) == 0 {
		return nil
	}
	t, err := k.table()
	if err != nil {
		return err
	}
	return k.c.writeRows(t)
}

// entries writes the merged entries of one kind, without those of documents that were taken back.
func (k *keyTables) entries(kind int) error {
	m := k.c.runs.merge(kind)
	var twins *twinFinder
	if kind == runEvent && (!k.c.rewritten || len(k.c.busy) > 0) { // a mere merge moves events that were compared before
		twins = &twinFinder{c: k.c}
		defer twins.close()
	}
	for {
		e, ok, err := m.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		d := e.doc()
		if has(k.c.dead, d) {
			continue
		}
		t, err := k.table()
		if err != nil {
			return err
		}
		k.key = e.key(k.key, runLetters[kind])
		if e.deleted() {
			k.counts[kind].deleted++
			err = t.delete(k.key)
		} else {
			k.counts[kind].set++
			err = t.set(k.key, nil)
		}
		if err != nil {
			return err
		}
		if twins != nil && !e.deleted() {
			if err := twins.look(e); err != nil {
				return err
			}
		}
	}
	if twins != nil {
		k.collisions = twins.found
	}
	return nil
}

// twinFinder finds new events whose id begins like that of another event, new or stored. Looks come in ascending order.
type twinFinder struct {
	c     *Candidate
	base  *pebble.Iterator
	last  entry
	any   bool
	found []collision
}

func (f *twinFinder) look(e entry) error {
	if f.any && f.last.a == e.a {
		f.found = append(f.found, collision{f.last.doc(), e.doc()})
	}
	f.last, f.any = e, true
	if f.c.base == nil {
		return nil
	}
	if f.base == nil {
		it, err := f.c.base.iterator([]byte{keyEvent}, []byte{keyEvent + 1})
		if err != nil {
			return err
		}
		f.base = it
	}
	prefix := binary.BigEndian.AppendUint64([]byte{keyEvent}, e.a)
	for ok := f.base.SeekGE(prefix); ok && bytes.HasPrefix(f.base.Key(), prefix); ok = f.base.Next() {
		d := docOf(f.base.Key())
		if has(f.c.deleted, d) || f.c.replaced[d.Segment] {
			continue
		}
		f.found = append(f.found, collision{d, e.doc()})
	}
	return endOf(f.base)
}

func (f *twinFinder) close() {
	if f.base != nil {
		f.base.Close() // an error of reading was reported by look
	}
}
