package lexical

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/blevesearch/vellum"
)

// Expand returns the body terms that begin with a prefix, at most most of them: those in the most live documents, equal ones in byte
// order. more tells that there were others.
func (r *Reader) Expand(prefix []byte, most int) (terms [][]byte, more bool, err error) {
	after := append(bytes.Clone(prefix), 0xFF) // no token holds that byte
	found, err := r.frequencies(&vellum.AlwaysMatch{}, prefix, after)
	if err != nil {
		return nil, false, err
	}
	more = len(found) > most
	for _, f := range found[:min(most, len(found))] {
		terms = append(terms, []byte(f.term))
	}
	return terms, more, nil
}

// termCount is a term and the number of live documents that contain it.
type termCount struct {
	term      string
	documents uint64
}

// frequencies lists the body terms of a part of the dictionary that live documents contain, the most frequent first.
func (r *Reader) frequencies(shape vellum.Automaton, from, to []byte) ([]termCount, error) {
	counts := map[string]uint64{}
	var work Work
	defer func() { r.work.add(work) }()
	batch := new(postingBatch)
	for _, p := range r.parts {
		err := guard(p.path, func() error {
			var failed error
			err := p.postings.eachTermIn(Body, shape, from, to, func(term []byte, value uint64) bool {
				work.DictionaryTerms++
				var list postingList
				if list, failed = p.postings.list(value); failed != nil {
					return false
				}
				var live uint64
				live, failed = p.liveCount(list, batch, &work)
				counts[string(term)] += live
				return failed == nil
			})
			return cmp.Or(failed, err)
		})
		if err != nil {
			return nil, corrupt(err, p.path, "is damaged")
		}
	}
	found := make([]termCount, 0, len(counts))
	for term, n := range counts {
		if n > 0 {
			found = append(found, termCount{term, n})
		}
	}
	slices.SortFunc(found, func(a, b termCount) int {
		return cmp.Or(cmp.Compare(b.documents, a.documents), cmp.Compare(a.term, b.term))
	})
	return found, nil
}

// union makes one posting list of a group: a document has it as often as it has all members together.
func (p *part) union(d dictionary, group [][]byte, batch *postingBatch, work *Work) (postingList, error) {
	var counts []uint32 // by document
	count := uint32(0)
	for _, term := range group {
		work.Lookups++
		list, found, err := d.lookup(term)
		if err != nil {
			return postingList{}, err
		}
		if !found {
			continue
		}
		if counts == nil {
			counts = make([]uint32, p.segment.Docs)
		}
		err = list.each(batch, work, func(n int) {
			for i, doc := range batch.docs[:n] {
				if counts[doc] == 0 {
					count++
				}
				counts[doc] += batch.frequencies[i]
			}
		})
		if err != nil {
			return postingList{}, err
		}
	}
	var list listWriter
	for doc, n := range counts {
		if n > 0 {
			list.add(uint32(doc), n)
		}
	}
	return postingList{count: count, left: count, rest: list.b, docs: p.segment.Docs}, nil
}
