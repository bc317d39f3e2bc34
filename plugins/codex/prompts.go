package codex

import (
	"context"
	"math"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// maxPromptRow bounds the text and the session id of a row together, in bytes, with room for the rest of a record.
const maxPromptRow = 1<<20 - 512

// promptLog maps the rows of a prompt log. The sessions it gives are not those of rollouts, although the agent's id is the same.
type promptLog struct {
	out      transcript.Sink
	alone    bool                  // named by the user: all rows count
	rollouts map[string]*candidate // threads whose rollout tells more
	sessions map[string]*promptSession
	order    []*promptSession // of this scan
	ev       sdkplugin.Event
}

// promptSession is what a session is described by: its first prompt, and its times in milliseconds since 1970.
type promptSession struct {
	Title          string
	Started, Ended int64
	index          uint32
	declared       bool
}

// Known tells whether an object found in a damaged line is a row.
func (l *promptLog) Known(v canonical.Value) bool {
	return v.Get("session_id").IsString() && v.Get("ts").IsInteger() && v.Get("text").IsString()
}

// Record maps one row.
func (l *promptLog) Record(at transcript.Place, v canonical.Value) (transcript.Outcome, error) {
	id, text := v.Get("session_id").Str(), v.Get("text")
	ts, timed := v.Get("ts").Int64()
	switch {
	case texts.Blank(id) || len(id) > maxNativeID:
		return transcript.Reject("a row without a session id")
	case !timed || ts > math.MaxInt64/1000 || ts < math.MinInt64/1000:
		return transcript.Reject("the time of a row is no number of seconds")
	case !text.IsString():
		return transcript.Reject("a row without text")
	case len(text.Str())+len(id) > maxPromptRow:
		return transcript.Reject("a row over 1 MiB")
	case !l.alone && l.rollouts[string(id)] != nil:
		return transcript.Outcome{}, nil
	}
	s, err := l.session(string(id), text.Str(), ts*1000)
	if err != nil {
		return transcript.Outcome{}, err
	}
	body := text.Str()
	if len(body) == 0 {
		body = []byte(sdkplugin.Message)
	}
	// A second row of a damaged line shares its place with the first one; its number tells them apart.
	var scope sdkplugin.NativeKey
	if at.Nth > 0 {
		scope = sdkplugin.Position(promptPosition, sdkplugin.StableSlot, sdkplugin.U64(uint64(at.Nth)), nil)
	}
	l.ev = sdkplugin.Event{
		Session: s.index, Kind: promptEventKind, Selector: scope,
		Key:      sdkplugin.Position(promptPosition, sdkplugin.AppendStable, sdkplugin.U64(at.Line.Ordinal), nil),
		Sequence: at.Line.Ordinal, Suborder: uint32(at.Nth), At: sdkplugin.AtMillis(ts * 1000),
		Type: sdkplugin.Message, Role: sdkplugin.RoleUser, Scope: sdkplugin.ScopePrimary, Body: sdkplugin.Inline(body),
	}
	return transcript.Retained, l.out.Event(&l.ev)
}

// session declares the session of a row.
func (l *promptLog) session(id string, text []byte, ms int64) (*promptSession, error) {
	s := l.sessions[id]
	if s == nil {
		s = &promptSession{Title: texts.OneLine(text), Started: ms, Ended: ms}
		l.sessions[id] = s
	}
	s.Started, s.Ended = min(s.Started, ms), max(s.Ended, ms)
	if s.declared {
		return s, nil
	}
	declared := sdkplugin.Session{
		Ref:               sdkplugin.SessionRef{Kind: promptKind, Key: sdkplugin.NativeID(promptNamespace, sdkplugin.Utf8(id))},
		ProviderSessionID: id, Relationship: sdkplugin.RelationshipRoot, Scope: sdkplugin.ScopePrimary,
	}
	own := declared.Ref
	declared.Root = &own
	if !l.alone {
		declared.YieldsTo = refTo(id)
	}
	var err error
	s.index, err = l.out.Session(declared)
	s.declared = true
	l.order = append(l.order, s)
	return s, err
}

// prompts reads a prompt log.
func (s *scanner) prompts(ctx context.Context, req *sdkplugin.ScanRequest, out transcript.Sink) error {
	f, err := jsonl.Open(req.Route.Path, req.Source.Locator, s.work)
	if err != nil {
		return err
	}
	defer f.Close()
	rollouts, err := s.rollouts()
	if err != nil {
		return err
	}
	log := &promptLog{
		out: out, alone: req.Route.Explicit, rollouts: rollouts, sessions: map[string]*promptSession{},
	}
	s.Reader.Reset(f)
	mode := sdkplugin.ModeFull
	if place, sessions, known, _ := transcript.Resume[map[string]*promptSession](req, f.Observation(), frontierVersion, ""); known {
		same, err := s.Reader.Verify(ctx, place)
		if err != nil {
			return err
		}
		if same {
			mode, log.sessions = sdkplugin.ModeAppend, sessions
		}
	}
	seen, err := s.Read(ctx, f, mode, log, out)
	if err != nil {
		return err
	}
	s.Tell(out)
	ending := s.Ending(seen, frontierVersion, "", log.sessions)
	ending.Metadata = log.metadata()
	return out.End(ending)
}

// metadata describes the sessions of this scan.
func (l *promptLog) metadata() []sdkplugin.SessionMetadata {
	var all []sdkplugin.SessionMetadata
	for _, s := range l.order {
		all = append(all, sdkplugin.SessionMetadata{
			Session: s.index, Title: s.Title, StartedAt: sdkplugin.AtMillis(s.Started), EndedAt: sdkplugin.AtMillis(s.Ended),
		})
	}
	return all
}
