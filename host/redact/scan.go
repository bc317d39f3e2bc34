package redact

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

const (
	// least is the length of a run. A shorter value has not the entropy that the rule for values of any form asks for.
	least = 12
	// surely is the length from which a run counts without a digit.
	surely = 20
	// before is how far before a run the keyword of a prefix may begin, as in hvs.<run>.
	before = 10
	// farthest is how many bytes may lie between a keyword and the operator behind it, and lookback is farthest and a keyword.
	farthest, lookback = 26, 44
	// around is how much is read on both sides of a keyword that may stand anywhere near the secret.
	around = 400
)

// far are what stands shortly before a secret whose keyword is further away, and how far: the first line of a private key, and a header in
// a command.
var far = []struct {
	near []byte
	back int
}{{[]byte("-----"), 90}, {[]byte("earer "), 300}, {[]byte("asic "), 300}}

// token tells the bytes of a run, value those that a secret may have besides.
var token, value = classes()

func classes() (token, value [256]bool) {
	for c := range 256 {
		letter := 'a' <= fold(byte(c)) && fold(byte(c)) <= 'z' && c < 0x80 && c >= 'A'
		token[c] = letter || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '+'
		value[c] = token[c] || c == '.' || c == '=' || c == '/'
	}
	return token, value
}

// finding is one secret in a text.
type finding struct {
	from, to int
	rule     string
}

// hit is a keyword in a text.
type hit struct {
	at, end int
	rules   []*rule
}

// scanner looks through texts, one at a time.
type scanner struct {
	*ruleSet
	text   []byte
	dry    bool // only to know whether a rule would be tried
	wanted bool
	hits   []hit
	found  []finding
	tried  []*rule // of this run
	plain  []byte  // memory of neutral
}

// scan returns the secrets of a text in order; none overlap.
func (s *scanner) scan(text []byte) []finding {
	s.text, s.wanted, s.hits, s.found = text, false, s.hits[:0], s.found[:0]
	seen := 0
	for at := 0; !(s.dry && s.wanted); {
		from, to := nextRun(text, at)
		if to == 0 {
			break
		}
		if at = to; !promising(text[from:to]) {
			continue
		}
		begin := from // of all that may be the value
		for begin > 0 && from-begin < around && value[text[begin-1]] && text[begin-1] != '=' {
			begin--
		}
		name, given := s.given(begin)
		back := from - before
		if given {
			back = name - lookback
		}
		for _, f := range far {
			if bytes.Contains(text[max(0, from-before):from], f.near) {
				back = from - f.back
			}
		}
		s.lookFor(max(seen, back), to)
		seen = to
		if n := len(s.hits); n > 0 && s.hits[n-1].at >= begin-2*lookback {
			s.run(begin, to, name, given)
		}
	}
	return merge(s.found)
}

// nextRun returns the first run at or after a byte that begins one, or 0, 0. It looks at the last byte that a run would need first, so
// that short words are passed over without being read.
func nextRun(text []byte, at int) (from, to int) {
	for at+least <= len(text) {
		// Of the last eight bytes at once: is one of them below '+', as white space, quotes and brackets are?
		low := ^(binary.LittleEndian.Uint64(text[at+least-8:])&0x7f7f7f7f7f7f7f7f + 0x5555555555555555) & 0x8080808080808080
		if low != 0 {
			at += least - bits.LeadingZeros64(low)/8
			continue
		}
		last := at + least - 1
		for last >= at && token[text[last]] {
			last--
		}
		if last >= at {
			at = last + 1
			continue
		}
		to = at + least
		for to < len(text) && token[text[to]] {
			to++
		}
		return at, to
	}
	return 0, 0
}

// promising tells runs that may be secrets: there are letters in it, and digits unless it is long.
func promising(run []byte) bool {
	digits, letters := 0, 0
	for _, c := range run {
		switch {
		case c > '9' && c != '_':
			letters++
		case c >= '0':
			digits++
		}
	}
	return letters > 1 && (digits > 0 || len(run) >= surely)
}

// lookFor collects the keywords that begin in a range, and tries the rules whose matches begin with them.
func (s *scanner) lookFor(from, to int) {
	last := fold(s.text[from])
	for at := from + 1; at < to; at++ {
		c := fold(s.text[at])
		n := s.bucket[int(last)<<8|int(c)]
		if last = c; n == 0 {
			continue
		}
		for _, k := range s.buckets[n] {
			if s.has(k.rest, at+1) {
				s.keyword(hit{at - 1, at + 1 + len(k.rest), k.rules})
			}
		}
	}
}

func (s *scanner) has(rest []byte, at int) bool {
	if at+len(rest) > len(s.text) {
		return false
	}
	for i, c := range rest {
		if fold(s.text[at+i]) != c {
			return false
		}
	}
	return true
}

func (s *scanner) keyword(h hit) {
	open := false // a rule wants to see runs
	for _, r := range h.rules {
		if r.assigned {
			open = true
			continue
		}
		if r.once.Do(r.read); !r.anchored {
			open = true
			continue
		}
		if s.beginsAt(r, h.at) {
			s.try(r, h.at-1, h.at+r.reach+2)
		}
	}
	if open {
		s.hits = append(s.hits, h)
	}
}

