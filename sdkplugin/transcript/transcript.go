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

// Line maps one line.
func (s *Scanner) Line(line *jsonl.Line, m Mapping, out Sink) error {
	reject := func(r sdkplugin.Rejection) error {
		if out == nil {
			return nil
		}
		r.Line = line.Ordinal + 1
		return out.Reject(r)
	}
	switch line.Kind {
	case jsonl.Blank, jsonl.Padding:
		s.Ignored++
		return nil
	case jsonl.TooLong:
		return reject(sdkplugin.Rejection{Detail: "line over 16 MiB"})
	}
	s.Parsed++
	nth := 0
	records := Records
	if s.Nested {
		records = recordsOf
	}
	known := m.Known
	if s.Whole {
		known = nil
	}
	torn, defect, err := records(&s.Doc, line.Bytes, known, func(record canonical.Value) error {
		outcome, err := m.Record(Place{line, nth}, record)
		nth++
		switch {
		case err != nil:
			return err
		case outcome.Rejected != "":
			return reject(sdkplugin.Rejection{Detail: outcome.Rejected, PayloadType: outcome.PayloadType})
		case outcome.Retained:
			s.Retained++
		default:
			s.Ignored++
		}
		return nil
	})
	s.Grown = s.Grown || len(line.Bytes) > keptLine
	switch {
	case err != nil:
		return err
	case s.Whole && (defect != "" || torn >= 0):
		return reject(sdkplugin.Rejection{Detail: notAnObject})
	case defect != "":
		return reject(sdkplugin.Rejection{Detail: defect})
	case torn >= 0:
		return reject(sdkplugin.Rejection{
			Damaged: true, HasOffset: true, ByteOffset: line.Offset + uint64(torn), Detail: notAnObject,
		})
	}
	return nil
}

// Records hands the records of one line to each: the object the line is, or the ones that a damaged line still holds. A defect
// is the reason to reject the whole line; torn is the offset in the line of the first byte that belongs to no record, -1 if
// there is none. Without known nothing is taken out of a damaged line. Long lines are taken one at a time, and the memory of many values is given back behind the line, so each must not
// call Records.
func Records(doc *canonical.Doc, line []byte, known func(canonical.Value) bool, each func(canonical.Value) error) (torn int, defect string, err error) {
	if len(line) > keptLine {
		longLines.Lock()
		defer longLines.Unlock()
	}
	return recordsOf(doc, line, known, each)
}

func recordsOf(doc *canonical.Doc, line []byte, known func(canonical.Value) bool, each func(canonical.Value) error) (torn int, defect string, err error) {
	defer func() {
		if room := cap(doc.Nodes()); room > keptNodes {
			if *doc = (canonical.Doc{}); room > hugeNodes {
				debug.FreeOSMemory() // before the next line asks for as much
			}
		}
	}()
	fault := doc.Parse(line)
	if fault == nil && doc.Root().IsObject() {
		return -1, "", each(doc.Root())
	}
	if syntax, _ := fault.(*canonical.SyntaxError); syntax != nil {
		switch syntax.Code {
		case canonical.NotUTF8:
			return -1, "not UTF-8", nil
		case canonical.TooMany:
			return -1, "more values than a line may hold", nil
		}
	}
	if known == nil {
		return 0, "", nil
	}
	recovery, err := jsonl.Recover(doc, line, known, func(_ int, v canonical.Value) error { return each(v) })
	return recovery.Torn, "", err
}
