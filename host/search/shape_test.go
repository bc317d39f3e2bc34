package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// hit describes a candidate in a test: which session, how good, whether primary.
type hit struct {
	session  uint32
	coverage int
	score    float32
	primary  bool
}

// shaper makes a run whose sessions need no store. roots maps a session to the session that it claims as its root.
func shaper(limit int, events bool, roots map[uint32]uint32, count uint32) *run {
	r := &run{query: &query{limit: limit, events: events}, said: &understanding{}}
	r.sessions.known = map[uint32]*record.Session{}
	for n := range count {
		s := &record.Session{Ordinal: n, ID: sessionDigest(n)}
		if root, ok := roots[n]; ok {
			id := sessionDigest(root)
			s.Root = &id
		}
		r.sessions.known[n] = s
	}
	return r
}

func sessionDigest(n uint32) (d record.Digest) {
	d[0], d[1] = byte(n>>8), byte(n)
	return d
}

func candidates(hits []hit) []*candidate {
	out := make([]*candidate, len(hits))
	for i, h := range hits {
		scope := record.ScopeSubagent
		if h.primary {
			scope = record.ScopePrimary
		}
		out[i] = &candidate{doc: lexical.Doc{Doc: uint32(i)}, whole: h.coverage > 1, score: h.score,
			row: lexical.Row{Session: h.session, Scope: uint8(scope), Sequence: uint64(i)}}
	}
	return out
}

func order(s *shaped) string {
	var out []string
	for _, r := range s.rows {
		out = append(out, fmt.Sprintf("%d", r.row.Session))
	}
	return strings.Join(out, " ")
}

func TestShapeSessions(t *testing.T) {
	t.Parallel()
	below := math.Nextafter32(float32(10)*float32(0.95), 0)
	tests := []struct {
		name  string
		limit int
		roots map[uint32]uint32
		hits  []hit
		want  string
		more  bool
	}{
		{"best of each root first", 10, map[uint32]uint32{1: 0, 2: 0}, []hit{
			{0, 1, 9, true}, {1, 1, 8, false}, {2, 1, 7, false}, {3, 1, 1, true},
		}, "0 3 1 2", false},
		{"round robin over the roots", 10, map[uint32]uint32{1: 0, 2: 0, 5: 4, 6: 4}, []hit{
			{0, 1, 9, true}, {4, 1, 8.5, true}, {1, 1, 8, false}, {2, 1, 7, false}, {5, 1, 6, false}, {6, 1, 5, false},
		}, "0 4 1 5 2 6", false},
		{"primary at 0.95 leads its root", 10, map[uint32]uint32{1: 0}, []hit{
			{1, 1, 10, false}, {0, 1, float32(10) * float32(0.95), true},
		}, "0 1", false},
		{"primary just below does not", 10, map[uint32]uint32{1: 0}, []hit{{1, 1, 10, false}, {0, 1, below, true}}, "1 0", false},
		{"primary of lower coverage does not", 10, map[uint32]uint32{1: 0}, []hit{{1, 2, 10, false}, {0, 1, 9.9, true}}, "1 0", false},
		{"first primary in order leads", 10, map[uint32]uint32{1: 0, 2: 0}, []hit{
			{1, 1, 10, false}, {2, 1, 9.9, true}, {0, 1, 9.8, true},
		}, "2 1 0", false},
		{"coverage before score", 10, nil, []hit{{0, 2, 1, true}, {1, 1, 50, true}}, "0 1", false},
		{"equal roots by id", 10, nil, []hit{{5, 1, 3, true}, {2, 1, 3, true}, {7, 1, 3, true}}, "2 5 7", false},
		{"a root that is not found", 10, map[uint32]uint32{1: 99, 2: 99}, []hit{{1, 1, 3, true}, {3, 1, 2, true}, {2, 1, 1, true}}, "1 3 2", false},
		{"matches of a session count once", 10, nil, []hit{{0, 1, 3, true}, {0, 1, 2, true}, {1, 1, 1, true}}, "0 1", false},
		{"limit", 2, nil, []hit{{0, 1, 3, true}, {1, 1, 2, true}, {2, 1, 1, true}}, "0 1", true},
		{"exact limit", 3, nil, []hit{{0, 1, 3, true}, {1, 1, 2, true}, {2, 1, 1, true}}, "0 1 2", false},
	}
	for _, tt := range tests {
		r := shaper(tt.limit, false, tt.roots, 100)
		s, err := r.shape(candidates(tt.hits))
		if err != nil {
			t.Fatal(err)
		}
		if order(s) != tt.want || s.more != tt.more {
			t.Errorf("%s: %q more %v, want %q", tt.name, order(s), s.more, tt.want)
		}
	}
}

