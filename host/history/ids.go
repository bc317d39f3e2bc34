package history

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/onscreen"
	"github.com/agenthistory/ctx/host/record"
)

const (
	minPrefix = 8
	maxPrefix = 32
)

// namespace is one of the two kinds of ids.
type namespace struct {
	name string // as messages call it
	core.Kind
}

var sessionIDs, eventIDs = namespace{"session", core.SessionIDs}, namespace{"event", core.EventIDs}

// ParseID reads a full UUID in any standard form, or a prefix of 8 to 32 hex digits, in any case, and returns its lower-case hex
// digits. what names the id in messages ("session", "event").
func ParseID(what, text string) (digits string, full bool, err error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if id, err := uuid.Parse(text); err == nil {
		return hex.EncodeToString(id[:]), true, nil
	}
	bad := func(reason string) error {
		return fault.New(fault.InvalidRequest, "%s is no %s id: %s", onscreen.Quote(text), what, reason).
			WithHint("Give a full UUID or its first %d to %d hex digits without hyphens", minPrefix, maxPrefix)
	}
	switch {
	case strings.Contains(text, "-"):
		return "", false, bad("a prefix has no hyphens")
	case !isHex(text):
		return "", false, bad("only hex digits count")
	case len(text) < minPrefix:
		return "", false, bad("a prefix has at least 8 characters")
	case len(text) > maxPrefix:
		return "", false, bad("it is longer than a UUID")
	}
	return text, false, nil
}

func isHex(text string) bool {
	for _, c := range text {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

// resolve finds the one id behind text. A prefix must be unique over both generations; what only the retained one holds is not
// found, because nothing of it can be shown.
func (v *View) resolve(ctx context.Context, ns namespace, text string) (record.Digest, error) {
	digits, full, err := ParseID(ns.name, text)
	if err != nil {
		return record.Digest{}, err
	}
	active, err := v.gen.IDs(ns.Kind, digits, 2)
	if err != nil {
		return record.Digest{}, err
	}
	if full {
		switch len(active) {
		case 0:
			return record.Digest{}, notFound(ns.name, text)
		case 1:
			return active[0], nil
		}
		return record.Digest{}, fault.New(fault.IndexCorruption, "two stored %ss share the id %s", ns.name, onscreen.Quote(text)).WithHint("ctx doctor --deep")
	}
	previous, err := v.before(ctx)
	if err != nil {
		return record.Digest{}, err
	}
	all := active
	if previous != nil {
		old, err := previous.IDs(ns.Kind, digits, 2)
		if err != nil {
			return record.Digest{}, err
		}
		all = union(active, old)
	}
	switch {
	case len(all) > 1:
		return record.Digest{}, ambiguous(ns.name, onscreen.Quote(text), all[0], all[1])
	case len(active) == 0:
		return record.Digest{}, notFound(ns.name, text)
	}
	return active[0], nil
}

// Knows tells whether an id, full or a prefix, is the id of a stored record of a kind ("session", "event"). Several records count too.
func (v *View) Knows(ctx context.Context, kind, id string) bool {
	ns := sessionIDs
	if kind == eventIDs.name {
		ns = eventIDs
	}
	_, err := v.resolve(ctx, ns, id)
	return err == nil || fault.Code(err) == fault.AmbiguousID
}

func union(a, b []record.Digest) []record.Digest {
	all := slices.Clone(a)
	for _, id := range b {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

func notFound(what, text string) error {
	return fault.New(fault.NotFound, "no stored %s has the id %s", what, onscreen.Quote(strings.TrimSpace(text))).
		WithHint("ctx search <words> --verbose")
}

func ambiguous(what, given string, a, b record.Digest) error {
	return fault.New(fault.AmbiguousID, "%s names more than one %s: %s and %s", given, what, a, b).
		WithHint("Give more characters or the full id")
}

// SessionSelector names one session: by ctx id, or by the provider's own id.
type SessionSelector struct {
	ID              string // full UUID or hex prefix of 8..32
	Provider        string // internal id; optional
	ProviderSession string
}

// FindSession resolves a selector. Faults: invalid_request, not_found, ambiguous_id (naming both full ids).
func (v *View) FindSession(ctx context.Context, sel SessionSelector) (*Session, error) {
	if sel.ID != "" {
		if sel.Provider != "" || sel.ProviderSession != "" {
			return nil, fault.New(fault.InvalidRequest, "give either a ctx session id or the provider's session id, not both")
		}
		id, err := v.resolve(ctx, sessionIDs, sel.ID)
		if err != nil {
			return nil, err
		}
		return v.sessionByID(id)
	}
	if sel.ProviderSession == "" {
		return nil, fault.New(fault.InvalidRequest, "a ctx session id or the provider's session id is needed")
	}
	providers := []string{sel.Provider}
	if sel.Provider == "" {
		providers = v.gen.Manifest().Providers
	}
	var found []*record.Session
	for _, provider := range providers {
		sessions, err := v.gen.SessionsByProviderID(provider, sel.ProviderSession, 2)
		if err != nil {
			return nil, err
		}
		found = append(found, sessions...)
	}
	switch len(found) {
	case 0:
		return nil, notFound("provider session", sel.ProviderSession)
	case 1:
		return v.remember(found[0])
	}
	return nil, ambiguous("session", "provider session "+onscreen.Quote(sel.ProviderSession), found[0].ID, found[1].ID)
}

func (v *View) sessionByID(id record.Digest) (*Session, error) {
	stored, err := v.gen.SessionByID(id)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, notFound("session", id.String())
	}
	return v.remember(stored)
}

// FindEvent resolves a full UUID or prefix of an event. Faults as FindSession.
func (v *View) FindEvent(ctx context.Context, id string) (*Shown, error) {
	found, err := v.resolve(ctx, eventIDs, id)
	if err != nil {
		return nil, err
	}
	doc, ok, err := v.gen.EventDoc(found)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, notFound("event", id)
	}
	return v.shown(doc)
}

// ShortSession returns the shortest prefix (8 to 32 hex digits) of a session id that no other session of both generations shares.
// An id that neither of them holds stays a full UUID: nobody could look it up.
func (v *View) ShortSession(id record.Digest) string { return v.short(sessionIDs, id, false) }

// ShortEvent is ShortSession for events.
func (v *View) ShortEvent(id record.Digest) string { return v.short(eventIDs, id, false) }

// OwnSession is ShortSession for a session that was read from the generation of the view: nobody needs to look for it again.
func (v *View) OwnSession(id record.Digest) string { return v.short(sessionIDs, id, true) }

// OwnEvent is OwnSession for events. It spares reading the record again.
func (v *View) OwnEvent(id record.Digest) string { return v.short(eventIDs, id, true) }

// short falls back to the full id on any failure: a display form is no reason to fail.
func (v *View) short(ns namespace, id record.Digest, known bool) string {
	full, n := id.String(), minPrefix
	u := id.UUID()
	digits := hex.EncodeToString(u[:])
	previous, err := v.before(context.Background())
	if err != nil {
		return full
	}
	for _, gen := range []*core.Generation{v.gen, previous} {
		if gen == nil {
			continue
		}
		if !known {
			stored, err := gen.IDs(ns.Kind, digits, 1)
			if err != nil {
				return full
			}
			known = len(stored) > 0
		}
		need, err := gen.PrefixLen(ns.Kind, id)
		if err != nil {
			return full
		}
		n = max(n, need)
	}
	if !known {
		return full
	}
	return digits[:n]
}
