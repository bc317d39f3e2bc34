package cursor

import (
	"context"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/digest"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// Scan reads one session from the store that the inventory chose.
func (p *provider) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	lib, err := p.libraryOf(ctx, req.Routes)
	if err != nil {
		return err
	}
	s := scanners.Get().(*scanner)
	err = s.scan(ctx, lib, &req, out)
	for _, d := range s.diagnostics {
		out.Diagnostics.Add(d)
	}
	if !s.Grown && !s.rows.grown {
		scanners.Put(s)
	}
	return err
}

// scanner reads sessions one after another in memory that it keeps.
type scanner struct {
	transcript.Scanner
	lines       lines
	rows        rows
	lib         *library
	found       *found
	diagnostics []sdkplugin.Diagnostic
}

func (s *scanner) scan(ctx context.Context, lib *library, req *sdkplugin.ScanRequest, out sink) error {
	name, err := req.Source.Anchor.Native(sessionNamespace, 1)
	if err != nil {
		return err
	}
	s.Restart()
	s.diagnostics = s.diagnostics[:0]
	known := lib.of(req.Route, sessionID(name[0]))
	if known == nil || lib.pathOf(known.in[known.taken]) != req.Path() {
		return sdkplugin.Fail(sdkplugin.Vanished, "the session is no longer there")
	}
	s.lib, s.found = lib, known.in[known.taken]
	switch {
	case s.found.store == cliStore:
		return s.scanStore(ctx, req, out)
	case s.found.store == ideState:
		return s.scanState(ctx, req, out)
	case s.found.plain:
		return s.scanPlain(ctx, req, out)
	}
	return s.scanLines(ctx, req, out)
}

// scanLines reads a transcript, as a whole or from where the last scan ended.
func (s *scanner) scanLines(ctx context.Context, req *sdkplugin.ScanRequest, out sink) error {
	f, err := jsonl.Open(req.Route.Path, req.Source.Locator, s.lib.Work)
	if err != nil {
		return err
	}
	defer f.Close()
	s.Reader.Reset(f)
	s.begin(s.found.id, out)
	mode, err := s.resume(ctx, req, f)
	if err != nil {
		return err
	}
	now := *s.found
	if now.seen, err = s.Read(ctx, f, mode, &s.lines, out); err != nil {
		return err
	}
	var kept *frontierState
	if len(s.lines.occurrences) <= maxPrints {
		kept = &frontierState{s.lines.occurrences, s.lines.learned}
	}
	ending := s.Ending(now.seen, frontierVersion, "", kept)
	ending.Observation = s.lib.observation(&now)
	return s.end(ctx, &s.lines.emitter, out, s.HasEvents(req, mode), ending)
}

// resume brings reader and mapping behind the certified prefix. When that is no longer there both stand at the start and the
// mode is full.
func (s *scanner) resume(ctx context.Context, req *sdkplugin.ScanRequest, f *jsonl.File) (sdkplugin.Mode, error) {
	c, state, known, ok := transcript.Resume[frontierState](req, f.Observation(), frontierVersion, "")
	if !ok {
		return sdkplugin.ModeFull, nil
	}
	if same, err := s.Reader.Verify(ctx, c); err != nil || !same {
		return sdkplugin.ModeFull, err
	}
	if known && state.Occurrences != nil && state.Learned != nil && state.Learned.Workdirs != nil {
		s.lines.occurrences, s.lines.learned = state.Occurrences, state.Learned
		return sdkplugin.ModeAppend, nil
	}
	// There was no room for the state: the prefix is mapped once more without giving its events.
	out := s.lines.out
	s.lines.out = nil
	s.Reader.Reset(f)
	err := s.Map(ctx, c.Offset, &s.lines, nil)
	s.Retained, s.Ignored, s.lines.out = 0, 0, out
	if err == nil && s.Reader.Checkpoint() != c {
		err = &jsonl.Failure{Class: jsonl.Changed, Reason: "the file was rewritten during the scan"}
	}
	return sdkplugin.ModeAppend, err
}

// endRows ends the scan of a database.
func (s *scanner) endRows(ctx context.Context, out sink) error {
	r := &s.rows
	return s.end(ctx, &r.emitter, out, s.Retained > 0, sdkplugin.Ending{
		Observation: s.lib.observation(s.found), CertifiedBytes: r.read, ContentDigest: [32]byte(r.sum.Sum(nil)),
	})
}

// end certifies what was read and describes the session, if it has an event.
func (s *scanner) end(ctx context.Context, e *emitter, out sink, had bool, ending sdkplugin.Ending) error {
	s.Tell(out)
	if had {
		if err := e.declare(); err != nil {
			return err
		}
		about, err := s.companion(ctx)
		if err != nil {
			return err
		}
		ending.Metadata = []sdkplugin.SessionMetadata{e.metadata(about, s.found.seen.MtimeNS)}
	}
	return out.End(ending)
}

// companion collects what the heads of all stores of the session say. A database that cannot be read now takes only its part of
// the description away, which is told.
func (s *scanner) companion(ctx context.Context) (*companion, error) {
	c := new(companion)
	known := s.lib.of(s.lib.routes[s.found.route], s.found.id)
	if f := known.in[transcripts]; f != nil {
		c.slug = f.slug
	}
	if f := known.in[cliStore]; f != nil {
		c.dirHash = f.dirHash
		if err := s.rows.storeHead(ctx, s.lib, f, c); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			s.diagnose("companion_unread", "the description of the session in the CLI store could not be read")
		}
	}
	if f := known.in[ideState]; f != nil {
		c.add(f.head.companion)
		if c.cwd == "" {
			c.add(companion{cwd: s.lib.workspaceOf(ctx, f)})
		}
	}
	return c, ctx.Err()
}

func (s *scanner) diagnose(code, message string) {
	s.diagnostics = append(s.diagnostics, sdkplugin.Diagnostic{
		Severity: sdkplugin.SeverityWarning, Code: code, Message: message, Locator: s.found.locator, Route: s.found.route,
	})
}

// frontierState is what an append needs to know of the lines before it; with too many prints it is left out.
type frontierState struct {
	Occurrences digest.Counter
	Learned     *learned
}

const (
	maxPrints       = 1 << 10
	frontierVersion = 2
)
