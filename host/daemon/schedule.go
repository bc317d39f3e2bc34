package daemon

import (
	"maps"
	"slices"
	"time"
)

// When an automatic attempt starts.
const (
	quiet     = 250 * time.Millisecond // after the last change of a provider
	longest   = 2 * time.Second        // after its first one, however busy it is
	spacing   = 2 * time.Second        // between two automatic attempts: small appends share a publication
	maxRest   = time.Minute            // the longest rest after an expensive attempt
	dutyShare = 9                      // a rest is this many times as long as the attempt before it

	firstRetry = 10 * time.Second
	lastRetry  = 5 * time.Minute

	reconcileEvery  = 15 * time.Minute
	reconcileJitter = 5 * time.Minute
)

// everything is the name under which all providers are marked at once.
const everything = ""

// schedule decides when an automatic attempt is due. It holds no clock and no timer.
type schedule struct {
	marks   map[string]*mark
	retries map[string]*retry // providers with sources that may be readable later
	blocked retry             // whole attempts failed: the disk is full, another writer is at work
	spaced  time.Time         // no automatic attempt before
	rest    time.Time         // none either, unless somebody waits: the last one was expensive
	urged   time.Time         // somebody waits for what is seen until then
}

// mark says that something changed below the routes of a provider.
type mark struct {
	first, last time.Time
	urgent      bool            // somebody waits: no more changes are collected
	files       map[string]bool // that changed, at most maxFiles; nil: it is not known which
}

// maxFiles bounds the files that are looked at one by one: more of them are found faster by a look at everything.
const maxFiles = 256

type retry struct {
	at   time.Time
	wait time.Duration
}

// later doubles the wait.
func (r *retry) later(now time.Time) {
	r.wait = min(max(2*r.wait, firstRetry), lastRetry)
	r.at = now.Add(r.wait)
}

func newSchedule() *schedule {
	return &schedule{marks: map[string]*mark{}, retries: map[string]*retry{}}
}

// touch marks a provider, or everything, for one file that changed or, without files, for whatever may have changed.
func (s *schedule) touch(provider string, now time.Time, files ...string) *mark {
	m := s.marks[provider]
	if m == nil {
		m = &mark{first: now, files: map[string]bool{}}
		s.marks[provider] = m
	}
	if m.files != nil {
		for _, f := range files {
			m.files[f] = true
		}
	}
	if len(files) == 0 || len(m.files) > maxFiles {
		m.files = nil
	}
	m.last = now
	m.urgent = m.urgent || now.Before(s.urged)
	return m
}

// urge makes what is marked due as soon as the spacing allows: somebody is about to search. What the search is about may have been
// written just now, so the next marks hurry too.
func (s *schedule) urge(now time.Time) {
	s.urged = now.Add(quiet)
	for _, m := range s.marks {
		m.urgent = true
	}
}

// due returns the providers of the attempt that is to start now, or when to ask again; the zero time means never.
func (s *schedule) due(now time.Time) (providers []string, next time.Time) {
	sooner := func(at time.Time) bool {
		if at.After(now) {
			if next.IsZero() || at.Before(next) {
				next = at
			}
			return false
		}
		return true
	}
	for name, m := range s.marks {
		at := m.last.Add(quiet)
		if limit := m.first.Add(longest); limit.Before(at) {
			at = limit
		}
		if at = latest(at, s.rest); m.urgent {
			at = now
		}
		if sooner(latest(at, s.spaced, s.blocked.at)) {
			providers = append(providers, name)
		}
	}
	for name, r := range s.retries {
		if s.marks[name] == nil && sooner(r.at) {
			providers = append(providers, name)
		}
	}
	slices.Sort(providers)
	return providers, next
}

func latest(at time.Time, others ...time.Time) time.Time {
	for _, o := range others {
		if o.After(at) {
			at = o
		}
	}
	return at
}

// take admits an attempt over a scope: a provider or everything. What it covers is not marked any more; what changes from now on is.
// It tells which files changed by provider, none where it is not known which, and nil when anything may have; and whether anything
// was marked.
func (s *schedule) take(scope string, now time.Time) (touched map[string][]string, marked bool) {
	touched = map[string][]string{}
	for name, m := range s.marks {
		if scope == everything || scope == name {
			marked = true
			touched[name] = slices.Sorted(maps.Keys(m.files))
			delete(s.marks, name)
		}
	}
	for name, r := range s.retries {
		if (scope == everything || scope == name) && !r.at.After(now) {
			touched[name] = nil // the files that failed did not change
		}
	}
	if _, all := touched[everything]; all {
		return nil, marked
	}
	return touched, marked
}

// ended settles an attempt. failing are the providers of which sources could not be read but may be later.
func (s *schedule) ended(scope string, failing map[string]bool, took time.Duration, now time.Time) {
	s.blocked = retry{}
	s.spaced, s.rest = now.Add(spacing), now.Add(min(dutyShare*took, maxRest))
	for name := range s.retries {
		if !failing[name] && (scope == everything || scope == name) {
			delete(s.retries, name)
		}
	}
	for name := range failing {
		r := s.retries[name]
		if r == nil {
			r = &retry{at: now}
			s.retries[name] = r
		}
		if !r.at.After(now) { // an attempt before its time does not count
			r.later(now)
		}
	}
}

// broke settles an attempt that failed as a whole: its scope is marked again and waits longer each time.
func (s *schedule) broke(scope string, now time.Time) {
	s.touch(scope, now)
	s.blocked.later(now)
}

// waiting lists the retries with the time left, in milliseconds.
func (s *schedule) waiting(now time.Time) map[string]int64 {
	if len(s.retries) == 0 {
		return nil
	}
	out := map[string]int64{}
	for name, r := range s.retries {
		out[name] = max(0, r.at.Sub(now).Milliseconds())
	}
	return out
}

func (s *schedule) marked() []string { return slices.Sorted(maps.Keys(s.marks)) }
