package claude

import (
	"context"
	"crypto/sha256"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Scan reads one transcript, as a whole or from where the last scan ended.
func (p *provider) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	s := p.scanners.Get().(*scanner)
	s.work = p.work
	err := s.scan(ctx, &req, out)
	if !s.grown {
		p.scanners.Put(s)
	}
	return err
}

// scanner reads transcripts one after another in memory that it keeps.
type scanner struct {
	reader jsonl.Reader
	doc    canonical.Doc
	mapper mapper
	work   *jsonl.Work

	grown             bool   // a long line has made the memory large
	parsed            uint64 // lines parsed in the scan, for tests
	retained, ignored uint64
}

// How often a scan reports progress and looks for cancellation.
const (
	progressBytes = 1 << 20
	patienceLines = 256
)

// Bounds of the memory that is kept from file to file.
const (
	keptLine  = 1 << 20
	keptNodes = 1 << 16
)

func (s *scanner) scan(ctx context.Context, req *sdkplugin.ScanRequest, out sink) error {
	key, err := keyOfAnchor(req.Source.Anchor)
	if err != nil {
		return sdkplugin.Fail(sdkplugin.Internal, "%v", err)
	}
	f, err := jsonl.Open(req.Route.Path, req.Source.Locator, s.work)
	if err != nil {
		return err
	}
	defer f.Close()
	var now observed
	side := now.readSidecar(key, req.Route.Path, req.Source.Locator)
	s.parsed, s.retained, s.ignored = 0, 0, 0
	s.reader.Reset(f)
	s.mapper.begin(key, side, out)
	mode, err := s.resume(ctx, req, f)
	if err != nil {
		return err
	}
	if err := out.Begin(mode); err != nil {
		return err
	}
	if err := s.lines(ctx, f.Observation().Size, out, s.one); err != nil {
		return err
	}
	if now.transcript, err = f.Recheck(); err != nil {
		return err
	}
	before := req.Counts.Retained
	if mode == sdkplugin.ModeFull {
		before = 0
	}
	return s.end(req, out, now, before+s.retained > 0)
}

// resume brings reader and mapper to the place behind the certified prefix. When the file is another one, the prefix is no
// longer there or the sidecar names another parent, both stand at the start of the file and the mode is full.
func (s *scanner) resume(ctx context.Context, req *sdkplugin.ScanRequest, f *jsonl.File) (sdkplugin.Mode, error) {
	m := &s.mapper
	front, err := parseFrontier(req.Frontier)
	o := f.Observation()
	if req.Mode != sdkplugin.ModeAppend || err != nil || front.Device != o.Device || front.FileID != o.FileID ||
		front.Parent != m.side.parent(m.key).agent || o.Size < req.CertifiedBytes || len(req.ContentDigest) != sha256.Size {
		return sdkplugin.ModeFull, nil
	}
	c := jsonl.Checkpoint{Offset: req.CertifiedBytes, Lines: front.Lines, Digest: [32]byte(req.ContentDigest)}
	m.maybe = fingerprints{}
	err = s.lines(ctx, c.Offset, nil, func(line *jsonl.Line, _ sink) error {
		m.maybe.collect(line.Bytes)
		return nil
	})
	if err != nil {
		return 0, err
	}
	if s.reader.Checkpoint() != c {
		m.maybe = nil
		s.reader.Reset(f)
		return sdkplugin.ModeFull, nil
	}
	m.recall = func() (fingerprints, error) {
		before, err := s.before(ctx, f, c)
		return before.seen, err
	}
	if m.state = front.State; m.state == nil {
		m.maybe = nil
		m.state, err = s.before(ctx, f, c)
	}
	return sdkplugin.ModeAppend, err
}

// before parses the certified prefix for the state that it leads to.
func (s *scanner) before(ctx context.Context, f *jsonl.File, c jsonl.Checkpoint) (*state, error) {
	var again scanner
	again.reader.Reset(f)
	again.mapper.begin(s.mapper.key, sidecars{}, nil)
	err := again.lines(ctx, c.Offset, nil, again.one)
	s.parsed += again.parsed
	if err == nil && again.reader.Checkpoint() != c {
		err = &jsonl.Failure{Class: jsonl.Changed, Reason: "the file was rewritten during the scan"}
	}
	return again.mapper.state, err
}

// lines hands the complete lines up to an offset to each. Without a sink there is no progress.
func (s *scanner) lines(ctx context.Context, end uint64, out sink, each func(*jsonl.Line, sink) error) error {
	progress := s.reader.BytesRead() + progressBytes
	for at := uint64(0); at < end && s.reader.Next(); {
		line := s.reader.Line()
		at = line.Start + line.Length
		if err := each(line, out); err != nil {
			return err
		}
		if line.Ordinal%patienceLines == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if read := s.reader.BytesRead(); out != nil && read >= progress {
			progress = read + progressBytes
			if err := out.Progress(read); err != nil {
				return err
			}
		}
	}
	return s.reader.Err()
}

// one maps one line.
func (s *scanner) one(line *jsonl.Line, out sink) error {
	reject := func(r sdkplugin.Rejection) error {
		if out == nil {
			return nil
		}
		r.Line = line.Ordinal + 1
		return out.Reject(r)
	}
	switch line.Kind {
	case jsonl.Blank, jsonl.Padding:
		s.ignored++
		return nil
	case jsonl.TooLong:
		return reject(sdkplugin.Rejection{Detail: "line over 16 MiB"})
	}
	s.parsed++
	s.mapper.line(line.Ordinal)
	s.grown = s.grown || len(line.Bytes) > keptLine || len(s.doc.Nodes()) > keptNodes
	torn, defect, err := recordsOf(&s.doc, line.Bytes, func(record canonical.Value) error {
		verdict, detail, err := s.mapper.record(record)
		switch {
		case err != nil:
			return err
		case verdict == rejected:
			return reject(sdkplugin.Rejection{Detail: detail, PayloadType: shortText(s.mapper.rec.typ.Str())})
		case verdict == retained:
			s.retained++
		default:
			s.ignored++
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case defect != "":
		return reject(sdkplugin.Rejection{Detail: defect})
	case torn >= 0:
		return reject(sdkplugin.Rejection{
			Damaged: true, HasOffset: true, ByteOffset: line.Offset + uint64(torn), Detail: "not one JSON object",
		})
	}
	return nil
}

// end certifies what was read.
func (s *scanner) end(req *sdkplugin.ScanRequest, out sink, now observed, hasEvents bool) error {
	m := &s.mapper
	out.Retain(s.retained)
	out.Ignore(s.ignored)
	place := s.reader.Checkpoint()
	m.settleSummaries()
	if m.recallErr != nil {
		return m.recallErr
	}
	front := frontier{
		Device: now.transcript.Device, FileID: now.transcript.FileID, Lines: place.Lines, Parent: m.side.parent(m.key).agent,
		State: m.state,
	}
	ending := sdkplugin.Ending{
		Observation: now.token(), CertifiedBytes: place.Offset, ContentDigest: place.Digest, Frontier: front.encode(maxFrontier),
	}
	if hasEvents {
		if err := m.declare(); err != nil {
			return err
		}
		meta := m.state.metadata(m.key, m.side, slugOf(req.Route.Path, req.Source.Locator), now.modTimeMS())
		meta.Session = m.session
		ending.Metadata = []sdkplugin.SessionMetadata{meta}
	}
	return out.End(ending)
}
