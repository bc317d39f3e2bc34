// Package lineage follows proven copies of events.
//
// Vocabulary: a copy claim says that an event repeats an ancestor event of another session; only claims with a proof are stored.
// Walking from an event over its claims (forward) ends at the origin: an event without a claim. The walk is resolved then,
// unresolved when a claimed event is not stored, and cyclic when it meets an event again. An occurrence is a stored copy, found by
// walking the claims backwards from where the forward walk ended, breadth first. A visit is one backward claim looked at.
//
// A missing target or a cycle is an answer, not an error: claims are made by providers, and their histories may be incomplete.
package lineage

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/nullable"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// SchemaVersion is the version of Report.
const SchemaVersion = 2

// Bounds of a walk.
const (
	MaxDepth   = 1024 // edges, in either direction
	MaxLookups = 2048 // events and sessions looked up by identity
)

// Preview bounds the backward half of a walk.
type Preview struct {
	Keep   int // occurrences returned
	Visits int // claims looked at
}

// The previews of the surfaces. A report of 20 occurrences has at most about 12 KiB, because every member is an id or a name of a
// closed vocabulary.
var (
	SearchPreview = Preview{Keep: 3, Visits: 64}
	ShowPreview   = Preview{Keep: 20, Visits: 4096}
)

// Archive is the stored events of one generation: a *core.Generation, or what knows more than one.
type Archive interface {
	EventDoc(event record.Digest) (doc lexical.Doc, found bool, err error)
	Event(doc lexical.Doc, e *record.Event) error
	// Copies visits the events that claim to be copies of ancestor, until visit returns false. They are valid during the call only.
	Copies(ancestor record.Digest, visit func(*record.Event) bool) error
	Session(ordinal uint32) (*record.Session, error)
}

// State says how the forward walk ended.
type State string

const (
	Resolved   State = "resolved"
	Unresolved State = "unresolved"
	Cyclic     State = "cyclic"
)

// Origin is the end of a forward walk.
type Origin struct {
	State   State
	Event   record.Digest // the origin; the missing target; the event that was met again
	Doc     lexical.Doc   // of Event, when it was walked to (Depth > 0) and is stored
	Session uint32        // of Event, when it is stored
	Depth   int           // claims followed
}

// Report is the copied_lineage object. Nulls are kept.
type Report struct {
	SchemaVersion int            `json:"schema_version"`
	Resolution    Resolution     `json:"resolution"`
	SelectedDepth int            `json:"selected_depth"`
	ObservedCount int            `json:"observed_count"`
	Returned      int            `json:"returned"`
	Occurrences   []Occurrence   `json:"occurrences"`
	Relationships map[string]int `json:"relationship_counts"`
	Truncated     bool           `json:"truncated"` // the bound on visits was hit: the counts are lower bounds
}

// Resolution is the end of the forward walk.
type Resolution struct {
	State   State         `json:"state"`
	Event   string        `json:"ctx_event_id"`
	Session nullable.Text `json:"ctx_session_id"` // null when the event is not stored
}

// Occurrence is one stored copy.
type Occurrence struct {
	Event        string        `json:"ctx_event_id"`
	Session      string        `json:"ctx_session_id"`
	FromEvent    string        `json:"copied_from_ctx_event_id"`
	FromSession  string        `json:"copied_from_ctx_session_id"`
	Parent       nullable.Text `json:"parent_ctx_session_id"`
	Root         nullable.Text `json:"claimed_root_ctx_session_id"`
	Relationship nullable.Text `json:"session_relationship"`
	Proof        string        `json:"copy_proof"`
	Depth        int           `json:"depth"` // claims between the occurrence and the end of the forward walk
}

// Find walks forward from a stored event. The walk stops after MaxDepth claims and is unresolved then.
func Find(a Archive, start *record.Event) (Origin, error) { return find(a, start, new(budget)) }

// budget counts look-ups by identity.
type budget int

func (b *budget) spend() error {
	if *b++; *b > MaxLookups {
		return fault.New(fault.OutputLimitExceeded, "the copy lineage of this event needs more than %d look-ups", MaxLookups).WithRetry(false)
	}
	return nil
}

