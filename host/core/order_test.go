package core

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// tangled returns a source whose events have many equal sequences, suborders and times, and some have no time.
func tangled(name string, r *rand.Rand, n int) source {
	s := source{name: name}
	for i := range 3 {
		ss := session{name: fmt.Sprintf("%s-s%d", name, i)}
		for j := range n {
			e := event{key: fmt.Sprint(j), sequence: uint64(r.IntN(4)), suborder: uint32(r.IntN(2)), text: fmt.Sprintf("%s %d %d", name, i, j)}
			if r.IntN(3) > 0 {
				e.time = 1_700_000_000_000 + int64(r.IntN(4))
			}
			ss.events = append(ss.events, e)
		}
		s.sessions = append(s.sessions, ss)
	}
	return s
}

// tangledArchive spreads events over several segments and deletes some.
func tangledArchive(t *testing.T) (*archive, *Generation) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	a := newArchive(t)
	a.publish(tangled("a", r, 12), tangled("b", r, 9))
	a.publish(tangled("c", r, 15))
	a.publish(tangled("a", r, 10), tangled("d", r, 5))
	a.verify()
	return a, a.pin()
}

type placedEvent struct {
	doc     lexical.Doc
	session uint32
	byRange record.RangeKey
	inOrder record.SessionKey
}

func everyEvent(a *archive, g *Generation) []placedEvent {
	a.t.Helper()
	var out []placedEvent
	g.Lexical().Live().Each(func(d lexical.Doc) bool {
		var e record.Event
		a.must(g.Event(d, &e))
		out = append(out, placedEvent{d, e.Session, record.RangeKeyOf(&e), record.SessionKeyOf(&e)})
		return true
	})
	return out
}

func docs(a *archive, it *DocIter) []lexical.Doc {
	a.t.Helper()
	defer it.Close()
	var out []lexical.Doc
	for it.Next() {
		out = append(out, it.Doc())
	}
	a.must(it.Err())
	return out
}

func docsOf(events []placedEvent) []lexical.Doc {
	var out []lexical.Doc
	for _, e := range events {
		out = append(out, e.doc)
	}
	return out
}

func TestRangeOrder(t *testing.T) {
	t.Parallel()
	a, g := tangledArchive(t)
	events := everyEvent(a, g)
	slices.SortFunc(events, func(x, y placedEvent) int { return bytes.Compare(x.byRange[:], y.byRange[:]) })
	bounds := []*record.RangeKey{nil}
	for i := range events {
		bounds = append(bounds, &events[i].byRange)
	}
	for _, at := range []int64{1_700_000_000_000, 1_700_000_000_002, 1_800_000_000_000} {
		k := record.FirstAt(at)
		bounds = append(bounds, &k)
	}
	untimed := record.RangeKey{1}
	bounds = append(bounds, &untimed)
	for _, from := range bounds {
		for i := 0; i < len(bounds); i += 7 {
			to := bounds[i]
			want := slices.DeleteFunc(slices.Clone(events), func(e placedEvent) bool {
				return from != nil && bytes.Compare(e.byRange[:], from[:]) < 0 || to != nil && bytes.Compare(e.byRange[:], to[:]) >= 0
			})
			forward, backward := docs(a, g.Range(from, to, false)), docs(a, g.Range(from, to, true))
			if !slices.Equal(forward, docsOf(want)) {
				t.Fatalf("range from %x to %x: %v, want %v", from, to, forward, docsOf(want))
			}
			slices.Reverse(backward)
			if !slices.Equal(backward, forward) {
				t.Fatalf("range from %x to %x: backward is not the reverse of forward", from, to)
			}
		}
	}
}