// beginsAt rules out most words that only look like a beginning, without an expression.
func (s *scanner) beginsAt(r *rule, at int) bool {
	if r.word && at > 0 && token[s.text[at-1]] && s.text[at-1] != '-' && (at < 2 || s.text[at-2] != '\\') {
		return false
	}
	return r.begins == nil || slices.ContainsFunc(r.begins, func(begin []byte) bool { return bytes.HasPrefix(s.text[at:], begin) })
}

// run tries the rules whose keywords stand in or before the value of a run. name is where the operator before the value is.
func (s *scanner) run(begin, to, name int, given bool) {
	end := to
	for end < len(s.text) && end-to < around && value[s.text[end]] {
		end++
	}
	symbols, words := look(s.text[begin:end])
	s.tried = s.tried[:0]
	for i := len(s.hits) - 1; i >= 0 && s.hits[i].at >= begin-2*lookback; i-- {
		h := &s.hits[i]
		near := given && h.at < name && s.isName(h.end, name)
		for _, r := range h.rules {
			if r.anchored || r.assigned && !near || r.generic && words || slices.Contains(s.tried, r) {
				continue
			}
			s.tried = append(s.tried, r)
			if r.once.Do(r.read); math.Exp2(r.Entropy) > symbols {
				continue
			}
			if r.assigned {
				s.try(r, s.wordBegin(h.at), end+3)
			} else {
				s.try(r, h.at-around, end+around)
			}
		}
	}
}

// wordBegin goes back to where the name begins that has a keyword in it: exceptions look at the whole name.
func (s *scanner) wordBegin(at int) int {
	for n := 0; n < 50 && at > 0 && (token[s.text[at-1]] || s.text[at-1] == '.'); n++ {
		at--
	}
	return at
}

// given tells that an operator stands before a value, and where it is.
func (s *scanner) given(at int) (operator int, ok bool) {
	for steps := 0; at > 0 && steps <= 10; steps++ {
		at--
		switch s.text[at] {
		case '=', '>', ':', ',', '|':
			return at, true
		case ' ', '\t', '\n', '\r', '"', '\'', '`':
		default:
			return 0, false
		}
	}
	return 0, false
}

// isName tells that nothing but a name lies between a keyword and an operator.
func (s *scanner) isName(from, to int) bool {
	if to-from > farthest {
		return false
	}
	for _, c := range s.text[min(from, to):to] {
		if !token[c] && !bytes.ContainsRune([]byte(". \t\r\n'\"\\"), rune(c)) {
			return false
		}
	}
	return true
}

// look counts the different bytes of a value. words: letters alone, which the rule for values of any form makes an exception of.
func look(text []byte) (symbols float64, words bool) {
	var seen [256]bool
	words = true
	for _, c := range text {
		if !seen[c] {
			seen[c] = true
			symbols++
			words = words && (c == '-' || c == '.' || c > '9' && c != '=')
		}
	}
	return symbols, words
}

// try runs a rule over a part of the text.
func (s *scanner) try(r *rule, from, to int) {
	if s.dry {
		s.wanted = true
		return
	}
	if r.built.Do(r.build); r.pattern == nil {
		return
	}
	from, to = max(0, from), min(to, len(s.text))
	part := s.text[from:to]
	for _, m := range r.pattern.FindAllSubmatchIndex(part, -1) {
		secret := [2]int{m[0], m[1]}
		for g := 1; g < len(m)/2; g++ {
			if m[2*g] >= 0 && m[2*g] < m[2*g+1] && (r.SecretGroup == 0 || r.SecretGroup == g) {
				secret = [2]int{m[2*g], m[2*g+1]}
				break
			}
		}
		if r.anchored && secret[0] == 0 && from > 0 {
			secret[0] = 1 // without a group of its own: the byte before the match is none of it
		}
		text := part[secret[0]:secret[1]]
		if r.Entropy > 0 && entropy(text) <= r.Entropy {
			continue
		}
		if s.allowed(r, text, part[m[0]:m[1]], from+m[0]) {
			continue
		}
		s.found = append(s.found, finding{from + secret[0], from + secret[1], r.ID})
	}
}

func (s *scanner) allowed(r *rule, secret, match []byte, at int) bool {
	s.ready.Do(s.prepare)
	line := s.text[bytes.LastIndexByte(s.text[:at], '\n')+1:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	if s.always.allows(secret, match, line) {
		return true
	}
	return slices.ContainsFunc(r.Allowlists, func(x exception) bool { return x.allows(secret, match, line) })
}

// merge sorts findings and joins those that overlap, under the more telling name.
func merge(found []finding) []finding {
	slices.SortStableFunc(found, func(a, b finding) int { return a.from - b.from })
	out := found[:0]
	for _, f := range found {
		if n := len(out); n > 0 && f.from < out[n-1].to {
			last := &out[n-1]
			last.to = max(last.to, f.to)
			if last.rule == generic {
				last.rule = f.rule
			}
			continue
		}
		out = append(out, f)
	}
	return out
}
