package history

import (
	"context"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// Mode selects the events of a transcript.
type Mode string

// Modes. Lite takes every user message, and of the assistant messages up to the next user message only the last; system messages,
// summaries, notices and tools do not end such a run.
const (
	ModeLite Mode = "lite"
	ModeFull Mode = "full" // every message of a user, an assistant or the system
	ModeLog  Mode = "log"  // every event
)

// Transcript iterates the selected events of a session in session order. Only selected events are read from the store.
type Transcript struct {
	view    *View
	ctx     context.Context
	session *Session
	mode    Mode
	max     int

	it        *core.DocIter
	pending   *lexical.Doc // lite: the last assistant message of the run so far
	queued    *lexical.Doc // lite: the user message that ended the run
	seen      int
	returned  int
	truncated bool
	ended     bool
	buf       []byte
	event     record.Event
}

// Transcript starts at the first event; max > 0 cuts after that many selected events.
func (v *View) Transcript(ctx context.Context, s *Session, mode Mode, max int) *Transcript {
	return v.transcriptFrom(ctx, s, mode, max, nil)
}

func (v *View) transcriptFrom(ctx context.Context, s *Session, mode Mode, max int, from *record.SessionKey) *Transcript {
	t := &Transcript{view: v, ctx: ctx, session: s, mode: mode, max: max}
	t.it = v.gen.SessionEvents(s.Ordinal, from, false)
	v.open = append(v.open, t)
	return t
}

// Session returns the session of the transcript.
func (t *Transcript) Session() *Session { return t.session }

// Next returns the next event, or nil at the end. The event is valid until the next call.
func (t *Transcript) Next() (*Shown, error) {
	if t.ended {
		return nil, nil
	}
	doc, ok, err := t.advance()
	if err != nil || !ok {
		t.close()
		return nil, err
	}
	if t.max > 0 && t.returned == t.max {
		t.truncated = true
		t.close()
		return nil, nil
	}
	if t.buf, err = t.view.gen.EventInto(t.buf, doc, &t.event); err != nil {
		t.close()
		return nil, err
	}
	t.view.Redact.Event(&t.event)
	t.returned++
	return &Shown{Event: &t.event, Session: t.session}, nil
}

// Each calls use for every event that is left.
func (t *Transcript) Each(use func(*Shown) error) error {
	for {
		shown, err := t.Next()
		if err != nil || shown == nil {
			return err
		}
		if err := use(shown); err != nil {
			return err
		}
	}
}

// Returned is the number of events given out; Truncated tells, after the end, that max cut the transcript.
func (t *Transcript) Returned() int { return t.returned }

// Truncated: see Returned.
func (t *Transcript) Truncated() bool { return t.truncated }

func (t *Transcript) close() {
	if t.it != nil {
		t.it.Close()
		t.it = nil
	}
	t.ended = true
}

// advance returns the next selected document.
func (t *Transcript) advance() (lexical.Doc, bool, error) {
	if t.queued != nil {
		doc := *t.queued
		t.queued = nil
		return doc, true, nil
	}
	for t.it.Next() {
		doc := t.it.Doc()
		if t.seen++; t.seen%256 == 0 && t.ctx.Err() != nil {
			return doc, false, t.ctx.Err()
		}
		if t.mode == ModeLog {
			return doc, true, nil
		}
		row, ok := t.view.gen.Lexical().Row(doc)
		if !ok || row.Type != record.TypeMessage {
			continue
		}
		if out := t.take(doc, row.Role); out != nil {
			return *out, true, nil
		}
	}
	if err := t.it.Err(); err != nil {
		return lexical.Doc{}, false, err
	}
	if t.pending != nil {
		doc := *t.pending
		t.pending = nil
		return doc, true, nil
	}
	return lexical.Doc{}, false, nil
}

// take decides about one message; nil means that nothing can be given out yet.
func (t *Transcript) take(doc lexical.Doc, role uint8) *lexical.Doc {
	if t.mode == ModeFull {
		if role == record.RoleUser || role == record.RoleAssistant || role == record.RoleSystem {
			return &doc
		}
		return nil
	}
	switch role {
	case record.RoleAssistant:
		t.pending = &doc
	case record.RoleUser:
		if t.pending == nil {
			return &doc
		}
		out := t.pending
		t.pending, t.queued = nil, &doc
		return out
	}
	return nil
}
