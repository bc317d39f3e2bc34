// Package transcript is the skeleton of a provider that maps JSON Lines: it takes lines from a jsonl.Reader, finds the records
// in them, also in damaged ones, hands them to a mapping and counts what became of them.
package transcript

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Sink takes what a scan finds; it is the part of sdkplugin.SourceWriter that mappings use.
type Sink interface {
	Begin(sdkplugin.Mode) error
	Session(sdkplugin.Session) (uint32, error)
	Event(*sdkplugin.Event) error
	Retain(n uint64)
	Ignore(n uint64)
	Reject(sdkplugin.Rejection) error
	Progress(readBytes uint64) error
	End(sdkplugin.Ending) error
}

// Outcome is what became of a record. The zero one is ignored: understood, with nothing to keep.
type Outcome struct {
	Retained    bool   // it gave events
	Rejected    string // why it could not be understood; empty = it could
	PayloadType string // of a rejected record, if known
}

// Retained is the outcome of a record that gave events.
var Retained = Outcome{Retained: true}

// Reject refuses a record.
func Reject(why string) (Outcome, error) { return Outcome{Rejected: why}, nil }

// Place is where a record stands: its line, and its number among the records of that line (above 0 only in damaged lines).
type Place struct {
	Line *jsonl.Line
	Nth  int
}

// Mapping maps records.
type Mapping interface {
	// Known tells whether an object found in a damaged line is a record.
	Known(object canonical.Value) bool
	// Record maps one record. An error ends the scan.
	Record(at Place, record canonical.Value) (Outcome, error)
}

// Scanner reads transcripts one after another in memory that it keeps.
type Scanner struct {
	Reader jsonl.Reader
	Doc    canonical.Doc

	Retained, Ignored uint64
	Parsed            uint64 // lines parsed, for tests of the work
	Grown             bool   // a long line has made the memory large
	Nested            bool   // lines are mapped while another scanner maps one
	Whole             bool   // nothing is taken out of damaged lines
}

// How often a scan reports progress, in bytes, and looks for cancellation, in lines.
const (
	progressBytes = 1 << 20
	PatienceLines = 256
)

// Bounds of the memory that is worth keeping from file to file.
const (
	keptLine  = 1 << 20
	keptNodes = 1 << 16
	hugeNodes = 1 << 20 // are given back at once
)

const notAnObject = "not one JSON object"

// longLines is held while a line over keptLine is mapped: its values may take twenty times its own memory, which is there once.
var longLines sync.Mutex

// Restart sets the counts to zero.
func (s *Scanner) Restart() { s.Retained, s.Ignored, s.Parsed = 0, 0, 0 }

// Tell gives the counts to the host; rejections were told as they came.
func (s *Scanner) Tell(out Sink) {
	out.Retain(s.Retained)
	out.Ignore(s.Ignored)
}

// Lines hands the complete lines up to an offset to each. Without a sink there is no progress.
func (s *Scanner) Lines(ctx context.Context, end uint64, out Sink, each func(*jsonl.Line) error) error {
	progress := s.Reader.BytesRead() + progressBytes
	for at := uint64(0); at < end && s.Reader.Next(); {
		line := s.Reader.Line()
		at = line.Start + line.Length
		if err := each(line); err != nil {
			return err
		}
		if line.Ordinal%PatienceLines == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if read := s.Reader.BytesRead(); out != nil && read >= progress {
			progress = read + progressBytes
			if err := out.Progress(read); err != nil {
				return err
			}
		}
	}
	return s.Reader.Err()
}

// Map maps the complete lines up to an offset. Without a sink nothing is reported.
func (s *Scanner) Map(ctx context.Context, end uint64, m Mapping, out Sink) error {
	return s.Lines(ctx, end, out, func(line *jsonl.Line) error { return s.Line(line, m, out) })
}

// Read begins a source, maps what is left of its file and returns the observation that certifies it.
func (s *Scanner) Read(ctx context.Context, f *jsonl.File, mode sdkplugin.Mode, m Mapping, out Sink) (jsonl.Observation, error) {
	err := out.Begin(mode)
	if err == nil {
		err = s.Map(ctx, f.Observation().Size, m, out)
	}
	if err != nil {
		return jsonl.Observation{}, err
	}
	return f.Recheck()
}

