package core

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
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
	c      *Candidate
	open   *table
	done   []stagedTable
	key    []byte
	counts [runKinds]keyCount
}

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
	}
	return nil
}
