package lexical

import "math"

// BM25 with the usual parameters: k1 bounds what repetitions add, b says how much long documents pay.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// statistics are the totals over live searchable documents.
type statistics struct {
	documents uint64
	tokens    uint64
}

// termScore computes the score of postings of one term:
//
//	idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average length)), idf = ln(1 + (N - df + 0.5) / (df + 0.5))
type termScore struct {
	weight float32 // idf * (k1 + 1)
	base   float32 // k1 * (1 - b)
	slope  float32 // k1 * b / average length
}

func (t termScore) idf() float32 { return t.weight / (bm25K1 + 1) }

// score prepares the scoring of a term that found live documents contain.
func (s statistics) score(found uint64) termScore {
	n, df := float64(s.documents), float64(found)
	idf := math.Log(1 + (n-df+0.5)/(df+0.5))
	return termScore{
		weight: float32(idf * (bm25K1 + 1)),
		base:   bm25K1 * (1 - bm25B),
		slope:  float32(bm25K1 * bm25B * n / float64(s.tokens)),
	}
}

// of returns the score of one posting. The conversions keep compilers from fusing operations, which would round differently from one
// processor to the next.
func (t termScore) of(frequency, length uint32) float32 {
	f := float32(frequency)
	norm := t.base + float32(t.slope*float32(length))
	return float32(t.weight*f) / (f + norm)
}