func TestShapeCountsMatches(t *testing.T) {
	t.Parallel()
	r := shaper(10, false, nil, 10)
	s, err := r.shape(candidates([]hit{{0, 1, 3, true}, {1, 1, 2.5, true}, {0, 1, 2, true}, {0, 1, 1, true}}))
	if err != nil || s.rows[0].matches != 3 || s.rows[1].matches != 1 {
		t.Errorf("matches %+v, %v", s.rows, err)
	}
}

func TestShapeEvents(t *testing.T) {
	t.Parallel()
	hits := []hit{{0, 2, 1, true}, {0, 1, 9, true}, {1, 1, 8, false}}
	for limit, want := range map[int]string{1: "0", 2: "0 0", 3: "0 0 1", 4: "0 0 1"} {
		s, err := shaper(limit, true, nil, 10).shape(candidates(hits))
		if err != nil || order(s) != want || s.more != (limit < 3) {
			t.Errorf("limit %d: %q more %v, %v", limit, order(s), s.more, err)
		}
	}
}

func TestDecisive(t *testing.T) {
	t.Parallel()
	two := []hit{{0, 2, 10, true}, {1, 2, 8, true}, {2, 2, 7, true}}
	for name, tt := range map[string]struct {
		limit  int
		events bool
		roots  map[uint32]uint32
		hits   []hit
		tail   key
		want   bool
	}{
		"events with more":                     {2, true, nil, two, key{true, 7}, true},
		"events without more":                  {3, true, nil, two, key{true, 7}, false},
		"limit 0":                              {0, false, nil, two, key{true, 7}, true},
		"sessions":                             {2, false, nil, two, key{true, 7}, true},
		"no more":                              {3, false, nil, two, key{true, 7}, false},
		"tail as good as the weakest selected": {2, false, nil, []hit{{0, 2, 10, true}, {1, 2, 8, true}, {2, 2, 8, true}}, key{true, 8}, false},
		"too few roots":                        {2, false, map[uint32]uint32{1: 0, 2: 0}, two, key{true, 7}, false},
		"a primary may still come":             {1, false, nil, []hit{{0, 2, 10, false}, {1, 2, 9.8, true}}, key{true, 9.8}, false},
		"the tail is too weak for a primary":   {1, false, nil, []hit{{0, 2, 10, false}, {1, 2, 9, true}}, key{true, 9}, true},
		"the tail covers less":                 {1, false, nil, []hit{{0, 2, 10, false}, {1, 1, 30, true}}, key{false, 30}, true},
		"a primary is found already":           {1, false, map[uint32]uint32{1: 0}, []hit{{0, 2, 10, false}, {1, 2, 9.9, true}, {2, 2, 9.8, false}}, key{true, 9.8}, true},
	} {
		s, err := shaper(tt.limit, tt.events, tt.roots, 10).shape(candidates(tt.hits))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.decisive(tt.limit, tt.tail); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDecisiveIsSafe: whatever a decisive pool shows, the whole list shows the same rows.
func TestDecisiveIsSafe(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	decided := 0
	for range 3000 {
		sessions := uint32(3 + rnd.IntN(10))
		roots := map[uint32]uint32{}
		for n := range sessions {
			if rnd.IntN(2) == 0 {
				roots[n] = rnd.Uint32N(3)
			}
		}
		hits := make([]hit, 20+rnd.IntN(30))
		for i := range hits {
			hits[i] = hit{rnd.Uint32N(sessions), 1 + rnd.IntN(2), float32(90+rnd.IntN(11)) / 10, rnd.IntN(2) == 0}
		}
		slices.SortStableFunc(hits, func(a, b hit) int {
			ka, kb := key{a.coverage > 1, a.score}, key{b.coverage > 1, b.score}
			switch {
			case kb.less(ka):
				return -1
			case ka.less(kb):
				return 1
			}
			return 0
		})
		limit := 1 + rnd.IntN(4)
		r := shaper(limit, false, roots, sessions)
		all := candidates(hits)
		whole, err := r.shape(all)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < len(all); n++ {
			s, err := r.shape(all[:n])
			if err != nil {
				t.Fatal(err)
			}
			if !s.decisive(limit, all[n-1].key()) {
				continue
			}
			decided++
			if !whole.more || order(s) != order(whole) {
				t.Fatalf("decisive after %d of %d with %q, all give %q\nroots %v\nhits %v", n, len(all), order(s), order(whole), roots, hits)
			}
			break
		}
	}
	if decided < 100 {
		t.Errorf("only %d pools were decisive", decided)
	}
}
