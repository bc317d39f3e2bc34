package daemon

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

// clock is a moment that tests move.
type clock struct{ time.Time }

func newClock() *clock { return &clock{time.Unix(1000, 0)} }

func (c *clock) pass(d time.Duration) time.Time {
	c.Time = c.Add(d)
	return c.Time
}

// wants checks what is due now, and how long until the next question (-1 = never).
func wants(t *testing.T, s *schedule, c *clock, next time.Duration, due ...string) {
	t.Helper()
	got, at := s.due(c.Time)
	wait := time.Duration(-1)
	if !at.IsZero() {
		wait = at.Sub(c.Time)
	}
	if !slices.Equal(got, due) || wait != next {
		t.Errorf("due %q, next in %v; want %q, %v", got, wait, due, next)
	}
}

func TestQuietThenDue(t *testing.T) {
	t.Parallel()
	s, c := newSchedule(), newClock()
	wants(t, s, c, -1)
	s.touch("claude", c.Time)
	wants(t, s, c, quiet)
	s.touch("claude", c.pass(200*time.Millisecond))
	c.pass(200 * time.Millisecond)
	wants(t, s, c, 50*time.Millisecond)
	c.pass(50 * time.Millisecond)
	wants(t, s, c, -1, "claude")
}

func TestBusyWriterDoesNotPutItOffForever(t *testing.T) {
	t.Parallel()
	s, c := newSchedule(), newClock()
	for range 19 {
		s.touch("claude", c.Time)
		c.pass(100 * time.Millisecond)
		if due, _ := s.due(c.Time); len(due) > 0 {
			t.Fatal("due before 2 s although changes go on")
		}
	}
	s.touch("claude", c.Time)
	c.pass(100 * time.Millisecond)
	wants(t, s, c, -1, "claude")
}

func TestRestBetweenAttempts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ took, rest time.Duration }{
		{50 * time.Millisecond, spacing}, {time.Second, 9 * time.Second}, {time.Hour, maxRest},
	} {
		s, c := newSchedule(), newClock()
		s.ended(everything, nil, tt.took, c.Time)
		s.touch("claude", c.Time)
		wants(t, s, c, tt.rest)
		s.urge(c.Time) // somebody is about to search
		wants(t, s, c, spacing)
		c.pass(spacing)
		wants(t, s, c, -1, "claude")
		s.take("claude", c.Time)
		s.urge(c.Time)
		s.touch("codex", c.pass(quiet-1)) // written just before the search, seen just after
		wants(t, s, c, -1, "codex")
	}
}

func TestOnlyWhatWasAdmittedIsCleared(t *testing.T) {
	t.Parallel()
	s, c := newSchedule(), newClock()
	s.touch("claude", c.Time)
	s.touch("codex", c.Time)
	s.take("claude", c.Time)
	if got := s.marked(); !slices.Equal(got, []string{"codex"}) {
		t.Errorf("marked %q", got)
	}
	s.touch("claude", c.Time) // while the attempt runs
	s.ended("claude", nil, 0, c.Time)
	if got := s.marked(); !slices.Equal(got, []string{"claude", "codex"}) {
		t.Errorf("marked %q", got)
	}
	s.take(everything, c.Time)
	if len(s.marks) > 0 {
		t.Error("an attempt over everything leaves marks")
	}
}

// An attempt is told which files changed, and nothing about a provider of which more may have changed.
func TestWhatIsTouched(t *testing.T) {
	t.Parallel()
	s, c := newSchedule(), newClock()
	take := func(scope string, want map[string][]string) {
		t.Helper()
		if got, _ := s.take(scope, c.Time); !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	s.touch("claude", c.Time, "/b")
	s.touch("claude", c.Time, "/a")
	s.touch("claude", c.Time, "/a")
	s.touch("codex", c.Time, "/c")
	s.touch("codex", c.Time) // a file was removed, say
	s.touch("codex", c.Time, "/d")
	take("claude", map[string][]string{"claude": {"/a", "/b"}})
	s.touch("claude", c.Time, "/a")
	take(everything, map[string][]string{"claude": {"/a"}, "codex": nil})
	s.touch("claude", c.Time, "/a")
	s.touch(everything, c.Time)
	take(everything, nil)
	s.ended("claude", map[string]bool{"claude": true}, 0, c.Time)
	s.touch("claude", c.Time, "/a")
	take("claude", map[string][]string{"claude": {"/a"}})
	s.touch("claude", c.pass(firstRetry), "/a") // what failed is tried again with it
	take("claude", map[string][]string{"claude": nil})
	for n := range maxFiles + 1 {
		s.touch("claude", c.Time, strconv.Itoa(n))
	}
	take("claude", map[string][]string{"claude": nil})
}

func TestRetriesDouble(t *testing.T) {
	t.Parallel()
	s, c := newSchedule(), newClock()
	failing := map[string]bool{"codex": true}
	s.ended(everything, failing, 0, c.Time)
	for _, wait := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		wants(t, s, c, wait*time.Second)
		c.pass(wait*time.Second - 1)
		// Another provider is not held up, and an attempt that came early does not count.
		s.touch("claude", c.Time.Add(-spacing)).urgent = true
		wants(t, s, c, 1, "claude")
		s.take("claude", c.Time)
		s.ended("claude", nil, 0, c.Time)
		s.ended("codex", failing, 0, c.Time)
		c.pass(1)
		wants(t, s, c, -1, "codex")
		s.ended("codex", failing, 0, c.Time)
	}
	s.ended("codex", nil, 0, c.Time)
	wants(t, s, c, -1)
}

func TestWholeAttemptFails(t *testing.T) {
	t.Parallel()
	s, c := newSchedule(), newClock()
	for _, wait := range []time.Duration{10, 20, 40} {
		s.touch("claude", c.Time).urgent = true
		s.take("claude", c.Time)
		s.broke("claude", c.Time)
		s.touch("codex", c.Time)
		s.urge(c.Time)
		wants(t, s, c, wait*time.Second) // a full disk is not tried again for every change
		c.pass(wait * time.Second)
		wants(t, s, c, -1, "claude", "codex")
	}
	s.ended(everything, nil, 0, c.Time)
	if s.blocked.wait != 0 {
		t.Error("a success does not end the wait")
	}
}
