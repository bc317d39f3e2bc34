package history

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	const full = "0123456789ab8def8123456789abcdef"
	const hyphened = "01234567-89ab-8def-8123-456789abcdef"
	for _, tt := range []struct {
		text, digits string
		full, ok     bool
	}{
		{hyphened, full, true, true},
		{" " + strings.ToUpper(hyphened) + "\n", full, true, true},
		{"urn:uuid:" + hyphened, full, true, true},
		{"{" + hyphened + "}", full, true, true},
		{full, full, true, true},
		{"01234567", "01234567", false, true},
		{"ABCDEF0123", "abcdef0123", false, true},
		{full[:31], full[:31], false, true},
		{"0123456", "", false, false},
		{"", "", false, false},
		{"01234567-89ab", "", false, false},
		{full + "0", "", false, false},
		{"zzzzzzzz", "", false, false},
		{"0123456é", "", false, false},
	} {
		digits, isFull, err := ParseID("event", tt.text)
		if digits != tt.digits || isFull != tt.full || (err == nil) != tt.ok {
			t.Errorf("%q: %q %v %v", tt.text, digits, isFull, err)
		}
		if err != nil && (fault.Code(err) != fault.InvalidRequest || !strings.Contains(err.Error(), "event")) {
			t.Errorf("%q: %v", tt.text, err)
		}
	}
}

func digits(id record.Digest) string {
	u := id.UUID()
	return hex.EncodeToString(u[:])
}

// Two session names whose ids share exactly their first 8 digits. They were found by trying.
const twinA, twinB, shared = "twin23295", "twin89521", 8

func TestAmbiguousPrefix(t *testing.T) {
	t.Parallel()
	a, b := twinA, twinB
	archive := fixture.Build(t, fixture.Session{Name: a, Events: talk("u")}, fixture.Session{Name: b, Events: talk("ua")})
	idA, idB := fixture.SessionID("", a), fixture.SessionID("", b)
	if digits(idA)[:shared] != digits(idB)[:shared] || digits(idA)[shared] == digits(idB)[shared] {
		t.Fatal("the ids of the twins changed")
	}
	both := func(when string) {
		t.Helper()
		v := view(t, archive)
		_, err := v.FindSession(t.Context(), SessionSelector{ID: digits(idA)[:8]})
		if fault.Code(err) != fault.AmbiguousID || !strings.Contains(err.Error(), idA.String()) || !strings.Contains(err.Error(), idB.String()) {
			t.Errorf("%s: %v", when, err)
		}
		if s, err := v.FindSession(t.Context(), SessionSelector{ID: digits(idB)[:shared+1]}); err != nil || s.ID != idB {
			t.Errorf("%s, longer prefix: %v", when, err)
		}
		if got := v.ShortSession(idB); got != digits(idB)[:shared+1] {
			t.Errorf("%s: short %s, %d digits shared", when, got, shared)
		}
		if got := v.OwnSession(idB); got != v.ShortSession(idB) {
			t.Errorf("%s: own %s", when, got)
		}
	}
	both("one generation")
	archive.Drop(t, a) // a is in the retained generation only
	both("across generations")
	v := view(t, archive)
	_, err := v.FindSession(t.Context(), SessionSelector{ID: digits(idA)[:shared+1]})
	if fault.Code(err) != fault.NotFound {
		t.Errorf("prefix in the retained generation only: %v", err)
	}
	if _, err = v.FindSession(t.Context(), SessionSelector{ID: idA.String()}); fault.Code(err) != fault.NotFound {
		t.Errorf("full id in the retained generation only: %v", err)
	}
	if got := v.ShortSession(idA); got != digits(idA)[:shared+1] {
		t.Errorf("short id of a dropped session: %s", got)
	}
	if got := v.ShortSession(fixture.SessionID("", "never stored")); got != fixture.SessionID("", "never stored").String() {
		t.Errorf("short id of an unknown session: %s", got)
	}
	archive.Publish(t, fixture.Session{Name: "third", Events: talk("u")})
	v = view(t, archive)
	if s, err := v.FindSession(t.Context(), SessionSelector{ID: digits(idB)[:8]}); err != nil || s.ID != idB {
		t.Errorf("after the retained generation is gone: %v", err)
	}
}

func TestFindEvent(t *testing.T) {
	t.Parallel()
	archive := fixture.Build(t, fixture.Session{Name: "s", Events: talk("ua")})
	v := view(t, archive)
	id := fixture.EventID("", "s", "a1")
	for _, text := range []string{id.String(), digits(id)[:8], strings.ToUpper(digits(id)), digits(id)[:20]} {
		if e, err := v.FindEvent(t.Context(), text); err != nil || e.Event.ID != id || e.Session.ID != fixture.SessionID("", "s") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if v.ShortEvent(id) != digits(id)[:8] || v.OwnEvent(id) != v.ShortEvent(id) {
		t.Errorf("short %s, own %s", v.ShortEvent(id), v.OwnEvent(id))
	}
	for _, text := range []string{"ffffffff", fixture.SessionID("", "s").String(), "ffffffff-ffff-8fff-8fff-ffffffffffff"} {
		if _, err := v.FindEvent(t.Context(), text); fault.Code(err) != fault.NotFound {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestProviderSession(t *testing.T) {
	t.Parallel()
	archive := fixture.Build(t,
		fixture.Session{Name: "s", Events: talk("u")}, fixture.Session{Name: "s", Provider: "codex", Events: talk("ua")},
		fixture.Session{Name: "only", Provider: "codex", Events: talk("u")},
	)
	v := view(t, archive)
	for _, tt := range []struct {
		sel  SessionSelector
		code string
		id   record.Digest
	}{
		{SessionSelector{Provider: "codex", ProviderSession: "s"}, "", fixture.SessionID("codex", "s")},
		{SessionSelector{ProviderSession: "only"}, "", fixture.SessionID("codex", "only")},
		{SessionSelector{ProviderSession: "s"}, fault.AmbiguousID, record.Digest{}},
		{SessionSelector{Provider: "claude", ProviderSession: "only"}, fault.NotFound, record.Digest{}},
		{SessionSelector{ProviderSession: "nobody"}, fault.NotFound, record.Digest{}},
		{SessionSelector{ID: "12345678", ProviderSession: "s"}, fault.InvalidRequest, record.Digest{}},
		{SessionSelector{ID: "12345678", Provider: "claude"}, fault.InvalidRequest, record.Digest{}},
		{SessionSelector{}, fault.InvalidRequest, record.Digest{}},
	} {
		s, err := v.FindSession(t.Context(), tt.sel)
		if fault.Code(err) != tt.code || err == nil && s.ID != tt.id {
			t.Errorf("%+v: %v", tt.sel, err)
		}
	}
}

func TestNoGeneration(t *testing.T) {
	t.Parallel()
	archive := fixture.New(t)
	if _, err := Open(t.Context(), archive.Store); fault.Code(err) != fault.SourceUnavailable {
		t.Errorf("error %v", err)
	}
}
