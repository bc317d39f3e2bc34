package lexical

// First returns the first limit documents of the set by event id, ascending.
func (r *Reader) First(set *Set, limit int) []Doc {
	return r.pick(set, limit, func(c *Columns, doc uint32) candidate { return candidate{id: c.ID(doc)} })
}

// Newest returns the first limit documents of the set by time (newest first, untimed last), then sequence descending, then id ascending.
func (r *Reader) Newest(set *Set, limit int) []Doc {
	return r.pick(set, limit, func(c *Columns, doc uint32) candidate {
		return candidate{time: c.rawTime(doc), sequence: c.Sequence(doc), id: c.ID(doc)}
	})
}

func (r *Reader) pick(set *Set, limit int, key func(c *Columns, doc uint32) candidate) []Doc {
	best := topK{k: limit}
	var work Work
	for i, p := range r.parts {
		eachBit(p.of(set), func(doc uint32) bool {
			c := key(p.columns, doc)
			c.part, c.doc = int32(i), doc
			best.add(c)
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
