package core

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// syncWorkers is how many files are synced, or read back, at the same time. Waiting for a disk costs no CPU.
const syncWorkers = 4

// sync makes every new file of the candidate durable, then the directories.
func (c *Candidate) sync(stage func(string, int64, int64)) error {
	if err := c.store.step(StepSync); err != nil {
		return err
	}
	stage(StageSyncing, 0, int64(len(c.manifest.Files)))
	err := c.eachNewFile(func(f File) error {
		file, err := os.OpenFile(c.file(f), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(file.Sync(), file.Close())
	}, stage, StageSyncing)
	for _, dir := range []string{textDir, recordsDir, ""} {
		err = errors.Join(err, durable.SyncDir(filepath.Join(c.path, dir)))
	}
	return err
}

// verifyPhysically reads every new file back and compares it with the digest taken while it was written. Linked files were verified
// when they were published; their size is compared.
func (c *Candidate) verifyPhysically(ctx context.Context, stage func(string, int64, int64)) error {
	if err := checkSizes(c.path, c.manifest.Files); err != nil {
		return err
	}
	return c.eachNewFile(func(f File) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		got, err := hashFile(c.file(f))
		if err == nil && got.Digest != f.Digest {
			err = corruption(nil, "the new index file %s differs from what was written", f.Name)
		}
		return err
	}, stage, StagePhysical)
}

// eachNewFile runs do for every file that is not a link, several at a time.
func (c *Candidate) eachNewFile(do func(File) error, stage func(string, int64, int64), name string) error {
	var fresh []File
	for _, f := range c.manifest.Files {
		if !c.linked[f.Name] {
			fresh = append(fresh, f)
		}
	}
	var (
		mu   sync.Mutex
		errs error
		done int64
		wait sync.WaitGroup
		free = make(chan struct{}, syncWorkers)
	)
	for _, f := range fresh {
		free <- struct{}{}
		wait.Go(func() {
			err := do(f)
			<-free
			mu.Lock()
			defer mu.Unlock()
			errs = errors.Join(errs, err)
			done++
			stage(name, done, int64(len(fresh)))
		})
	}
	wait.Wait()
	return errs
}

// keyCount counts what was written of one kind of entries.
type keyCount struct{ set, deleted uint64 }

// verifyLogically opens the finished candidate as a reader would and checks that it holds what the refresh put into it: every count,
// and the first and last event of every new segment through all its keys. Verify checks every single record and key.
func (c *Candidate) verifyLogically(ctx context.Context) error {
	if err := c.checkKeyCounts(); err != nil {
		return err
	}
	l, err := c.store.takeLease(c.directory, false)
	if err != nil {
		return err
	}
	g, err := c.store.openGeneration(c.published, l, openWhole)
	if err != nil {
		return err
	}
	err = c.checkOpened(ctx, g)
	return errors.Join(err, g.Close())
}

func (c *Candidate) checkOpened(ctx context.Context, g *Generation) error {
	if live := uint64(g.text.Live().Count()); live != g.manifest.Stats.Events {
		return corruption(nil, "the new index has %d searchable rows for %d events", live, g.manifest.Stats.Events)
	}
	for _, b := range c.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, n := range []uint32{0, b.segment.Docs - 1} {
			d := lexical.Doc{Segment: b.segment.ID, Doc: n}
			if has(c.dead, d) {
				continue
			}
			if err := g.checkDoc(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkKeyCounts compares the keys written with the documents added and deleted.
func (c *Candidate) checkKeyCounts() error {
	var added, removed uint64
	for _, b := range c.segments {
		added += uint64(b.segment.Live)
	}
	for id, gone := range c.deleted {
		if !c.replaced[id] {
			removed += gone.GetCardinality()
		}
	}
	if c.base != nil {
		for _, s := range c.base.manifest.Segments {
			if c.replaced[s.ID] {
				removed += uint64(s.Live) // its documents lost their keys, whether they were deleted or moved
			}
		}
	}
	for _, kind := range []int{runEvent, runSession, runRange} {
		if n := c.keyCounts[kind]; n.set != added || n.deleted != removed {
			return corruption(nil, "the refresh added %d and deleted %d events, but %d and %d keys of kind %c",
				added, removed, n.set, n.deleted, runLetters[kind])
		}
	}
	return nil
}

// checkDoc follows a document to its record and from there back through every key.
func (g *Generation) checkDoc(d lexical.Doc) error {
	var e record.Event
	if err := g.Event(d, &e); err != nil {
		return err
	}
	found, ok, err := g.EventDoc(e.ID)
	if err != nil {
		return err
	}
	if !ok || found != d {
		return corruption(nil, "event %s is not found by its id", e.ID)
	}
	if err := g.agrees(&e, d); err != nil {
		return corruption(err, "the columns of event %s differ from its record", e.ID)
	}
	_, order := rowKeys(rowOf(&e, 0, 0), d, false)
	session := sessionEntry(e.Session, e.Sequence, e.Suborder, d, false)
	for _, key := range [][]byte{order.key(nil, keyRangeOrder), session.key(nil, keySessionOrder), ordinalKey(keySession, e.Session)} {
		if _, ok, err := g.get(nil, key); err != nil {
			return err
		} else if !ok {
			return corruption(nil, "event %s misses a key of kind %c", e.ID, key[0])
		}
	}
	return nil
}
