package lineage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// family is an archive in memory: events are named by small numbers, sessions by ordinals.
type family struct {
	events   map[record.Digest]*record.Event
	copies   map[record.Digest][]*record.Event
	sessions map[uint32]*record.Session
	reads    int
}

func digest(kind byte, n int) (d record.Digest) {
	d[0], d[1], d[2], d[3], d[31] = byte(n>>16), byte(n>>8), byte(n), kind, kind
	return d
}

func newFamily() *family {
	return &family{map[record.Digest]*record.Event{}, map[record.Digest][]*record.Event{}, map[uint32]*record.Session{}, 0}
}

// add stores event n in session s, a copy of event from when from >= 0.
func (f *family) add(n int, s uint32, from int) *record.Event {
	e := &record.Event{ID: digest(3, n), Session: s, Sequence: uint64(n)}
	if from >= 0 {
		e.Copy = &record.Copy{Session: digest(2, from), Event: digest(3, from), Proof: record.ProofNativeEventIdentity}
		f.copies[e.Copy.Event] = append(f.copies[e.Copy.Event], e)
	}
	f.events[e.ID] = e
	f.sessions[s] = &record.Session{ID: digest(2, int(s))}
	return e
}

func (f *family) EventDoc(event record.Digest) (lexical.Doc, bool, error) {
	f.reads++
	e, found := f.events[event]
	if !found {
		return lexical.Doc{}, false, nil
	}
	return lexical.Doc{Doc: uint32(e.Sequence)}, true, nil
}

func (f *family) Event(doc lexical.Doc, e *record.Event) error {
	*e = *f.events[digest(3, int(doc.Doc))]
	return nil
}

func (f *family) Copies(ancestor record.Digest, visit func(*record.Event) bool) error {
	for _, e := range f.copies[ancestor] {
		if !visit(e) {
			break
		}
	}
	return nil
}

func (f *family) Session(ordinal uint32) (*record.Session, error) {
	if s := f.sessions[ordinal]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("no session %d", ordinal)
}

func occurrences(r *Report) string {
	var out []string
	for _, o := range r.Occurrences {
		out = append(out, fmt.Sprintf("%s@%d", o.Event[:6], o.Depth))
	}
	return strings.Join(out, " ")
}