func find(a Archive, start *record.Event, b *budget) (Origin, error) {
	o := Origin{State: Resolved, Event: start.ID, Session: start.Session}
	seen := map[record.Digest]bool{start.ID: true}
	for claim := start.Copy; claim != nil; {
		o.Event, o.Depth = claim.Event, o.Depth+1
		if err := b.spend(); err != nil {
			return o, err
		}
		doc, found, err := a.EventDoc(o.Event)
		if err != nil || !found {
			o.State = Unresolved
			return o, err
		}
		var e record.Event
		if err := a.Event(doc, &e); err != nil {
			return o, err
		}
		o.Doc, o.Session, claim = doc, e.Session, e.Copy
		if seen[o.Event] {
			o.State = Cyclic
			return o, nil
		}
		if o.Depth == MaxDepth && claim != nil {
			o.State, o.Event = Unresolved, claim.Event
			return o, nil
		}
		seen[o.Event] = true
	}
	return o, nil
}

// Walk reports the lineage of a stored event.
func Walk(a Archive, start *record.Event, p Preview) (*Report, error) {
	b := budget(1) // the start itself
	o, err := find(a, start, &b)
	if err != nil {
		return nil, err
	}
	r := &Report{SchemaVersion: SchemaVersion, SelectedDepth: o.Depth, Occurrences: []Occurrence{}, Relationships: map[string]int{}}
	r.Resolution = Resolution{State: o.State, Event: o.Event.String()}
	w := walker{archive: a, visits: p.Visits, sessions: map[uint32]*record.Session{}}
	if o.State != Unresolved {
		s, err := w.session(o.Session)
		if err != nil {
			return nil, err
		}
		r.Resolution.Session = idText(&s.ID)
	}
	if err := w.backward(o.Event); err != nil {
		return nil, err
	}
	w.fill(r, p.Keep)
	return r, nil
}

// walker collects occurrences backwards.
type walker struct {
	archive   Archive
	visits    int // left
	sessions  map[uint32]*record.Session
	found     []copied
	truncated bool
}

type copied struct {
	event    record.Digest
	sequence uint64
	claim    record.Copy
	session  *record.Session
	depth    int
}

// session reads a session once. Sessions are named by ordinal here, which is no look-up by identity.
func (w *walker) session(ordinal uint32) (s *record.Session, err error) {
	if s = w.sessions[ordinal]; s == nil {
		s, err = w.archive.Session(ordinal)
		w.sessions[ordinal] = s
	}
	return s, err
}

func (w *walker) backward(end record.Digest) error {
	seen := map[record.Digest]bool{end: true}
	level := []record.Digest{end}
	for depth := 1; len(level) > 0 && depth <= MaxDepth; depth++ {
		var next []record.Digest
		for _, ancestor := range level {
			var failed error
			err := w.archive.Copies(ancestor, func(e *record.Event) bool {
				if w.truncated = w.visits == 0; w.truncated {
					return false
				}
				if w.visits--; seen[e.ID] {
					return true
				}
				seen[e.ID] = true
				next = append(next, e.ID)
				var s *record.Session
				s, failed = w.session(e.Session)
				w.found = append(w.found, copied{e.ID, e.Sequence, *e.Copy, s, depth})
				return failed == nil
			})
			if err = cmp.Or(err, failed); err != nil || w.truncated {
				return err
			}
		}
		level = next
	}
	return nil
}

func (w *walker) fill(r *Report, keep int) {
	slices.SortStableFunc(w.found, func(a, b copied) int {
		sa, sb, ea, eb := a.session.ID.UUID(), b.session.ID.UUID(), a.event.UUID(), b.event.UUID()
		return cmp.Or(bytes.Compare(sa[:], sb[:]), cmp.Compare(a.sequence, b.sequence), bytes.Compare(ea[:], eb[:]))
	})
	r.Truncated, r.ObservedCount = w.truncated, len(w.found)
	for i := range w.found {
		c := &w.found[i]
		r.Relationships[cmp.Or(c.session.Relationship.String(), "unspecified")]++
		if i < keep {
			r.Occurrences = append(r.Occurrences, c.occurrence())
		}
	}
	r.Returned = len(r.Occurrences)
}

func (c *copied) occurrence() Occurrence {
	return Occurrence{
		Event: c.event.String(), Session: c.session.ID.String(), FromEvent: c.claim.Event.String(), FromSession: c.claim.Session.String(),
		Parent: idText(c.session.Parent), Root: idText(c.session.Root), Relationship: nullable.Text(c.session.Relationship.String()),
		Proof: c.claim.Proof.String(), Depth: c.depth,
	}
}

func idText(d *record.Digest) nullable.Text {
	if d == nil {
		return ""
	}
	return nullable.Text(d.String())
}