func TestSessionOrder(t *testing.T) {
	t.Parallel()
	a, g := tangledArchive(t)
	bySession := map[uint32][]placedEvent{}
	for _, e := range everyEvent(a, g) {
		bySession[e.session] = append(bySession[e.session], e)
	}
	if len(bySession) != 12 {
		t.Fatalf("%d sessions", len(bySession))
	}
	for ordinal, events := range bySession {
		slices.SortFunc(events, func(x, y placedEvent) int { return bytes.Compare(x.inOrder[:], y.inOrder[:]) })
		if got := docs(a, g.SessionEvents(ordinal, nil, false)); !slices.Equal(got, docsOf(events)) {
			t.Fatalf("session %d: %v, want %v", ordinal, got, docsOf(events))
		}
		for i := range events {
			from := events[i].inOrder
			if got := docs(a, g.SessionEvents(ordinal, &from, false)); !slices.Equal(got, docsOf(events[i:])) {
				t.Fatalf("session %d from event %d: %v, want %v", ordinal, i, got, docsOf(events[i:]))
			}
			back := docsOf(events[:i+1])
			slices.Reverse(back)
			if got := docs(a, g.SessionEvents(ordinal, &from, true)); !slices.Equal(got, back) {
				t.Fatalf("session %d back from event %d: %v, want %v", ordinal, i, got, back)
			}
		}
	}
}

func TestLookups(t *testing.T) {
	t.Parallel()
	a, g := tangledArchive(t)
	var ids []record.Digest
	for _, d := range docs(a, g.Range(nil, nil, false)) {
		var e record.Event
		a.must(g.Event(d, &e))
		ids = append(ids, e.ID)
		if got, ok, err := g.EventDoc(e.ID); !ok || got != d || err != nil {
			t.Fatalf("event %s: %v %v %v", e.ID, got, ok, err)
		}
	}
	slices.SortFunc(ids, func(x, y record.Digest) int { return cmp.Compare(uuidHex(x), uuidHex(y)) })
	for i, id := range ids {
		for _, n := range []int{1, 2, 3, 8, 16, 17, 32} {
			prefix := uuidHex(id)[:n]
			want := slices.DeleteFunc(slices.Clone(ids), func(d record.Digest) bool { return uuidHex(d)[:n] != prefix })
			got, err := g.IDs(EventIDs, prefix, 100)
			a.must(err)
			if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
				t.Fatalf("prefix %s: %d events, want %d", prefix, len(got), len(want))
			}
			if got, err := g.IDs(EventIDs, prefix, 1); len(got) != 1 || got[0] != want[0] || err != nil {
				t.Fatalf("first event of prefix %s: %v %v", prefix, got, err)
			}
		}
		near := 0
		if i > 0 {
			near = commonPrefix(uuidHex(id), uuidHex(ids[i-1]))
		}
		if i+1 < len(ids) {
			near = max(near, commonPrefix(uuidHex(id), uuidHex(ids[i+1])))
		}
		if got, err := g.PrefixLen(EventIDs, id); got != max(8, near+1) || err != nil {
			t.Fatalf("event %s: shortest prefix %d, want %d (%v)", id, got, max(8, near+1), err)
		}
	}
	for _, prefix := range []string{"", "ABCD", "12-4", "xyz", "000000000000000000000000000000001"} {
		if _, err := g.IDs(EventIDs, prefix, 1); err == nil {
			t.Errorf("prefix %q is accepted", prefix)
		}
		if _, err := g.IDs(SessionIDs, prefix, 1); err == nil {
			t.Errorf("session prefix %q is accepted", prefix)
		}
	}
	unknown := source{name: "unknown"}.eventID("x", "y")
	if _, ok, err := g.EventDoc(unknown); ok || err != nil {
		t.Fatalf("an unknown event is found: %v", err)
	}
	if n, err := g.PrefixLen(EventIDs, unknown); n != 8 || err != nil {
		t.Fatalf("prefix of an unknown event: %d %v", n, err)
	}
}

