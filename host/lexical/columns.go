package lexical

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring"
)

// Layout of a column file, little endian, revision 2:
//
//	0   8  magic "ctxcols" and the revision
//	8   4  documents
//	12  4  eligible documents
//	16  4  searchable documents
//	20  4  documents with a time
//	24  8  tokens of the searchable documents
//	32  8  smallest and
//	40  8  largest time of the documents with one (0 when none)
//	48  4  smallest and
//	52  4  largest session of the documents
//	56  4  number of sessions with an eligible document
//	60  4  CRC-32 (IEEE) of what follows the header
//	64  4  CRC-32 of the 64 bytes before
//	68     these sessions, ascending, u32 each
//	       the columns, one after the other, one value a document: id u64, time i64 (smallest = untimed), sequence u64, session u32,
//	       source u32, tokens u32, provider u16, type u8, role u8, scope u8, flags u8
const (
	columnMagic  = "ctxcols\x02"
	columnHeader = 68
	columnWidth  = 8*3 + 4*3 + 2 + 4

	flagEligible = 1 << 0
	flagCopy     = 1 << 1
)

// writeColumns writes the column file of the rows.
func writeColumns(w io.Writer, rows []Row, tokens []uint32, t totals) error {
	buf := make([]byte, columnHeader, columnHeader+4*len(t.sessions)+len(rows)*columnWidth)
	for _, session := range t.sessions {
		buf = binary.LittleEndian.AppendUint32(buf, session)
	}
	buf = appendColumns(buf, rows, tokens)
	t.put(buf)
	_, err := w.Write(buf)
	return err
}

func appendColumns(buf []byte, rows []Row, tokens []uint32) []byte {
	le := binary.LittleEndian
	column := func(value func(i int, r *Row)) {
		for i := range rows {
			value(i, &rows[i])
		}
	}
	column(func(_ int, r *Row) { buf = le.AppendUint64(buf, r.ID) })
	column(func(_ int, r *Row) { buf = le.AppendUint64(buf, uint64(storedTime(r))) })
	column(func(_ int, r *Row) { buf = le.AppendUint64(buf, r.Sequence) })
	column(func(_ int, r *Row) { buf = le.AppendUint32(buf, r.Session) })
	column(func(_ int, r *Row) { buf = le.AppendUint32(buf, r.Source) })
	column(func(i int, _ *Row) { buf = le.AppendUint32(buf, tokens[i]) })
	column(func(_ int, r *Row) { buf = le.AppendUint16(buf, r.Provider) })
	column(func(_ int, r *Row) { buf = append(buf, r.Type) })
	column(func(_ int, r *Row) { buf = append(buf, r.Role) })
	column(func(_ int, r *Row) { buf = append(buf, r.Scope) })
	column(func(_ int, r *Row) {
		var flags byte
		if r.Eligible {
			flags |= flagEligible
		}
		if r.Copy {
			flags |= flagCopy
		}
		buf = append(buf, flags)
	})
	return buf
}

// storedTime keeps the smallest value for "untimed"; the one real time that has it is stored a millisecond later, 292 million years ago.
func storedTime(r *Row) int64 {
	if !r.Timed {
		return untimed
	}
	return max(r.Time, untimed+1)
}

// totals are the sums and bounds of a segment as it was written.
type totals struct {
	docs, searchable, timed uint32
	tokens                  uint64
	minTime, maxTime        int64
	minSession, maxSession  uint32
	eligible                uint32
	sessions                []uint32 // that have an eligible document, ascending
}

func sumUp(rows []Row, tokens []uint32) totals {
	t := totals{docs: uint32(len(rows)), minTime: math.MaxInt64, maxTime: math.MinInt64, minSession: math.MaxUint32}
	for i := range rows {
		r := &rows[i]
		if tokens[i] > 0 {
			t.searchable++
			t.tokens += uint64(tokens[i])
		}
		t.minSession, t.maxSession = min(t.minSession, r.Session), max(t.maxSession, r.Session)
		if r.Eligible {
			t.eligible++
			if n := len(t.sessions); n == 0 || t.sessions[n-1] != r.Session {
				t.sessions = append(t.sessions, r.Session)
			}
		}
		if r.Timed {
			t.timed++
			t.minTime, t.maxTime = min(t.minTime, storedTime(r)), max(t.maxTime, storedTime(r))
		}
	}
	if t.timed == 0 {
		t.minTime, t.maxTime = 0, 0
	}
	slices.Sort(t.sessions)
	t.sessions = slices.Compact(t.sessions)
	return t
}

// put writes the header of a file whose columns are there.
func (t totals) put(file []byte) {
	le := binary.LittleEndian
	copy(file, columnMagic)
	le.PutUint32(file[8:], t.docs)
	le.PutUint32(file[12:], t.eligible)
	le.PutUint32(file[16:], t.searchable)
	le.PutUint32(file[20:], t.timed)
	le.PutUint64(file[24:], t.tokens)
	le.PutUint64(file[32:], uint64(t.minTime))
	le.PutUint64(file[40:], uint64(t.maxTime))
	le.PutUint32(file[48:], t.minSession)
	le.PutUint32(file[52:], t.maxSession)
	le.PutUint32(file[56:], uint32(len(t.sessions)))
	le.PutUint32(file[60:], crc32.ChecksumIEEE(file[columnHeader:]))
	le.PutUint32(file[64:], crc32.ChecksumIEEE(file[:64]))
}

// Columns gives access to the column values of one segment. Documents are numbered 0 to Docs()-1; any other number panics.
// Safe for concurrent use until Close.
type Columns struct {
	file mapping
	totals

	id, time, sequence          []byte
	session, source, tokens     []byte
	provider, eligibleIn        []byte // the latter are the sessions of totals
	typ, role, scope, flagBytes []byte
}

