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
	"sort"

	"github.com/agenthistory/ctx/host/fault"
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

// Node is what a walk needs of a stored event.
type Node struct {
	Event    record.Digest
	Session  uint32 // ordinal
	Sequence uint64
	Copy     *record.Copy // nil: no claim
}

// Kin is what a walk needs of a session.
type Kin struct {
	ID           record.Digest
	Parent, Root *record.Digest
	Relationship record.Relationship
}

// Archive gives access to the stored events of one generation.
type Archive interface {
	// Node returns nil when the event is not stored.
	Node(event record.Digest) (*Node, error)
	// Copies visits the events that claim to be copies of ancestor, until visit returns false.
	Copies(ancestor record.Digest, visit func(Node) bool) error
	Kin(session uint32) (Kin, error)
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
	State State
	Event record.Digest // the origin; the missing target; the event that was met again
	Node  *Node         // nil when unresolved
	Depth int           // claims followed
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
	State   State   `json:"state"`
	Event   string  `json:"ctx_event_id"`
	Session *string `json:"ctx_session_id"` // null when the event is not stored
}

// Occurrence is one stored copy.
type Occurrence struct {
	Event        string  `json:"ctx_event_id"`
	Session      string  `json:"ctx_session_id"`
	FromEvent    string  `json:"copied_from_ctx_event_id"`
	FromSession  string  `json:"copied_from_ctx_session_id"`
	Parent       *string `json:"parent_ctx_session_id"`
	Root         *string `json:"claimed_root_ctx_session_id"`
	Relationship *string `json:"session_relationship"`
	Proof        string  `json:"copy_proof"`
	Depth        int     `json:"depth"` // claims between the occurrence and the end of the forward walk
}

// Find walks forward from a stored event. The walk stops after MaxDepth claims and is unresolved then.
func Find(a Archive, start *Node) (Origin, error) {
	return find(a, start, &budget{})
}

type budget struct{ lookups int }

func (b *budget) spend() error {
	if b.lookups++; b.lookups > MaxLookups {
		return fault.New(fault.OutputLimitExceeded, "the copy lineage of this event needs more than %d look-ups", MaxLookups).WithRetry(false)
	}
	return nil
}

func find(a Archive, start *Node, b *budget) (Origin, error) {
	o := Origin{State: Resolved, Event: start.Event, Node: start}
	if start.Copy == nil {
		return o, nil
	}
	seen := map[record.Digest]bool{start.Event: true}
	for o.Node.Copy != nil {
		target := o.Node.Copy.Event
		o.Event = target
		o.Depth++
		if err := b.spend(); err != nil {
			return o, err
		}
		next, err := a.Node(target)
		if err != nil {
			return o, err
		}
		o.Node = next
		switch {
		case next == nil:
			o.State = Unresolved
			return o, nil
		case seen[target]:
			o.State = Cyclic
			return o, nil
		case o.Depth == MaxDepth && next.Copy != nil:
			o.State, o.Event, o.Node = Unresolved, next.Copy.Event, nil
			return o, nil
		}
		seen[target] = true
	}
	return o, nil
}

// Walk reports the lineage of a stored event.
func Walk(a Archive, start *Node, p Preview) (*Report, error) {
	b := &budget{}
	if err := b.spend(); err != nil {
		return nil, err
	}
	o, err := find(a, start, b)
	if err != nil {
		return nil, err
	}
	r := &Report{SchemaVersion: SchemaVersion, SelectedDepth: o.Depth, Occurrences: []Occurrence{}, Relationships: map[string]int{}}
	r.Resolution = Resolution{State: o.State, Event: o.Event.String()}
	w := walker{archive: a, preview: p, budget: b, kin: map[uint32]Kin{}}
	if o.Node != nil {
		kin, err := w.kinOf(o.Node.Session)
		if err != nil {
			return nil, err
		}
		id := kin.ID.String()
		r.Resolution.Session = &id
	}
	if err := w.backward(o.Event); err != nil {
		return nil, err
	}
	w.fill(r)
	return r, nil
}

// walker collects occurrences backwards.
type walker struct {
	archive   Archive
	preview   Preview
	budget    *budget
	kin       map[uint32]Kin
	found     []copied
	truncated bool
}

type copied struct {
	Node
	kin   Kin
	depth int
}

// kinOf reads a session once. Sessions are named by ordinal here, which is no look-up by identity.
func (w *walker) kinOf(session uint32) (Kin, error) {
	if k, ok := w.kin[session]; ok {
		return k, nil
	}
	k, err := w.archive.Kin(session)
	if err == nil {
		w.kin[session] = k
	}
	return k, err
}

func (w *walker) backward(end record.Digest) error {
	seen := map[record.Digest]bool{end: true}
	level := []record.Digest{end}
	visits := 0
	for depth := 1; len(level) > 0 && depth <= MaxDepth && !w.truncated; depth++ {
		var next []record.Digest
		for _, ancestor := range level {
			var failed error
			err := w.archive.Copies(ancestor, func(n Node) bool {
				if visits == w.preview.Visits {
					w.truncated = true
					return false
				}
				visits++
				if seen[n.Event] {
					return true
				}
				seen[n.Event] = true
				next = append(next, n.Event)
				failed = w.keep(n, depth)
				return failed == nil
			})
			if err == nil {
				err = failed
			}
			if err != nil {
				return err
			}
			if w.truncated {
				break
			}
		}
		level = next
	}
	return nil
}

func (w *walker) keep(n Node, depth int) error {
	kin, err := w.kinOf(n.Session)
	if err != nil {
		return err
	}
	w.found = append(w.found, copied{Node: n, kin: kin, depth: depth})
	return nil
}

func (w *walker) fill(r *Report) {
	sort.SliceStable(w.found, func(i, j int) bool {
		a, b := &w.found[i], &w.found[j]
		sa, sb := a.kin.ID.UUID(), b.kin.ID.UUID()
		if c := bytes.Compare(sa[:], sb[:]); c != 0 {
			return c < 0
		}
		if a.Sequence != b.Sequence {
			return a.Sequence < b.Sequence
		}
		ea, eb := a.Event.UUID(), b.Event.UUID()
		return bytes.Compare(ea[:], eb[:]) < 0
	})
	r.Truncated = w.truncated
	r.ObservedCount = len(w.found)
	for i := range w.found {
		c := &w.found[i]
		name := c.kin.Relationship.String()
		if name == "" {
			name = "unspecified"
		}
		r.Relationships[name]++
		if i < w.preview.Keep {
			r.Occurrences = append(r.Occurrences, occurrence(c))
		}
	}
	r.Returned = len(r.Occurrences)
}

func occurrence(c *copied) Occurrence {
	o := Occurrence{
		Event: c.Event.String(), Session: c.kin.ID.String(),
		FromEvent: c.Copy.Event.String(), FromSession: c.Copy.Session.String(),
		Parent: idText(c.kin.Parent), Root: idText(c.kin.Root),
		Proof: c.Copy.Proof.String(), Depth: c.depth,
	}
	if name := c.kin.Relationship.String(); name != "" {
		o.Relationship = &name
	}
	return o
}

func idText(d *record.Digest) *string {
	if d == nil {
		return nil
	}
	text := d.String()
	return &text
}
