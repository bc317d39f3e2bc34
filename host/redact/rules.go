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
	source string    // its table in the rule set
	once   sync.Once // read
	built  sync.Once // build
	judged sync.Once // judge

	ID, Regex string
	verdict

	number   int                                            // among all rules
	uses     []*use                                         // its keywords
	may      func(r *rule, behind []byte, escaped bool) int // how far behind a keyword a secret may reach by a cheap look, 0: there is none; in place of the run
	path     bool                                           // it asks for the name of a file
	symbols  int                                            // different bytes of what is assigned
	alphabet [256]bool                                      // of the secret
	least    int                                            // bytes of the secret
	reach    int                                            // most bytes of a match on each side of a keyword
	blank    bool                                           // the alphabet has what escapes may stand for
	isNamed  bool                                           // its expression begins as named
	starts   bool                                           // keywords within the secret begin it, at the beginning of a word
	pattern  *regexp.Regexp
}

// verdict is what tells secrets from what only matches.
type verdict struct {
	Entropy     float64
	SecretGroup int
	Allowlists  []exception
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

const (
	// maxReach is the longest match that is looked for: long enough for a private key.
	maxReach = 8 << 10
	// farthest is how far from a keyword a secret may be of which it is no part, where an expression sets no bound.
	farthest = 400
	// before is what may stand in front of a keyword whose rule has a look of its own.
	before = 24
	// named is how expressions begin that take in the whole name of what is assigned. It multiplies their work and finds no more, so it
	// is added to what they match.
	named, longestName = `(?i)[\w.-]{0,50}?`, 50
	// margin is what an expression may look at around a match: the byte before it, and what ends it.
	margin = 4

	generic = "generic-api-key"

	// ending is what most rules want behind a secret. closing takes brackets and separators as well.
	ending  = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	closing = "(?:[\\x60'\"\\s;,)\\]}<>&]|\\\\[nr]|$)"
)

// ruleSet is all rules by their keywords.
type ruleSet struct {
	source string // of what holds for every rule
	ready  sync.Once
	always exception

	count  int             // of rules
	seen   [1 << 12]uint64 // one bit each: three folded bytes where a keyword may begin there, or a byte before or behind
	places [1 << 13]uint16 // where they are in words
	words  [][]entry
}

// entry is a keyword as it is found from three bytes.
type entry struct {
	prefix, mask uint32 // its first bytes, as loose compares them
	offset       int    // of its beginning from the three bytes
	*keyword
}

// keyword is a word in lower case and the rules that it belongs to.
type keyword struct {
	word   string
	behind follower
	uses   []*use
}

// use is a keyword of a rule.
type use struct {
	*rule
	word   string
	within bool // it is a part of the secret
	named  bool // it is a part of the name of what is assigned
}

// follower is what has to follow a keyword that is too short to tell much.
type follower struct {
	bytes *[256]bool
	least int
}

var (
	hex     = set("0123456789abcdefABCDEF")
	alnum   = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	follows = map[string]follower{"sk": {&hex, 32}, "s.": {&alnum, 24}, "ey": {&alnum, 17}}
)

// name tells the bytes between a keyword and an operator, space those between an operator and a value.
var name, operator, space = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.- \t\n\r\f\v'\""), set("=>:|,?"), set("`'\" \t\n\r\f\v")

func set(bytes string) (out [256]bool) {
	for _, c := range []byte(bytes) {
		out[c] = true
	}
	return out
}

// group finds where the first group of an expression begins.
var group = regexp.MustCompile(`\([^?]`)

// loose makes letters of either case the same, and some other bytes too.
const loose = 0x20202020

// fold maps bytes to six bits each; letters of either case are the same, and some other bytes too.
func fold(bytes uint64) uint64 { return bytes&0x1f1f1f1f1f1f1f1f | bytes>>1&0x2020202020202020 }

// hash spreads the first three of folded bytes: its upper bits are their place in a table.
func hash(folded uint64) uint32 { return uint32(folded&0xffffff) * 0x9e3779b1 }

