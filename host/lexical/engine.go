package lexical

import (
	"context"
	"errors"

	"github.com/blugelabs/bluge"
	"github.com/blugelabs/bluge/index"
	"github.com/blugelabs/bluge/search"
)

// The search runs inside the engine's frame: Reader.Search asks the request for a searcher over its snapshot and for a collector, and
// lets the collector collect. The engine's stock searchers and collectors allocate and compare a match for every posting; ours work term
// at a time on arrays and only make matches of the hits.

// rankedRequest is one search.
type rankedRequest struct {
	reader *Reader
	query  Query
	result Result
}

var _ bluge.SearchRequest = (*rankedRequest)(nil)

func (q *rankedRequest) Collector() search.Collector               { return rankedCollector{} }
func (q *rankedRequest) AddAggregation(string, search.Aggregation) {}
func (q *rankedRequest) Aggregations() search.Aggregations         { return nil }

var errOtherSnapshot = errors.New("the engine has opened other segments than the reader")

// Searcher returns the searcher over the engine's snapshot, whose segments are those of the reader in the same order.
func (q *rankedRequest) Searcher(snapshot search.Reader, _ bluge.Config) (search.Searcher, error) {
	opened, ok := snapshot.(interface {
		Segments() []index.SegmentSnapshot
	})
	if !ok {
		return nil, errOtherSnapshot
	}
	segments := opened.Segments()
	if len(segments) != len(q.reader.parts) {
		return nil, errOtherSnapshot
	}
	for i, s := range segments {
		if s.ID() != uint64(q.reader.parts[i].segment.ID) {
			return nil, errOtherSnapshot
		}
	}
	return &rankedSearcher{request: q}, nil
}

// rankedSearcher finds all matches and gives the best ones, best first.
type rankedSearcher struct {
	request *rankedRequest
	given   int
}

var _ search.Searcher = (*rankedSearcher)(nil)

// Next gives the hits as the engine's matches: number counts the documents of all segments, deleted ones included.
func (s *rankedSearcher) Next(ctx *search.Context) (*search.DocumentMatch, error) {
	hits := s.request.result.Hits
	if s.given == len(hits) {
		return nil, nil
	}
	hit := hits[s.given]
	s.given++
	match := ctx.DocumentMatchPool.Get()
	match.Score = float64(hit.Score)
	match.HitNumber = s.given
	for _, p := range s.request.reader.parts {
		if p.segment.ID == hit.Segment {
			match.Number += uint64(hit.Doc.Doc)
			break
		}
		match.Number += uint64(p.segment.Docs)
	}
	return match, nil
}

var errBestFirst = errors.New("ranked matches come best first and cannot be advanced by number")

func (s *rankedSearcher) Advance(*search.Context, uint64) (*search.DocumentMatch, error) {
	return nil, errBestFirst
}

func (s *rankedSearcher) Close() error               { return nil }
func (s *rankedSearcher) Count() uint64              { return uint64(s.request.result.Matches) }
func (s *rankedSearcher) Min() int                   { return 1 }
func (s *rankedSearcher) Size() int                  { return 0 }
func (s *rankedSearcher) DocumentMatchPoolSize() int { return 1 }

// rankedCollector lets the searcher run; the matches then come out in order.
type rankedCollector struct{}

func (rankedCollector) Size() int        { return 0 }
func (rankedCollector) BackingSize() int { return 0 }

func (rankedCollector) Collect(ctx context.Context, _ search.Aggregations, from search.Collectible) (search.DocumentMatchIterator, error) {
	searcher := from.(*rankedSearcher)
	if err := searcher.request.reader.rank(ctx, &searcher.request.query, &searcher.request.result); err != nil {
		return nil, err
	}
	return &rankedMatches{searcher: searcher, context: search.NewSearchContext(1, 0)}, nil
}

type rankedMatches struct {
	searcher *rankedSearcher
	context  *search.Context
}

func (m *rankedMatches) Next() (*search.DocumentMatch, error) { return m.searcher.Next(m.context) }
func (m *rankedMatches) Aggregations() *search.Bucket         { return nil }
