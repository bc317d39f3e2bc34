package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// event is one event as ctx lists it.
type event struct {
	id, provider, session string
	text, lower           string
}

func (e *event) key() string { return e.provider + "/" + e.session }

// corpus is what the baselines search: every event, newest first, with the words of its text.
type corpus struct {
	events   []*event
	byID     map[string]*event
	postings map[string][]posting
	length   []int               // words of each event
	words    int                 // of all events
	copies   map[string][]string // the sessions that hold a judged text
}

type posting struct{ event, count int }

// newCorpus takes the events newest first and finds in them what the judgements name.
func newCorpus(events []*event, queries []query) (*corpus, error) {
	c := &corpus{events: events, byID: map[string]*event{}, postings: map[string][]posting{},
		length: make([]int, len(events)), copies: map[string][]string{}}
	asked := map[string]bool{} // postings of other words would never be read
	for _, q := range queries {
		for _, w := range words(strings.ToLower(q.text)) {
			asked[w] = true
		}
	}
	for i, e := range events {
		c.byID[e.id] = e
		e.lower = strings.ToLower(e.text)
		counts := map[string]int{}
		for _, w := range words(e.lower) {
			c.length[i]++
			if asked[w] {
				counts[w]++
			}
		}
		c.words += c.length[i]
		for w, n := range counts {
			c.postings[w] = append(c.postings[w], posting{i, n})
		}
	}
	for _, q := range queries {
		for i := range q.judgement {
			if err := c.resolve(&q.judgement[i]); err != nil {
				return nil, fmt.Errorf("query %d: %w", q.number, err)
			}
			if j := q.judgement[i]; j.found != nil {
				c.copies[j.found.text] = nil
			}
		}
	}
	for _, e := range events {
		if keys, judged := c.copies[e.text]; judged && !slices.Contains(keys, e.key()) {
			c.copies[e.text] = append(keys, e.key())
		}
	}
	return c, nil
}

// holds tells whether a session has an event with one of the judged texts.
func (c *corpus) holds(session string, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return slices.Contains(c.copies[text], session) })
}

// resolve finds the judged event. A judgement that names nothing is an error: the corpus or the ids have changed.
func (c *corpus) resolve(j *judgement) error {
	i := slices.IndexFunc(c.events, func(e *event) bool {
		return e.key() == j.key() && (j.event == "*" || strings.HasPrefix(e.id, j.event))
	})
	if i < 0 {
		return fmt.Errorf("no event %s in session %s", j.event, j.key())
	}
	if j.event != "*" {
		j.found = c.events[i]
	}
	return nil
}

// words are runs of letters and digits; a character of a script without spaces is a word of its own.
func words(text string) []string {
	var list []string
	start := -1
	end := func(i int) {
		if start >= 0 {
			list = append(list, text[start:i])
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
			end(i)
			list = append(list, text[i:i+utf8.RuneLen(r)])
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
	}
	end(len(text))
	return list
}

// bm25 ranks the events that hold any word of the text by Okapi BM25 with the usual k1 and b.
func (c *corpus) bm25(text string) []*event {
	const k1, b = 1.2, 0.75
	average := float64(c.words) / float64(len(c.events))
	scores := map[int]float64{}
	terms := words(strings.ToLower(text))
	slices.Sort(terms)
	for _, w := range slices.Compact(terms) {
		list := c.postings[w]
		idf := math.Log(1 + (float64(len(c.events)-len(list))+0.5)/(float64(len(list))+0.5))
		for _, p := range list {
			tf := float64(p.count)
			scores[p.event] += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(c.length[p.event])/average))
		}
	}
	ranked := make([]int, 0, len(scores))
	for i := range scores {
		ranked = append(ranked, i)
	}
	slices.SortFunc(ranked, func(x, y int) int {
		if scores[x] != scores[y] {
			return int(math.Copysign(1, scores[y]-scores[x]))
		}
		return x - y
	})
	list := make([]*event, len(ranked))
	for i, at := range ranked {
		list[i] = c.events[at]
	}
	return list
}

// grep returns the events that hold every word of the text as a string, whatever its case, newest first.
func (c *corpus) grep(text string) []*event {
	fields := strings.Fields(strings.ToLower(text))
	var list []*event
	for _, e := range c.events {
		if !slices.ContainsFunc(fields, func(f string) bool { return !strings.Contains(e.lower, f) }) {
			list = append(list, e)
		}
	}
	return list
}

func firstOfSession(list []*event) []*event {
	seen := map[string]bool{}
	var first []*event
	for _, e := range list {
		if !seen[e.key()] {
			seen[e.key()] = true
			first = append(first, e)
		}
	}
	return first
}
