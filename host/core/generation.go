package core

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
	"github.com/cockroachdb/pebble/v2"
)

// Generation is a pinned generation. It is safe for concurrent use (its iterators are not) and must be closed.
type Generation struct {
	store        *Store
	published    Published
	manifest     *Manifest
	lease        *lease
	records      *pebble.DB
	text         *lexical.Reader
	observations observations
	fallback     error
	closed       atomic.Bool
}

// ID returns the content-derived id, 64 lower-case hex digits.
func (g *Generation) ID() string { return g.manifest.Generation }

// Fallback tells why this is not the active generation but the one before it: the damage that Pin met. It is nil otherwise.
func (g *Generation) Fallback() error { return g.fallback }

// Published returns the name of the generation as the pointer holds it.
func (g *Generation) Published() Published { return g.published }

// Manifest returns the manifest, which must not be changed.
func (g *Generation) Manifest() *Manifest { return g.manifest }

// Routes returns the routes of the manifest with the newest absence counts.
func (g *Generation) Routes() []Route {
	routes := slices.Clone(g.manifest.Routes)
	for i := range routes {
		if n, ok := g.observations.absent[routes[i].Identity]; ok {
			routes[i].Absent = n
		}
	}
	return routes
}

// Deliveries tells where the sources were seen last. Not to be changed.
func (g *Generation) Deliveries() Deliveries {
	if len(g.observations.sightings) > 0 {
		return g.observations.deliveries
	}
	return g.manifest.Deliveries
}

// Lexical returns the reader of the text index. It is closed with the generation.
func (g *Generation) Lexical() *lexical.Reader { return g.text }

// BlocksRead counts the blocks of the record store that were read so far, for tests of how much work something is.
func (g *Generation) BlocksRead() int64 {
	return g.records.Metrics().BlockCache.Misses
}

// Close ends the pin. Closing twice is allowed.
func (g *Generation) Close() error {
	if g == nil || g.closed.Swap(true) {
		return nil
	}
	var err error
	if g.text != nil {
		err = g.text.Close()
	}
	if g.records != nil {
		err = errors.Join(err, g.records.Close())
	}
	return errors.Join(err, g.lease.release())
}

// access says what of a generation is opened, and how much has to be right.
type access uint8

const (
	openWhole   access = iota
	openRecords        // the record store only, whatever contract it was written under
	openRemains        // the same, with files missing or cut: what they held cannot be read
)

// openGeneration opens the files of a published generation; l is released with it, also on failure.
func (s *Store) openGeneration(p Published, l *lease, how access) (_ *Generation, err error) {
	g := &Generation{store: s, published: p, lease: l}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	if g.manifest, err = s.readManifest(p); err != nil {
		return nil, err
	}
	g.published.Generation = g.manifest.Generation
	if how == openWhole && g.manifest.Contract != Contract() {
		return nil, incompatible(g.manifest.Contract)
	}
	dir := s.generationPath(p.Directory)
	files := g.manifest.Files
	if how != openWhole {
		files = slices.DeleteFunc(slices.Clone(files), func(f File) bool {
			return how == openRemains || !strings.HasPrefix(f.Name, recordsDir+"/")
		})
	}
	if err := checkSizes(dir, files); err != nil {
		return nil, err
	}
	g.observations = s.readObservations(p.Directory)
	if g.records, err = openPublishedRecords(filepath.Join(dir, recordsDir), s.opt.Cache); err != nil {
		return nil, corruption(err, "the record store of the index cannot be opened")
	}
	if how != openWhole {
		return g, nil
	}
	if g.text, err = lexical.OpenReader(filepath.Join(dir, textDir), g.manifest.lexicalSegments()); err != nil {
		return nil, corruption(err, "the text index cannot be opened")
	}
	return g, nil
}

// checkSizes compares every file with the manifest by size alone. Digests are checked at publication and by Verify.
func checkSizes(dir string, files []File) error {
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil {
			return corruption(err, "the index misses the file %s", f.Name)
		}
		if info.Size() != f.Bytes {
			return corruption(fmt.Errorf("%d bytes instead of %d", info.Size(), f.Bytes), "the index file %s has a wrong size", f.Name)
		}
	}
	return nil
}

// get returns a copy of the value of a key, appended to buf; false when the key is not stored.
func (g *Generation) get(buf, key []byte) ([]byte, bool, error) {
	v, closer, err := g.records.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return buf, false, nil
	}
	if err != nil {
		return buf, false, corruption(err, "the record store cannot be read")
	}
	buf = append(buf, v...)
	return buf, true, closer.Close()
}

// Event reads the record of a document. e does not depend on anything afterwards.
func (g *Generation) Event(doc lexical.Doc, e *record.Event) error {
	_, err := g.EventInto(nil, doc, e)
	return err
}

// EventInto reads the record of a document into the memory of buf, which it returns for the next call. e is valid as long as buf is
// left alone.
func (g *Generation) EventInto(buf []byte, doc lexical.Doc, e *record.Event) ([]byte, error) {
	var key [recordKeySize]byte
	buf, ok, err := g.get(buf[:0], recordKey(key[:], doc))
	if err == nil && !ok {
		err = corruption(nil, "event %d of segment %d is missing", doc.Doc, doc.Segment)
	}
	if err != nil {
		return buf, err
	}
	if err := record.Decode(buf, e); err != nil {
		return buf, corruption(err, "event %d of segment %d cannot be read", doc.Doc, doc.Segment)
	}
	return buf, nil
}

// scan calls visit with every key and value that starts with prefix, in order. Both are valid during the call only.
func (g *Generation) scan(prefix []byte, visit func(key, value []byte) error) error {
	it, err := g.iterator(prefix, after(prefix))
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		var v []byte
		if v, err = it.ValueAndErr(); err == nil {
			err = visit(it.Key(), v)
		}
	}
	return endIterator(it, err)
}

func (g *Generation) iterator(lower, upper []byte) (*pebble.Iterator, error) {
	it, err := g.records.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, corruption(err, "the record store cannot be read")
	}
	return it, nil
}

// endIterator closes an iterator after its use ended with err.
func endIterator(it *pebble.Iterator, err error) error {
	failed := it.Error()
	if cerr := it.Close(); failed == nil {
		failed = cerr
	}
	if err == nil && failed != nil {
		err = corruption(failed, "the record store cannot be read")
	}
	return err
}
