package search

import (
	"slices"
	"strings"
)

// Words of a query that follow each other are often meant together. The index does not know where words stand, so the texts of the
// first hits are read, and those gain in which neighbours of the query are neighbours too. How many hits are read does not depend on
// the limit, so neither does the order.
const (
	neighbourHits = 24
	neighbourGain = float32(0.2) // of the score, when all neighbours are
)

// neighbours are the pairs of words that follow each other in the text of a query, as phrases to look for.
func (u *understanding) neighbours() *tests {
	t := &tests{words: map[string]int32{}}
	for _, rd := range u.readings {
		words := tokens(strings.Join(rd.text, " "))
		for i := 1; i < len(words); i++ {
			pair := t.numbers(phrase{tokens: words[i-1 : i+1]})
			if !slices.ContainsFunc(t.phrases, func(p []int32) bool { return slices.Equal(p, pair) }) {
				t.phrases = append(t.phrases, pair)
			}
		}
	}
	return t
}

// favourNeighbours raises the scores of the first candidates where words are neighbours, and restores their order. All others stand
// behind them already, and no score sinks.
func (r *run) favourNeighbours(candidates []*candidate) error {
	pairs := r.said.neighbours()
	if len(pairs.phrases) == 0 {
		return nil
	}
	err := inParallel(len(candidates), func(w *rowReader, i int) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		c := candidates[i]
		if err := w.read(r.gen, c.doc); err != nil {
			return err
		}
		places, found := pairs.places(w.text.Text), 0
		for _, pair := range pairs.phrases {
			found += len(occurrences(places, pair, 1))
		}
		c.gain = 1 + neighbourGain*float32(found)/float32(len(pairs.phrases))
		c.score *= c.gain
		return nil
	})
	slices.SortStableFunc(candidates, func(a, b *candidate) int { return a.key().compare(b.key()) })
	return err
}
