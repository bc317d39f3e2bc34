package core

import (
	"context"
	"math/bits"
	"slices"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// When a segment is rewritten: strictly more than a quarter of it is deleted, or 16 segments of one size tier have gathered. A tier
// spans a factor of 8 in bytes; segments of fullSegment and more are left alone: a first import makes segments of about 4 MiB, and
// merging two dozen of them took longer than the import and twice its space.
const (
	mergeFanIn   = 16
	smallestTier = 64 << 10
	fullSegment  = 2 << 20
)

// MergePolicy bounds a merge.
type MergePolicy struct {
	MaxMemory int64 // bound of all buffers, in bytes; 0 = 160 MiB
	Log       func(format string, args ...any)
}

const mergeMemory = 160 << 20

// maxTables is how many tables of small keys may lie over each other before a merge is due for them alone.
const maxTables = 2 * mergeFanIn

// MergeDue tells whether a merge has something to do.
func (g *Generation) MergeDue() bool { return g.tablesDue() || len(g.victims()) > 0 }

// MergeOverdue tells whether so much waits that nobody should search it for long.
func (g *Generation) MergeOverdue() bool {
	return len(g.victims()) >= 4*mergeFanIn || g.tables() >= 2*maxTables
}

func (g *Generation) tables() int64 { return g.records.Metrics().Levels[0].TablesCount }

func (g *Generation) tablesDue() bool { return g.tables() >= maxTables }

// Merge rewrites segments from their records, without deleted documents, compacts the tables of small keys and publishes the result as a
// generation of its own. Its content
// and therefore its id are those of the active generation. Disposition reused: nothing was due. Faults as of Begin and Publish, and
// source_unavailable when nothing is published yet.
func (s *Store) Merge(ctx context.Context, p MergePolicy) (Publication, error) {
	if p.MaxMemory <= 0 {
		p.MaxMemory = mergeMemory
	}
	c, err := s.Begin(ctx, BeginOptions{Log: p.Log, Workers: 1, MaxMemory: p.MaxMemory})
	if err != nil {
		return Publication{}, err
	}
	if c.base == nil {
		c.Discard()
		return Publication{}, noGeneration()
	}
	c.rewritten = c.base.tablesDue()
	if victims := c.base.victims(); len(victims) > 0 {
		if err := c.rewrite(ctx, victims); err != nil {
			c.Discard()
			return Publication{}, writeFailure(err)
		}
	}
	return c.Publish(ctx, PublishOptions{})
}

// victims returns the segments to rewrite, by id.
func (g *Generation) victims() []uint32 {
	sizes := g.segmentBytes()
	tiers := map[int][]uint32{}
	var out []uint32
	for _, s := range g.manifest.Segments {
		deleted := s.Docs - s.Live
		switch {
		case uint64(deleted)*4 > uint64(s.Docs):
			out = append(out, s.ID)
		case sizes[s.ID] < fullSegment:
			tier := sizeTier(sizes[s.ID])
			tiers[tier] = append(tiers[tier], s.ID)
		}
	}
	for _, ids := range tiers {
		if len(ids) >= mergeFanIn {
			out = append(out, ids...)
		}
	}
	slices.Sort(out)
	return out
}

func sizeTier(bytes int64) int {
	return (bits.Len64(uint64(bytes/smallestTier)) + 2) / 3
}

// segmentBytes sums up the text files of every segment; its records grow alike.
func (g *Generation) segmentBytes() map[uint32]int64 {
	files := g.manifest.byName()
	out := make(map[uint32]int64, len(g.manifest.Segments))
	for _, s := range g.manifest.Segments {
		for _, name := range []string{lexical.SegmentFile(s.ID), lexical.ColumnFile(s.ID)} {
			out[s.ID] += files[textDir+"/"+name].Bytes
		}
	}
	return out
}

// rewriteDeleted rewrites every segment of the base that has a deleted document, of this candidate or of an earlier one.
func (c *Candidate) rewriteDeleted(ctx context.Context) error {
	if c.base == nil {
		return nil
	}
	var victims []uint32
	for _, s := range c.base.manifest.Segments {
		if s.Live < s.Docs || c.deleted[s.ID] != nil {
			victims = append(victims, s.ID)
		}
	}
	return c.rewrite(ctx, victims)
}

// rewrite moves the live documents of base segments into new segments.
func (c *Candidate) rewrite(ctx context.Context, victims []uint32) error {
	k := newSink(c, lexical.NewPool(1), builderMemory(c.opt.MaxMemory-c.runs.limit, 1))
	defer k.abandon()
	for _, id := range victims {
		if err := c.rewriteSegment(ctx, k, id); err != nil {
			return err
		}
	}
	if err := k.flush(); err != nil {
		return err
	}
	c.rewritten = true
	return k.entries.flush()
}

func (c *Candidate) rewriteSegment(ctx context.Context, k *sink, id uint32) error {
	i, ok := c.base.text.Index(id)
	if !ok {
		return corruption(nil, "segment %d is missing", id)
	}
	columns := c.base.text.Columns(i)
	var e record.Event
	err := c.base.scan(ordinalKey(keyRecord, id), func(key, value []byte) error {
		d := docOf(key)
		if deletedIn(c.base.text, i, d.Doc) || has(c.deleted, d) {
			return nil
		}
		if d.Doc%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := record.Decode(value, &e); err != nil {
			return corruption(err, "event %d of segment %d cannot be read", d.Doc, d.Segment)
		}
		row := columns.Row(d.Doc)
		if _, _, err := k.add(&e, row.Source, row.Provider); err != nil {
			return err
		}
		c.mu.Lock()
		err := c.deleteKeys(e.Session, e.Sequence, e.Suborder, d)
		c.mu.Unlock()
		if err != nil || !k.full(segmentDocsLarge) {
			return err
		}
		return k.flush()
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replaced[id] = true
	return nil
}

// carryBatch is how many records are carried over in one batch.
const carryBatch = 256

// Carry copies a source with its sessions (except those to skip; nil = none), records, ids, state and frontier from another generation,
// usually Old. It goes the way that every source goes, so the records are encoded, tokenised and indexed under the present contract. What
// the old generation excluded from discovery stays excluded. After a fault index_corruption nothing of the source is carried over and the
// candidate can still be used.
func (c *Candidate) Carry(ctx context.Context, from *Generation, source record.Digest, skip func(*record.Session) bool) error {
	cert, err := from.Certificate(source)
	if err != nil {
		return err
	}
	if cert == nil {
		return unknown("source", source)
	}
	frontier, err := from.Frontier(source)
	if err != nil {
		return err
	}
	w, err := c.Replace(cert.SourceSpec)
	if err != nil {
		return err
	}
	skipped, err := w.carry(ctx, from, cert.Ordinal, skip)
	if err == nil && w.events+skipped != cert.Counts.Indexed {
		err = corruption(nil, "source %s had %d events, %d can be carried over", source, cert.Counts.Indexed, w.events)
	}
	if err == nil {
		err = w.Finish(*cert, frontier)
	}
	if err != nil {
		w.Abort()
	}
	return err
}

func (w *SourceWriter) carry(ctx context.Context, from *Generation, source uint32, skip func(*record.Session) bool) (skipped uint64, err error) {
	ordinals, err := from.SourceSessions(source)
	for _, old := range ordinals {
		s, stats, err := from.sessionAndStats(old)
		if err != nil {
			return 0, err
		}
		if skip != nil && skip(s) {
			skipped += stats.Events
			continue
		}
		ordinal, err := w.Session(s)
		if err == nil {
			err = w.carrySession(ctx, from, old, ordinal)
		}
		if err != nil {
			return 0, err
		}
	}
	if err == nil {
		err = w.Wait()
	}
	return skipped, err
}

func (w *SourceWriter) carrySession(ctx context.Context, from *Generation, old, ordinal uint32) error {
	var docs []lexical.Doc
	err := from.scan(ordinalKey(keySessionOrder, old), func(key, _ []byte) error {
		docs = append(docs, docOf(key))
		return ctx.Err()
	})
	for part := range slices.Chunk(docs, carryBatch) {
		if err != nil {
			break
		}
		err = w.AddBatch(0, func(emit func(*record.Event) error) (err error) {
			var e record.Event
			var buf []byte
			for _, d := range part {
				if buf, err = from.EventInto(buf[:0], d, &e); err != nil {
					return err
				}
				e.Session = ordinal
				if err := emit(&e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return err
}