// TestTwins: events with one UUID and different digests are never taken for each other, whichever was stored first. Nobody can make some
// from native keys; these are forged.
func TestTwins(t *testing.T) {
	t.Parallel()
	one, two := numbered("one", 1, 3), numbered("two", 1, 3)
	first := one.eventID("one-s0", "1")
	second := first
	second[31]++
	for _, ids := range [][2]record.Digest{{first, second}, {second, first}} {
		a := newArchive(t)
		one.forged, two.forged = map[string]record.Digest{"1": ids[0]}, map[string]record.Digest{"1": ids[1]}
		a.publish(one, two)
		g := a.pin()
		for _, id := range ids {
			if _, found, err := g.EventDoc(id); found || fault.Code(err) != fault.IndexCorruption {
				t.Errorf("%x: found %v, %v", id[31], found, err)
			}
		}
		if both, err := g.IDs(EventIDs, uuidHex(first), 2); len(both) != 2 || err != nil {
			t.Errorf("%d events of the id, %v", len(both), err)
		}
	}
}

func TestSessionLookups(t *testing.T) {
	t.Parallel()
	a, g := tangledArchive(t)
	var all []*record.Session
	a.must(g.Sessions(func(s *record.Session, _ SessionStats) error {
		all = append(all, s)
		return nil
	}))
	for _, s := range all {
		if got, err := g.Session(s.Ordinal); err != nil || got.ID != s.ID {
			t.Fatalf("session %d: %v", s.Ordinal, err)
		}
		if got, err := g.SessionByID(s.ID); err != nil || got.Ordinal != s.Ordinal {
			t.Fatalf("session %s: %v", s.ID, err)
		}
		got, err := g.SessionsByProviderID(testProvider, s.ProviderSessionID, 5)
		if err != nil || len(got) != 1 || got[0].ID != s.ID {
			t.Fatalf("session %s by its provider id: %d found, %v", s.ID, len(got), err)
		}
		if got, err := g.SessionsByProviderID("other", s.ProviderSessionID, 5); err != nil || len(got) != 0 {
			t.Fatalf("session of another provider: %d found, %v", len(got), err)
		}
		for _, n := range []int{1, 8, 12, 13, 17, 32} {
			prefix := uuidHex(s.ID)[:n]
			want := 0
			for _, o := range all {
				if uuidHex(o.ID)[:n] == prefix {
					want++
				}
			}
			got, err := g.IDs(SessionIDs, prefix, 100)
			if err != nil || len(got) != want {
				t.Fatalf("prefix %s: %d sessions, want %d (%v)", prefix, len(got), want, err)
			}
		}
		if n, err := g.PrefixLen(SessionIDs, s.ID); n != 8 || err != nil {
			t.Fatalf("shortest prefix of session %s: %d %v", s.ID, n, err)
		}
		cert, err := g.Certificate(s.Source)
		a.must(err)
		ordinals, err := g.SourceSessions(cert.Ordinal)
		if err != nil || !slices.Contains(ordinals, s.Ordinal) || len(ordinals) != 3 {
			t.Fatalf("sessions of source %d: %v %v", cert.Ordinal, ordinals, err)
		}
	}
}

func TestCopies(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	fork := numbered("fork", 1, 4)
	fork.sessions[0].events[1].copyOf = "a/1"
	fork.sessions[0].events[2].copyOf = "a/2"
	again := numbered("again", 1, 2)
	again.sessions[0].events[0].copyOf = "a/1"
	a.publish(fork, again)
	ancestor := source{name: "ancestor"}
	copies := func(key string) (out []string) {
		t.Helper()
		a.must(a.pin().Copies(ancestor.eventID("a", key), func(e *record.Event) bool {
			out = append(out, string(e.AppendBody(nil)))
			return true
		}))
		slices.Sort(out)
		return out
	}
	if got := copies("1"); !slices.Equal(got, []string{"again.0 event 0", "fork.0 event 1"}) {
		t.Fatalf("copies %q", got)
	}
	if got := copies("3"); got != nil {
		t.Fatalf("copies of an event that has none: %q", got)
	}
	a.refresh(func(c *Candidate) { a.must(c.Drop(again.id())) })
	a.verify()
	if got := copies("1"); !slices.Equal(got, []string{"fork.0 event 1"}) {
		t.Fatalf("copies after one was deleted %q", got)
	}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
