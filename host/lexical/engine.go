package lexical

import (
	"context"
	"errors"
	"io"
	"log"

	"github.com/blugelabs/bluge"
	"github.com/blugelabs/bluge/index"
	"github.com/blugelabs/bluge/search"
	segment "github.com/blugelabs/bluge_segment_api"
)

// The search runs inside the engine's frame: Reader.Search asks the request for a searcher over its snapshot and for a collector, and
// lets the collector collect. The engine's stock searchers and collectors allocate and compare a match for every posting; ours work term
// at a time on arrays and leave the hits in the request.

// openEngine opens the engine over the checked files.
func (r *Reader) openEngine() (*bluge.Reader, error) {
	config := bluge.DefaultConfigWithDirectory(func() index.Directory { return r.dir })
	config.Logger = log.New(io.Discard, "", 0)
	var engine *bluge.Reader
	err := guard("the index", func() (err error) {
		engine, err = bluge.OpenReader(config)
		return err
	})
	if err != nil {
		return nil, corrupt(err, SnapshotFile, "cannot be opened")
	}
	return engine, nil
}

// rankedRequest is one search, its own collector, and the empty list of matches that the collector gives.
type rankedRequest struct {
	reader *Reader
	query  Query
	result Result
}

var (
	_ bluge.SearchRequest          = (*rankedRequest)(nil)
	_ search.Collector             = (*rankedRequest)(nil)
	_ search.DocumentMatchIterator = noMatches{}
)

func (q *rankedRequest) Collector() search.Collector               { return q }
func (q *rankedRequest) AddAggregation(string, search.Aggregation) {}
func (q *rankedRequest) Aggregations() search.Aggregations         { return nil }
func (q *rankedRequest) Size() int                                 { return 0 }
func (q *rankedRequest) BackingSize() int                          { return 0 }

var errOtherSnapshot = errors.New("the engine has opened other segments than the reader")

// Searcher checks that the segments of the engine's snapshot are those of the reader in the same order.
func (q *rankedRequest) Searcher(snapshot search.Reader, _ bluge.Config) (search.Searcher, error) {
	opened, ok := snapshot.(interface {
		Segments() []index.SegmentSnapshot
	})
	if !ok || len(opened.Segments()) != len(q.reader.parts) {
		return nil, errOtherSnapshot
	}
	for i, s := range opened.Segments() {
		if s.ID() != uint64(q.reader.parts[i].segment.ID) {
			return nil, errOtherSnapshot
		}
	}
	return noSearcher{}, nil
}

// Collect ranks.
func (q *rankedRequest) Collect(ctx context.Context, _ search.Aggregations, _ search.Collectible) (search.DocumentMatchIterator, error) {
	return noMatches{}, q.reader.rank(ctx, &q.query, &q.result)
}

type noMatches struct{}

func (noMatches) Next() (*search.DocumentMatch, error) { return nil, nil }
func (noMatches) Aggregations() *search.Bucket         { return nil }

// noSearcher stands where the engine wants a searcher; the collector does its work.
type noSearcher struct{}

func (noSearcher) Next(*search.Context) (*search.DocumentMatch, error)            { return nil, nil }
func (noSearcher) Advance(*search.Context, uint64) (*search.DocumentMatch, error) { return nil, nil }
func (noSearcher) Close() error                                                   { return nil }
func (noSearcher) Count() uint64                                                  { return 0 }
func (noSearcher) Min() int                                                       { return 1 }
func (noSearcher) Size() int                                                      { return 0 }
func (noSearcher) DocumentMatchPoolSize() int                                     { return 0 }

// generationDirectory shows the engine one immutable generation: exactly one snapshot, so that there is no older one to fall back to, and
// the segment files that the Reader has mapped and checked. The engine's own file system directory would lock every file, list the
// directory, and log to the process's standard logger what it cannot open.
type generationDirectory struct {
	snapshot []byte
	segments map[uint64][]byte
}

var (
	errReadOnly = errors.New("a published generation is never written")
	errNoItem   = errors.New("no such item in the generation")
)

func (d *generationDirectory) List(kind string) (ids []uint64, err error) {
	if kind == index.ItemKindSnapshot {
		return []uint64{snapshotNumber}, nil
	}
	for id := range d.segments {
		ids = append(ids, id)
	}
	return ids, nil
}

// Load hands out memory that the Reader owns and releases.
func (d *generationDirectory) Load(kind string, id uint64) (*segment.Data, io.Closer, error) {
	if kind == index.ItemKindSnapshot && id == snapshotNumber {
		return segment.NewDataBytes(d.snapshot), nil, nil
	}
	if data, ok := d.segments[id]; ok && kind == index.ItemKindSegment {
		return segment.NewDataBytes(data), nil, nil
	}
	return nil, nil, errNoItem
}

func (d *generationDirectory) Setup(readOnly bool) error {
	if !readOnly {
		return errReadOnly
	}
	return nil
}

func (d *generationDirectory) Persist(string, uint64, index.WriterTo, chan struct{}) error {
	return errReadOnly
}

func (d *generationDirectory) Stats() (items, bytes uint64) { return 0, 0 } // only writers ask
func (d *generationDirectory) Remove(string, uint64) error  { return errReadOnly }
func (d *generationDirectory) Sync() error                  { return errReadOnly }
func (d *generationDirectory) Lock() error                  { return errReadOnly }
func (d *generationDirectory) Unlock() error                { return nil }
