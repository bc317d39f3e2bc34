package claude

import (
	"context"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// Scan reads one transcript, as a whole or from where the last scan ended.
func (p *provider) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	s := scanners.Get().(*scanner)
	s.work = p.work
	err := s.scan(ctx, &req, out)
	if !s.Grown {
		scanners.Put(s)
	}
	return err
}

// scanner reads transcripts one after another in memory that it keeps.
type scanner struct {
	transcript.Scanner
	mapper mapper
	work   *jsonl.Work
}

func (s *scanner) scan(ctx context.Context, req *sdkplugin.ScanRequest, out sink) error {
	key, err := keyOfAnchor(req.Source.Anchor)
	if err != nil {
		return err
	}
	f, err := jsonl.Open(req.Route.Path, req.Source.Locator, s.work)
	if err != nil {
		return err
	}
	defer f.Close()
	var now observed
	side := now.readSidecar(key, req.Route.Path, req.Source.Locator)
	s.Restart()
	s.Reader.Reset(f)
	s.mapper.begin(key, side, out)
	mode, err := s.resume(ctx, req, f)
	if err != nil {
		return err
	}
	if now.transcript, err = s.Read(ctx, f, mode, &s.mapper, out); err != nil {
		return err
	}
	return s.end(req, out, now, s.HasEvents(req, mode))
}

// resume brings reader and mapper to the place behind the certified prefix. When the file is another one, the prefix is no
// longer there or the sidecar names another parent, both stand at the start of the file and the mode is full.
func (s *scanner) resume(ctx context.Context, req *sdkplugin.ScanRequest, f *jsonl.File) (sdkplugin.Mode, error) {
	m := &s.mapper
	c, state, known, ok := transcript.Resume[*state](req, f.Observation(), frontierVersion, m.side.parent(m.key).agent)
	if !ok {
		return sdkplugin.ModeFull, nil
	}
	m.maybe = fingerprints{}
	err := s.Lines(ctx, c.Offset, nil, func(line *jsonl.Line) error {
		m.maybe.collect(line.Bytes)
		return nil
	})
	if err != nil {
		return 0, err
	}
	if s.Reader.Checkpoint() != c {
		m.maybe = nil
		s.Reader.Reset(f)
		return sdkplugin.ModeFull, nil
	}
	m.recall = func() (fingerprints, error) {
		before, err := s.before(ctx, f, c)
		return before.seen, err
	}
	if known && state.Lineage <= lineageResumed {
		m.state = state.ready()
		return sdkplugin.ModeAppend, nil
	}
	m.maybe = nil
	m.state, err = s.before(ctx, f, c)
	return sdkplugin.ModeAppend, err
}

// before parses the certified prefix for the state that it leads to.
func (s *scanner) before(ctx context.Context, f *jsonl.File, c jsonl.Checkpoint) (*state, error) {
	var again scanner
	again.Nested = true // a record may ask for it
	again.Reader.Reset(f)
	again.mapper.begin(s.mapper.key, sidecars{}, nil)
	err := again.Map(ctx, c.Offset, &again.mapper, nil)
	s.Parsed += again.Parsed
	if err == nil && again.Reader.Checkpoint() != c {
		err = &jsonl.Failure{Class: jsonl.Changed, Reason: "the file was rewritten during the scan"}
	}
	return again.mapper.state, err
}

// end certifies what was read.
func (s *scanner) end(req *sdkplugin.ScanRequest, out sink, now observed, hasEvents bool) error {
	m := &s.mapper
	s.Tell(out)
	m.settleSummaries()
	if m.recallErr != nil {
		return m.recallErr
	}
	ending := s.Ending(now.transcript, frontierVersion, m.side.parent(m.key).agent, m.state.kept())
	ending.Observation = now.token()
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
