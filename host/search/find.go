package search

import (
	"cmp"

	"github.com/agenthistory/ctx/host/lexical"
)

// maxPool is the most candidates that are looked at.
const maxPool = 4096

// minPool is the least number of candidates that a search starts with, however few rows are wanted.
const minPool = 256

// candidate is one matching event.
type candidate struct {
	doc   lexical.Doc
	row   lexical.Row
	whole bool // see lexical.Hit
	score float32
	gain  float32 // what the score has been multiplied by for neighbouring words
}

// key is what candidates are compared by before the ties.
type key struct {
	whole bool
	score float32
}

func (c *candidate) key() key { return key{c.whole, c.score} }

func (k key) less(o key) bool { return k.compare(o) > 0 }

// compare orders the best first.
func (k key) compare(o key) int {
	if k.whole != o.whole {
		if k.whole {
			return -1
		}
		return 1
	}
	return cmp.Compare(o.score, k.score)
}

// result is one row to be made.
type result struct {
	*candidate
	matches int // of the session, within the pool; session rows only
}

// findings is the outcome of the candidate loop.
type findings struct {
	rows      []result
	more      bool
	pool      int
	truncated bool
}

// find answers the query as it was read. When nothing passes, operators are given up step by step: a pasted text that happens to
// hold their forms must find what its words find.
func (r *run) find() (*findings, error) {
	truncated := false
	for allowed := allOperators; ; allowed = r.said.allowed {
		if err := r.understand(allowed); err != nil {
			return nil, err
		}
		f, err := r.collect()
		if err != nil {
			return nil, err
		}
		f.truncated = f.truncated || truncated
		if len(f.rows) > 0 || !r.relax() {
			return f, nil
		}
		truncated = f.truncated
	}
}

// collect fetches candidates and shapes them until more of them cannot change the answer.
func (r *run) collect() (*findings, error) {
	p := pool{run: r}
	documents := int(min(r.gen.Manifest().Stats.Events, maxPool))
	wanted := min(max(8*r.limit, minPool), documents)
	if r.unranked() {
		wanted = documents // every candidate scores the same: no pool is decisive
	}
	for {
		candidates, err := p.first(wanted)
		if err != nil {
			return nil, err
		}
		s, err := r.shape(candidates)
		if err != nil {
			return nil, err
		}
		f := &findings{rows: s.rows, more: s.more, pool: len(candidates)}
		switch {
		case wanted >= p.total || !r.unranked() && s.decisive(r.limit, p.tail(wanted)):
			return f, nil
		case wanted == documents:
			f.truncated = true
			return f, nil
		}
		wanted = min(2*wanted, documents)
	}
}

// fetch returns the best n hits, best first, and the number of all matching documents.
func (r *run) fetch(n int) ([]lexical.Hit, int, error) {
	reader := r.gen.Lexical()
	if r.unranked() {
		set := r.candidates()
		docs := reader.Newest(set, n)
		hits := make([]lexical.Hit, len(docs))
		for i, d := range docs {
			hits[i] = lexical.Hit{Doc: d, Score: 1}
		}
		return hits, set.Count(), nil
	}
	for {
		q := r.lexicalQuery(n)
		q.Filter = r.candidates()
		found, err := reader.Search(r.ctx, q)
		if err != nil {
			return nil, 0, err
		}
		changed, err := r.spell(found.Found)
		if err != nil || !changed {
			return found.Hits, found.Matches, err
		}
		if err := r.understand(r.said.allowed); err != nil {
			return nil, 0, err
		}
	}
}

// candidates returns the documents that the filters and the conditions of the query leave; nil is all. Read only.
func (r *run) candidates() *lexical.Set {
	set := r.said.set
	switch {
	case set == nil && r.filter.plain() && !r.fileOnly:
		return nil
	case set == nil:
		return r.documents()
	}
	return set.Clone().And(r.documents())
}

// pool turns hits into candidates and leaves collapsed copies out.
type pool struct {
	*run
	hits       []lexical.Hit
	fetched    int // hits asked for
	total      int // matching documents
	next       int // hits looked at
	candidates []*candidate
}

// fill makes sure that the best n hits are there. The order of hits is total, so a longer list starts like a shorter one. Every list
// costs a pass over the postings and the first one is nearly always enough, so a second one asks for all there can be.
func (p *pool) fill(n int) error {
	if p.fetched >= n || p.fetched > 0 && p.fetched >= p.total {
		return nil
	}
	want := 2 * n
	if p.fetched > 0 || want > maxPool {
		want = maxPool
	}
	var err error
	p.hits, p.total, err = p.fetch(want)
	p.fetched = want
	return err
}

// first returns the candidates among the first n hits.
func (p *pool) first(n int) ([]*candidate, error) {
	if err := p.fill(n); err != nil {
		return nil, err
	}
	reader := p.gen.Lexical()
	from := p.next
	pass, err := p.passing(p.hits[from:max(from, min(n, len(p.hits)))])
	if err != nil {
		return nil, err
	}
	near := 0
	for ; p.next < min(n, len(p.hits)); p.next++ {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		if pass != nil && !pass[p.next-from] {
			continue
		}
		h := p.hits[p.next]
		row, ok := reader.Row(h.Doc)
		if !ok {
			continue
		}
		if row.Copy {
			matches, err := p.matches()
			if err != nil {
				return nil, err
			}
			gone, err := p.collapsed(h.Doc, matches)
			if err != nil {
				return nil, err
			}
			if gone {
				continue
			}
		}
		p.candidates = append(p.candidates, &candidate{doc: h.Doc, row: row, whole: h.Whole, score: h.Score, gain: 1})
		if p.next < neighbourHits {
			near++
		}
	}
	if from > 0 || p.unranked() {
		return p.candidates, nil
	}
	return p.candidates, p.favourNeighbours(p.candidates[:near])
}

// tail is the key of the weakest of the first n hits. A collapsed copy counts here: what lies behind it is not better.
func (p *pool) tail(n int) key {
	if n = min(n, len(p.hits)); n == 0 {
		return key{}
	}
	h := p.hits[n-1]
	return key{h.Whole, h.Score}
}
