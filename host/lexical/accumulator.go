package lexical

import (
	"context"
	"encoding/binary"
	"sync"
)

// accumulator adds up the coverage and the score of the documents of one segment, term after term. Dense arrays of a segment's size stay
// in the second-level cache and need no lookups; touched makes leaving a segment cost as much as it had matches.
type accumulator struct {
	coverage []uint8
	scores   []float32
	touched  []uint32 // documents with coverage, in order of first contact
	allowed  []uint64
	batch    postingBatch
}

var accumulators = sync.Pool{New: func() any { return new(accumulator) }}

func borrowAccumulator() *accumulator { return accumulators.Get().(*accumulator) }

// giveBack may come at any time, after an error or a panic too.
func (a *accumulator) giveBack() {
	for _, doc := range a.touched {
		a.coverage[doc], a.scores[doc] = 0, 0
	}
	a.touched = a.touched[:0]
	accumulators.Put(a)
}

func (a *accumulator) size(docs uint32) {
	if len(a.coverage) < int(docs) {
		a.coverage = make([]uint8, docs)
		a.scores = make([]float32, docs)
	}
}

// allow returns the documents of the part that may match as bits: live and in the filter. nil means all.
func (a *accumulator) allow(p *part, filter *Set) []uint64 {
	if filter == nil && p.dead == nil {
		return nil
	}
	a.allowed = grow(a.allowed, p.words())
	if filter == nil {
		fill(a.allowed, p)
		return a.allowed
	}
	copy(a.allowed, p.of(filter))
	for i, dead := range p.dead {
		a.allowed[i] &^= dead
	}
	return a.allowed
}

// checkEvery is the number of batches between two looks at the context: some 20,000 postings, well below a millisecond.
const checkEvery = 20

// add adds one posting list: every posting counts for coverage and adds its BM25 score.
func (a *accumulator) add(ctx context.Context, p *part, list postingList, allowed []uint64, score termScore, work *Work) error {
	coverage, scores, touched := a.coverage, a.scores, a.touched
	defer func() { a.touched = touched }()
	lengths := p.columns.tokens
	for round := 1; ; round++ {
		n, err := list.next(&a.batch)
		if n == 0 || err != nil {
			return err
		}
		work.Postings += uint64(n)
		for i, doc := range a.batch.docs[:n] {
			if allowed != nil && allowed[doc/64]>>(doc%64)&1 == 0 {
				continue
			}
			if coverage[doc] == 0 {
				touched = append(touched, doc)
			}
			coverage[doc]++
			scores[doc] += score.of(a.batch.frequencies[i], binary.LittleEndian.Uint32(lengths[4*int(doc):]))
		}
		if round%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// markCovered sets the bits of the live documents that are in at least minCoverage of the lists.
func (a *accumulator) markCovered(ctx context.Context, p *part, lists []postingList, minCoverage int, words []uint64, work *Work) error {
	if minCoverage == 1 {
		for i := range lists {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := lists[i].mark(words, &a.batch, work); err != nil {
				return err
			}
		}
		for i, dead := range p.dead {
			words[i] &^= dead
		}
		return nil
	}
	a.size(p.segment.Docs)
	for _, list := range lists {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := list.each(&a.batch, work, func(n int) {
			for _, doc := range a.batch.docs[:n] {
				if a.coverage[doc] == 0 {
					a.touched = append(a.touched, doc)
				}
				a.coverage[doc]++
			}
		})
		if err != nil {
			return err
		}
	}
	for _, doc := range a.touched {
		if int(a.coverage[doc]) >= minCoverage && !p.isDead(doc) {
			words[doc/64] |= 1 << (doc % 64)
		}
		a.coverage[doc] = 0
	}
	a.touched = a.touched[:0]
	return nil
}
