package redact

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// made returns a text that an expression matches, but for what it wants around it.
func made(re *syntax.Regexp, random *rand.Rand) string {
	var out strings.Builder
	times := func(low, high int) {
		for range low + random.IntN(high-low+1) {
			out.WriteString(made(re.Sub[0], random))
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		n := random.IntN(len(re.Rune) / 2)
		for ; re.Rune[2*n] > 0x7f; n-- {
		}
		return string(re.Rune[2*n] + random.Int32N(min(re.Rune[2*n+1], 0x7e)-re.Rune[2*n]+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string(rune(' ' + random.IntN(0x5f)))
	case syntax.OpStar:
		times(0, 6)
	case syntax.OpPlus:
		times(1, 6)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		high := re.Min + 6
		if re.Max >= 0 {
			high = min(high, re.Max)
		}
		times(re.Min, high)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			out.WriteString(made(sub, random))
		}
	case syntax.OpAlternate:
		return made(re.Sub[random.IntN(len(re.Sub))], random)
	}
	return out.String()
}

// whole returns what a rule finds when its expression reads all of a text.
func (s *scanner) whole(r *rule, text []byte) (found []finding) {
	s.text, s.escaped = text, false
	for _, m := range regexp.MustCompile(r.Regex).FindAllSubmatchIndex(text, -1) {
		from, to := r.secret(m)
		value := text[from:to]
		if r.Entropy > 0 && entropy(value) <= r.Entropy || s.allowed(r, value, text[m[0]:m[1]], m[0]) {
			continue
		}
		found = append(found, finding{from, to, r.ID})
	}
	return found
}

// byID returns the rules by their names, as far as they look for something in texts.
func (s *scanner) byID() map[string]*rule {
	all := map[string]*rule{}
	for _, words := range s.words {
		for _, e := range words {
			for _, u := range e.uses {
				if u.once.Do(u.read); !u.path {
					all[u.ID] = u.rule
				}
			}
		}
	}
	return all
}

// What an expression finds at the edge of a part may be no match of the whole text, so it does not count.
func TestCutEdges(t *testing.T) {
	t.Parallel()
	s := newScanner(rules())
	r := s.byID()["aws-access-token"]
	for _, c := range []struct {
		text         string
		from, to     int
		want, inside int
	}{
		{aws, 0, len(aws), 1, 1},
		{"X" + aws, 1, len(aws) + 1, 0, 0}, // the expression wants a border before it
		{aws + "X", 0, len(aws), 0, 0},
		{" " + aws + " ", 1, len(aws) + 1, 0, 1},
	} {
		s.text, s.found = []byte(c.text), nil
		if s.try(r, c.from, c.to); len(s.found) != c.want {
			t.Errorf("%q from %d to %d: %v", c.text, c.from, c.to, s.found)
		}
		if found := s.scan([]byte(c.text), false); len(found) != c.inside {
			t.Errorf("%q: %v", c.text, found)
		}
	}
}

// However dense the keywords of a rule are, its expression reads a text a bounded number of times.
func TestDenseKeywords(t *testing.T) {
	t.Parallel()
	const size = 64 << 10
	s := newScanner(rules())
	for _, piece := range []string{"jira 0a1b2c3d4e5f6a7b8c9d ", "api_key = q8 ", "sk-0123456789abcdef ", "https://a:b@c ", "curl -H 'x' -u a:b ", "password: x1y2 ", "key = 8f3kd93ksLq02mZ "} {
		s.work = 0
		text := []byte(strings.Repeat(piece, size/len(piece)))
		s.scan(text, false)
		if s.work > 4*len(text) {
			t.Errorf("%q again and again: expressions ran over %d bytes of %d", piece, s.work, len(text))
		}
	}
}

// The cheap looks around keywords lose nothing: whatever the whole expression of a rule finds in a text is found, also with escapes.
func TestLooksLoseNothing(t *testing.T) {
	t.Parallel()
	const samples = 8
	random := rand.New(rand.NewPCG(1, 2))
	s := newScanner(rules())
	all, tried := s.byID(), 0
	for _, id := range slices.Sorted(maps.Keys(all)) { // the same texts in every run
		r := all[id]
		r.judged.Do(r.judge)
		tree, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for range samples {
			text := []byte("first line\n\t" + made(tree, random) + "\nlast \"line\" <a>\n")
			inside, _ := json.Marshal(map[string]string{"text": string(text)})
			for i, in := range [][]byte{text, inside} {
				plain := in
				if i > 0 {
					plain = bytes.Clone(s.neutral(in))
				}
				low := bytes.ToLower(plain)
				if !slices.ContainsFunc(r.uses, func(u *use) bool { return bytes.Contains(low, []byte(u.word)) }) {
					continue
				}
				want := s.whole(r, plain)
				tried += len(want)
				got := s.scan(in, i > 0)
				for _, w := range want {
					if !slices.ContainsFunc(got, func(g finding) bool { return g.from <= w.from && w.to <= g.to }) {
						t.Errorf("%s finds %q in %q, the scan %v", w.rule, plain[w.from:w.to], in, got)
					}
				}
			}
		}
	}
	if t.Logf("%d secrets", tried); tried < 1000 {
		t.Errorf("only %d secrets", tried)
	}
}
