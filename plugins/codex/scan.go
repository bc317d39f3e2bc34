package codex

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// Scan reads one rollout or prompt log, as a whole or from where the last scan ended.
func (p *provider) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	return p.scan(ctx, &req, out)
}

func (p *provider) scan(ctx context.Context, req *sdkplugin.ScanRequest, out transcript.Sink) error {
	h := p.homeOfSource(req.Route)
	s := scanners.Get().(*scanner)
	s.work, s.titles, s.Grown = p.work, h.titles, false
	s.rollouts = func() (map[string]*candidate, error) { return p.rolloutsOf(ctx, h, req) }
	s.Restart()
	var err error
	if req.Source.Format == promptFormat {
		err = s.prompts(ctx, req, out)
	} else {
		err = s.rollout(ctx, req, out)
	}
	if !s.Grown {
		scanners.Put(s)
	}
	return err
}

// scanner reads files one after another in memory that it keeps.
type scanner struct {
	transcript.Scanner
	mapper mapper
	work   *jsonl.Work

	titles   map[string]string                     // of the home
	rollouts func() (map[string]*candidate, error) // of the home
}

// nameOf returns the name of a file that a locator below a route, or the route itself, names.
func nameOf(route, locator string) string {
	if locator == "" {
		return filepath.ToSlash(route)
	}
	return locator
}

// begun reads the beginning of a rollout and returns the state to map it with. The scanner then stands at its first
// line. Only what stands before the offset end counts.
func begun(ctx context.Context, c *content, s *transcript.Scanner, thread, name string, end uint64) (*state, error) {
	if err := c.restart(&s.Reader); err != nil {
		return nil, err
	}
	s.Reader.Undigested()
	h, err := readHead(ctx, &s.Reader, &s.Doc, c.packed != nil, end)
	if err != nil {
		return nil, err
	}
	owner, err := h.owner(stemOf(name), c.packed != nil)
	if err == nil && owner.ID != thread {
		err = malformed("the file belongs to another thread than it was listed for")
	}
	if err != nil {
		return nil, err
	}
	state := newState(owner)
	state.Others = h.owners
	state.Messages = h.messages
	return state, c.restart(&s.Reader)
}

// rollout reads one rollout.
func (s *scanner) rollout(ctx context.Context, req *sdkplugin.ScanRequest, out transcript.Sink) error {
	parts, err := req.Source.Anchor.Native(sessionNamespace, 1)
	if err != nil {
		return err
	}
	thread := parts[0]
	if req.Source.Locator == "" && shapeOf(req.Route, &s.Reader, &s.Doc, s.work) == "" {
		return sdkplugin.Fail(sdkplugin.UnsupportedSchema, "the shape of the file cannot be decided: its first record is neither "+
			"one of a rollout nor a row of a prompt log, or both")
	}
	c, err := openContent(ctx, req.Route.Path, req.Source.Locator, s.work, reading{})
	if err != nil {
		return err
	}
	defer c.Close()
	mode, err := s.resume(ctx, req, c, thread, out)
	if err != nil {
		return err
	}
	if mode == sdkplugin.ModeFull {
		if err := s.start(ctx, req, c, thread, out, maxContent); err != nil {
			return err
		}
	}
	defer func() { s.mapper.inherits.close() }()
	if err := out.Begin(mode); err != nil {
		return err
	}
	if err := s.Map(ctx, maxContent, &s.mapper, out); err != nil {
		return err
	}
	if a := s.mapper.inherits; a != nil && a.err != nil {
		return a.err
	}
	if o := s.mapper.state.Others; !o.belongTo(thread) {
		return malformed("the file holds lines of threads that are no ancestors of its own")
	}
	return s.end(req, out, c, mode)
}

// maxContent is beyond the end of every content.
const maxContent = 1 << 62

// ancestry opens the rollout of the parent if the home has one.
func (s *scanner) ancestry(ctx context.Context, c *content, state *state) (*ancestry, error) {
	if !state.Inherited {
		return nil, nil
	}
	rollouts, err := s.rollouts()
	parent := rollouts[state.Owner.Parent]
	if err != nil || parent == nil {
		return nil, err
	}
	a, err := openAncestry(ctx, parent, c, s.work)
	if err != nil && ctx.Err() == nil {
		return nil, nil // a parent that cannot be read proves nothing
	}
	return a, err
}

