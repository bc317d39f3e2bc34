// Package history reads stored sessions and events: transcripts, event windows, locations, ordered listings and the export.
//
// Vocabulary:
//
//   - view: one pinned generation, with the retained one before it for id look-ups. Everything read through a view is of one state.
//   - id: a full UUID, or a prefix of 8 to 32 hex digits of one. Sessions and events have ids of their own.
//   - mode: which events of a session a transcript selects (lite, full, log).
//   - run: assistant messages between two user messages; lite keeps the last of a run.
//   - session order: sequence, suborder, time (absent first), event id. Range order: timed events by time, sequence and digest, then
//     the untimed ones.
//   - cursor: an opaque, exclusive position. A session cursor is bound to its session and the active generation, a range cursor to its
//     selection and the generation it was made in.
//   - selection: the filters, the time domain and the direction of a listing.
//
// All content comes from the store, never from a provider's files. Nothing here writes to the data root.
package history

import (
	"context"
	"errors"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/internal/plain"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/redact"
)

// View reads from one pinned generation. It is for one goroutine at a time; several views may share a generation. Close it.
type View struct {
	Redact *redact.Redactor // takes secrets out of everything that is given out; nil: nothing is

	gen      *core.Generation
	retain   func(context.Context) (*core.Generation, error) // gives the retained generation, nil when there is none
	previous *core.Generation                                // what retain gave, unless it is gen
	retained bool                                            // retain was asked
	pinned   []*core.Generation                              // by the view, which closes them
	sessions map[uint32]*Session
	open     []*Transcript
}

// Open pins the active generation. No generation yet: source_unavailable.
func Open(ctx context.Context, store *core.Store) (*View, error) {
	gen, err := store.Pin(ctx)
	if err != nil {
		return nil, err
	}
	v := Over(store, gen)
	v.pinned = append(v.pinned, gen)
	return v, nil
}

// Over returns a view of a generation that the caller has pinned and will close after the view.
func Over(store *core.Store, gen *core.Generation) *View {
	v := Lent(gen, nil)
	v.retain = func(ctx context.Context) (*core.Generation, error) {
		previous, err := store.PinPrevious(ctx)
		v.pinned = append(v.pinned, previous)
		return previous, err
	}
	return v
}

// Lent is Over for a process that keeps both generations between views: retain gives the retained one, which stays the lender's too.
func Lent(gen *core.Generation, retain func(context.Context) (*core.Generation, error)) *View {
	return &View{gen: gen, retain: retain, sessions: map[uint32]*Session{}}
}

// Close releases what the view has pinned itself.
func (v *View) Close() error {
	for _, t := range v.open {
		t.close()
	}
	var err error
	for _, gen := range slices.Backward(v.pinned) {
		err = errors.Join(err, gen.Close()) // of nil too, where nothing is retained
	}
	return err
}

// Generation returns the generation that the view reads.
func (v *View) Generation() *core.Generation { return v.gen }

// before returns the generation before the active one, nil when there is none. Only prefixes need it, so it is opened late.
func (v *View) before(ctx context.Context) (*core.Generation, error) {
	if v.retained {
		return v.previous, nil
	}
	previous, err := v.retain(ctx)
	if err != nil {
		return nil, err
	}
	if previous != nil && previous.ID() == v.gen.ID() {
		previous = nil // the pointer moved on since the view was opened: its own generation is the retained one now
	}
	v.previous, v.retained = previous, true
	return previous, nil
}

// Session is a stored session with what the host knows about its source.
type Session struct {
	*record.Session
	SourceState string // present, gone
	Info        SessionInfo
}

// SessionInfo holds the lineage of a session as text; an unknown member is empty.
type SessionInfo struct {
	Parent, Root string // full ids, claims of the provider
	Relationship string
	AgentScope   string
}

// session reads a session once.
func (v *View) session(ordinal uint32) (*Session, error) {
	if s, ok := v.sessions[ordinal]; ok {
		return s, nil
	}
	stored, err := v.gen.Session(ordinal)
	if err != nil {
		return nil, err
	}
	return v.remember(stored)
}

func (v *View) remember(stored *record.Session) (*Session, error) {
	state, err := v.gen.SourceState(stored.Source)
	if err != nil {
		return nil, err
	}
	s := &Session{Session: v.Redact.Session(stored), SourceState: state.String(), Info: SessionInfo{
		Parent: idText(stored.Parent), Root: idText(stored.Root),
		Relationship: stored.Relationship.String(), AgentScope: stored.Scope.String(),
	}}
	v.sessions[stored.Ordinal] = s
	return s, nil
}

func idText(d *record.Digest) string {
	if d == nil {
		return ""
	}
	return d.String()
}

// Shown is one event of a read surface.
type Shown struct {
	Event   *record.Event
	Session *Session
}

// AppendJSON appends the shown event row. It holds everything that is stored of the event.
func (s *Shown) AppendJSON(dst []byte) []byte {
	return record.AppendShownRow(dst, s.Event, s.Session.Session)
}

// Text returns the body, "" when there is none.
func (s *Shown) Text() string { return string(s.Event.AppendBody(nil)) }

// shown reads an event that outlives the next read.
func (v *View) shown(doc lexical.Doc) (*Shown, error) {
	e := new(record.Event)
	if err := v.gen.Event(doc, e); err != nil {
		return nil, err
	}
	v.Redact.Event(e)
	s, err := v.session(e.Session)
	if err != nil {
		return nil, err
	}
	return &Shown{Event: e, Session: s}, nil
}

// appendJSON appends the JSON of v.
func appendJSON(dst []byte, v any) ([]byte, error) {
	text, err := plain.JSON(v)
	return append(dst, text...), err
}
