package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/RoaringBitmap/roaring"
	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
)

// Stages of a publication as PublishOptions.Stage names them.
const (
	StageMerging    = "merging"
	StageSyncing    = "syncing"
	StagePhysical   = "physical verification"
	StageLogical    = "logical verification"
	StageActivation = "activation"
)

// PublishOptions configures a publication.
type PublishOptions struct {
	// Stage is told about progress: a stage, how much of it is done, and of how much (0 = unknown).
	Stage func(stage string, done, total int64)
	// Recheck is called just before activation; an error gives the candidate up.
	Recheck func(ctx context.Context) error
	// Erase rewrites every segment that has deleted documents and keeps no previous generation, so that no byte of what was deleted
	// stays reachable, nor on disk once the last reader of the older generations is gone.
	Erase bool
}

// Dispositions of a publication.
const (
	DispositionPublished = "published"
	DispositionReused    = "reused"
)

// Publication says what a publication did.
type Publication struct {
	Disposition string // DispositionPublished, or DispositionReused: the candidate is equal to the active generation
	Generation  string // id of the generation that is active now
	Previous    string // id of the one that was active before, "" = none
	Directory   string // of the active generation
}

// Publish completes, verifies and activates the candidate. When it is equal to the active generation, nothing is published and the
// pointer keeps its bytes (new sightings are kept beside it). On an error nothing visible has changed, except that after a failure in
// the very last step, making the pointer durable, the new generation may already be active. The candidate has ended either way.
// Sources that were neither finished nor aborted count as aborted.
func (c *Candidate) Publish(ctx context.Context, opt PublishOptions) (Publication, error) {
	if opt.Stage == nil {
		opt.Stage = func(string, int64, int64) {}
	}
	c.mu.Lock()
	err := c.usable()
	c.mu.Unlock()
	if err != nil {
		return Publication{}, err
	}
	p, err := c.publish(ctx, opt)
	if err != nil {
		c.Discard()
		return Publication{}, writeFailure(err)
	}
	return p, nil
}

func (c *Candidate) publish(ctx context.Context, opt PublishOptions) (p Publication, err error) {
	opt.Stage(StageMerging, 0, 0)
	if err := inOrder(c.workers.finish, c.abandonWriters); err != nil {
		return p, err
	}
	if opt.Erase {
		if err := c.rewriteDeleted(ctx); err != nil {
			return p, err
		}
	}
	f, err := c.settle()
	if err != nil {
		return p, err
	}
	if c.base != nil && !c.rewritten && c.manifest.Generation == c.base.ID() {
		return c.reuse()
	}
	if err := c.assemble(ctx, f, opt); err != nil {
		return p, err
	}
	return c.activate(ctx, opt)
}

// inOrder runs steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// final is the list of segments of the candidate and their deleted documents.
type final struct {
	kept    []Segment // of the base
	dropped []uint32  // of the base
	deleted map[uint32]*roaring.Bitmap
}

// settle decides about the segments, and computes statistics, digests and the id.
func (c *Candidate) settle() (final, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := final{deleted: map[uint32]*roaring.Bitmap{}}
	c.settleBase(&f)
	if err := inOrder(c.own.flush, func() error { return c.settleNew(&f) }); err != nil {
		return f, err
	}
	m := c.manifest
	m.Segments = append(m.Segments[:0], f.kept...)
	for _, b := range c.segments {
		m.Segments = append(m.Segments, Segment(b.segment))
	}
	m.Stats.Events, m.Stats.Searchable = 0, 0
	for _, s := range m.Segments {
		m.Stats.Events += uint64(s.Live)
		m.Stats.Searchable += uint64(s.Searchable)
	}
	var err error
	if m.Certificates, err = c.sum(sumCertificates, m.Certificates); err != nil {
		return f, err
	}
	if m.Sessions, err = c.sum(sumSessions, m.Sessions); err != nil {
		return f, err
	}
	m.Generation = m.identity()
	return f, nil
}