// OpenColumns opens a column file. It checks the header and the length, not the columns (Verify does).
func OpenColumns(path string) (*Columns, error) {
	file, err := openMapping(path)
	if err != nil {
		return nil, corrupt(err, path, "cannot be opened")
	}
	c := &Columns{file: file}
	if err := c.parse(); err != nil {
		file.close()
		return nil, corrupt(err, path, "is damaged")
	}
	return c, nil
}

func (c *Columns) parse() error {
	file, le := c.file.data, binary.LittleEndian
	switch {
	case len(file) < columnHeader:
		return errors.New("column file is shorter than its header")
	case string(file[:len(columnMagic)]) != columnMagic:
		return errors.New("column file has an unknown magic or revision")
	case le.Uint32(file[64:]) != crc32.ChecksumIEEE(file[:64]):
		return errors.New("column header checksum differs")
	}
	c.totals = totals{
		docs: le.Uint32(file[8:]), searchable: le.Uint32(file[16:]), timed: le.Uint32(file[20:]), tokens: le.Uint64(file[24:]),
		minTime: int64(le.Uint64(file[32:])), maxTime: int64(le.Uint64(file[40:])),
		minSession: le.Uint32(file[48:]), maxSession: le.Uint32(file[52:]), eligible: le.Uint32(file[12:]),
	}
	sessions := le.Uint32(file[56:])
	if want := columnHeader + 4*int64(sessions) + int64(c.docs)*columnWidth; int64(len(file)) != want {
		return fmt.Errorf("column file has %d bytes, want %d", len(file), want)
	}
	listed := columnHeader + 4*int(sessions)
	rest := file[listed:]
	c.eligibleIn = file[columnHeader:listed]
	take := func(width int) []byte {
		n := int(c.docs) * width
		column := rest[:n:n]
		rest = rest[n:]
		return column
	}
	c.id, c.time, c.sequence = take(8), take(8), take(8)
	c.session, c.source, c.tokens = take(4), take(4), take(4)
	c.provider = take(2)
	c.typ, c.role, c.scope, c.flagBytes = take(1), take(1), take(1), take(1)
	return nil
}

// Close releases the file. Nothing of c may be used afterwards.
func (c *Columns) Close() error { return c.file.close() }

// Verify compares the columns with their checksum: it reads the whole file.
func (c *Columns) Verify() error {
	if binary.LittleEndian.Uint32(c.file.data[60:]) != crc32.ChecksumIEEE(c.file.data[columnHeader:]) {
		return errors.New("column checksum differs")
	}
	return nil
}

func (c *Columns) Docs() uint32 { return c.docs }

func (c *Columns) ID(doc uint32) uint64 { return binary.LittleEndian.Uint64(c.id[8*int(doc):]) }

// Time returns the time in Unix milliseconds, and false for an untimed document.
func (c *Columns) Time(doc uint32) (ms int64, timed bool) {
	t := c.rawTime(doc)
	if t == untimed {
		return 0, false
	}
	return t, true
}

// rawTime orders untimed documents before all others.
func (c *Columns) rawTime(doc uint32) int64 {
	return int64(binary.LittleEndian.Uint64(c.time[8*int(doc):]))
}

func (c *Columns) Sequence(doc uint32) uint64 {
	return binary.LittleEndian.Uint64(c.sequence[8*int(doc):])
}

func (c *Columns) Session(doc uint32) uint32 {
	return binary.LittleEndian.Uint32(c.session[4*int(doc):])
}

func (c *Columns) Source(doc uint32) uint32 { return binary.LittleEndian.Uint32(c.source[4*int(doc):]) }

// Tokens returns the number of body tokens, repetitions included.
func (c *Columns) Tokens(doc uint32) uint32 { return binary.LittleEndian.Uint32(c.tokens[4*int(doc):]) }

func (c *Columns) Provider(doc uint32) uint16 {
	return binary.LittleEndian.Uint16(c.provider[2*int(doc):])
}

func (c *Columns) Type(doc uint32) uint8    { return c.typ[doc] }
func (c *Columns) Role(doc uint32) uint8    { return c.role[doc] }
func (c *Columns) Scope(doc uint32) uint8   { return c.scope[doc] }
func (c *Columns) Eligible(doc uint32) bool { return c.flagBytes[doc]&flagEligible != 0 }
func (c *Columns) Copy(doc uint32) bool     { return c.flagBytes[doc]&flagCopy != 0 }

// Row returns all values of a document as they were added.
func (c *Columns) Row(doc uint32) Row {
	ms, timed := c.Time(doc)
	return Row{
		ID: c.ID(doc), Time: ms, Timed: timed, Sequence: c.Sequence(doc), Session: c.Session(doc), Source: c.Source(doc),
		Provider: c.Provider(doc), Type: c.Type(doc), Role: c.Role(doc), Scope: c.Scope(doc),
		Eligible: c.Eligible(doc), Copy: c.Copy(doc),
	}
}

// Describe returns the manifest entry of the segment with the given documents deleted (nil: none). The cost follows their number.
func (c *Columns) Describe(id uint32, deleted *roaring.Bitmap) Segment {
	s := Segment{ID: id, Docs: c.docs, Live: c.docs, Searchable: c.searchable, Tokens: c.totals.tokens}
	if deleted == nil {
		return s
	}
	for it := deleted.Iterator(); it.HasNext(); {
		doc := it.Next()
		if doc >= c.docs {
			break
		}
		s.Live--
		if n := c.Tokens(doc); n > 0 {
			s.Searchable--
			s.Tokens -= uint64(n)
		}
	}
	return s
}
