package lexical

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Closest returns the body term within a number of edits of a word that is in the most live documents; nil when there is none. An edit
// is a character more, less or different, or two neighbours that changed places. Other forms of the word do not count.
func (r *Reader) Closest(word []byte, edits int) (term []byte, documents uint64, err error) {
	found, err := r.frequencies(newSpelling(word, edits), nil, nil)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range found {
		if !sameWord(string(word), f.term) {
			return []byte(f.term), f.documents, nil
		}
	}
	return nil, 0, nil
}

// sameWord tells whether two texts are forms of one word rather than misspellings: one only goes on where the other ends, or their
// accents differ. There is no stemming and no folding of accents, so one form never finds the other.
func sameWord(a, b string) bool {
	accents := func(c rune) rune {
		if c >= utf8.RuneSelf && unicode.Is(unicode.Latin, c) {
			return c
		}
		return -1
	}
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) || strings.Map(accents, a) != strings.Map(accents, b)
}

// spelling is the automaton of all texts within a number of edits of a word: the rows of the table of edit distances, made when first
// reached. Dictionaries are walked with it, so that only their near branches are read.
type spelling struct {
	word   []rune
	edits  uint8
	states []spellingState
	known  map[string]int
	steps  map[[2]int]int
}

type spellingState struct {
	row, before []uint8 // distances of the text so far, and without its last character, to every start of the word
	last        rune    // its last character, 0 when the word does not have it
	pending     string  // bytes of an unfinished character
}

func newSpelling(word []byte, edits int) *spelling {
	s := &spelling{word: []rune(string(word)), edits: uint8(edits), known: map[string]int{}, steps: map[[2]int]int{}}
	row := make([]uint8, len(s.word)+1)
	for i := range row {
		row[i] = uint8(min(i, edits+1))
	}
	s.number(spellingState{row: row, before: row})
	return s
}

// number returns the number of a state, which it adds when new.
func (s *spelling) number(st spellingState) int {
	key := string(st.row) + string(st.before) + string(st.last) + st.pending
	n, ok := s.known[key]
	if !ok {
		n = len(s.states)
		s.known[key], s.states = n, append(s.states, st)
	}
	return n
}

// Start implements vellum.Automaton, as the methods below do.
func (s *spelling) Start() int { return 0 }

func (s *spelling) IsMatch(state int) bool {
	st := &s.states[state]
	return st.pending == "" && st.row[len(s.word)] <= s.edits
}

func (s *spelling) CanMatch(state int) bool { return slices.Min(s.states[state].row) <= s.edits }

func (s *spelling) WillAlwaysMatch(int) bool { return false }

func (s *spelling) Accept(state int, b byte) int {
	step := [2]int{state, int(b)}
	next, ok := s.steps[step]
	if !ok {
		next = s.number(s.after(s.states[state], b))
		s.steps[step] = next
	}
	return next
}

func (s *spelling) after(st spellingState, b byte) spellingState {
	st.pending += string([]byte{b})
	if !utf8.FullRuneInString(st.pending) {
		return st
	}
	c, _ := utf8.DecodeRuneInString(st.pending)
	row := make([]uint8, len(st.row))
	row[0] = min(st.row[0]+1, s.edits+1)
	for j := 1; j < len(row); j++ {
		cost := uint8(1)
		if s.word[j-1] == c {
			cost = 0
		}
		row[j] = min(st.row[j]+1, row[j-1]+1, st.row[j-1]+cost, s.edits+1)
		if j > 1 && s.word[j-2] == c && s.word[j-1] == st.last {
			row[j] = min(row[j], st.before[j-2]+1)
		}
	}
	if !slices.Contains(s.word, c) {
		c = 0
	}
	return spellingState{row: row, before: st.row, last: c}
}