// settleBase applies the deletions to the segments of the base.
func (c *Candidate) settleBase(f *final) {
	if c.base == nil {
		return
	}
	for i, s := range c.base.manifest.Segments {
		gone, now := c.base.text.Deleted(i), c.deleted[s.ID]
		if now != nil && gone != nil {
			now = roaring.Or(gone, now)
		} else if now == nil {
			now = gone
		}
		if c.deleted[s.ID] != nil {
			s = Segment(c.base.text.Columns(i).Describe(s.ID, now))
		}
		if s.Live == 0 || c.replaced[s.ID] {
			f.dropped = append(f.dropped, s.ID)
			continue
		}
		f.kept = append(f.kept, s)
		if now != nil && !now.IsEmpty() {
			f.deleted[s.ID] = now
		}
	}
}

// settleNew applies what was taken back to the new segments. One without a live document is left out.
func (c *Candidate) settleNew(f *final) error {
	live := c.segments[:0]
	for _, b := range c.segments {
		dead := c.dead[b.segment.ID]
		if dead == nil {
			live = append(live, b)
			continue
		}
		columns, err := lexical.OpenColumns(filepath.Join(c.path, textDir, lexical.ColumnFile(b.segment.ID)))
		if err != nil {
			return err
		}
		b.segment = columns.Describe(b.segment.ID, dead)
		err = columns.Close()
		if err == nil && b.segment.Live == 0 {
			err = errors.Join(os.Remove(b.records.path), os.Remove(c.file(b.postings)), os.Remove(c.file(b.columns)))
		}
		if err != nil {
			return err
		}
		if b.segment.Live == 0 {
			continue
		}
		f.deleted[b.segment.ID] = dead
		live = append(live, b)
	}
	c.segments = live
	return nil
}

// file is the path of a file of the candidate.
func (c *Candidate) file(f File) string { return filepath.Join(c.path, filepath.FromSlash(f.Name)) }

// reuse ends the candidate without publishing it. New sightings are kept for the active generation.
func (c *Candidate) reuse() (Publication, error) {
	for source, b := range c.certificates {
		var cert Certificate
		if b == nil {
			continue
		}
		if err := cert.decode(b); err != nil {
			return Publication{}, err
		}
		if _, newer := c.seen.sightings[source]; !newer {
			c.seen.sightings[source] = cert.Sighting
		}
	}
	for _, r := range c.manifest.Routes {
		c.seen.absent[r.Identity] = r.Absent
	}
	for _, r := range c.base.Routes() {
		if c.seen.absent[r.Identity] == r.Absent {
			delete(c.seen.absent, r.Identity)
		}
	}
	active := c.base.published
	c.seen.deliveries = c.manifest.Deliveries
	if !c.seen.empty() {
		if err := c.store.writeObservations(active.Directory, c.base.observations.merged(c.seen)); err != nil {
			return Publication{}, err
		}
	}
	c.Discard()
	return Publication{Disposition: DispositionReused, Generation: active.Generation, Previous: active.Generation, Directory: active.Directory}, nil
}

// assemble writes everything of the candidate except the pointer.
func (c *Candidate) assemble(ctx context.Context, f final, opt PublishOptions) error {
	c.foldSightings()
	keys, err := c.keyTables()
	if err != nil {
		return err
	}
	staged := append(append([]stagedTable{}, c.rowTables...), keys...)
	for _, b := range c.segments {
		staged = append(staged, b.records)
	}
	return inOrder(
		func() error { return c.ingest(ctx, keys, f.dropped, opt.Erase) },
		func() error { return c.writeText(f) },
		func() error { return c.listFiles(f, staged) },
		func() error { return c.sync(opt.Stage) },
		func() error { return c.verifyPhysically(ctx, opt.Stage) },
		func() error { opt.Stage(StageLogical, 0, 1); return c.writeManifest() },
	)
}

// foldSightings moves new sightings into the certificates. Called when it is clear that a generation is made anyway.
func (c *Candidate) foldSightings() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fold := c.seen.sightings
	if c.base != nil {
		fold = c.base.observations.merged(c.seen).sightings
	}
	for source, s := range fold {
		if _, changed := c.certificates[source]; changed {
			if _, newer := c.seen.sightings[source]; !newer {
				continue // the certificate is younger than the sighting
			}
		}
		cert, err := c.certificate(source)
		if err != nil || cert == nil {
			continue // dropped meanwhile; a sighting is never worth an error
		}
		cert.Sighting = s
		c.certificates[source] = cert.encode()
	}
}

