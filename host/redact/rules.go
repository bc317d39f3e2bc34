package redact

import (
	"bytes"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// rule finds one kind of secret. All but its keywords are read when it is first needed, because most never are.
type rule struct {
	source   string    // its table in the rule set
	assigned bool      // the secret follows a name and an operator
	generic  bool      // a value that is only called a secret; any other rule knows better
	once     sync.Once // read
	built    sync.Once // build

	ID          string
	Regex       string
	Path        string
	Keywords    []string
	Entropy     float64
	SecretGroup int
	Allowlists  []exception

	pattern  *regexp.Regexp // nil: the rule asks for the name of a file
	anchored bool           // every match begins with a keyword
	begins   [][]byte       // how it begins, where case matters
	word     bool           // and what is before it is no part of a word
	reach    int            // most bytes of a match, at most maxReach
}

// exception tells what is no secret although it looks like one.
type exception struct {
	Condition   string // AND: the regular expressions and the stop words have to agree
	RegexTarget string // match: the regular expressions see all that was matched; line: the line around it; otherwise the secret
	Regexes     []string
	StopWords   []string
	Paths       []string

	patterns []*regexp.Regexp
}

// maxReach is the longest match that is looked for: long enough for a private key.
const maxReach = 8 << 10

const generic = "generic-api-key"

// assignment is the part that all rules of the form `name = value` have in common.
const assignment = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`

// ruleSet is all rules by their keywords.
type ruleSet struct {
	source string // of what holds for every rule
	ready  sync.Once
	always exception

	bucket  [1 << 16]uint8 // of the first two bytes of a keyword; 0: there is none
	buckets [][]keyword
}

// keyword is a word in folded form, without its first two bytes, and the rules that it belongs to.
type keyword struct {
	rest  []byte
	rules []*rule
}

// fold maps upper to lower case. It also maps a few other characters to each other, which costs a look more and finds the same.
func fold(c byte) byte { return c | 0x20 }

// rules takes the rule set apart, once a process. The tables of the rules are left as they are, but for their keywords.
var rules = sync.OnceValue(func() *ruleSet {
	tables := strings.Split(config.DefaultConfig, "\n[[rules]]\n")
	set := &ruleSet{source: tables[0], buckets: make([][]keyword, 1)}
	byWord := map[string][]*rule{}
	for _, source := range tables[1:] {
		r := &rule{source: source, assigned: strings.Contains(source, assignment), generic: strings.Contains(source, `id = "`+generic)}
		_, list, _ := strings.Cut(source, "\nkeywords = [")
		list, _, _ = strings.Cut(list, "]")
		for i, word := range strings.Split(list, `"`) {
			if i%2 == 1 {
				byWord[word] = append(byWord[word], r)
			}
		}
	}
	for word, rules := range byWord {
		low := []byte(word)
		for i := range low {
			low[i] = fold(low[i])
		}
		first := int(low[0])<<8 | int(low[1])
		if set.bucket[first] == 0 {
			set.bucket[first] = uint8(len(set.buckets))
			set.buckets = append(set.buckets, nil)
		}
		n := set.bucket[first]
		set.buckets[n] = append(set.buckets[n], keyword{rest: low[2:], rules: rules})
	}
	return set
})

// decode reads a table. The rule set is a part of the program: without it secrets would be printed, so a broken one stops everything.
func decode(source string, into any) {
	if err := toml.Unmarshal([]byte(source), into); err != nil {
		panic(err)
	}
}

// read makes a rule known.
func (r *rule) read() {
	// The tables of a list inside a rule are named as its own.
	if decode(strings.ReplaceAll(r.source, "[[rules.", "[["), r); r.Path != "" || r.Regex == "" {
		return
	}
	r.Allowlists = slices.DeleteFunc(r.Allowlists, func(x exception) bool { return len(x.Paths) > 0 })
	tree, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		panic(err)
	}
	r.reach = min(longest(tree), maxReach)
	begins, _ := beginnings(tree)
	r.anchored = len(begins) > 0 && !slices.ContainsFunc(begins, func(begin string) bool {
		return !slices.ContainsFunc(r.Keywords, func(word string) bool { return strings.HasPrefix(strings.ToLower(begin), word) })
	})
	if r.anchored && !strings.HasPrefix(r.Regex, "(?i)") {
		for _, begin := range begins {
			r.begins = append(r.begins, []byte(begin))
		}
	}
	r.word = strings.HasPrefix(strings.TrimPrefix(r.Regex, "(?i)"), `\b`)
}

