package search

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// understanding is a query as it is run: the readings of its alternatives against one generation.
type understanding struct {
	allowed     operators
	used        operators
	readings    []*reading
	terms       [][]byte   // distinct, sorted, spelling corrected
	groups      [][][]byte // expansions of the prefixes
	expansions  []Expansion
	corrections []Correction
	set         *lexical.Set // documents that may pass the conditions; nil without any
	tested      bool         // some documents of set must be read to know
	needles     []string     // what a snippet shows when no phrase decides
}

// Correction is a word that no event holds, and the one that was searched in its place.
type Correction struct {
	Word      string `json:"word"`
	Used      string `json:"used"`
	Documents uint64 `json:"documents"`
}

// Expansion tells how many words a prefix stands for. Cut: it begins more words, of which these are the most frequent.
type Expansion struct {
	Prefix string `json:"prefix"`
	Words  int    `json:"words"`
	Cut    bool   `json:"cut"`
}

// relaxing is the order in which operators are given up, all of a kind at once, when nothing passes. What a pasted text holds by
// accident goes first, what somebody must have meant goes last; after the last step the query is plain words (prefixes only add).
var relaxing = []struct {
	op   operators
	name string
}{{opNear, "near"}, {opPhrase, "phrases"}, {opField, "fields"}, {opExclusion, "exclusions"}}

// relax gives the next kind of operators up; false when none is left.
func (r *run) relax() bool {
	for _, step := range relaxing {
		if r.said.used&step.op != 0 {
			r.said.allowed &^= step.op
			r.relaxed = append(r.relaxed, step.name)
			return true
		}
	}
	return false
}

// understand reads the query with the operators allowed.
func (r *run) understand(allowed operators) error {
	u := &understanding{allowed: allowed}
	r.said, r.matched, r.anyTerm = u, nil, nil
	for _, text := range r.alternatives {
		rd := read(text, allowed, r.service.knows)
		if len(r.alternatives) > 1 && rd.used&opField != 0 && len(rd.terms)+len(rd.prefixes) == 0 { // fields alone find nothing beside words, which rank
			rd = read(text, allowed&^opField, r.service.knows)
		}
		if err := r.expand(u, rd); err != nil {
			return err
		}
		r.respell(u, rd)
		u.used |= rd.used
		u.readings = append(u.readings, rd)
		u.terms = append(u.terms, rd.terms...)
		if rd.used == 0 {
			u.needles = append(u.needles, text)
		} else {
			u.needles = append(u.needles, rd.text...)
		}
	}
	slices.SortFunc(u.terms, bytes.Compare)
	u.terms = slices.CompactFunc(u.terms, bytes.Equal)
	return r.narrow(u)
}

func (s *Service) knows(provider string) bool {
	_, err := s.providerID(provider)
	return err == nil
}

// respell puts the corrections known so far into a reading.
func (r *run) respell(u *understanding, rd *reading) {
	for i, term := range rd.terms {
		c, ok := r.spelled[string(term)]
		if !ok || c.Used == "" {
			continue
		}
		rd.terms[i] = []byte(c.Used)
		u.needles = append(u.needles, c.Used)
		if !slices.Contains(u.corrections, c) {
			u.corrections = append(u.corrections, c)
		}
	}
}

// expand looks the prefixes of a reading up. A prefix that begins no word is a plain word.
func (r *run) expand(u *understanding, rd *reading) error {
	for _, prefix := range rd.prefixes {
		var group [][]byte
		more := false
		if len(u.groups) < maxPrefixes {
			var err error
			if group, more, err = r.gen.Lexical().Expand([]byte(prefix), maxExpansions); err != nil {
				return err
			}
		}
		if len(group) == 0 {
			rd.terms = append(rd.terms, []byte(prefix))
			continue
		}
		rd.groups, u.groups = append(rd.groups, group), append(u.groups, group)
		u.expansions = append(u.expansions, Expansion{prefix, len(group), more})
		u.needles = append(u.needles, prefix)
	}
	return nil
}

