package lexical

// Newest returns the first limit documents of the set by time (newest first, untimed last), then sequence descending, then id ascending.
func (r *Reader) Newest(set *Set, limit int) []Doc {
	best := topK{k: limit}
	var work Work
	for i, p := range r.parts {
		c := p.columns
		eachBit(p.of(set), func(doc uint32) bool {
			best.add(candidate{time: c.rawTime(doc), sequence: c.Sequence(doc), id: c.ID(doc), part: int32(i), doc: doc})
			work.Rows++
			return true
		})
	}
	r.work.add(work)
	found := best.sorted()
	docs := make([]Doc, len(found))
	for i, c := range found {
		docs[i] = Doc{Segment: r.parts[c.part].segment.ID, Doc: c.doc}
	}
	return docs
}
