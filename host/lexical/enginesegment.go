package lexical

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/RoaringBitmap/roaring"
	"github.com/blugelabs/bluge/index"
	segment "github.com/blugelabs/bluge_segment_api"
)

// segmentType names our segments in the engine's snapshots. Up to 5 bytes: the engine reads the version in one piece only when it lies within 10
// bytes of the entry.
const segmentType = "ctx"

// segmentPlugin lets the engine read our segments. It never writes any: they come from a Builder.
var segmentPlugin = &index.SegmentPlugin{
	Type:    segmentType,
	Version: segmentVersion,
	New: func([]segment.Document, func(string, int) float32) (segment.Segment, uint64, error) {
		return nil, 0, errReadOnly
	},
	Load:  loadEngineSegment,
	Merge: func([]segment.Segment, []*roaring.Bitmap, int) segment.Merger { return noMerger{} },
}

type noMerger struct{}

func (noMerger) WriteTo(io.Writer, chan struct{}) (int64, error) { return 0, errReadOnly }
func (noMerger) DocumentNumbers() [][]uint64                     { return nil }

// engineSegment is a segment as the engine sees it: terms, frequencies and lengths; nothing is stored besides.
type engineSegment struct {
	data   *segment.Data
	file   *postingsFile
	totals [fieldCount]onceTotals
}

func loadEngineSegment(data *segment.Data) (segment.Segment, error) {
	content, err := data.Read(0, data.Len())
	if err != nil {
		return nil, err
	}
	if len(content) < segmentFooter {
		return nil, errors.New("segment is shorter than its footer")
	}
	s := &engineSegment{data: data}
	if s.file, err = parseSegment(content, binary.BigEndian.Uint32(content[len(content)-segmentFooter:])); err != nil {
		return nil, err
	}
	return s, nil
}

func fieldNamed(name string) (Field, bool) {
	for f, known := range fieldNames {
		if known == name {
			return Field(f), true
		}
	}
	return 0, false
}

func (s *engineSegment) Type() string    { return segmentType }
func (s *engineSegment) Version() uint32 { return segmentVersion }
func (s *engineSegment) Count() uint64   { return uint64(s.file.docs) }
func (s *engineSegment) Size() int       { return s.data.Len() }

func (s *engineSegment) WriteTo(w io.Writer, _ chan struct{}) (int64, error) {
	return s.data.WriteTo(w)
}

func (s *engineSegment) VisitStoredFields(uint64, segment.StoredFieldVisitor) error { return nil }

func (s *engineSegment) DocumentValueReader([]string) (segment.DocumentValueReader, error) {
	return noValues{}, nil
}

type noValues struct{}

func (noValues) VisitDocumentValues(uint64, segment.DocumentValueVisitor) error { return nil }

func (s *engineSegment) Fields() (names []string) {
	for f, d := range s.file.dictionaries {
		if d != nil {
			names = append(names, Field(f).String())
		}
	}
	return names
}

// fieldTotals are the statistics of one field. Segments do not hold them (ours come from columns and manifest): the first engine search
// that scores sums the postings up.
type fieldTotals struct {
	total, documents, tokens uint64
	lengths                  []uint32 // sum of the frequencies by document
}

func (t *fieldTotals) TotalDocumentCount() uint64    { return t.total }
func (t *fieldTotals) DocumentCount() uint64         { return t.documents }
func (t *fieldTotals) SumTotalTermFrequency() uint64 { return t.tokens }

func (t *fieldTotals) Merge(other segment.CollectionStats) {
	t.total += other.TotalDocumentCount()
	t.documents += other.DocumentCount()
	t.tokens += other.SumTotalTermFrequency()
}

func (s *engineSegment) sumUp(f Field) (*fieldTotals, error) {
	t := &fieldTotals{total: s.Count(), lengths: make([]uint32, s.file.docs)}
	var failed error
	batch, work := new(postingBatch), new(Work)
	err := s.file.eachTerm(f, func(_ []byte, value uint64) bool {
		var list postingList
		if list, failed = s.file.list(value); failed != nil {
			return false
		}
		failed = list.each(batch, work, func(n int) {
			for i, doc := range batch.docs[:n] {
				t.lengths[doc] += batch.frequencies[i]
			}
		})
		return failed == nil
	})
	for _, n := range t.lengths {
		t.documents += uint64(min(n, 1))
		t.tokens += uint64(n)
	}
	return t, errors.Join(err, failed)
}

type onceTotals struct {
	once sync.Once
	t    *fieldTotals
	err  error
}

func (s *engineSegment) totalsOf(f Field) (*fieldTotals, error) {
	o := &s.totals[f]
	o.once.Do(func() { o.t, o.err = s.sumUp(f) })
	return o.t, o.err
}

// CollectionStats returns a copy, since the engine merges the statistics of other segments into it.
func (s *engineSegment) CollectionStats(name string) (segment.CollectionStats, error) {
	f, known := fieldNamed(name)
	if !known {
		return &fieldTotals{total: s.Count()}, nil
	}
	t, err := s.totalsOf(f)
	if err != nil {
		return nil, err
	}
	return &fieldTotals{total: t.total, documents: t.documents, tokens: t.tokens}, nil
}

func (s *engineSegment) DocsMatchingTerms(terms []segment.Term) (*roaring.Bitmap, error) {
	docs := roaring.New()
	batch := new(postingBatch)
	for _, t := range terms {
		d, err := s.dictionary(t.Field())
		if err != nil {
			return nil, err
		}
		list, _, err := d.lookup(t.Term())
		if err == nil {
			err = list.each(batch, new(Work), func(n int) { docs.AddMany(batch.docs[:n]) })
		}
		if err != nil {
			return nil, err
		}
	}
	return docs, nil
}

func (s *engineSegment) Dictionary(name string) (segment.Dictionary, error) {
	return s.dictionary(name)
}

func (s *engineSegment) dictionary(name string) (*engineDictionary, error) {
	d := &engineDictionary{segment: s, dictionary: dictionary{file: s.file}}
	f, known := fieldNamed(name)
	if !known {
		return d, nil
	}
	d.field = f
	var err error
	d.dictionary, err = s.file.dictionary(f)
	return d, err
}
