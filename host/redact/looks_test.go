package redact

import (
	"bytes"
	"encoding/json"
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
		secret := [2]int{m[0], m[1]}
		for g := 1; g < len(m)/2; g++ {
			if m[2*g] >= 0 && m[2*g] < m[2*g+1] && (r.SecretGroup == 0 || r.SecretGroup == g) {
				secret = [2]int{m[2*g], m[2*g+1]}
				break
			}
		}
		value := text[secret[0]:secret[1]]
		if r.Entropy > 0 && entropy(value) <= r.Entropy || s.allowed(r, value, text[m[0]:m[1]], m[0]) {
			continue
		}
		found = append(found, finding{secret[0], secret[1], r.ID})
	}
	return found
}

// The cheap looks around keywords lose nothing: whatever the whole expression of a rule finds in a text is found, also with escapes.
func TestLooksLoseNothing(t *testing.T) {
	t.Parallel()
	const samples = 8
	random := rand.New(rand.NewPCG(1, 2))
	s := newScanner(rules())
	all, tried := make([]*rule, s.count), 0
	for _, words := range s.words {
		for _, e := range words {
			for _, u := range e.uses {
				all[u.number] = u.rule
			}
		}
	}
	for _, r := range all {
		if r == nil {
			continue // it asks for the name of a file, and has no keyword
		}
		if r.once.Do(r.read); r.path {
			continue
		}
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
