package search

import (
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/lineage"
	"github.com/agenthistory/ctx/host/record"
)

// origins remembers where proven copies come from.
type origins struct {
	gen   *core.Generation
	known map[lexical.Doc]lexical.Doc // copy -> stored origin; itself when there is none
	buf   []byte
	event record.Event
}

// of returns the document at the end of the resolved chain of copy claims, or doc itself when the chain is not resolved.
func (o *origins) of(doc lexical.Doc) (lexical.Doc, error) {
	if at, ok := o.known[doc]; ok {
		return at, nil
	}
	var err error
	if o.buf, err = o.gen.EventInto(o.buf, doc, &o.event); err != nil {
		return doc, err
	}
	at := doc
	end, err := lineage.Find(o.gen, &o.event)
	if err != nil {
		return doc, err
	}
	if end.State == lineage.Resolved && end.Depth > 0 {
		at = end.Doc
	}
	if o.known == nil {
		o.known = map[lexical.Doc]lexical.Doc{}
	}
	o.known[doc] = at
	return at, nil
}

// collapsed tells whether a copy gives way to its origin, which must be found itself: otherwise the evidence would be lost with the copy.
func (r *run) collapsed(doc lexical.Doc, matches *lexical.Set) (bool, error) {
	at, err := r.origins.of(doc)
	if err != nil || at == doc || !matches.Has(at) || !r.said.tested {
		return err == nil && at != doc && matches.Has(at), err
	}
	return r.passes(new(rowReader), at)
}

// matches returns the documents that the query and the filters select, once per search. Only copies, empty answers and unknown
// workspaces need it.
func (r *run) matches() (*lexical.Set, error) {
	if r.matched != nil {
		return r.matched, nil
	}
	set, err := r.matchesWithin(r.documents())
	if err == nil {
		r.matched = set
	}
	return set, err
}

// matchesWithin returns the documents of a set that the query text selects, as far as the index can tell.
func (r *run) matchesWithin(set *lexical.Set) (*lexical.Set, error) {
	if r.fileOnly {
		return set.Clone(), nil
	}
	if r.unranked() {
		return r.said.set.Clone().And(set), nil
	}
	if r.anyTerm == nil {
		var err error
		if r.anyTerm, err = r.textMatches(); err != nil {
			return nil, err
		}
	}
	return r.anyTerm.Clone().And(set), nil
}

func (r *run) textMatches() (*lexical.Set, error) {
	set, err := r.gen.Lexical().MatchSet(r.ctx, slices.Concat(slices.Concat(r.said.groups...), r.said.terms), 1)
	if err == nil && r.said.set != nil {
		set.And(r.said.set)
	}
	return set, err
}

// results returns the documents of a set that the query finds: what the index selects, as far as the stored texts pass, without copies
// of others. Of the texts at most maxPool are read, as a search does.
func (r *run) results(within *lexical.Set) (*lexical.Set, error) {
	set, err := r.matchesWithin(within)
	if err != nil || !r.said.tested {
		return r.withoutCollapsed(set, err)
	}
	var hits []lexical.Hit
	set.Each(func(d lexical.Doc) bool {
		hits = append(hits, lexical.Hit{Doc: d})
		return len(hits) < maxPool
	})
	pass, err := r.passing(hits)
	set = r.gen.Lexical().Empty()
	for i, ok := range pass {
		if ok {
			set.Add(hits[i].Doc)
		}
	}
	return r.withoutCollapsed(set, err)
}

// withoutCollapsed takes out the copies whose origin is in the set too. It changes the set.
func (r *run) withoutCollapsed(set *lexical.Set, err error) (*lexical.Set, error) {
	if err != nil {
		return nil, err
	}
	gone := r.gen.Lexical().Empty()
	set.Clone().KeepCopies().Each(func(d lexical.Doc) bool {
		if err = r.ctx.Err(); err != nil {
			return false
		}
		var collapsed bool
		if collapsed, err = r.collapsed(d, set); collapsed {
			gone.Add(d)
		}
		return err == nil
	})
	return set.AndNot(gone), err
}
