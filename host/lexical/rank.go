package lexical

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Ranking several segments at once pays from this many postings on (about 2 ms of work).
const (
	parallelPostings = 200_000
	maxRankers       = 4
)

// ranker ranks segments one after the other and keeps the best hits of all of them.
type ranker struct {
	reader  *Reader
	query   *Query
	plan    *plan
	scores  []termScore // by term
	share   []float32   // what a coverage leaves of the score: the part of the terms that a document contains
	best    topK
	matches int
	work    Work
}

// rank does a whole search: it looks the terms up in all segments, which gives the statistics, and then goes through every segment once,
// term at a time. What a document scores does not depend on its segment, so the segments may be ranked in any order and by several rankers.
func (r *Reader) rank(ctx context.Context, q *Query, result *Result) error {
	plan, err := r.lookUp(ctx, q.Terms, q.Groups, &result.Work)
	if err != nil {
		return err
	}
	result.Found = plan.found
	scores := r.scores(plan)
	share := make([]float32, len(scores)+1)
	for n := range share {
		share[n] = float32(n) / float32(len(scores))
	}
	rankers := make([]ranker, plan.rankers(len(r.parts)))
	for i := range rankers {
		rankers[i] = ranker{reader: r, query: q, plan: plan, scores: scores, share: share, best: topK{k: q.Limit}}
	}
	err = runRankers(ctx, rankers, len(r.parts))
	for i := range rankers {
		result.Work.add(rankers[i].work)
		result.Matches += rankers[i].matches
	}
	if err != nil {
		return err
	}
	result.Hits = r.hits(mergeRankers(rankers))
	return nil
}

// scores prepares the scoring of every term of a plan.
func (r *Reader) scores(p *plan) []termScore {
	scores := make([]termScore, len(p.found))
	for t, n := range p.found {
		scores[t] = r.live.score(n)
	}
	return scores
}

// mergeRankers returns the best candidates of all rankers, best first.
func mergeRankers(rankers []ranker) []candidate {
	best := &rankers[0].best
	for i := range rankers[1:] {
		for _, c := range rankers[i+1].best.heap {
			best.add(c)
		}
	}
	return best.sorted()
}

func (r *Reader) hits(found []candidate) []Hit {
	hits := make([]Hit, len(found))
	for i, c := range found {
		hits[i] = Hit{Doc: Doc{Segment: r.parts[c.part].segment.ID, Doc: c.doc}, Coverage: int(c.coverage), Whole: c.whole == 1, Score: c.score}
	}
	return hits
}

func (p *plan) rankers(parts int) int {
	postings := 0
	for i := range p.lists {
		postings += int(p.lists[i].count)
	}
	if postings < parallelPostings {
		return 1
	}
	return max(1, min(parts, maxRankers, runtime.GOMAXPROCS(0)))
}

// runRankers hands the segments out to the rankers.
func runRankers(ctx context.Context, rankers []ranker, parts int) error {
	var next atomic.Int32
	work := func(k *ranker) error {
		a := borrowAccumulator()
		defer a.giveBack()
		for i := int(next.Add(1)) - 1; i < parts; i = int(next.Add(1)) - 1 {
			if err := k.segment(ctx, a, i); err != nil {
				next.Store(int32(parts))
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(rankers))
	var others sync.WaitGroup
	for i := range rankers[1:] {
		others.Go(func() { errs[i+1] = work(&rankers[i+1]) })
	}
	errs[0] = work(&rankers[0])
	others.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// segment ranks the i-th segment.
func (k *ranker) segment(ctx context.Context, a *accumulator, i int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, q, lists := k.reader.parts[i], k.query, k.plan.of(i)
	if q.Filter != nil && !anyBit(p.of(q.Filter)) || matching(lists) == 0 {
		k.work.SegmentsSkipped++
		return nil
	}
	k.work.Segments++
	err := guard(p.path, func() error {
		a.size(p.segment.Docs)
		allowed := a.allow(p, q.Filter)
		for t, list := range lists {
			if err := a.add(ctx, p, list, allowed, k.scores[t], &k.work); err != nil {
				return err
			}
		}
		k.matches += k.choose(a, int32(i), p.columns)
		return nil
	})
	if err != nil {
		return asCorruption(ctx, err, p.path)
	}
	return nil
}

// choose offers the touched documents to best, forgets them and returns how many match.
func (k *ranker) choose(a *accumulator, part int32, c *Columns) (matches int) {
	weights, last := k.query.Weights, len(k.share)-1
	for _, doc := range a.touched {
		coverage, score := a.coverage[doc], a.scores[doc]
		a.coverage[doc], a.scores[doc] = 0, 0
		if weights != nil {
			weight := weights[c.Type(doc)]
			if weight == 0 {
				continue
			}
			score *= weight
		}
		matches++
		score *= k.share[coverage]
		whole := uint8(0)
		if int(coverage) == last && last <= WholeFirst {
			whole = 1
		}
		if !k.best.admits(whole, score) {
			continue
		}
		k.work.Rows++
		k.best.add(candidate{
			coverage: coverage, whole: whole, score: score, time: c.rawTime(doc), sequence: c.Sequence(doc), id: c.ID(doc), part: part, doc: doc,
		})
	}
	a.touched = a.touched[:0]
	return matches
}
