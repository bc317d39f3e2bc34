package lexical

import "context"

// Explanation is what a query weighs, and the parts of scores.
type Explanation struct {
	Terms []TermWeight // of every distinct term in byte order, then of every group
	Docs  []DocScore   // of the documents asked for
}

// TermWeight is the part of a term that is the same everywhere.
type TermWeight struct {
	Documents uint64 // live documents that contain it
	IDF       float32
}

// DocScore is the score of one document in its parts: (the sum of the terms) x weight x share.
type DocScore struct {
	Terms   []TermScore // aligned with those of the explanation
	Tokens  uint32      // length of the document
	Covered int
	Weight  float32 // class weight
	Share   float32 // covered part of the terms
	Score   float32
}

// TermScore is what one term adds: IDF x TF.
type TermScore struct {
	Frequency uint32 // in this document
	TF        float32
	Score     float32
}

// Explain computes the scores that a search gives to documents once more, part by part.
func (r *Reader) Explain(ctx context.Context, q Query, docs []Doc) (*Explanation, error) {
	terms, err := distinctTerms(q.Terms, len(q.Groups))
	if err != nil {
		return nil, err
	}
	var work Work
	defer func() { r.work.add(work) }()
	plan, err := r.lookUp(ctx, terms, q.Groups, &work)
	if err != nil {
		return nil, err
	}
	scores := r.scores(plan)
	e := &Explanation{Terms: make([]TermWeight, len(scores)), Docs: make([]DocScore, len(docs))}
	for t := range scores {
		e.Terms[t] = TermWeight{plan.found[t], scores[t].idf()}
	}
	for i, d := range docs {
		at, ok := r.byID[d.Segment]
		if !ok {
			continue
		}
		p := r.parts[at]
		err := guard(p.path, func() error { return p.explain(d.Doc, plan.of(at), scores, &q, &e.Docs[i], &work) })
		if err != nil {
			return nil, asCorruption(ctx, err, p.path)
		}
	}
	return e, nil
}

func (p *part) explain(doc uint32, lists []postingList, scores []termScore, q *Query, d *DocScore, work *Work) error {
	d.Terms, d.Tokens, d.Weight = make([]TermScore, len(lists)), p.columns.Tokens(doc), 1
	for t, list := range lists {
		one := &d.Terms[t]
		var err error
		if one.Frequency, err = list.frequencyOf(doc, work); err != nil {
			return err
		}
		if one.Frequency == 0 {
			continue
		}
		one.Score = scores[t].of(one.Frequency, d.Tokens)
		one.TF = one.Score / scores[t].idf()
		d.Covered++
		d.Score += one.Score
	}
	d.Share = float32(d.Covered) / float32(len(lists))
	if q.Weights != nil {
		d.Weight = q.Weights[p.columns.Type(doc)]
		d.Score *= d.Weight
	}
	d.Score *= d.Share
	return nil
}

// frequencyOf returns how often a document has the term. It consumes the list.
func (l *postingList) frequencyOf(doc uint32, work *Work) (uint32, error) {
	batch := new(postingBatch)
	for {
		n, err := l.next(batch)
		if n == 0 || err != nil {
			return 0, err
		}
		work.Postings += uint64(n)
		for i, at := range batch.docs[:n] {
			if at == doc {
				return batch.frequencies[i], nil
			}
		}
		if batch.docs[n-1] > doc {
			return 0, nil
		}
	}
}
