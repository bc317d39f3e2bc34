package lexical

import (
	"errors"
	"math"

	"github.com/RoaringBitmap/roaring"
	"github.com/blevesearch/vellum"
	segment "github.com/blugelabs/bluge_segment_api"
)

// engineDictionary is a dictionary as the engine sees it.
type engineDictionary struct {
	dictionary
	segment *engineSegment
	field   Field
}

func (d *engineDictionary) Close() error { return nil }

func (d *engineDictionary) Contains(term []byte) (bool, error) {
	_, found, err := d.lookup(term)
	return found, err
}

func (d *engineDictionary) PostingsList(term []byte, except *roaring.Bitmap, _ segment.PostingsList) (segment.PostingsList, error) {
	list, _, err := d.lookup(term)
	if err != nil {
		return nil, err
	}
	p := &enginePostings{list: list, except: except, live: uint64(list.count), segment: d.segment, field: d.field}
	if except != nil && !except.IsEmpty() {
		batch := new(postingBatch)
		err = list.each(batch, new(Work), func(n int) {
			for _, doc := range batch.docs[:n] {
				if except.Contains(doc) {
					p.live--
				}
			}
		})
	}
	return p, err
}

func (d *engineDictionary) Iterator(shape segment.Automaton, from, to []byte) segment.DictionaryIterator {
	it := &engineTerms{file: d.file, err: vellum.ErrIteratorDone}
	if d.fst == nil {
		return it
	}
	if shape == nil {
		shape = &vellum.AlwaysMatch{}
	}
	it.terms, it.err = d.fst.Search(shape, from, to)
	return it
}

// engineTerms stands on the term that comes next, or on the error that ends it.
type engineTerms struct {
	file  *postingsFile
	terms *vellum.FSTIterator
	err   error
}

type engineTerm struct {
	term  string
	count uint64
}

func (t engineTerm) Term() string  { return t.term }
func (t engineTerm) Count() uint64 { return t.count }

func (it *engineTerms) Close() error { return nil }

func (it *engineTerms) Next() (segment.DictionaryEntry, error) {
	if errors.Is(it.err, vellum.ErrIteratorDone) {
		return nil, nil
	}
	if it.err != nil {
		return nil, it.err
	}
	term, value := it.terms.Current()
	list, err := it.file.list(value)
	if err != nil {
		return nil, err
	}
	entry := engineTerm{string(term), uint64(list.count)}
	it.err = it.terms.Next()
	return entry, nil
}

type enginePostings struct {
	list    postingList
	except  *roaring.Bitmap // nil: none
	live    uint64
	segment *engineSegment
	field   Field
}

func (p *enginePostings) Count() uint64 { return p.live }
func (p *enginePostings) Size() int     { return len(p.list.rest) }

func (p *enginePostings) Iterator(_, norms, _ bool, _ segment.PostingsIterator) (segment.PostingsIterator, error) {
	it := &engineIterator{enginePostings: *p}
	if norms && p.live > 0 {
		t, err := p.segment.totalsOf(p.field)
		if err != nil {
			return nil, err
		}
		it.lengths = t.lengths
	}
	return it, nil
}

type engineIterator struct {
	enginePostings
	lengths []uint32 // nil: no norms wanted
	batch   *postingBatch
	at, n   int // next posting of the batch, and how many it holds
	posting enginePosting
}

func (it *engineIterator) Empty() bool                    { return it.live == 0 }
func (it *engineIterator) Close() error                   { return nil }
func (it *engineIterator) Next() (segment.Posting, error) { return it.Advance(0) }

func (it *engineIterator) Advance(number uint64) (segment.Posting, error) {
	for {
		for ; it.at < it.n; it.at++ {
			doc := it.batch.docs[it.at]
			if uint64(doc) < number || it.except != nil && it.except.Contains(doc) {
				continue
			}
			it.posting = enginePosting{number: uint64(doc), frequency: it.batch.frequencies[it.at]}
			if it.lengths != nil {
				it.posting.length = it.lengths[doc]
			}
			it.at++
			return &it.posting, nil
		}
		if it.batch == nil {
			it.batch = new(postingBatch)
		}
		var err error
		if it.n, err = it.list.next(it.batch); it.n == 0 || err != nil {
			return nil, err
		}
		it.at = 0
	}
}

type enginePosting struct {
	number            uint64
	frequency, length uint32
}

func (p *enginePosting) Number() uint64                { return p.number }
func (p *enginePosting) SetNumber(n uint64)            { p.number = n }
func (p *enginePosting) Frequency() int                { return int(p.frequency) }
func (p *enginePosting) Locations() []segment.Location { return nil }
func (p *enginePosting) Size() int                     { return 16 }

// Norm is the length of the field, in the form in which the engine's BM25 expects it.
func (p *enginePosting) Norm() float64 { return float64(math.Float32frombits(p.length)) }
