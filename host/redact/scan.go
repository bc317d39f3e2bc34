package redact

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// finding is one secret in a text.
type finding struct {
	from, to int
	rule     string
}

// scanner looks through texts, one at a time.
type scanner struct {
	*ruleSet
	text    []byte
	escaped bool // it is JSON with escapes, that neutral has not seen
	found   []finding
	scans   int
	windows []window // by the number of a rule
	pending []*rule  // those that have one
	plain   []byte   // memory of neutral
	work    int      // bytes that expressions were run over
}

// window is a part of the text where a rule is to be tried, in one scan.
type window struct{ scan, from, to int }

func newScanner(set *ruleSet) *scanner {
	return &scanner{ruleSet: set, windows: make([]window, set.count)}
}

// scan returns the secrets of a text in order; none overlap. JSON is only read without its escapes when a secret may be in it: they
// hide no keyword.
func (s *scanner) scan(text []byte, json bool) []finding {
	s.text, s.escaped, s.found = text, json, s.found[:0]
	s.scans++
	seen := &s.seen
	// Every other place is enough: a keyword is entered in the table as it looks from there. Eight bytes hold three such places.
	for at := 0; at+2 < len(text); at += 6 {
		var x uint64
		if at+8 <= len(text) {
			x = fold(binary.LittleEndian.Uint64(text[at:]))
		} else {
			var last [8]byte
			copy(last[:], text[at:])
			x = fold(binary.LittleEndian.Uint64(last[:]))
		}
		if h := hash(x); seen[h>>20]>>(h>>14&63)&1 != 0 {
			s.keywords(h, at)
		}
		if h := hash(x >> 16); seen[h>>20]>>(h>>14&63)&1 != 0 {
			s.keywords(h, at+2)
		}
		if h := hash(x >> 32); seen[h>>20]>>(h>>14&63)&1 != 0 {
			s.keywords(h, at+4)
		}
	}
	for _, r := range s.pending {
		s.try(r, s.windows[r.number].from, s.windows[r.number].to)
	}
	s.pending = s.pending[:0]
	return merge(s.found)
}

// keywords tries the rules of the keywords that three bytes at a place may lead to.
func (s *scanner) keywords(hash uint32, at int) {
	words := s.words[s.places[hash>>19]]
	for i := range words {
		e := &words[i]
		begin := at + e.offset
		end := begin + len(e.word)
		if begin < 0 || end > len(s.text) || (begins(s.text[begin:])|loose)&e.mask != e.prefix || !bytes.EqualFold(s.text[begin:end], []byte(e.word)) || !e.behind.in(s.text[end:]) {
			continue
		}
		for _, u := range e.uses {
			s.near(u, begin, end)
		}
	}
}

// begins returns the first four bytes of a text, or what there is.
func begins(text []byte) (x uint32) {
	if len(text) >= 4 {
		return binary.LittleEndian.Uint32(text)
	}
	for i, c := range text {
		x |= uint32(c) << (8 * i)
	}
	return x
}

// in tells that a text begins with what has to follow.
func (f follower) in(text []byte) bool {
	if len(text) < f.least {
		return false
	}
	for _, c := range text[:f.least] {
		if !f.bytes[c] {
			return false
		}
	}
	return true
}

// near tries a rule on the text around one of its keywords, if a secret may be there at all.
func (s *scanner) near(u *use, at, end int) {
	if u.named && !assigned(s.text[end:], s.escaped) {
		return
	}
	if u.once.Do(u.read); u.path {
		return
	}
	from, to := s.look(u, at, end)
	if to == 0 {
		return
	}
	if s.escaped {
		s.text, s.escaped = s.neutral(s.text), false
		if from, to = s.look(u, at, end); to == 0 {
			return
		}
	}
	from, to = max(0, from-margin), min(len(s.text), to+margin)
	w := &s.windows[u.number]
	switch {
	case w.scan != s.scans:
		s.pending = append(s.pending, u.rule)
	case from <= w.to && to >= w.from: // one after the other would be read many times where keywords are dense
		w.from, w.to = min(w.from, from), max(w.to, to)
		return
	default:
		s.try(u.rule, w.from, w.to)
	}
	*w = window{s.scans, from, to}
}

