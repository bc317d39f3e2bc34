package lexical

import "math"

// Row holds the values of one document that filters and ordering need.
type Row struct {
	ID       uint64 // first 8 bytes of the event UUID, big endian: compares like the UUID
	Time     int64  // Unix milliseconds, meaningful when Timed
	Timed    bool
	Sequence uint64
	Session  uint32 // session ordinal
	Source   uint32 // source ordinal
	Provider uint16
	Type     uint8 // event type code, chooses the class weight
	Role     uint8
	Scope    uint8
	Eligible bool // may be found by ranked search; the text of any other document is not indexed
	Copy     bool // carries a proven copy claim
}

// Doc names a document: segment id and number inside the segment.
type Doc struct {
	Segment uint32
	Doc     uint32
}

// Term is one value of a keyword field. An empty value is ignored.
type Term struct {
	Field Field
	Value []byte
}

// Segment describes one segment of a generation as its manifest records it. The counts are over live documents: they are the
// statistics of ranking, see Columns.Describe.
type Segment struct {
	ID         uint32
	Docs       uint32 // documents in the file, deleted ones included
	Live       uint32
	Searchable uint32 // live documents with text
	Tokens     uint64 // body tokens of the searchable documents
}

// untimed is the stored time of a document without one: it sorts after every real time in descending order.
const untimed = math.MinInt64