// build compiles the expressions of a rule, which is many times the work of reading it.
func (r *rule) build() {
	r.once.Do(r.read)
	source := r.Regex
	switch {
	case r.reach == 0:
		return
	case r.anchored: // the byte before it is seen, because word boundaries are looked for there
		source = `\A(?s:.)?(?:` + source + `)`
	case r.assigned:
		source = `\A(?:` + source + `)`
	}
	r.pattern = regexp.MustCompile(source)
	for i := range r.Allowlists {
		r.Allowlists[i].compile()
	}
}

// prepare reads the exceptions of all rules.
func (set *ruleSet) prepare() {
	var file struct{ Allowlist exception }
	decode(set.source, &file)
	file.Allowlist.compile()
	set.always = file.Allowlist
}

func (x *exception) compile() {
	for _, source := range x.Regexes {
		x.patterns = append(x.patterns, regexp.MustCompile(source))
	}
}

// maxBeginnings bounds what beginnings enumerates.
const maxBeginnings = 64

// beginnings lists literals so that every match of an expression begins with one of them, nothing when there is no such list. whole
// tells that the literals are all that the expression matches.
func beginnings(re *syntax.Regexp) (list []string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}, true
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpBeginText:
		return []string{""}, true
	case syntax.OpCapture:
		return beginnings(re.Sub[0])
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if list = append(list, string(c)); len(list) > 4 {
					return nil, false
				}
			}
		}
		return list, true
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			some, all := beginnings(sub)
			if len(some) == 0 {
				return nil, false
			}
			list, whole = append(list, some...), whole && all
		}
		return list, whole
	case syntax.OpConcat:
		list, whole = []string{""}, true
		for _, sub := range re.Sub {
			some, all := beginnings(sub)
			if len(some) == 0 || len(list)*len(some) > maxBeginnings {
				return list, false
			}
			var longer []string
			for _, a := range list {
				for _, b := range some {
					longer = append(longer, a+b)
				}
			}
			if list = longer; !all {
				return list, false
			}
		}
		return list, whole
	}
	return nil, false
}

// longest returns the most bytes that an expression matches, maxReach when there is no bound.
func longest(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	case syntax.OpStar, syntax.OpPlus:
		if n = maxReach; re.Sub[0].Op == syntax.OpAnyCharNotNL {
			n = 200 // of a line
		}
	case syntax.OpQuest, syntax.OpCapture:
		n = longest(re.Sub[0])
	case syntax.OpRepeat:
		if n = maxReach; re.Max >= 0 {
			n = re.Max * longest(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += longest(sub)
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
	}
	return min(n, maxReach)
}

// allows tells that a secret is none.
func (x *exception) allows(secret, match, line []byte) bool {
	target := secret
	switch x.RegexTarget {
	case "match":
		target = match
	case "line":
		target = line
	}
	matches := slices.ContainsFunc(x.patterns, func(p *regexp.Regexp) bool { return p.Match(target) })
	low := bytes.ToLower(secret)
	stops := slices.ContainsFunc(x.StopWords, func(word string) bool { return bytes.Contains(low, []byte(word)) })
	if strings.EqualFold(x.Condition, "and") {
		return (matches || len(x.patterns) == 0) && (stops || len(x.StopWords) == 0)
	}
	return matches || stops
}

// entropy is the Shannon entropy of a secret in bits a byte.
func entropy(secret []byte) float64 {
	var counts [256]int
	for _, c := range secret {
		counts[c]++
	}
	bits, size := 0.0, float64(len(secret))
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / size
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
