// Package selection turns filters into sets of documents. Ranked search and the listing of events share it, so that a filter of the
// same name means the same in both.
//
// Vocabulary: a needle is a filter value prepared for comparison (Fold); a fact is a literal value found in an event, stored in a
// dictionary of its kind; a label is the encoded directory name that stands in for a session's unknown working directory; the
// workspace of a session is unknown when it has neither facts, nor a directory, nor a label.
package selection

import (
	"context"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// Ordinals is a set of small numbers: sources or sessions.
type Ordinals []uint64

// Add puts n into the set.
func (o *Ordinals) Add(n uint32) {
	for int(n>>6) >= len(*o) {
		*o = append(*o, 0)
	}
	(*o)[n>>6] |= 1 << (n & 63)
}

// Has tells whether n is in the set.
func (o Ordinals) Has(n uint32) bool {
	return int(n>>6) < len(o) && o[n>>6]&(1<<(n&63)) != 0
}

// Sources is a selection of indexed sources.
type Sources struct {
	Members  Ordinals
	Selected int // sources in Members
	All      int // indexed sources
	Retained int // selected ones that no selected route delivers any more
}

// CountSources counts the sources of a provider, "" for all of them. No certificate is read, and Members stays empty.
func CountSources(gen *core.Generation, provider string) Sources {
	s := Sources{All: int(gen.Manifest().Stats.Sources)}
	routes := selectedRoutes(gen)
	for _, d := range gen.Deliveries() {
		if provider != "" && d.Provider != provider {
			continue
		}
		s.Selected += int(d.Sources)
		if !routes[d.Route] {
			s.Retained += int(d.Sources)
		}
	}
	return s
}

func selectedRoutes(gen *core.Generation) map[string]bool {
	routes := map[string]bool{}
	for _, r := range gen.Manifest().Routes {
		routes[r.Identity] = true
	}
	return routes
}

// SelectSources visits the certificate of every indexed source.
func SelectSources(gen *core.Generation, keep func(*core.Certificate) bool) (Sources, error) {
	var s Sources
	routes := selectedRoutes(gen)
	err := gen.Certificates(func(c *core.Certificate) error {
		s.All++
		if keep(c) {
			s.Selected++
			s.Members.Add(c.Ordinal)
			if !routes[c.Route] {
				s.Retained++
			}
		}
		return nil
	})
	return s, err
}

// Documents returns the documents of the selected sources.
func (s *Sources) Documents(r *lexical.Reader) *lexical.Set {
	return r.Where(lexical.BySource, s.Members.Has)
}

func equals(code uint8) func(uint32) bool {
	return func(v uint32) bool { return v == uint32(code) }
}

// EventType returns the documents of one event type, of the open vocabulary.
func EventType(r *lexical.Reader, name string) (*lexical.Set, error) {
	if code := record.TypeCode(name); code != record.TypeOther {
		return r.Where(lexical.ByType, equals(code)), nil
	}
	return r.TermSet(lexical.EventType, []byte(name))
}

// Role returns the documents of one role.
func Role(r *lexical.Reader, name string) (*lexical.Set, error) {
	if code := record.RoleCode(name); code != record.RoleOther {
		return r.Where(lexical.ByRole, equals(code)), nil
	}
	return r.TermSet(lexical.Role, []byte(name))
}

// Scope returns the documents of one agent scope. Documents of unknown scope belong to none.
func Scope(r *lexical.Reader, scope record.Scope) *lexical.Set {
	return r.Where(lexical.ByScope, equals(uint8(scope)))
}

// File returns the documents with a file fact that contains value.
func File(r *lexical.Reader, value string) (*lexical.Set, error) {
	needle := Fold(value)
	return r.MatchTerms([]lexical.Field{lexical.FactFile}, func(v []byte) bool { return contains(v, needle) })
}

// CustomIdentity returns the documents of provider custom whose native id starts with the given provider key and source id; an
// empty one is not compared. The identity is no column: every document of the provider is read.
func CustomIdentity(ctx context.Context, gen *core.Generation, providerKey, sourceID string) (*lexical.Set, error) {
	custom := slices.Index(gen.Manifest().Providers, "custom")
	r := gen.Lexical()
	found := r.Empty()
	if custom < 0 {
		return found, nil
	}
	var err error
	var buf []byte
	var e record.Event
	r.Where(lexical.ByProvider, func(v uint32) bool { return v == uint32(custom) }).Each(func(d lexical.Doc) bool {
		if err = ctx.Err(); err != nil {
			return false
		}
		if buf, err = gen.EventInto(buf, d, &e); err != nil {
			return false
		}
		key, id, ok := record.CustomIdentity(e.NativeID)
		if ok && (providerKey == "" || string(key) == providerKey) && (sourceID == "" || string(id) == sourceID) {
			found.Add(d)
		}
		return true
	})
	return found, err
}

// SplitHistorySource splits provider_key/source_id at the first slash; ok is false unless both are there.
func SplitHistorySource(text string) (key, id string, ok bool) {
	key, id, ok = strings.Cut(text, "/")
	return key, id, ok && key != "" && id != ""
}