// bytes returns what may be at a place of a text where the word begins at 0, folded: of the word, one of its followers, or any.
func (k *keyword) bytes(at int) (out []uint64) {
	if at >= 0 && at < len(k.word) {
		return []uint64{fold(uint64(k.word[at]))}
	}
	var taken [64]bool
	for c := range uint64(256) {
		if at == len(k.word) && k.behind.least > 0 && !k.behind.bytes[c] || taken[fold(c)] {
			continue
		}
		taken[fold(c)] = true
		out = append(out, fold(c))
	}
	return out
}

// enter makes three bytes lead to a keyword.
func (set *ruleSet) enter(e entry) {
	for _, a := range e.bytes(-e.offset) {
		for _, b := range e.bytes(1 - e.offset) {
			for _, c := range e.bytes(2 - e.offset) {
				x := hash(a | b<<8 | c<<16)
				set.seen[x>>20] |= 1 << (x >> 14 & 63)
				n := &set.places[x>>19]
				if *n == 0 {
					*n = uint16(len(set.words))
					set.words = append(set.words, nil)
				}
				if !slices.Contains(set.words[*n], e) {
					set.words[*n] = append(set.words[*n], e)
				}
			}
		}
	}
}

var rules = sync.OnceValue(index)

// looks are the cheap looks behind a keyword that some rules have.
var looks = map[string]func(r *rule, behind []byte, escaped bool) int{
	generic: mayAssign, "password": mayAssign, "private-key": mayBeKey, "curl-auth-header": mayGoOn, "curl-auth-user": mayGoOn,
	"bearer-token": mayFollow, "basic-authorization": mayFollow, "url-password": mayBeUser, "option-password": mayBeOption,
}

// goesOn is what mayGoOn looks for: --header or -H, --user or -u.
var goesOn = map[string]string{"curl-auth-header": "-h", "curl-auth-user": "-u"}

// index takes the rule set apart, once a process. The tables of the rules are left as they are, but for their keywords.
func index() *ruleSet {
	tables := strings.Split(config.DefaultConfig, "\n[[rules]]\n")
	set := &ruleSet{source: tables[0], words: make([][]entry, 1)}
	byWord := map[string]*keyword{}
	for _, source := range append(tables[1:], strings.Split(ownRules, "\n[[rules]]\n")...) {
		r := &rule{source: source, ID: between(source, `id = "`, `"`), number: set.count}
		set.count++
		names := between(source, named+"(?:", ")")
		switch r.may = looks[r.ID]; r.ID {
		case generic:
			r.symbols = 11 // 2^3.5, but for an = that may count as the operator
		case "password":
			r.symbols = 2
		}
		for i, word := range strings.Split(between(source, "\nkeywords = [", "]"), `"`) {
			if i%2 == 0 {
				continue
			}
			word = strings.ToLower(word)
			k := byWord[word]
			if k == nil {
				k = &keyword{word: word, behind: follows[word]}
				byWord[word] = k
			}
			u := &use{rule: r, word: word, named: r.may == nil && isElement(word, names)}
			k.uses, r.uses = append(k.uses, u), append(r.uses, u)
		}
	}
	for word, k := range byWord {
		e := entry{keyword: k}
		for i := range min(4, len(word)) {
			e.mask |= 0xff << (8 * i)
			e.prefix |= uint32(word[i]|0x20) << (8 * i)
		}
		set.enter(e)
		if e.offset = -1; len(word) == 2 {
			e.offset = 1
		}
		set.enter(e)
	}
	return set
}

// isElement tells that a word is an element of an alternation, and no part of another.
func isElement(word, alternation string) (is bool) {
	for element := range strings.SplitSeq(strings.ToLower(alternation), "|") {
		if element == word {
			is = true
		} else if strings.Contains(element, word) {
			return false
		}
	}
	return is
}

// between returns what stands between two marks.
func between(text, begin, end string) string {
	_, rest, _ := strings.Cut(text, begin)
	inside, _, _ := strings.Cut(rest, end)
	return inside
}

// decode reads a table. The rule set is a part of the program: without it secrets would be printed, so a broken one stops everything.
func decode(source string, into any) {
	if err := toml.Unmarshal([]byte(source), into); err != nil {
		panic(err)
	}
}

