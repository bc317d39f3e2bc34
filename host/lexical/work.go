package lexical

import "sync"

// Work counts what calls did. Tests and explanations use it instead of times.
type Work struct {
	Segments        uint64 // segments read
	SegmentsSkipped uint64 // segments that bounds, filters or dictionaries ruled out
	Lookups         uint64 // dictionary lookups
	Postings        uint64 // postings decoded
	Rows            uint64 // column rows looked at one by one
	DictionaryTerms uint64 // dictionary terms enumerated
}

func (w *Work) add(o Work) {
	w.Segments += o.Segments
	w.SegmentsSkipped += o.SegmentsSkipped
	w.Lookups += o.Lookups
	w.Postings += o.Postings
	w.Rows += o.Rows
	w.DictionaryTerms += o.DictionaryTerms
}

type workCounter struct {
	mu   sync.Mutex
	work Work
}

func (c *workCounter) add(w Work) {
	c.mu.Lock()
	c.work.add(w)
	c.mu.Unlock()
}

// Work returns the counts of all calls of the reader so far.
func (r *Reader) Work() Work {
	r.work.mu.Lock()
	defer r.work.mu.Unlock()
	return r.work.work
}
