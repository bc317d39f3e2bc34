package cursor

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// add takes a session in a store. When a store has two of one name, the better one stays.
func (l *library) add(ctx context.Context, f *found) error {
	if !f.id.valid() {
		l.Warn(f.route, f.locator, "unusable_name", "the session has no usable name")
		return nil
	}
	key := scope{string(l.routes[f.route].Lineage), f.id}
	s := l.sessions[key]
	if s == nil {
		s = &session{}
		l.sessions[key] = s
	}
	old := s.in[f.store]
	if old == nil {
		s.in[f.store] = f
		return nil
	}
	better, worse := f, old
	if !f.beats(old) {
		better, worse = old, f
	}
	s.in[f.store] = better
	if f.seen.SameFile(old.seen) || better.plain != worse.plain {
		return nil
	}
	if f.store == transcripts {
		same, err := l.prefix(ctx, better, worse)
		if err != nil || same {
			return err
		}
	}
	l.Warn(worse.route, worse.locator, "duplicate_session", "another file of the same session is newer and is taken instead")
	return nil
}

// beats tells whether a session found later is taken in place of one found earlier: lines before plain text, then the newest,
// then the longest.
func (f *found) beats(old *found) bool {
	if f.plain != old.plain {
		return old.plain
	}
	if f.store == ideState {
		return f.head.updated > old.head.updated
	}
	return cmp.Or(cmp.Compare(f.seen.MtimeNS, old.seen.MtimeNS), cmp.Compare(f.seen.Size, old.seen.Size)) > 0
}

// choose decides from which store each session is taken.
func (l *library) choose(ctx context.Context) error {
	var look scanner
	for _, s := range l.sessions {
		for s.taken < ideState && s.in[s.taken] == nil {
			s.taken++
		}
		if s.taken == transcripts && s.in[ideState] != nil {
			richer, err := l.richer(ctx, &look, s.in[ideState], s.in[transcripts])
			if err != nil {
				return err
			}
			if richer {
				s.taken = ideState
			}
		}
		l.list = append(l.list, s.in[s.taken])
	}
	slices.SortFunc(l.list, func(a, b *found) int {
		return cmp.Or(cmp.Compare(a.route, b.route), strings.Compare(a.locator, b.locator), strings.Compare(string(a.id), string(b.id)))
	})
	return nil
}