// look returns the part of the text around a keyword where a secret may be, by a cheap look, or 0, 0. While there are escapes, it says
// yes whenever it would without.
func (s *scanner) look(u *use, at, end int) (from, to int) {
	if u.may != nil {
		size := u.may(u.rule, s.text[end:], s.escaped)
		if size == 0 {
			return 0, 0
		}
		return max(0, at-before), end + size
	}
	if s.escaped && u.blank {
		return at, end
	}
	if !u.within {
		from, to = max(0, at-u.reach), min(len(s.text), end+u.reach)
		if !u.hasRun(s.text[from:to]) {
			return 0, 0
		}
		return from, to
	}
	if w := s.windows[u.number]; w.scan == s.scans && at < w.to-margin {
		return 0, 0
	}
	if u.starts && at > 0 && wordByte(s.text[at-1]) && s.text[at-1] != '_' && !(s.escaped && bytes.IndexByte(s.text[max(0, at-6):at], '\\') >= 0) {
		return 0, 0
	}
	from, to = at, at
	for from > 0 && at-from < maxReach && u.alphabet[s.text[from-1]] {
		from--
	}
	for to < len(s.text) && to-at < maxReach && u.alphabet[s.text[to]] {
		to++
	}
	if to-from < u.least {
		return 0, 0
	}
	return from, to
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// hasRun tells that a text has as many bytes of the alphabet in a row as a secret needs. It looks at the last of them first, so most
// are passed over.
func (r *rule) hasRun(text []byte) bool {
	for at := 0; at+r.least <= len(text); {
		last := at + r.least - 1
		for last >= at && r.alphabet[text[last]] {
			last--
		}
		if last < at {
			return true
		}
		at = last + 1
	}
	return false
}

// assigned tells that an operator may follow a keyword that is a part of a name.
func assigned(text []byte, escaped bool) bool {
	for _, c := range text[:min(len(text), 48)] {
		if !name[c] {
			return operator[c] || escaped && c == '\\'
		}
	}
	return false
}

// mayAssign tells that behind a keyword there may be an operator and a value that is not letters alone and has some different bytes.
func mayAssign(r *rule, text []byte, escaped bool) int {
	at := 0
	for at < len(text) && at < 24 && name[text[at]] {
		at++
	}
	if escaped && at < len(text) && text[at] == '\\' {
		return at + 1
	}
	if at == len(text) || !operator[text[at]] {
		return 0
	}
	for n := 0; n < 12 && at < len(text) && (operator[text[at]] || space[text[at]]); n++ {
		at++
	}
	if escaped && at < len(text) && text[at] == '\\' {
		return at + 1
	}
	var seen [256]bool
	symbols, letters := 0, true
	for ; at < len(text) && at < farthest && r.alphabet[text[at]]; at++ {
		c := text[at]
		letters = letters && (wordByte(c) && c > '9' || c == '.' || c == '-')
		if !seen[c] {
			seen[c] = true
			symbols++
		}
	}
	if letters || symbols < r.symbols {
		return 0
	}
	return at
}

// mayFollow tells that what follows a keyword and white space is long enough.
func mayFollow(r *rule, text []byte, escaped bool) int {
	at := 0
	for at < min(len(text), 3) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	if escaped && at < len(text) && text[at] == '\\' {
		return at + 1
	}
	n := at
	for n < len(text) && n < farthest && r.alphabet[text[n]] {
		n++
	}
	if at == 0 || n-at < r.least {
		return 0
	}
	return n
}

// mayBeUser tells that what follows :// has an @ before its path.
func mayBeUser(_ *rule, text []byte, _ bool) int {
	colon := false
	for i, c := range text[:min(len(text), 200)] {
		switch {
		case c == '@' && colon:
			return i
		case c == ':':
			colon = true
		case c <= ' ' || c == '@' || c == '/' || c == '"' || c == '\'':
			return 0
		}
	}
	return 0
}

// mayBeOption tells that a user and a password may follow -u, --user or --proxy-user.
func mayBeOption(_ *rule, text []byte, escaped bool) int {
	rest := bytes.TrimPrefix(text[:min(len(text), 200)], []byte("ser"))
	if len(rest) == 0 || rest[0] != ' ' && rest[0] != '=' && rest[0] != '\t' && !(escaped && rest[0] == '\\') || bytes.IndexByte(rest, ':') < 0 {
		return 0
	}
	return min(len(text), 200)
}

// mayGoOn tells that a word which every secret of some rules needs follows their keyword.
func mayGoOn(r *rule, text []byte, _ bool) int {
	if !bytes.Contains(bytes.ToLower(text[:min(len(text), farthest)]), []byte(goesOn[r.ID])) {
		return 0
	}
	return min(len(text), farthest)
}

// mayBeKey tells where a private key ends, at the first last line that is far enough behind the first.
func mayBeKey(_ *rule, text []byte, _ bool) int {
	text = text[:min(len(text), maxReach)]
	first := bytes.Index(bytes.ToUpper(text[:min(len(text), 120)]), []byte("KEY"))
	if first < 0 {
		return 0
	}
	for at := min(len(text), first+len("KEY-----")+64); ; {
		next := bytes.Index(text[at:], []byte("-----"))
		if next < 0 {
			return 0
		}
		at += next
		if last := text[at-len("KEY BLOCK") : at]; bytes.EqualFold(last, []byte("KEY BLOCK")) || bytes.EqualFold(last[len(" BLOCK"):], []byte("KEY")) {
			return at + len("-----")
		}
		at++
	}
}

// try runs a rule over a part of the text. What touches a cut edge of the part is not taken: there the expression does not see all.
func (s *scanner) try(r *rule, from, to int) {
	r.built.Do(r.build)
	part := s.text[from:to]
	s.work += len(part)
	for _, m := range r.pattern.FindAllSubmatchIndex(part, -1) {
		if m[0] == 0 && from > 0 || m[1] == len(part) && to < len(s.text) {
			continue
		}
		r.judged.Do(r.judge)
		first, last := r.secret(m)
		text, begin := part[first:last], from+m[0]
		for n := 0; r.isNamed && n < longestName && begin > 0 && (wordByte(s.text[begin-1]) || s.text[begin-1] == '.' || s.text[begin-1] == '-'); n++ {
			begin--
		}
		if r.Entropy > 0 && entropy(text) <= r.Entropy || s.allowed(r, text, s.text[begin:from+m[1]], begin) {
			continue
		}
		s.found = append(s.found, finding{from + first, from + last, r.ID})
	}
}

// secret returns which part of a match is the secret: the group that the rule names, else the first one that has text, else all.
func (v *verdict) secret(m []int) (from, to int) {
	for g := 1; g < len(m)/2; g++ {
		if m[2*g] >= 0 && m[2*g] < m[2*g+1] && (v.SecretGroup == 0 || v.SecretGroup == g) {
			return m[2*g], m[2*g+1]
		}
	}
	return m[0], m[1]
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
			if telling(f.rule) > telling(last.rule) {
				last.rule = f.rule
			}
			continue
		}
		out = append(out, f)
	}
	return out
}