func TestWalk(t *testing.T) {
	chain := newFamily() // 1 <- 2 <- 3, 1 <- 4
	origin := chain.add(1, 1, -1)
	chain.add(2, 2, 1)
	last := chain.add(3, 3, 2)
	chain.add(4, 4, 1)
	single := newFamily()
	alone := single.add(1, 1, -1)
	missing := newFamily() // 9 is not stored; 2 and 3 claim it
	orphan := missing.add(2, 2, 9)
	missing.add(3, 3, 9)
	cycle := newFamily() // 1 -> 2 -> 1
	one := cycle.add(1, 1, 2)
	cycle.add(2, 2, 1)
	tail := newFamily() // 3 -> 1 -> 2 -> 1: the cycle does not hold the start
	tail.add(1, 1, 2)
	tail.add(2, 2, 1)
	outside := tail.add(3, 3, 1)

	tests := []struct {
		name    string
		archive *family
		start   *record.Event
		state   State
		event   int
		session bool
		depth   int
		found   string
	}{
		{"origin", chain, origin, Resolved, 1, true, 0, "000002@1 000003@2 000004@1"},
		{"end of a chain", chain, last, Resolved, 1, true, 2, "000002@1 000003@2 000004@1"},
		{"no copies", single, alone, Resolved, 1, true, 0, ""},
		{"missing target", missing, orphan, Unresolved, 9, false, 1, "000002@1 000003@1"},
		{"cycle", cycle, one, Cyclic, 1, true, 2, "000002@1"},
		{"outside a cycle", tail, outside, Cyclic, 1, true, 3, "000002@1 000003@1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Walk(tt.archive, tt.start, ShowPreview)
			if err != nil {
				t.Fatal(err)
			}
			if r.Resolution.State != tt.state || r.Resolution.Event != digest(3, tt.event).String() || (r.Resolution.Session != "") != tt.session {
				t.Errorf("resolution %+v", r.Resolution)
			}
			if r.SelectedDepth != tt.depth || occurrences(r) != tt.found || r.Truncated {
				t.Errorf("depth %d, occurrences %q, truncated %v", r.SelectedDepth, occurrences(r), r.Truncated)
			}
			if r.SchemaVersion != 2 || r.ObservedCount != len(r.Occurrences) || r.Returned != len(r.Occurrences) {
				t.Errorf("counts %+v", r)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	f := newFamily()
	start := f.add(1, 1, -1)
	f.add(2, 2, 1)
	parent, root := digest(2, 1), digest(2, 7)
	f.sessions[2] = &record.Session{ID: digest(2, 2), Parent: &parent, Root: &root, Relationship: record.RelationshipForked}
	f.add(3, 3, 1)
	r, err := Walk(f, start, ShowPreview)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	id := func(kind byte, n int) string { return digest(kind, n).String() }
	want := `{"schema_version":2,"resolution":{"state":"resolved","ctx_event_id":"` + id(3, 1) + `","ctx_session_id":"` + id(2, 1) + `"},` +
		`"selected_depth":0,"observed_count":2,"returned":2,"occurrences":[` +
		`{"ctx_event_id":"` + id(3, 2) + `","ctx_session_id":"` + id(2, 2) + `","copied_from_ctx_event_id":"` + id(3, 1) +
		`","copied_from_ctx_session_id":"` + id(2, 1) + `","parent_ctx_session_id":"` + id(2, 1) + `","claimed_root_ctx_session_id":"` + id(2, 7) +
		`","session_relationship":"forked","copy_proof":"native_event_identity","depth":1},` +
		`{"ctx_event_id":"` + id(3, 3) + `","ctx_session_id":"` + id(2, 3) + `","copied_from_ctx_event_id":"` + id(3, 1) +
		`","copied_from_ctx_session_id":"` + id(2, 1) + `","parent_ctx_session_id":null,"claimed_root_ctx_session_id":null,` +
		`"session_relationship":null,"copy_proof":"native_event_identity","depth":1}],` +
		`"relationship_counts":{"forked":1,"unspecified":1},"truncated":false}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestPreviewAndVisits(t *testing.T) {
	f := newFamily()
	start := f.add(0, 0, -1)
	for n := 1; n <= 64; n++ {
		f.add(n, uint32(n), 0)
	}
	r, err := Walk(f, start, SearchPreview)
	if err != nil {
		t.Fatal(err)
	}
	if r.Returned != 3 || r.ObservedCount != 64 || r.Truncated {
		t.Errorf("64 copies: returned %d, observed %d, truncated %v", r.Returned, r.ObservedCount, r.Truncated)
	}
	f.add(65, 65, 0)
	if r, err = Walk(f, start, SearchPreview); err != nil {
		t.Fatal(err)
	}
	if r.Returned != 3 || r.ObservedCount != 64 || !r.Truncated {
		t.Errorf("65 copies: returned %d, observed %d, truncated %v", r.Returned, r.ObservedCount, r.Truncated)
	}
	if r, err = Walk(f, start, ShowPreview); err != nil || r.Returned != 20 || r.ObservedCount != 65 || r.Truncated {
		t.Errorf("show: %+v, %v", r, err)
	}
	text, err := json.Marshal(r)
	if err != nil || len(text) > 64<<10 {
		t.Errorf("object of %d bytes, %v", len(text), err)
	}
}

func TestDepthBound(t *testing.T) {
	for _, length := range []int{MaxDepth, MaxDepth + 1} {
		f := newFamily()
		f.add(0, 0, -1)
		var last *record.Event
		for n := 1; n <= length; n++ {
			last = f.add(n, uint32(n), n-1)
		}
		o, err := Find(f, last)
		if err != nil {
			t.Fatal(err)
		}
		want := Resolved
		if length > MaxDepth {
			want = Unresolved
		}
		if o.State != want || o.Depth != MaxDepth || f.reads > MaxLookups {
			t.Errorf("chain of %d: %s at depth %d after %d look-ups", length, o.State, o.Depth, f.reads)
		}
		r, err := Walk(f, f.events[digest(3, 0)], Preview{Keep: 1, Visits: 5000})
		if err != nil || r.ObservedCount != MaxDepth {
			t.Errorf("backward over %d: observed %d, %v", length, r.ObservedCount, err)
		}
	}
}

func TestLookupBudget(t *testing.T) {
	b := budget(MaxLookups)
	f := newFamily()
	f.add(1, 1, -1)
	if _, err := find(f, f.add(2, 2, 1), &b); fault.Code(err) != fault.OutputLimitExceeded {
		t.Errorf("error %v", err)
	}
}

func TestUnstoredSessionFails(t *testing.T) {
	f := newFamily()
	start := f.add(1, 1, -1)
	f.add(2, 2, 1)
	delete(f.sessions, 2)
	if _, err := Walk(f, start, ShowPreview); err == nil {
		t.Error("a copy without its session gave no error")
	}
}
