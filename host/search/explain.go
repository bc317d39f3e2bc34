package search

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agenthistory/ctx/host/lexical"
)

// Explanation tells how a query was read and what the scores are made of.
type Explanation struct {
	Readings []ReadingReport `json:"readings"` // of every alternative
	Terms    []TermReport    `json:"terms"`
	Hits     []HitReport     `json:"hits"`
}

// ReadingReport is one alternative. Everything is as it was written, without the signs of the operators.
type ReadingReport struct {
	Words      []string `json:"words,omitempty"` // tokens that rank
	Phrases    []string `json:"phrases,omitempty"`
	Near       []string `json:"near,omitempty"`
	Exclusions []string `json:"exclusions,omitempty"`
	Prefixes   []string `json:"prefixes,omitempty"`
	Fields     []string `json:"fields,omitempty"`
}

// TermReport is a ranking word, or a prefix with all its words.
type TermReport struct {
	Term      string    `json:"term"`
	Documents uint64    `json:"documents"`
	IDF       Decimal32 `json:"idf"`
	Words     []string  `json:"words,omitempty"`
}

// HitReport is the score of one row: the sum of the terms x class weight x coverage share x neighbours. A row without ranking words has no terms.
type HitReport struct {
	Rank    int             `json:"rank"`
	Event   string          `json:"ctx_event_id"`
	Terms   []HitTermReport `json:"terms"`
	Tokens  uint32          `json:"tokens"`
	Weight  Decimal32       `json:"class_weight"`
	Covered int             `json:"covered_terms"`
	Share   Decimal32       `json:"coverage_share"`
	Whole   bool            `json:"whole"`
	Near    Decimal32       `json:"neighbours"` // above 1 where words stand together as they do in the query
	Score   Decimal32       `json:"score"`
}

// HitTermReport is what one term adds: idf x tf.
type HitTermReport struct {
	Term      string    `json:"term"`
	Frequency uint32    `json:"frequency"`
	IDF       Decimal32 `json:"idf"`
	TF        Decimal32 `json:"tf"`
	Score     Decimal32 `json:"score"`
}

func (u *understanding) hasField(name string) bool {
	for _, rd := range u.readings {
		for _, f := range rd.fields {
			if f.name == name {
				return true
			}
		}
	}
	return false
}

func (rd *reading) report() ReadingReport {
	r := ReadingReport{Prefixes: rd.prefixes}
	for _, t := range rd.terms {
		r.Words = append(r.Words, string(t))
	}
	for _, p := range rd.phrases {
		r.Phrases = append(r.Phrases, p.text)
	}
	for _, n := range rd.near {
		r.Near = append(r.Near, n.left.text+" NEAR/"+strconv.Itoa(n.within)+" "+n.right.text)
	}
	for _, p := range rd.without {
		r.Exclusions = append(r.Exclusions, p.text)
	}
	for _, f := range rd.fields {
		r.Fields = append(r.Fields, f.name+":"+f.value)
	}
	return r
}

// explain describes the understanding of the query and the scores of the rows.
func (r *run) explain(found []result, rows []Row) (*Explanation, error) {
	e := &Explanation{Readings: []ReadingReport{}, Terms: []TermReport{}, Hits: []HitReport{}}
	for _, rd := range r.said.readings {
		e.Readings = append(e.Readings, rd.report())
	}
	docs := make([]lexical.Doc, len(found))
	for i := range found {
		docs[i] = found[i].doc
	}
	scores, err := r.gen.Lexical().Explain(r.ctx, r.lexicalQuery(0), docs)
	if err != nil {
		return nil, err
	}
	for t, w := range scores.Terms {
		report := TermReport{Documents: w.Documents, IDF: Decimal32(w.IDF)}
		if g := t - len(r.said.terms); g < 0 {
			report.Term = string(r.said.terms[t])
		} else {
			report.Term = r.said.expansions[g].Prefix + "*"
			if r.service.Redact == nil { // a word of the index alone does not tell whether it is a secret
				for _, word := range r.said.groups[g] {
					report.Words = append(report.Words, string(word))
				}
			}
		}
		e.Terms = append(e.Terms, report)
	}
	for i := range found {
		hit := HitReport{Rank: i + 1, Event: rows[i].EventID, Terms: []HitTermReport{}, Whole: found[i].whole, Weight: 1, Share: 1, Near: Decimal32(found[i].gain), Score: rows[i].Score}
		if s := &scores.Docs[i]; len(s.Terms) > 0 {
			hit.Tokens, hit.Weight, hit.Covered, hit.Share, hit.Score = s.Tokens, Decimal32(s.Weight), s.Covered, Decimal32(s.Share), Decimal32(s.Score*found[i].gain)
			for t, one := range s.Terms {
				if one.Frequency > 0 {
					hit.Terms = append(hit.Terms, HitTermReport{e.Terms[t].Term, one.Frequency, e.Terms[t].IDF, Decimal32(one.TF), Decimal32(one.Score)})
				}
			}
		}
		e.Hits = append(e.Hits, hit)
	}
	return e, nil
}

// Notes tells in one line each what the answer is about where that is not the query word by word.
func (a *Answer) Notes() []string {
	var notes []string
	if a.Query != "" && len(lexical.QueryTerms(a.Query)) == 0 {
		notes = append(notes, "The query holds no word that can be searched: words are made of letters and digits")
	}
	if a.blank {
		notes = append(notes, "A query or term without text counts for nothing")
	}
	for _, f := range a.unknown {
		notes = append(notes, fmt.Sprintf("There is no %s %q, so %s:%s was searched as words", f.name, f.value, f.name, f.value))
	}
	for _, c := range a.Corrections {
		notes = append(notes, fmt.Sprintf("No event holds the word %q; %q was searched in its place", c.Word, c.Used))
	}
	for _, e := range a.Expansions {
		if e.Cut {
			notes = append(notes, fmt.Sprintf("%s* stands for the %d most frequent of its words", e.Prefix, e.Words))
		}
	}
	if len(a.Relaxed) > 0 {
		notes = append(notes, "Nothing meets all conditions of the query; read as plain words: "+strings.Join(a.Relaxed, ", "))
	}
	return notes
}

// String tells a reading in one line.
func (r *ReadingReport) String() string {
	var parts []string
	for _, part := range []struct {
		what  string
		items []string
	}{
		{"words", r.Words}, {"phrases", r.Phrases}, {"near", r.Near}, {"without", r.Exclusions}, {"prefixes", r.Prefixes}, {"fields", r.Fields},
	} {
		if len(part.items) > 0 {
			parts = append(parts, part.what+": "+strings.Join(part.items, ", "))
		}
	}
	if len(parts) == 0 {
		return "no word"
	}
	return strings.Join(parts, "; ")
}