// start makes the scanner stand at the first line of a rollout. Only what stands before the offset end tells how it begins.
func (s *scanner) start(ctx context.Context, req *sdkplugin.ScanRequest, c *content, thread string, out transcript.Sink, end uint64) error {
	state, err := begun(ctx, c, &s.Scanner, thread, nameOf(req.Route.Path, req.Source.Locator), end)
	if err != nil {
		return err
	}
	s.mapper.begin(state, out)
	s.mapper.inherits, err = s.ancestry(ctx, c, state)
	state.Compared = s.mapper.inherits != nil
	return err
}

// resume brings reader and mapper to the place behind the certified prefix. The mode is full, and nothing is prepared, when the
// file or its parents are other ones, when the prefix is no longer there, or when the first message behind it shows that event
// messages before it were copies.
func (s *scanner) resume(ctx context.Context, req *sdkplugin.ScanRequest, c *content, thread string, out transcript.Sink) (sdkplugin.Mode, error) {
	place, known, hasState, ok := transcript.Resume[*state](req, c.file.Observation(), frontierVersion, string(parentsOf(suffixOf(req.Source.Observation))))
	if !ok || c.packed != nil {
		return sdkplugin.ModeFull, nil
	}
	if s.mapper.begin(known, out); !hasState {
		if same, err := s.before(ctx, req, c, thread, place, out); !same {
			return sdkplugin.ModeFull, err
		}
	}
	state := s.mapper.state
	for looked := state.Messages; ; looked = true {
		s.Reader.Reset(c.file)
		if same, err := s.Reader.Verify(ctx, place); !same {
			return sdkplugin.ModeFull, err
		}
		if looked {
			return sdkplugin.ModeAppend, nil
		}
		h, err := readHead(ctx, &s.Reader, &s.Doc, false, maxContent)
		if err != nil || h.messages && state.Fallback {
			return sdkplugin.ModeFull, err
		}
		state.Messages = h.messages
	}
}

// before maps the certified prefix again, without giving its events, for the state that it leads to.
func (s *scanner) before(ctx context.Context, req *sdkplugin.ScanRequest, c *content, thread string, place jsonl.Checkpoint, out transcript.Sink) (same bool, err error) {
	if err := s.start(ctx, req, c, thread, nil, place.Offset); err != nil {
		return false, err
	}
	if err := s.Map(ctx, place.Offset, &s.mapper, nil); err != nil {
		return false, err
	}
	s.mapper.out = out
	s.Retained, s.Ignored = 0, 0
	return s.Reader.Checkpoint() == place, nil
}

// end certifies what was read.
func (s *scanner) end(req *sdkplugin.ScanRequest, out transcript.Sink, c *content, mode sdkplugin.Mode) error {
	seen, err := c.file.Recheck()
	if err != nil {
		return err
	}
	padded := s.Reader.PaddedTail()
	if padded {
		s.Ignored++
	}
	m, suffix := &s.mapper, suffixOf(req.Source.Observation)
	s.Tell(out)
	ending := s.Ending(seen, frontierVersion, string(parentsOf(suffix)), m.state.kept())
	if ending.Observation = append(ending.Observation, suffix...); c.packed != nil || padded {
		ending.Frontier = nil // the padding would count again when it is continued
	}
	if s.HasEvents(req, mode) {
		if err := m.declare(); err != nil {
			return err
		}
		ending.Metadata = []sdkplugin.SessionMetadata{s.metadata()}
	}
	return out.End(ending)
}

// metadata describes the session.
func (s *scanner) metadata() sdkplugin.SessionMetadata {
	state := s.mapper.state
	o := &state.Owner
	meta := sdkplugin.SessionMetadata{
		Session: s.mapper.session, Title: cmp.Or(s.titles[o.ID], state.Named, state.Prompt),
		Model: state.Models.Newest, Models: state.Models.All, AgentName: o.Agent, CWD: cmp.Or(o.CWD, state.CWD), Branch: o.Branch,
		LastBranch: o.Branch, Version: o.Version, LastVersion: o.Version, Entrypoint: o.Originator, LastEntrypoint: o.Originator,
	}
	meta.StartedAt, meta.EndedAt = state.Times.Span()
	if start := sdkplugin.At(o.Start); !o.Start.IsZero() && (!meta.StartedAt.Known || start.Millis < meta.StartedAt.Millis) {
		meta.StartedAt = start
	}
	return meta
}
