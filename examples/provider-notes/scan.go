package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// progress holds what the records still to come need to know of those read. It
// travels as the frontier from one scan to the next.
type progress struct {
	Lines     uint64            `json:"lines"` // ordinal of the next line
	Title     string            `json:"title,omitempty"`
	Directory string            `json:"directory,omitempty"`
	Started   sdkplugin.Instant `json:"started"`
	Ended     sdkplugin.Instant `json:"ended"`
}

// readers keeps the buffers of finished scans: with thousands of small files,
// making new ones would be most of the work.
var readers = sync.Pool{New: func() any { return new(jsonl.Reader) }}

// scan is one scan of one file.
type scan struct {
	out     *sdkplugin.SourceWriter
	session uint32
	state   progress
	doc     canonical.Doc // parsed record, used again for the next
	raw     []byte        // its canonical form, likewise
}

// Scan reads one file, from the start or from where the last scan stopped.
func (provider) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	// Open follows no links below the route and opens regular files only.
	file, err := jsonl.Open(req.Route.Path, req.Source.Locator, nil)
	if err != nil {
		return err
	}
	defer file.Close()
	reader := readers.Get().(*jsonl.Reader)
	defer readers.Put(reader)
	reader.Reset(file)

	s := scan{out: out}
	mode, err := s.resume(ctx, req, reader)
	if err != nil {
		return err
	}
	if err := out.Begin(mode); err != nil {
		return err
	}
	id := sessionID(req.Source.Locator)
	s.session, err = out.Session(sdkplugin.Session{
		Ref:               sdkplugin.SessionRef{Kind: sessionKind, Key: sdkplugin.NativeID(sessionSpace, sdkplugin.Utf8(id))},
		ProviderSessionID: id, Relationship: sdkplugin.RelationshipRoot, Scope: sdkplugin.ScopePrimary,
	})
	if err != nil {
		return err
	}
	for reader.Next() {
		if err := s.line(reader.Line()); err != nil {
			return err
		}
		if err := out.Progress(reader.BytesRead()); err != nil { // also when the host has cancelled
			return err
		}
	}
	if err := reader.Err(); err != nil {
		return err
	}
	return s.end(file, reader)
}

// resume goes on behind the certified prefix when it is still what it was.
func (s *scan) resume(ctx context.Context, req sdkplugin.ScanRequest, reader *jsonl.Reader) (sdkplugin.Mode, error) {
	if req.Mode != sdkplugin.ModeAppend || len(req.ContentDigest) != 32 || json.Unmarshal(req.Frontier, &s.state) != nil {
		s.state = progress{}
		return sdkplugin.ModeFull, nil
	}
	same, err := reader.Verify(ctx, jsonl.Checkpoint{
		Offset: req.CertifiedBytes, Lines: s.state.Lines, Digest: [32]byte(req.ContentDigest),
	})
	if err != nil {
		return 0, err
	}
	if !same {
		s.state = progress{}
		return sdkplugin.ModeFull, nil
	}
	return sdkplugin.ModeAppend, nil
}

// line counts every line exactly once.
func (s *scan) line(line *jsonl.Line) error {
	switch line.Kind {
	case jsonl.Blank, jsonl.Padding:
		s.out.Ignore(1)
		return nil
	case jsonl.TooLong:
		return s.reject(line, "", "a line over 16 MiB")
	}
	if err := s.doc.Parse(line.Bytes); err != nil || !s.doc.Root().IsObject() {
		return s.reject(line, "", "not one JSON object")
	}
	return s.record(line, s.doc.Root())
}

func (s *scan) reject(line *jsonl.Line, kind, detail string) error {
	return s.out.Reject(sdkplugin.Rejection{
		Line: line.Ordinal + 1, ByteOffset: line.Start, HasOffset: true, Damaged: kind == "", PayloadType: kind, Detail: detail,
	})
}

// end certifies what was read.
func (s *scan) end(file *jsonl.File, reader *jsonl.Reader) error {
	seen, err := file.Recheck()
	if err != nil {
		return err
	}
	checkpoint := reader.Checkpoint()
	s.state.Lines = checkpoint.Lines
	frontier, err := json.Marshal(s.state)
	if err != nil {
		return err
	}
	return s.out.End(sdkplugin.Ending{
		Observation: seen.Token(), CertifiedBytes: checkpoint.Offset, ContentDigest: checkpoint.Digest, Frontier: frontier,
		Metadata: []sdkplugin.SessionMetadata{{
			Session: s.session, Title: s.state.Title, CWD: s.state.Directory, StartedAt: s.state.Started, EndedAt: s.state.Ended,
		}},
	})
}

// saw widens the time span of the session.
func (p *progress) saw(at sdkplugin.Instant) {
	if !at.Known {
		return
	}
	if !p.Started.Known || at.Millis < p.Started.Millis {
		p.Started = at
	}
	if !p.Ended.Known || at.Millis > p.Ended.Millis {
		p.Ended = at
	}
}

// instant reads a time; what is no time is unknown.
func instant(v canonical.Value) sdkplugin.Instant {
	at, err := time.Parse(time.RFC3339Nano, string(v.Str()))
	if err != nil {
		return sdkplugin.Instant{}
	}
	return sdkplugin.At(at)
}
