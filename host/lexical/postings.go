package lexical

// fieldIndex collects the postings of one field while a segment grows.
//
// The entries of a document are kept as a stream of 32-bit words in blocks that never move: one word (frequency in the upper 8 bits,
// term number in the lower 24) for nearly every entry, three (escape, term number, frequency) where either does not fit. That is about
// 4 bytes an entry, and growing copies nothing.
type fieldIndex struct {
	field   Field
	terms   termTable
	current []entry // of the document being added
	blocks  [][]uint32
	used    int // blocks in use; the last of them may be partly filled
	runs    []docRun
	entries int
}

// entry is one term of the current document.
type entry struct{ term, frequency uint32 }

// docRun is one document that has entries.
type docRun struct {
	doc     uint32
	entries uint32
	length  uint32 // sum of the frequencies
}

const (
	blockWords     = 1 << 16
	frequencyShift = 24
	termMask       = 1<<frequencyShift - 1
	escapeWord     = 0xFF << frequencyShift
	maxFrequency   = 0xFE // larger ones are escaped
)

// minSlots is the smallest hash table of a field: the body of a usual segment fills a large one.
func (f *fieldIndex) minSlots() int {
	if f.field == Body {
		return 1 << 18
	}
	return 1 << 8
}

func (f *fieldIndex) reset() {
	f.terms.reset(f.minSlots())
	f.current = f.current[:0]
	f.used = 0
	f.runs = f.runs[:0]
	f.entries = 0
}

// count notes one occurrence of a term in the current document.
func (f *fieldIndex) count(doc uint32, term []byte, head uint64) {
	id := f.terms.intern(term, head)
	info := &f.terms.infos[id]
	if info.lastDoc == doc+1 {
		f.current[info.entry].frequency++
		return
	}
	info.lastDoc = doc + 1
	info.entry = uint32(len(f.current))
	info.docs++
	f.current = append(f.current, entry{term: id, frequency: 1})
}

// endDocument files the entries of the current document.
func (f *fieldIndex) endDocument(doc uint32) (length uint32) {
	if len(f.current) == 0 {
		return 0
	}
	for _, e := range f.current {
		if f.field != Body {
			e.frequency = 1 // however often
		}
		length += e.frequency
		if e.frequency <= maxFrequency && e.term <= termMask {
			f.appendWord(e.frequency<<frequencyShift | e.term)
			continue
		}
		f.appendWord(escapeWord)
		f.appendWord(e.term)
		f.appendWord(e.frequency)
	}
	f.runs = append(f.runs, docRun{doc: doc, entries: uint32(len(f.current)), length: length})
	f.entries += len(f.current)
	f.current = f.current[:0]
	return length
}

func (f *fieldIndex) appendWord(w uint32) {
	if f.used == 0 || len(f.blocks[f.used-1]) == blockWords {
		if f.used == len(f.blocks) {
			f.blocks = append(f.blocks, make([]uint32, 0, blockWords))
		}
		f.blocks[f.used] = f.blocks[f.used][:0]
		f.used++
	}
	last := &f.blocks[f.used-1]
	*last = append(*last, w)
}

func (f *fieldIndex) size() int {
	return f.terms.size() + f.entries*4 + len(f.runs)*12
}

// wordReader reads the stream of a fieldIndex from its start.
type wordReader struct {
	blocks [][]uint32
	block  []uint32
}

func (f *fieldIndex) words() wordReader { return wordReader{blocks: f.blocks[:f.used]} }

func (r *wordReader) word() uint32 {
	if len(r.block) == 0 {
		r.block, r.blocks = r.blocks[0], r.blocks[1:]
	}
	w := r.block[0]
	r.block = r.block[1:]
	return w
}

func (r *wordReader) entry() (term, frequency uint32) {
	w := r.word()
	if w >= escapeWord {
		term = r.word()
		return term, r.word()
	}
	return w & termMask, w >> frequencyShift
}
