package selection

import (
	"bytes"
	"strings"
	"sync"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/lexical"
)

var (
	placeFacts     = []lexical.Field{lexical.FactWorkspace, lexical.FactSessionCWD}
	workspaceFacts = []lexical.Field{lexical.FactWorkspace, lexical.FactSessionCWD, lexical.FactToolWorkdir, lexical.FactProject}
)

// Workspace is the answer of the workspace filter.
type Workspace struct {
	Matches *lexical.Set // documents inside
	Unknown *lexical.Set // documents of sessions whose workspace is unknown; nil when there are none
}

// InWorkspace selects by a part of a directory: documents with a workspace fact that contains it, all documents of sessions whose
// directory contains it, and, for a session without any known directory, those whose label contains it in encoded form.
func InWorkspace(gen *core.Generation, value string) (Workspace, error) {
	r := gen.Lexical()
	needle := foldDirectory(value)
	matcher := func() func(v []byte) bool {
		var buf []byte
		return func(v []byte) bool {
			buf = appendFolded(buf[:0], v)
			return bytes.Contains(bytes.TrimRight(buf, "/"), needle)
		}
	}
	var matches *lexical.Set
	var failed error
	var facts sync.WaitGroup
	facts.Go(func() { matches, failed = r.MatchTerms(workspaceFacts, matcher()) })
	var within, homeless []uint32
	labels := map[uint32]string{} // of the homeless
	inside := sameAsBefore(matcher())
	err := gen.Places(func(directory bool, text []byte, session uint32) {
		switch {
		case !directory:
			homeless = append(homeless, session)
			labels[session] = string(text)
		case inside(text):
			within = append(within, session)
		}
	})
	if facts.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return Workspace{}, err
	}
	w := Workspace{Matches: matches}
	var placed, known Ordinals
	if len(homeless) > 0 {
		if placed, err = sessionsWith(r, homeless, placeFacts); err == nil {
			known, err = sessionsWith(r, homeless, workspaceFacts)
		}
		if err != nil {
			return Workspace{}, err
		}
	}
	var unknown []uint32
	encoded := encodeLabel(value)
	for _, session := range homeless {
		switch label := labels[session]; {
		case label == "" && !known.Has(session):
			unknown = append(unknown, session)
		case label != "" && !placed.Has(session) && strings.Contains(foldLabel(label), encoded):
			within = append(within, session)
		}
	}
	if len(within) > 0 {
		w.Matches.Or(r.InSessions(within))
	}
	if len(unknown) > 0 {
		w.Unknown = r.InSessions(unknown)
	}
	return w, nil
}

// sameAsBefore asks once for equal values that follow each other.
func sameAsBefore(match func(v []byte) bool) func(v []byte) bool {
	var last []byte
	var matched bool
	return func(v []byte) bool {
		if last == nil || !bytes.Equal(v, last) {
			last, matched = append(last[:0], v...), match(v)
		}
		return matched
	}
}

// sessionsWith returns those of the sessions that have an event with a fact of one of the fields.
func sessionsWith(r *lexical.Reader, sessions []uint32, fields []lexical.Field) (Ordinals, error) {
	found := Ordinals{}
	set, err := r.MatchTerms(fields, func([]byte) bool { return true })
	if err != nil {
		return nil, err
	}
	set.And(r.InSessions(sessions)).Each(func(d lexical.Doc) bool {
		if row, ok := r.Row(d); ok {
			found.Add(row.Session)
		}
		return true
	})
	return found, nil
}
