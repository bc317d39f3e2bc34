package lexical

import (
	"errors"

	"github.com/blevesearch/vellum"
)

// postingsFile finds the posting lists of one segment file.
type postingsFile struct {
	body         []byte // the file without its table of fields and footer
	docs         uint32
	dictionaries [fieldCount][]byte // FST of each field, nil when the field is absent
}

var errPostings = errors.New("posting list is malformed")

// postingList is a looked-up posting list, which is decoded in batches. Copies are independent.
type postingList struct {
	count uint32 // of the postings
	left  uint32 // of them not decoded yet
	rest  []byte // their encoding, see listWriter
	from  uint32 // least document that may follow
	docs  uint32 // of the segment
}

// dictionary finds the posting lists of one field.
type dictionary struct {
	file *postingsFile
	fst  *vellum.FST // nil: the segment does not have the field
}

func (p *postingsFile) dictionary(field Field) (dictionary, error) {
	if p.dictionaries[field] == nil {
		return dictionary{file: p}, nil
	}
	fst, err := vellum.Load(p.dictionaries[field])
	return dictionary{file: p, fst: fst}, err
}

// lookup finds the posting list of a term; without one the list is empty.
func (d dictionary) lookup(term []byte) (list postingList, found bool, err error) {
	if d.fst == nil {
		return postingList{}, false, nil
	}
	value, found, err := d.fst.Get(term)
	if err != nil || !found {
		return postingList{}, false, err
	}
	list, err = d.file.list(value)
	return list, err == nil, err
}

// list opens the posting list that a dictionary value stands for.
func (p *postingsFile) list(value uint64) (postingList, error) {
	if value >= uint64(len(p.body)) {
		return postingList{}, errPostings
	}
	r := byteReader{rest: p.body[value:]}
	count := r.uvarint()
	if r.bad || count == 0 || count > uint64(p.docs) {
		return postingList{}, errPostings
	}
	return postingList{count: uint32(count), left: uint32(count), rest: r.rest, docs: p.docs}, nil
}

// batchPostings is how many postings are decoded at once: enough to make calls cheap, few enough for the first-level cache and for
// checking for cancellation between batches.
const batchPostings = 1024

// postingBatch is the buffer of a posting decoder.
type postingBatch struct {
	docs        [batchPostings]uint32
	frequencies [batchPostings]uint32
}

// next decodes up to batchPostings postings; 0 at the end.
func (l *postingList) next(b *postingBatch) (int, error) {
	n := min(int(l.left), batchPostings)
	r := byteReader{rest: l.rest}
	doc := uint64(l.from)
	for i := range n {
		skipped := r.short()
		frequency := uint64(1)
		if skipped&1 != 0 {
			frequency = r.short()
		}
		if doc += skipped >> 1; doc >= uint64(l.docs) {
			return 0, errPostings
		}
		b.docs[i], b.frequencies[i] = uint32(doc), uint32(frequency)
		doc++
	}
	if r.bad {
		return 0, errPostings
	}
	l.rest, l.from, l.left = r.rest, uint32(doc), l.left-uint32(n)
	return n, nil
}

// each decodes what is left of the list and calls visit with the number of postings in every batch.
func (l *postingList) each(b *postingBatch, work *Work, visit func(n int)) error {
	for {
		n, err := l.next(b)
		if n == 0 || err != nil {
			return err
		}
		work.Postings += uint64(n)
		visit(n)
	}
}

// eachTerm enumerates a dictionary in byte order until visit returns false. The term is only valid during the call.
func (p *postingsFile) eachTerm(field Field, visit func(term []byte, value uint64) bool) error {
	return p.eachTermIn(field, &vellum.AlwaysMatch{}, nil, nil, visit)
}

// eachTermIn enumerates the terms that are in [from, to), nil being no bound, and that the automaton accepts.
func (p *postingsFile) eachTermIn(field Field, shape vellum.Automaton, from, to []byte, visit func(term []byte, value uint64) bool) error {
	d, err := p.dictionary(field)
	if err != nil || d.fst == nil {
		return err
	}
	it, err := d.fst.Search(shape, from, to)
	for ; err == nil; err = it.Next() {
		if term, value := it.Current(); !visit(term, value) {
			return nil
		}
	}
	if errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return err
}
