package lexical

import (
	"encoding/binary"
	"errors"

	"github.com/RoaringBitmap/roaring"
	"github.com/blevesearch/vellum"
)

// postingsFile decodes the posting lists of one segment file in bulk.
//
// The engine's own iterator gives one posting a call through three interfaces (54 ns each, measured on lists of a million documents);
// this decoder fills arrays from the same bytes in an eighth of the time. A property test holds the two equal. Bitmaps are walked by roaring:
// a walker of our own was measured to be no faster at decoding (4.1 and 3.9 ms for three common words in 100,000 documents) and to save
// 0.8 microseconds a lookup.
type postingsFile struct {
	body         []byte // the file without its footer
	docs         uint32
	dictionaries [fieldCount][]byte // FST of each field, nil when the field is absent
}

var errPostings = errors.New("posting list is malformed")

// postingList is a looked-up posting list. Copies taken before the first decoding are independent.
type postingList struct {
	docs      *roaring.Bitmap         // over the bytes of the file; nil: no postings
	count     uint32                  // of the postings
	more      roaring.ManyIntIterable // nil: nothing has been decoded
	frequency []byte                  // uvarint pairs (frequency<<1, norm), in document order
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
	frequencies := r.uvarint()
	r.uvarint()
	bitmap := r.take(r.uvarint())
	if r.bad || frequencies >= uint64(len(p.body)) {
		return postingList{}, errPostings
	}
	list := postingList{docs: roaring.New()}
	if n, err := list.docs.FromBuffer(bitmap); err != nil || n != int64(len(bitmap)) || list.docs.IsEmpty() || list.docs.Maximum() >= p.docs {
		return postingList{}, errPostings
	}
	if list.count = uint32(list.docs.GetCardinality()); list.count > p.docs {
		return postingList{}, errPostings
	}
	r = byteReader{rest: p.body[frequencies:]}
	end := uint64(0)
	for range r.uvarint() { // chunks serve random access; one after the other they are the whole list
		if end = r.uvarint(); r.bad {
			return postingList{}, errPostings
		}
	}
	list.frequency = r.take(end)
	if r.bad {
		return postingList{}, errPostings
	}
	return list, nil
}

// batchPostings is how many postings are decoded at once: enough to make calls cheap, few enough for the first-level cache and for
// checking for cancellation between batches.
const batchPostings = 1024

// postingBatch is the buffer of a posting decoder.
type postingBatch struct {
	docs        [batchPostings]uint32
	frequencies [batchPostings]uint32
}

// nextDocs decodes documents only, up to batchPostings of them; 0 at the end.
func (l *postingList) nextDocs(b *postingBatch) int {
	if l.docs == nil {
		return 0
	}
	if l.more == nil {
		l.more = l.docs.ManyIterator()
	}
	return l.more.NextMany(b.docs[:])
}

// next decodes documents and frequencies.
func (l *postingList) next(b *postingBatch) (int, error) {
	n := l.nextDocs(b)
	src := l.frequency
	for i := range n {
		// Nearly always two bytes: a frequency below 64 and the constant norm.
		if len(src) >= 2 {
			if pair := binary.LittleEndian.Uint16(src); pair&0x8080 == 0 {
				b.frequencies[i] = uint32(pair & 0x7F >> 1)
				src = src[2:]
				continue
			}
		}
		frequency, size := binary.Uvarint(src)
		if size <= 0 {
			return 0, errPostings
		}
		_, normSize := binary.Uvarint(src[size:])
		if normSize <= 0 {
			return 0, errPostings
		}
		b.frequencies[i] = uint32(frequency >> 1)
		src = src[size+normSize:]
	}
	l.frequency = src
	return n, nil
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
