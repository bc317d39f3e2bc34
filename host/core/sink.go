package core

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// Sizes of a segment, in documents. Large archives get larger segments, so that a search touches fewer.
const (
	segmentDocs      = 20_000
	segmentDocsLarge = 60_000
	largeArchive     = 1_000_000 // events
)

// builtSegment is a segment that is complete on disk.
type builtSegment struct {
	segment  lexical.Segment
	postings File
	columns  File
	records  stagedTable
}

// sink builds one segment after the other: the text index in memory, the records straight to disk. Used by one worker at a time.
type sink struct {
	c       *Candidate
	options sstable.WriterOptions
	builder *lexical.Builder
	limit   int // bytes of memory of the builder
	entries runBuffer

	id      uint32 // of the open segment
	records *table // nil: no segment is open
	docs    uint32

	encoded []byte
	text    record.Projection
	terms   []lexical.Term
	key     [recordKeySize]byte
}

func newSink(c *Candidate, pool *lexical.Pool, limit int) *sink {
	return &sink{c: c, options: tableOptions(recordBlock), builder: lexical.NewBuilder(pool), limit: limit, entries: runBuffer{runs: c.runs}}
}

// add stores an event of a session of a source and returns where; encoded is valid until the next call.
func (k *sink) add(e *record.Event, source uint32, provider uint16) (doc lexical.Doc, encoded []byte, err error) {
	if err := k.start(); err != nil {
		return doc, nil, err
	}
	doc = lexical.Doc{Segment: k.id, Doc: k.docs}
	k.encoded = record.Encode(k.encoded[:0], e)
	if err := k.records.set(recordKey(k.key[:], doc), k.encoded); err != nil {
		return doc, nil, err
	}
	row := rowOf(e, source, provider)
	k.text.Fill(e)
	if got := k.builder.Add(k.text.Text, k.exact(e), row); got != doc.Doc {
		return doc, nil, fmt.Errorf("segment %d numbers document %d as %d", k.id, doc.Doc, got)
	}
	k.docs++
	return doc, k.encoded, k.index(e, row, doc)
}

// rowOf gives the columns of an event.
func rowOf(e *record.Event, source uint32, provider uint16) lexical.Row {
	row := lexical.Row{
		ID: uuid8(e.ID), Timed: e.Timed, Sequence: e.Sequence, Session: e.Session, Source: source, Provider: provider,
		Type: record.TypeCode(e.Type), Role: record.RoleCode(e.Role), Scope: uint8(e.Scope),
		Eligible: e.Discoverable(), Copy: e.Copy != nil,
	}
	if e.Timed {
		row.Time = e.OccurredAt
	}
	return row
}

// exact gives the values of the keyword fields.
func (k *sink) exact(e *record.Event) []lexical.Term {
	k.terms = append(k.terms[:0],
		lexical.Term{Field: lexical.EventType, Value: []byte(e.Type)},
		lexical.Term{Field: lexical.Role, Value: []byte(e.Role)})
	if e.Activity == nil {
		return k.terms
	}
	for i := range e.Activity.Facts {
		f := &e.Activity.Facts[i]
		k.terms = append(k.terms, lexical.Term{Field: factFields[f.Kind], Value: f.Value})
	}
	return k.terms
}

// factFields maps the kinds of facts to index fields.
var factFields = func() (fields [256]lexical.Field) {
	for _, kind := range record.FactKinds() {
		f, ok := lexical.FactField(kind.String())
		if !ok {
			panic("no index field for facts of kind " + kind.String())
		}
		fields[kind] = f
	}
	return fields
}()

// index adds the secondary keys.
func (k *sink) index(e *record.Event, row lexical.Row, doc lexical.Doc) error {
	if err := k.entries.addRow(row, e.Session, e.Sequence, e.Suborder, doc, false); err != nil || e.Copy == nil {
		return err
	}
	return k.entries.add(runCopy, entry{a: uuid8(e.Copy.Event), pos: position(doc, false)})
}

// start opens a segment unless one is open.
func (k *sink) start() error {
	if k.records != nil {
		return nil
	}
	id, err := k.c.newSegment()
	if err != nil {
		return err
	}
	k.id, k.docs = id, 0
	k.records, err = k.c.store.newTable(filepath.Join(k.c.path, stagingDir, fmt.Sprintf("%012x.sst", id)), k.options)
	return err
}

// full tells whether the open segment has reached its size.
func (k *sink) full(target uint32) bool {
	return k.records != nil && (k.docs >= target || k.builder.Size() >= k.limit)
}

// flush completes the open segment, if there is one.
func (k *sink) flush() error {
	if k.records == nil {
		return nil
	}
	s := k.c.store
	if err := s.step(StepSegment); err != nil {
		return err
	}
	built := builtSegment{}
	var err error
	if built.records, err = k.records.close(); err != nil {
		return err
	}
	entries := k.records.entries
	k.records = nil
	seg, err := s.newOutput(filepath.Join(k.c.path, textDir, lexical.SegmentFile(k.id)))
	if err != nil {
		return err
	}
	col, err := s.newOutput(filepath.Join(k.c.path, textDir, lexical.ColumnFile(k.id)))
	if err != nil {
		return errors.Join(err, seg.file.Close())
	}
	segment, err := k.builder.Flush(seg, col)
	var segErr, colErr error
	built.postings, segErr = seg.close(textDir + "/" + lexical.SegmentFile(k.id))
	built.columns, colErr = col.close(textDir + "/" + lexical.ColumnFile(k.id))
	if err := errors.Join(err, segErr, colErr); err != nil {
		return err
	}
	if segment.Docs != k.docs || uint64(k.docs) != entries {
		return fmt.Errorf("segment %d holds %d documents and %d records of %d events", k.id, segment.Docs, entries, k.docs)
	}
	segment.ID = k.id
	built.segment = segment
	k.c.addSegment(built)
	return nil
}

func (k *sink) abandon() {
	if k.records != nil {
		k.records.abandon()
		k.records = nil
	}
}

// newSegment gives out a segment id.
func (c *Candidate) newSegment() (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manifest.Next.Segment >= math.MaxInt32 { // run entries have 31 bits for it
		return 0, errors.New("no segment ids left")
	}
	id := c.manifest.Next.Segment
	c.manifest.Next.Segment++
	return id, nil
}

func (c *Candidate) addSegment(b builtSegment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.segments = append(c.segments, b)
}
