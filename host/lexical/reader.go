package lexical

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/RoaringBitmap/roaring"
	"github.com/blugelabs/bluge/index"
)

// Reader answers queries over the segments of one generation. It maps their files; its own memory is small and does not grow with the
// number of documents, apart from the sets and results it returns. Safe for concurrent use until Close.
type Reader struct {
	parts  []*part
	byID   map[uint32]int
	live   statistics
	work   workCounter
	engine func() (*index.Snapshot, error) // opened by the first search
	dir    *generationDirectory
	words  int // length of a Set
}

// part is one open segment.
type part struct {
	segment  Segment
	path     string // of the postings file
	file     mapping
	postings *postingsFile
	columns  *Columns
	deleted  *roaring.Bitmap // nil: none
	dead     []uint64        // the same as bits by document, nil: none
	firstBit int             // first word of the segment in a Set
}

func (p *part) words() int { return (int(p.segment.Docs) + 63) / 64 }

// OpenReader opens the segments of a text directory. They must be those of its snapshot, in the same order; the counts in them are the
// statistics of ranking. A missing, damaged or different file is a fault with code index_corruption: nothing is skipped and no older
// state is used instead.
func OpenReader(dir string, segments []Segment) (*Reader, error) {
	snapshotPath := filepath.Join(dir, SnapshotFile)
	content, err := os.ReadFile(snapshotPath)
	if err != nil {
		return nil, corrupt(err, snapshotPath, "cannot be read")
	}
	entries, err := decodeSnapshot(content)
	if err != nil {
		return nil, corrupt(err, snapshotPath, "is damaged")
	}
	if len(entries) != len(segments) {
		return nil, corrupt(fmt.Errorf("%d segments, want %d", len(entries), len(segments)), snapshotPath, "does not match the manifest")
	}
	r := &Reader{
		byID: make(map[uint32]int, len(segments)),
		dir:  &generationDirectory{snapshot: content, segments: make(map[uint64][]byte, len(segments))},
	}
	for i, s := range segments {
		if entries[i].id != s.ID {
			r.Close()
			return nil, corrupt(fmt.Errorf("segment %d where %d is wanted", entries[i].id, s.ID), snapshotPath, "does not match the manifest")
		}
		if err := r.openPart(dir, s, entries[i].deleted); err != nil {
			r.Close()
			return nil, err
		}
	}
	r.engine = sync.OnceValues(r.openEngine)
	return r, nil
}

func (r *Reader) openPart(dir string, s Segment, deleted *roaring.Bitmap) error {
	p := &part{segment: s, path: filepath.Join(dir, SegmentFile(s.ID)), deleted: deleted, firstBit: r.words}
	var err error
	if p.file, err = openMapping(p.path); err != nil {
		return corrupt(err, p.path, "cannot be opened")
	}
	r.parts = append(r.parts, p) // from here on Close releases it
	err = guard(p.path, func() error {
		p.postings, err = parseSegment(p.file.data, s.Docs)
		return err
	})
	if err != nil {
		return corrupt(err, p.path, "is damaged")
	}
	columnPath := filepath.Join(dir, ColumnFile(s.ID))
	if p.columns, err = OpenColumns(columnPath); err != nil {
		return err
	}
	if p.columns.Docs() != s.Docs {
		return corrupt(fmt.Errorf("%d rows, want %d", p.columns.Docs(), s.Docs), columnPath, "does not match the manifest")
	}
	if deleted != nil {
		if deleted.Maximum() >= s.Docs || deleted.GetCardinality() != uint64(s.Docs-s.Live) {
			return corrupt(errors.New("deleted documents differ"), filepath.Join(dir, SnapshotFile), "does not match the manifest")
		}
		p.dead = make([]uint64, p.words())
		for it := deleted.Iterator(); it.HasNext(); {
			doc := it.Next()
			p.dead[doc/64] |= 1 << (doc % 64)
		}
	} else if s.Live != s.Docs {
		return corrupt(errors.New("deleted documents are missing"), filepath.Join(dir, SnapshotFile), "does not match the manifest")
	}
	r.byID[s.ID] = len(r.parts) - 1
	r.words += p.words()
	r.live.documents += uint64(s.Searchable)
	r.live.tokens += s.Tokens
	r.dir.segments[uint64(s.ID)] = p.file.data
	return nil
}

// Close releases all files. Nothing that came from the reader, columns included, may be used afterwards.
func (r *Reader) Close() error {
	var errs []error
	for _, p := range r.parts {
		errs = append(errs, p.file.close())
		if p.columns != nil {
			errs = append(errs, p.columns.Close())
		}
	}
	r.parts = nil
	return errors.Join(errs...)
}

// Segments returns the manifest entries that the reader was opened with, in order.
func (r *Reader) Segments() []Segment {
	segments := make([]Segment, len(r.parts))
	for i, p := range r.parts {
		segments[i] = p.segment
	}
	return segments
}

// Columns returns the columns of the i-th segment.
func (r *Reader) Columns(i int) *Columns { return r.parts[i].columns }

// Deleted returns the deleted documents of the i-th segment, nil when there are none. Not to be changed.
func (r *Reader) Deleted(i int) *roaring.Bitmap { return r.parts[i].deleted }

// Index returns the position of a segment among Segments.
func (r *Reader) Index(segment uint32) (i int, ok bool) {
	i, ok = r.byID[segment]
	return i, ok
}

// Row returns the column values of a live document, and false for one that is deleted or does not exist.
func (r *Reader) Row(d Doc) (Row, bool) {
	i, ok := r.byID[d.Segment]
	if !ok || d.Doc >= r.parts[i].segment.Docs || r.parts[i].isDead(d.Doc) {
		return Row{}, false
	}
	return r.parts[i].columns.Row(d.Doc), true
}

func (p *part) isDead(doc uint32) bool {
	return p.dead != nil && p.dead[doc/64]>>(doc%64)&1 != 0
}

// Verify reads every byte of the segment and column files and compares their checksums.
func (r *Reader) Verify() error {
	for _, p := range r.parts {
		err := guard(p.path, func() error { return errors.Join(verifyChecksum(p.file.data), p.columns.Verify()) })
		if err != nil {
			return corrupt(err, p.path, "is damaged")
		}
	}
	return nil
}
