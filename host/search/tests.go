package search

import (
	"sort"
	"strings"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// tests are the conditions of a reading that the index cannot decide, because it does not know where words stand. They are put to
// the stored text of candidates, cut into the same tokens.
type tests struct {
	words   map[string]int32 // numbers of the tokens that matter
	phrases [][]int32        // all must occur
	without [][]int32        // none may occur
	near    []nearTest
	tools   []string // the event must call each of them
}

type nearTest struct {
	left, right []int32
	within      int
}

// place is where a token that matters stands: its number among the tokens of the text, and its bytes.
type place struct {
	at, start, end int
	word           int32
}

// newTests returns nil when the sets of the index decide everything.
func newTests(rd *reading) *tests {
	t := &tests{words: map[string]int32{}}
	for _, p := range rd.phrases {
		t.phrases = append(t.phrases, t.numbers(p))
	}
	decided := true // a phrase of one word is in the index
	for _, p := range rd.phrases {
		decided = decided && len(p.tokens) == 1
	}
	for _, p := range rd.without {
		if len(p.tokens) > 1 {
			t.without = append(t.without, t.numbers(p))
		}
	}
	for _, n := range rd.near {
		t.near = append(t.near, nearTest{t.numbers(n.left), t.numbers(n.right), n.within})
	}
	for _, f := range rd.fields {
		if f.name == "tool" {
			t.tools = append(t.tools, f.value)
		}
	}
	if decided && len(t.without)+len(t.near)+len(t.tools) == 0 {
		return nil
	}
	return t
}

func (t *tests) numbers(p phrase) []int32 {
	list := make([]int32, len(p.tokens))
	for i, token := range p.tokens {
		n, ok := t.words[string(token)]
		if !ok {
			n = int32(len(t.words))
			t.words[string(token)] = n
		}
		list[i] = n
	}
	return list
}

// places lists where the tokens that matter stand.
func (t *tests) places(text []byte) []place {
	var list []place
	at := 0
	lexical.EachSpan(text, func(token []byte, start, end int) bool {
		if word, ok := t.words[string(token)]; ok {
			list = append(list, place{at, start, end, word})
		}
		at++
		return true
	})
	return list
}

// pass puts the tests to an event and its text.
func (t *tests) pass(e *record.Event, text []byte) bool {
	for _, tool := range t.tools {
		if e.Activity == nil || e.Activity.Invocation == nil || !strings.EqualFold(e.Activity.Invocation.Tool, tool) {
			return false
		}
	}
	places := t.places(text)
	for _, p := range t.phrases {
		if len(occurrences(places, p, 1)) == 0 {
			return false
		}
	}
	for _, p := range t.without {
		if len(occurrences(places, p, 1)) > 0 {
			return false
		}
	}
	for i := range t.near {
		if _, ok := t.near[i].find(places); !ok {
			return false
		}
	}
	return true
}

// window returns the piece of text that the tests are about: the first place of the first phrase or pair.
func (t *tests) window(text []byte) (window, bool) {
	places := t.places(text)
	for i := range t.near {
		if w, ok := t.near[i].find(places); ok {
			return w, true
		}
	}
	for _, p := range t.phrases {
		if found := occurrences(places, p, 1); len(found) > 0 {
			return window{found[0].start, found[0].end}, true
		}
	}
	return window{}, false
}

// occurrence is where a phrase stands: its first and last token and its bytes.
type occurrence struct{ first, last, start, end int }

// occurrences finds a phrase, at most most times; 0 is everywhere.
func occurrences(places []place, words []int32, most int) []occurrence {
	var found []occurrence
	for i := 0; i+len(words) <= len(places); i++ {
		n := 0
		for n < len(words) && places[i+n].word == words[n] && places[i+n].at == places[i].at+n {
			n++
		}
		if n < len(words) {
			continue
		}
		last := &places[i+n-1]
		found = append(found, occurrence{places[i].at, last.at, places[i].start, last.end})
		if len(found) == most {
			break
		}
	}
	return found
}

// find returns the first pair that is near enough.
func (n *nearTest) find(places []place) (window, bool) {
	right := occurrences(places, n.right, 0)
	for _, l := range occurrences(places, n.left, 0) {
		i := sort.Search(len(right), func(i int) bool { return right[i].first > l.last })
		if i < len(right) && right[i].first-l.last <= n.within {
			return window{l.start, right[i].end}, true
		}
		i = sort.Search(len(right), func(i int) bool { return right[i].last >= l.first }) - 1
		if i >= 0 && l.first-right[i].last <= n.within {
			return window{right[i].start, l.end}, true
		}
	}
	return window{}, false
}

// passing tells which of the hits pass the tests of one of the readings. Stored texts are read side by side.
func (r *run) passing(hits []lexical.Hit) ([]bool, error) {
	if !r.said.tested {
		return nil, nil
	}
	pass := make([]bool, len(hits))
	err := inParallel(len(hits), func(w *rowReader, i int) (err error) {
		if err = r.ctx.Err(); err == nil {
			pass[i], err = r.passes(w, hits[i].Doc)
		}
		return err
	})
	return pass, err
}

func (r *run) passes(w *rowReader, doc lexical.Doc) (bool, error) {
	stored := false
	for _, rd := range r.said.readings {
		if !rd.set.Has(doc) {
			continue
		}
		if rd.tests == nil {
			return true, nil
		}
		if !stored {
			if err := w.read(r.gen, doc); err != nil {
				return false, err
			}
			stored = true
		}
		if rd.tests.pass(&w.event, w.text.Text) {
			return true, nil
		}
	}
	return false, nil
}
