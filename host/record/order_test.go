package record

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"testing"
)

func TestRangeOrder(t *testing.T) {
	e := func(timed bool, at int64, sequence uint64, id byte) *Event {
		return &Event{ID: Digest{id}, Timed: timed, OccurredAt: at, Sequence: sequence, EncodedBytes: 10, ContentBytes: 4}
	}
	ordered := []*Event{
		e(true, minTime, 9, 9), e(true, -1, 9, 9), e(true, 0, 1, 9), e(true, 0, 2, 1), e(true, 0, 2, 2), e(true, 1, 0, 0),
		e(false, 0, 0, 9), e(false, 0, 1, 1), e(false, 0, 1, 2),
	}
	for i := 1; i < len(ordered); i++ {
		before, after := RangeKeyOf(ordered[i-1]), RangeKeyOf(ordered[i])
		if bytes.Compare(before[:], after[:]) >= 0 {
			t.Errorf("event %d does not come before event %d", i-1, i)
		}
	}
	for i, event := range ordered {
		k := RangeKeyOf(event)
		at, timed := k.Time()
		if at != event.OccurredAt || timed != event.Timed || binary.BigEndian.Uint64(k[9:]) != event.Sequence || k.Event() != event.ID {
			t.Errorf("event %d read back as %x", i, k)
		}
		if parsed, err := ParseRangeKey(k[:]); err != nil || parsed != k {
			t.Errorf("event %d: %v", i, err)
		}
	}
	from := FirstAt(0)
	first, last := RangeKeyOf(ordered[2]), RangeKeyOf(ordered[1])
	if bytes.Compare(from[:], first[:]) > 0 || bytes.Compare(from[:], last[:]) <= 0 {
		t.Error("FirstAt is no border")
	}
	border := RangeKey{1}
	timed, untimed := RangeKeyOf(ordered[5]), RangeKeyOf(ordered[6])
	if bytes.Compare(timed[:], border[:]) >= 0 || bytes.Compare(border[:], untimed[:]) > 0 {
		t.Error("the flag of the untimed tail is no border")
	}
}

func TestRangeKeyForm(t *testing.T) {
	k := RangeKeyOf(&Event{ID: Digest{0xab}, Timed: true, OccurredAt: 1, Sequence: 2, EncodedBytes: 3, ContentBytes: 4})
	want := bytes.Join([][]byte{{0, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0xab}, make([]byte, 31), {0, 0, 0, 3, 0, 0, 0, 4}}, nil)
	if !bytes.Equal(k[:], want) {
		t.Errorf("key %x", k)
	}
	for name, bad := range map[string][]byte{
		"short": want[:56], "long": append(bytes.Clone(want), 0), "flag 2": append([]byte{2}, want[1:]...), "untimed with a time": append([]byte{1}, want[1:]...),
	} {
		if _, err := ParseRangeKey(bad); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
}

func TestSessionOrder(t *testing.T) {
	t.Parallel()
	var events []*Event
	for seed := range uint64(400) {
		e := newSampler(seed).event()
		e.Sequence %= 3
		e.Suborder %= 2
		if e.Timed {
			e.OccurredAt %= 2
		}
		events = append(events, e)
	}
	byKey := slices.Clone(events)
	slices.SortFunc(byKey, func(a, b *Event) int {
		ka, kb := SessionKeyOf(a), SessionKeyOf(b)
		return bytes.Compare(ka[:], kb[:])
	})
	inWords := func(a, b *Event) int {
		timed := func(e *Event) int {
			if e.Timed {
				return 1
			}
			return 0
		}
		ua, ub := a.ID.UUID(), b.ID.UUID()
		return cmp.Or(
			cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Suborder, b.Suborder), cmp.Compare(timed(a), timed(b)),
			cmp.Compare(a.OccurredAt, b.OccurredAt), bytes.Compare(ua[:], ub[:]),
		)
	}
	if !slices.IsSortedFunc(byKey, inWords) {
		t.Error("the order by key is not sequence, suborder, time, UUID")
	}
	for _, e := range events {
		k := SessionKeyOf(e)
		if k.Event() != e.ID {
			t.Fatalf("%x read back from %x", e.ID, k)
		}
		if parsed, err := ParseSessionKey(k[:]); err != nil || parsed != k {
			t.Fatalf("%x: %v", k, err)
		}
	}
	k := SessionKeyOf(events[0])
	for _, at := range []int{12, 27, 29, 37} {
		bad := k
		bad[at] ^= 0x44
		if _, err := ParseSessionKey(bad[:]); err == nil {
			t.Errorf("byte %d changed and accepted", at)
		}
	}
	if _, err := ParseSessionKey(k[:SessionKeySize-1]); err == nil {
		t.Error("a short key accepted")
	}
}

func TestWeights(t *testing.T) {
	tests := map[string][4]float32{ // all, transcript, calls, outputs
		Message: {1, 1, 0, 0}, Summary: {0.9, 0.9, 0, 0}, ToolCall: {0.8, 0, 1, 0}, CommandStarted: {0.8, 0, 1, 0},
		ToolOutput: {0.6, 0, 0, 1}, CommandOutput: {0.6, 0, 0, 1}, CommandFinished: {0.6, 0, 0, 1},
		Notice: {0.8, 0, 0, 0}, Artifact: {0.8, 0, 0, 0}, VCSChange: {0.8, 0, 0, 0}, "never seen": {0.8, 0, 0, 0},
	}
	for typ, want := range tests {
		for scope, w := range want {
			if got := Weights(ContentScope(scope))[TypeCode(typ)]; got != w {
				t.Errorf("%s in the table of %s weighs %v, want %v", typ, ContentScope(scope), got, w)
			}
		}
	}
	if got := Weights(ScopeAll)[255]; got != 0.8 {
		t.Errorf("an unknown code weighs %v", got)
	}
}

func TestVocabularies(t *testing.T) {
	if got := SearchableTypes(); len(got) != 9 || got[0] != Message || got[8] != Notice {
		t.Errorf("searchable types %v", got)
	}
	for c := uint8(1); c < uint8(len(typeNames)); c++ {
		if TypeCode(typeNames[c]) != c {
			t.Errorf("type %d", c)
		}
	}
	if TypeCode("x") != TypeOther || TypeCode("") != TypeOther {
		t.Error("unknown types have a code")
	}
	if RoleCode("") != RoleNone || RoleCode("x") != RoleOther || RoleCode(User) != RoleUser || RoleCode(Tool) != RoleTool {
		t.Error("role codes")
	}
	for _, k := range FactKinds() {
		if k.String() == "" {
			t.Errorf("fact kind %d has no name", k)
		}
	}
	if len(FactKinds()) != 13 {
		t.Errorf("%d kinds of facts", len(FactKinds()))
	}
	if s, ok := ParseScope("subagent"); !ok || s != ScopeSubagent {
		t.Error("subagent")
	}
	if _, ok := ParseScope(""); ok {
		t.Error("the empty scope is accepted")
	}
	for _, name := range []string{"all", "transcript", "calls", "outputs"} {
		if s, ok := ParseContentScope(name); !ok || s.String() != name {
			t.Errorf("content scope %s", name)
		}
	}
	if _, ok := ParseContentScope("x"); ok {
		t.Error("an unknown content scope is accepted")
	}
}
