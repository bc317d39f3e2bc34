package lineage

import (
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
)

// Stored is the Archive of a pinned generation.
type Stored struct{ Generation *core.Generation }

// NodeOf returns the node of a decoded event.
func NodeOf(e *record.Event) *Node {
	n := &Node{Event: e.ID, Session: e.Session, Sequence: e.Sequence}
	if e.Copy != nil {
		claim := *e.Copy
		n.Copy = &claim
	}
	return n
}

// Node implements Archive.
func (s Stored) Node(event record.Digest) (*Node, error) {
	doc, found, err := s.Generation.EventDoc(event)
	if err != nil || !found {
		return nil, err
	}
	var e record.Event
	if err := s.Generation.Event(doc, &e); err != nil {
		return nil, err
	}
	return NodeOf(&e), nil
}

// Copies implements Archive.
func (s Stored) Copies(ancestor record.Digest, visit func(Node) bool) error {
	return s.Generation.Copies(ancestor, func(e *record.Event) bool { return visit(*NodeOf(e)) })
}

// Kin implements Archive.
func (s Stored) Kin(session uint32) (Kin, error) {
	r, err := s.Generation.Session(session)
	if err != nil {
		return Kin{}, err
	}
	return KinOf(r), nil
}

// KinOf returns the kin of a stored session.
func KinOf(s *record.Session) Kin {
	return Kin{ID: s.ID, Parent: s.Parent, Root: s.Root, Relationship: s.Relationship}
}