// spell looks for close spellings of the words that no live document contains; found is aligned with the terms. It reports whether
// there are new ones.
func (r *run) spell(found []uint64) (changed bool, err error) {
	for i, term := range r.said.terms[:min(len(found), len(r.said.terms))] {
		word := string(term)
		if _, known := r.spelled[word]; known || found[i] > 0 || !spellable(word) {
			continue
		}
		c := Correction{Word: word}
		for edits := 1; edits <= 1+utf8.RuneCountInString(word)/8 && edits <= 2 && c.Used == ""; edits++ {
			used, n, err := r.gen.Lexical().Closest(term, edits)
			if err != nil {
				return false, err
			}
			c.Used, c.Documents = string(used), n
		}
		if r.spelled == nil {
			r.spelled = map[string]Correction{}
		}
		r.spelled[word] = c
		changed = changed || c.Used != ""
	}
	return changed, r.ctx.Err()
}

// spellable: names with digits and short words are too near to others to guess, and a number is never meant to be another one.
func spellable(word string) bool {
	for _, c := range word {
		if !unicode.IsLetter(c) {
			return false
		}
	}
	return utf8.RuneCountInString(word) >= 4
}

// narrow finds the documents that may pass the conditions of one of the readings.
func (r *run) narrow(u *understanding) error {
	if u.used&^opPrefix == 0 {
		return nil
	}
	u.set = r.gen.Lexical().Empty()
	for _, rd := range u.readings {
		rd.tests = newTests(rd)
		u.tested = u.tested || rd.tests != nil
		rd.set = r.gen.Lexical().Live()
		if err := r.conditions(rd); err != nil {
			return err
		}
		if len(u.readings) > 1 { // the words of another alternative are not enough
			set, err := r.gen.Lexical().MatchSet(r.ctx, slices.Concat(slices.Concat(rd.groups...), rd.terms), 1)
			if err != nil {
				return err
			}
			rd.set.And(set)
		}
		u.set.Or(rd.set)
	}
	return nil
}

// conditions narrows the set of a reading by what the index can decide, before anything is scored or read.
func (r *run) conditions(rd *reading) error {
	reader := r.gen.Lexical()
	needed := slices.Clone(rd.phrases)
	for _, n := range rd.near {
		needed = append(needed, n.left, n.right)
	}
	for _, f := range rd.fields {
		if f.name == "tool" {
			needed = append(needed, phrase{f.value, tokens(f.value)})
			continue
		}
		set, err := r.field(f)
		if err != nil {
			return err
		}
		rd.set.And(set)
	}
	for _, p := range needed {
		distinct := lexical.QueryTerms(p.text)
		set, err := reader.MatchSet(r.ctx, distinct[:min(len(distinct), lexical.MaxQueryTerms)], min(len(distinct), lexical.MaxQueryTerms))
		if err != nil {
			return err
		}
		rd.set.And(set)
	}
	for _, p := range rd.without {
		if len(p.tokens) > 1 {
			continue
		}
		set, err := reader.TermSet(lexical.Body, p.tokens[0])
		if err != nil {
			return err
		}
		rd.set.AndNot(set)
	}
	return nil
}

// field returns the documents that field:value names.
func (r *run) field(f fieldValue) (*lexical.Set, error) {
	reader := r.gen.Lexical()
	wanted := selection.Fold(f.value)
	switch f.name {
	case "file":
		return selection.File(reader, f.value)
	case "cmd":
		return reader.MatchTerms([]lexical.Field{lexical.FactCommand}, func(v []byte) bool { return bytes.Contains(selection.Fold(string(v)), wanted) })
	case "branch":
		return reader.MatchTerms([]lexical.Field{lexical.FactBranch}, func(v []byte) bool { return bytes.Equal(selection.Fold(string(v)), wanted) })
	case "role":
		return selection.Role(reader, f.value)
	}
	id, err := r.service.providerID(f.value)
	if err != nil {
		return nil, err
	}
	return reader.Where(lexical.ByProvider, r.ofProvider(id)), nil
}

// unranked tells whether there is nothing to rank by: a file filter or fields without any word.
func (r *run) unranked() bool {
	return r.fileOnly || r.said.set != nil && len(r.said.terms)+len(r.said.groups) == 0
}

// lexicalQuery is the ranked part of the query.
func (r *run) lexicalQuery(limit int) lexical.Query {
	return lexical.Query{Terms: r.said.terms, Groups: r.said.groups, Weights: record.Weights(r.scope), Limit: limit}
}
