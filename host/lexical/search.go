package lexical

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/agenthistory/ctx/host/fault"
)

// MaxQueryTerms is the largest number of distinct terms of a query.
const MaxQueryTerms = 255

// Query is a ranked search: every document that contains at least one of the terms matches.
type Query struct {
	Terms   [][]byte      // tokens as QueryTerms gives them, in any order, at most MaxQueryTerms distinct ones
	Groups  [][][]byte    // each counts as one term that occurs wherever one of its members does
	Weights *[256]float32 // class weight by event type code, 0 = left out; nil = 1 for all
	Filter  *Set          // only these documents; nil = all. Filters never change a score
	Limit   int           // hits to return; 0 only counts
}

// WholeFirst is the longest query whose complete matches stand before all others. Somebody who types so few words means each of
// them; in a longer question the rare words decide, and a long text that happens to hold every small word must not win.
const WholeFirst = 4

// Hit is one document found.
type Hit struct {
	Doc
	Coverage int  // distinct terms it contains
	Whole    bool // it contains every term of a query of at most WholeFirst
	Score    float32
}

// Result is the answer to a Query.
type Result struct {
	Hits    []Hit    // best first: whole, score, time (untimed last), sequence, all descending, then event id ascending
	Matches int      // all matching documents, returned or not
	Found   []uint64 // live documents of every distinct term in byte order, then of every group
	Work    Work
}

// Search ranks the matching documents. The order is total and exact: it does not depend on how documents are spread over segments, nor
// on documents deleted before. A cancelled context stops it within milliseconds with the context's error.
func (r *Reader) Search(ctx context.Context, q Query) (Result, error) {
	terms, err := distinctTerms(q.Terms, len(q.Groups))
	if err != nil {
		return Result{}, err
	}
	q.Terms = terms
	if len(terms)+len(q.Groups) == 0 || r.live.documents == 0 {
		return Result{}, ctx.Err()
	}
	if _, err := r.engine(); err != nil {
		return Result{}, err
	}
	var result Result
	err = r.rank(ctx, &q, &result)
	r.work.add(result.Work)
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// MatchSet returns the live documents that contain at least minCoverage of the distinct terms. Class weights play no part.
func (r *Reader) MatchSet(ctx context.Context, terms [][]byte, minCoverage int) (*Set, error) {
	s := r.Empty()
	terms, err := distinctTerms(terms, 0)
	if err != nil {
		return nil, err
	}
	if minCoverage = max(minCoverage, 1); minCoverage > len(terms) {
		return s, ctx.Err()
	}
	var work Work
	defer func() { r.work.add(work) }()
	plan, err := r.lookUp(ctx, terms, nil, &work)
	if err != nil {
		return nil, err
	}
	a := borrowAccumulator()
	defer a.giveBack()
	for i, p := range r.parts {
		lists := plan.of(i)
		if matching(lists) < minCoverage {
			work.SegmentsSkipped++
			continue
		}
		err := guard(p.path, func() error { return a.markCovered(ctx, p, lists, minCoverage, p.of(s), &work) })
		if err != nil {
			return nil, asCorruption(ctx, err, p.path)
		}
		work.Segments++
	}
	return s, nil
}

// distinctTerms returns the terms sorted and without repetitions. Scores are summed up in this order, so that equal documents have equal
// scores bit by bit.
func distinctTerms(terms [][]byte, groups int) ([][]byte, error) {
	if !slices.IsSortedFunc(terms, bytes.Compare) {
		terms = slices.Clone(terms)
		slices.SortFunc(terms, bytes.Compare)
	}
	for i := 1; i < len(terms); i++ {
		if bytes.Equal(terms[i-1], terms[i]) {
			terms = slices.CompactFunc(slices.Clone(terms), bytes.Equal)
			break
		}
	}
	if n := len(terms) + groups; n > MaxQueryTerms {
		return nil, fault.New(fault.InvalidRequest, "a query has at most %d distinct terms, not %d", MaxQueryTerms, n)
	}
	return terms, nil
}

// plan holds the looked-up posting lists of a query: by segment, then by term. Groups come after the terms and are terms from here on.
type plan struct {
	terms int
	lists []postingList
	found []uint64 // live documents by term
}

func (p *plan) of(part int) []postingList { return p.lists[part*p.terms : (part+1)*p.terms] }

// matching returns the number of lists that have postings.
func matching(lists []postingList) int {
	n := 0
	for i := range lists {
		if lists[i].count > 0 {
			n++
		}
	}
	return n
}

// lookUp finds the posting lists of the terms in all segments and counts the live documents of each term.
func (r *Reader) lookUp(ctx context.Context, terms [][]byte, groups [][][]byte, work *Work) (*plan, error) {
	n := len(terms) + len(groups)
	pl := &plan{terms: n, lists: make([]postingList, len(r.parts)*n), found: make([]uint64, n)}
	batch := new(postingBatch)
	for i, p := range r.parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lists := pl.of(i)
		err := guard(p.path, func() error {
			dictionary, err := p.postings.dictionary(Body)
			if err != nil {
				return err
			}
			for t, term := range terms {
				work.Lookups++
				if lists[t], _, err = dictionary.lookup(term); err != nil {
					return err
				}
			}
			for g, group := range groups {
				t := len(terms) + g
				if lists[t], err = p.union(dictionary, group, batch, work); err != nil {
					return err
				}
			}
			for t, list := range lists {
				live, err := p.liveCount(list, batch, work)
				if err != nil {
					return err
				}
				pl.found[t] += live
			}
			return nil
		})
		if err != nil {
			return nil, corrupt(err, p.path, "is damaged")
		}
	}
	return pl, nil
}

// liveCount returns the number of live documents of a list, which it does not consume.
func (p *part) liveCount(list postingList, batch *postingBatch, work *Work) (live uint64, err error) {
	if p.dead == nil {
		return uint64(list.count), nil
	}
	err = list.each(batch, work, func(n int) {
		for _, doc := range batch.docs[:n] {
			live += 1 - p.dead[doc/64]>>(doc%64)&1
		}
	})
	return live, err
}

// asCorruption keeps the error of a cancelled context and makes everything else damage of the file.
func asCorruption(ctx context.Context, err error, path string) error {
	if cause := ctx.Err(); cause != nil && errors.Is(err, cause) {
		return err
	}
	return corrupt(err, path, "is damaged")
}
