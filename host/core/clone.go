package core

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/cockroachdb/pebble/v2"
)

// cloneText links the files of the base segments that stay.
func (c *Candidate) cloneText(keep []Segment) error {
	for _, s := range keep {
		for _, name := range []string{lexical.SegmentFile(s.ID), lexical.ColumnFile(s.ID)} {
			if err := c.link(textDir, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// cloneRecords links the tables of the base's record store and copies its other files, which pebble replaces.
func (c *Candidate) cloneRecords() error {
	from := filepath.Join(c.store.generationPath(c.base.published.Directory), recordsDir)
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".sst") {
			err = c.link(recordsDir, name)
		} else {
			err = c.copy(filepath.Join(from, name), filepath.Join(c.path, recordsDir, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// link makes a file of the base part of the candidate, by a copy where the file system has no links.
func (c *Candidate) link(dir, name string) error {
	from := filepath.Join(c.store.generationPath(c.base.published.Directory), dir, name)
	to := filepath.Join(c.path, dir, name)
	if !c.store.opt.noLinks && os.Link(from, to) == nil {
		c.linked[dir+"/"+name] = true
		return nil
	}
	return c.copy(from, to)
}

func (c *Candidate) copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(countingWriter{c.store, out}, in)
	return errors.Join(err, out.Close())
}

type countingWriter struct {
	store *Store
	w     io.Writer
}

func (w countingWriter) Write(p []byte) (int, error) {
	if err := w.store.mayWrite(len(p)); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

// ingest builds the record store of the candidate: rows that were written early in their order, then everything else at once.
func (c *Candidate) ingest(ctx context.Context, keys []stagedTable, drop []uint32, compact bool) (err error) {
	if c.base != nil {
		if err := inOrder(func() error { return c.store.step(StepClone) }, c.cloneRecords); err != nil {
			return err
		}
	}
	if err := c.store.step(StepIngest); err != nil {
		return err
	}
	dir := filepath.Join(c.path, recordsDir)
	r, err := c.store.openCandidateRecords(dir, c.base == nil)
	if err != nil {
		return err
	}
	err = r.call(func() error { return c.load(ctx, r.db, keys, drop, compact) })
	var fatal fatalError
	if errors.As(err, &fatal) {
		return err // pebble's locks may still be held: the store is left to the garbage collector
	}
	if err = errors.Join(err, r.call(r.db.Close)); err != nil {
		return err
	}
	return removeLogs(dir)
}

func (c *Candidate) load(ctx context.Context, db *pebble.DB, keys []stagedTable, drop []uint32, compact bool) error {
	for _, t := range c.rowTables {
		if err := db.Ingest(ctx, []string{t.path}); err != nil {
			return err
		}
	}
	var paths []string
	for _, t := range keys {
		paths = append(paths, t.path)
	}
	for _, b := range c.segments {
		paths = append(paths, b.records.path)
	}
	if len(paths) > 0 {
		if err := db.Ingest(ctx, paths); err != nil {
			return err
		}
	}
	for _, segment := range drop {
		lower := ordinalKey(keyRecord, segment)
		if err := db.Excise(ctx, pebble.KeyRange{Start: lower, End: after(lower)}); err != nil {
			return err
		}
	}
	if compact || c.rewritten && db.Metrics().Levels[0].TablesCount >= levelZeroTables {
		return db.Compact(ctx, []byte{0}, []byte{keyRecord}, false)
	}
	return nil
}

// removeLogs removes the empty write-ahead logs that pebble leaves: nothing ever goes into them.
func removeLogs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".log") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// recordFiles lists the files of the candidate's record store for the manifest. The digests of tables are known from their writing.
func (c *Candidate) recordFiles(staged []stagedTable) ([]File, error) {
	dir := filepath.Join(c.path, recordsDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	known := c.known()
	var files []File
	for _, e := range entries {
		name := recordsDir + "/" + e.Name()
		// A table of the base keeps its name, linked or copied; pebble never gives a number twice.
		if f, ok := known[name]; ok && strings.HasSuffix(name, ".sst") {
			files = append(files, f)
			continue
		}
		f, err := c.recordFile(filepath.Join(dir, e.Name()), staged)
		if err != nil {
			return nil, err
		}
		f.Name = name
		files = append(files, f)
	}
	return files, nil
}

func (c *Candidate) recordFile(path string, staged []stagedTable) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, err
	}
	for _, t := range staged {
		if os.SameFile(info, t.info) {
			return t.file, nil
		}
	}
	return hashFile(path)
}

// hashFile reads a whole file. The name stays empty.
func hashFile(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	h := sha256.New()
	n, err := io.CopyBuffer(h, onlyReader{f}, make([]byte, 128<<10))
	if err = errors.Join(err, f.Close()); err != nil {
		return File{}, err
	}
	return File{Bytes: n, Digest: [32]byte(h.Sum(nil))}, nil
}

// onlyReader hides the other methods of a file, so that the given buffer is used.
type onlyReader struct{ io.Reader }

// known lists the files of the base.
func (c *Candidate) known() map[string]File {
	if c.base == nil {
		return nil
	}
	return c.base.manifest.byName()
}

func (m *Manifest) byName() map[string]File {
	files := make(map[string]File, len(m.Files))
	for _, f := range m.Files {
		files[f.Name] = f
	}
	return files
}