func (c *Candidate) writeText(f final) error {
	if err := c.cloneText(f.kept); err != nil {
		return err
	}
	if err := c.store.step(StepSnapshot); err != nil {
		return err
	}
	path := filepath.Join(c.path, textDir, lexical.SnapshotFile)
	if err := lexical.WriteSnapshot(path, c.manifest.lexicalSegments(), f.deleted); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return c.store.mayWrite(int(info.Size()))
}

// listFiles fills the file list of the manifest and removes the staging directory.
func (c *Candidate) listFiles(f final, staged []stagedTable) error {
	if err := errors.Join(c.runs.close(), os.RemoveAll(filepath.Join(c.path, stagingDir))); err != nil {
		return err
	}
	files, err := c.recordFiles(staged)
	if err != nil {
		return err
	}
	known := c.known()
	for _, s := range f.kept {
		files = append(files, known[textDir+"/"+lexical.SegmentFile(s.ID)], known[textDir+"/"+lexical.ColumnFile(s.ID)])
	}
	for _, b := range c.segments {
		files = append(files, b.postings, b.columns)
	}
	snapshot, err := hashFile(filepath.Join(c.path, textDir, lexical.SnapshotFile))
	if err != nil {
		return err
	}
	snapshot.Name = textDir + "/" + lexical.SnapshotFile
	c.manifest.Files = append(files, snapshot)
	return nil
}

func (c *Candidate) writeManifest() error {
	if err := c.store.step(StepManifest); err != nil {
		return err
	}
	content := c.manifest.encode()
	sum := sha256.Sum256(content)
	c.published = Published{Directory: c.directory, Generation: c.manifest.Generation, Manifest: hex.EncodeToString(sum[:])}
	return c.store.replace(filepath.Join(c.path, manifestFile), content)
}

// activate verifies the finished candidate once more as a reader would see it, and moves the pointer to it.
func (c *Candidate) activate(ctx context.Context, opt PublishOptions) (Publication, error) {
	s := c.store
	var p Publication
	err := inOrder(
		func() error { return s.step(StepLease) },
		func() error { return s.makeLease(c.directory) },
		func() error { return durable.SyncDir(filepath.Join(s.dir, leasesDir)) },
		func() error { return durable.SyncDir(filepath.Join(s.dir, generationsDir)) },
		func() error { return c.verifyLogically(ctx) },
		func() error {
			opt.Stage(StageActivation, 0, 1)
			if opt.Recheck == nil {
				return nil
			}
			return opt.Recheck(ctx)
		},
		ctx.Err)
	if err != nil {
		return p, err
	}
	next := Pointer{Active: &c.published, Previous: c.pointer.Active}
	if opt.Erase || c.damaged {
		next.Previous = nil
	}
	if err := s.writePointer(next); err != nil {
		return p, c.afterPointer(next, err)
	}
	p = Publication{Disposition: DispositionPublished, Generation: c.published.Generation, Directory: c.directory}
	if c.pointer.Active != nil {
		p.Previous = c.pointer.Active.Generation
	}
	// The base is released first: it may be what collect would have to spare.
	err = errors.Join(c.base.Close(), c.old.Close())
	if err = errors.Join(err, s.collect(next)); err != nil {
		c.opt.Log("collecting old generations: %v", err) // the next writer does it
	}
	c.leave()
	opt.Stage(StageActivation, 1, 1)
	return p, nil
}

// leave ends the candidate and keeps its files.
func (c *Candidate) leave() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	if err := c.release(false); err != nil {
		c.opt.Log("%v", err)
	}
}

// afterPointer deals with a failure while the pointer was written. If the new pointer is in place already, the candidate must not be
// removed: it is active, only its durability is not certain.
func (c *Candidate) afterPointer(next Pointer, cause error) error {
	now, err := c.store.Pointer()
	active := now.Active != nil && *now.Active == *next.Active
	if err == nil && !active {
		return cause
	}
	c.leave()
	if !active { // unknown: the pointer cannot be read back, and the candidate may be what it names
		return errors.Join(cause, err)
	}
	return fault.Wrap(cause, fault.ResourceUnavailable, "the new generation is active but may not survive a power failure").WithRetry(true)
}