// HasEvents tells whether the source has events, those before an append included.
func (s *Scanner) HasEvents(req *sdkplugin.ScanRequest, mode sdkplugin.Mode) bool {
	return s.Retained > 0 || mode == sdkplugin.ModeAppend && req.Counts.Retained > 0
}

// Line maps one line.
func (s *Scanner) Line(line *jsonl.Line, m Mapping, out Sink) error {
	switch line.Kind {
	case jsonl.Blank, jsonl.Padding:
		s.Ignored++
		return nil
	case jsonl.TooLong:
		return reject(out, line, sdkplugin.Rejection{Detail: "line over 16 MiB"})
	}
	s.Parsed++
	if len(line.Bytes) > keptLine {
		if s.Grown = true; !s.Nested {
			longLines.Lock()
			defer longLines.Unlock()
		}
	}
	defer release(&s.Doc)
	fault := s.Doc.Parse(line.Bytes)
	switch {
	case fault == nil && s.Doc.Root().IsObject():
		return s.take(Place{line, 0}, s.Doc.Root(), m, out)
	case s.Whole:
		return reject(out, line, sdkplugin.Rejection{Detail: notAnObject})
	}
	nth := 0
	torn, defect, err := damaged(&s.Doc, line.Bytes, fault, m.Known, func(record canonical.Value) error {
		nth++
		return s.take(Place{line, nth - 1}, record, m, out)
	})
	switch {
	case err != nil:
		return err
	case defect != "":
		return reject(out, line, sdkplugin.Rejection{Detail: defect})
	case torn >= 0:
		return reject(out, line, sdkplugin.Rejection{
			Damaged: true, HasOffset: true, ByteOffset: line.Offset + uint64(torn), Detail: notAnObject,
		})
	}
	return nil
}

// take maps one record and counts what became of it.
func (s *Scanner) take(at Place, record canonical.Value, m Mapping, out Sink) error {
	outcome, err := m.Record(at, record)
	switch {
	case err != nil:
		return err
	case outcome.Rejected != "":
		return reject(out, at.Line, sdkplugin.Rejection{Detail: outcome.Rejected, PayloadType: outcome.PayloadType})
	case outcome.Retained:
		s.Retained++
	default:
		s.Ignored++
	}
	return nil
}

func reject(out Sink, line *jsonl.Line, r sdkplugin.Rejection) error {
	if out == nil {
		return nil
	}
	r.Line = line.Ordinal + 1
	return out.Reject(r)
}

// Records hands the records of one line to each: the object the line is, or the ones that a damaged line still holds. A defect
// is the reason to reject the whole line; torn is the offset in the line of the first byte that belongs to no record, -1 if
// there is none. Long lines are taken one at a time, and the memory of many values is given back behind the line, so each must not
// call Records.
func Records(doc *canonical.Doc, line []byte, known func(canonical.Value) bool, each func(canonical.Value) error) (torn int, defect string, err error) {
	if len(line) > keptLine {
		longLines.Lock()
		defer longLines.Unlock()
	}
	defer release(doc)
	fault := doc.Parse(line)
	if fault == nil && doc.Root().IsObject() {
		return -1, "", each(doc.Root())
	}
	return damaged(doc, line, fault, known, each)
}

// damaged takes what a line that is no object still holds; fault is the error of parsing it.
func damaged(doc *canonical.Doc, line []byte, fault error, known func(canonical.Value) bool, each func(canonical.Value) error) (torn int, defect string, err error) {
	if syntax, _ := fault.(*canonical.SyntaxError); syntax != nil {
		switch syntax.Code {
		case canonical.NotUTF8:
			return -1, "not UTF-8", nil
		case canonical.TooMany:
			return -1, "more values than a line may hold", nil
		}
	}
	torn, err = jsonl.Recover(doc, line, known, each)
	return torn, "", err
}

// release gives back the memory of a document of many values.
func release(doc *canonical.Doc) {
	room := cap(doc.Nodes())
	if room <= keptNodes {
		return
	}
	if *doc = (canonical.Doc{}); room > hugeNodes {
		debug.FreeOSMemory() // before the next line asks for as much
	}
}