// read finds out where a rule is worth trying.
func (r *rule) read() {
	r.Regex = between(r.source, "\nregex = '''", "'''")
	if r.path = r.Regex == "" || strings.Contains(r.source, "\npath = "); r.path {
		return
	}
	if r.ID != generic {
		r.Regex = strings.ReplaceAll(r.Regex, ending, closing)
	}
	tree, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		panic(err)
	}
	_, r.reach = width(tree, maxReach)
	if r.reach >= maxReach {
		r.reach = farthest
	}
	secret := captured(tree)
	r.least, _ = width(secret, maxReach)
	letters(secret, &r.alphabet)
	r.blank = r.alphabet[' '] || r.alphabet['\n'] || r.alphabet['"']
	if strings.Contains(r.Regex, `=>|`) || strings.Contains(r.Regex, `.*`) { // the secret is behind an operator, or anywhere
		return
	}
	source := r.Regex
	if at := group.FindStringIndex(source); at != nil {
		source = source[at[0]:]
	}
	plain := strings.ToLower(strings.NewReplacer(`(?i)`, "", `\b`, "", `(?:`, "", "(", "", `\`, "").Replace(source))
	for _, u := range r.uses {
		if u.within = strings.Contains(plain, u.word); u.within {
			r.starts = strings.HasPrefix(strings.TrimPrefix(r.Regex, "(?i)"), `\b`) && strings.HasPrefix(plain, u.word)
		}
	}
}

// build compiles the expression of a rule, which is many times the work of reading it.
func (r *rule) build() {
	rest, isNamed := strings.CutPrefix(r.Regex, named)
	if r.isNamed = isNamed; isNamed {
		rest = "(?i)" + rest
	}
	r.pattern = regexp.MustCompile(rest)
}

// judge reads the verdict. The tables of a list inside a rule are named as its own.
func (r *rule) judge() {
	decode(strings.ReplaceAll(r.source, "[[rules.", "[["), &r.verdict)
	r.Allowlists = slices.DeleteFunc(r.Allowlists, func(x exception) bool { return len(x.Paths) > 0 })
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

// captured returns the part of an expression that is the secret: its group, or all of it where it has none or several.
func captured(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCapture {
		return re
	}
	if re.Op == syntax.OpConcat {
		for _, sub := range re.Sub {
			if group := captured(sub); group.Op == syntax.OpCapture {
				return group
			}
		}
	}
	return re
}

// width returns the least and the most bytes that an expression matches, at most limit.
func width(re *syntax.Regexp, limit int) (least, most int) {
	switch re.Op {
	case syntax.OpLiteral:
		least = len(re.Rune)
		most = len(string(re.Rune)) + least // a folded letter may be a longer one
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		least, most = 1, 1
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		a, b := width(re.Sub[0], limit)
		low, high := re.Min, re.Max
		switch re.Op {
		case syntax.OpStar:
			low, high = 0, -1
		case syntax.OpPlus:
			low, high = 1, -1
		case syntax.OpQuest:
			low, high = 0, 1
		}
		if least, most = a*low, b*high; high < 0 {
			most = limit
		}
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			a, b := width(sub, limit)
			least, most = least+a, most+b
		}
	case syntax.OpAlternate:
		least = limit
		for _, sub := range re.Sub {
			a, b := width(sub, limit)
			least, most = min(least, a), max(most, b)
		}
	}
	return min(least, limit), min(most, limit)
}

// letters enters the bytes that an expression may match.
func letters(re *syntax.Regexp, set *[256]bool) {
	enter := func(from, to rune) {
		for c := from; c <= min(to, 0x7f); c++ {
			set[c] = true
		}
		for c := 0x80; to >= 0x80 && c < 256; c++ {
			set[c] = true
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			if enter(c, c); re.Flags&syntax.FoldCase != 0 && c < 0x80 && wordByte(byte(c)) && c|0x20 >= 'a' && c != '_' {
				enter(c|0x20, c|0x20)
				enter(c&^0x20, c&^0x20)
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			enter(re.Rune[i], re.Rune[i+1])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		enter(0, 0x80)
	}
	for _, sub := range re.Sub {
		letters(sub, set)
	}
}

// telling tells which of two names says more of a secret.
func telling(rule string) int {
	switch {
	case rule == generic:
		return 1
	case strings.Contains(ownRules, `id = "`+rule+`"`):
		return 0
	}
	return 2
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
