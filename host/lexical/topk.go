package lexical

import (
	"cmp"
	"slices"
)

// candidate is a match with everything that its rank depends on.
type candidate struct {
	coverage uint8
	whole    uint8 // 1 = whole
	score    float32
	time     int64 // raw: untimed is smallest
	sequence uint64
	id       uint64
	part     int32
	doc      uint32
}

// compareCandidates is the order of results: whole, score, time, sequence descending, then id ascending. Segment and number only
// decide between documents with one and the same id.
//
// Nearly all comparisons end at the score; cmp.Or would make all seven, a twentieth of a search.
func compareCandidates(a, b *candidate) int {
	switch {
	case a.whole != b.whole:
		return cmp.Compare(b.whole, a.whole)
	case a.score != b.score:
		return cmp.Compare(b.score, a.score)
	case a.time != b.time:
		return cmp.Compare(b.time, a.time)
	case a.sequence != b.sequence:
		return cmp.Compare(b.sequence, a.sequence)
	case a.id != b.id:
		return cmp.Compare(a.id, b.id)
	case a.part != b.part:
		return cmp.Compare(a.part, b.part)
	}
	return cmp.Compare(a.doc, b.doc)
}

// topK keeps the first k candidates in a heap whose root is the last of them.
type topK struct {
	k    int
	heap []candidate
}

// admits reports whether a candidate with these values can be among the first k: a test without its columns, which turns away
// nearly all documents of a large result.
func (t *topK) admits(whole uint8, score float32) bool {
	if len(t.heap) < t.k {
		return t.k > 0
	}
	if t.k <= 0 {
		return false
	}
	last := &t.heap[0]
	return whole > last.whole || whole == last.whole && score >= last.score
}

func (t *topK) add(c candidate) {
	if len(t.heap) < t.k {
		t.heap = append(t.heap, c)
		t.up(len(t.heap) - 1)
		return
	}
	if t.k > 0 && compareCandidates(&c, &t.heap[0]) < 0 {
		t.heap[0] = c
		t.down(0)
	}
}

func (t *topK) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if compareCandidates(&t.heap[parent], &t.heap[i]) >= 0 {
			return
		}
		t.heap[parent], t.heap[i] = t.heap[i], t.heap[parent]
		i = parent
	}
}

func (t *topK) down(i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if compareCandidates(&t.heap[last], &t.heap[child]) < 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		t.heap[last], t.heap[i] = t.heap[i], t.heap[last]
		i = last
	}
}

// sorted returns the candidates, first one first, and leaves the heap empty.
func (t *topK) sorted() []candidate {
	found := t.heap
	t.heap = nil
	slices.SortFunc(found, func(a, b candidate) int { return compareCandidates(&a, &b) })
	return found
}
