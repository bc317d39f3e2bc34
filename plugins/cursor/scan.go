package cursor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
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
	s := p.scanners.Get().(*scanner)
	err = s.scan(ctx, lib, &req, out)
	for _, d := range s.diagnostics {
		out.Diagnostics.Add(d)
	}
	if !s.Grown && !s.rows.grown {
		p.scanners.Put(s)
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
	id, err := sessionOf(req.Source.Anchor)
	if err != nil {
		return sdkplugin.Fail(sdkplugin.Internal, "%v", err)
	}
	s.Restart()
	s.diagnostics = s.diagnostics[:0]
	known := lib.of(req.Route, id)
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
	f, err := jsonl.Open(req.Route.Path, req.Source.Locator, s.lib.work)
	if err != nil {
		return err
	}
	defer f.Close()
	s.Reader.Reset(f)
	s.lines.begin(s.found.id, &s.Doc, out)
	mode, err := s.resume(ctx, req, f)
	if err != nil {
		return err
	}
	if err := out.Begin(mode); err != nil {
		return err
	}
	if err := s.Lines(ctx, f.Observation().Size, out, func(line *jsonl.Line) error { return s.line(line, out) }); err != nil {
		return err
	}
	now := *s.found
	if now.seen, err = f.Recheck(); err != nil {
		return err
	}
	c := s.Reader.Checkpoint()
	front := frontier{
		Device: now.seen.Device, FileID: now.seen.FileID, Lines: c.Lines,
		State: &frontierState{s.lines.occurrences, s.lines.learned},
	}
	had := s.Retained > 0 || mode == sdkplugin.ModeAppend && req.Counts.Retained > 0
	return s.end(ctx, &s.lines.emitter, out, had, sdkplugin.Ending{
		Observation: s.lib.observation(&now), CertifiedBytes: c.Offset, ContentDigest: c.Digest, Frontier: front.encode(),
	})
}

// line maps one line; without a sink only the state that it leads to counts. Nothing is taken out of damaged lines.
func (s *scanner) line(line *jsonl.Line, out sink) (err error) {
	outcome := transcript.Outcome{Verdict: transcript.Rejected, Detail: "not one JSON object"}
	switch line.Kind {
	case jsonl.Blank, jsonl.Padding:
		outcome = transcript.Outcome{}
	case jsonl.TooLong:
		outcome.Detail = "line over 16 MiB"
	default:
		s.Parsed++
		if s.Doc.Parse(line.Bytes) == nil && s.Doc.Root().IsObject() {
			outcome, err = s.lines.record(line.Ordinal, s.Doc.Root())
		}
		s.Grown = s.Grown || len(line.Bytes) > keptBytes || len(s.Doc.Nodes()) > keptNodes
	}
	switch {
	case err != nil:
		return err
	case outcome.Verdict == transcript.Retained:
		s.Retained++
	case outcome.Verdict == transcript.Ignored:
		s.Ignored++
	case out != nil:
		return out.Reject(sdkplugin.Rejection{Line: line.Ordinal + 1, Detail: outcome.Detail, PayloadType: outcome.PayloadType})
	}
	return nil
}

func shortText(v canonical.Value) string {
	if text := v.Str(); len(text) <= 64 {
		return string(text)
	}
	return ""
}

// resume brings reader and mapping behind the certified prefix. When that is no longer there both stand at the start and the
// mode is full.
func (s *scanner) resume(ctx context.Context, req *sdkplugin.ScanRequest, f *jsonl.File) (sdkplugin.Mode, error) {
	front, err := parseFrontier(req.Frontier)
	if req.Mode != sdkplugin.ModeAppend || err != nil || front.Device != f.Observation().Device || front.FileID != f.Observation().FileID ||
		len(req.ContentDigest) != sha256.Size {
		return sdkplugin.ModeFull, nil
	}
	c := jsonl.Checkpoint{Offset: req.CertifiedBytes, Lines: front.Lines, Digest: [32]byte(req.ContentDigest)}
	if same, err := s.Reader.Verify(ctx, c); err != nil || !same {
		return sdkplugin.ModeFull, err
	}
	if front.State != nil {
		s.lines.occurrences, s.lines.learned = front.State.Occurrences, front.State.Learned
		return sdkplugin.ModeAppend, nil
	}
	// There was no room for the state: the prefix is mapped once more without giving its events.
	out := s.lines.out
	s.lines.out = nil
	s.Reader.Reset(f)
	err = s.Lines(ctx, c.Offset, nil, func(line *jsonl.Line) error { return s.line(line, nil) })
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
	out.Retain(s.Retained)
	out.Ignore(s.Ignored)
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

// frontier is what an append needs: which file was read, how many lines, and the state of the mapping if there is room for it.
type frontier struct {
	Version        int
	Device, FileID uint64
	Lines          uint64
	State          *frontierState `json:",omitempty"`
}

type frontierState struct {
	Occurrences digest.Counter
	Learned     *learned
}

// maxFrontier is the longest frontier that is written; maxPrints is how many digests it may hold.
const (
	maxFrontier     = 48 << 10
	maxPrints       = 1 << 10
	frontierVersion = 1
)

func (f frontier) encode() []byte {
	f.Version = frontierVersion
	if len(f.State.Occurrences) > maxPrints {
		f.State = nil
	}
	dst, err := json.Marshal(f)
	if f.State != nil && (err != nil || len(dst) > maxFrontier) {
		f.State = nil
		dst, _ = json.Marshal(f) // numbers
	}
	return dst
}

var errFrontier = errors.New("the frontier is none of this provider")

func parseFrontier(src []byte) (f frontier, err error) {
	if err = json.Unmarshal(src, &f); err != nil {
		return frontier{}, err
	}
	if f.Version != frontierVersion || f.State != nil && (f.State.Occurrences == nil || f.State.Learned == nil) {
		return frontier{}, errFrontier
	}
	if f.State != nil && f.State.Learned.Workdirs == nil {
		f.State.Learned.Workdirs = map[string]int{}
	}
	return f, nil
}
