package search

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// operators is a set of kinds of operators of the query language.
type operators uint8

const (
	opNear operators = 1 << iota
	opPhrase
	opField
	opExclusion
	opPrefix

	allOperators = opNear | opPhrase | opField | opExclusion | opPrefix
)

// Bounds of the operators.
const (
	nearWords     = 10 // of NEAR without a number
	maxNear       = 100
	minPrefix     = 3 // letters
	maxPrefixes   = 3 // of a query; more are plain words
	maxExpansions = 64
)

// fields of field:value.
var fieldNames = []string{"file", "cmd", "tool", "role", "provider", "branch"}

// reading is how one alternative is understood. Without operators it is the distinct words of the text.
type reading struct {
	used     operators
	text     []string // what ranks, as written: words, phrases
	terms    [][]byte // its distinct tokens, sorted
	phrases  []phrase
	near     []nearness
	without  []phrase
	prefixes []string
	groups   [][][]byte // what they stand for
	fields   []fieldValue
	unknown  []fieldValue // providers and roles that do not exist: words
	set      *lexical.Set // documents that may pass, with conditions only
	tests    *tests       // what only the stored text can tell; nil: nothing
}

// phrase is tokens that follow each other.
type phrase struct {
	text   string
	tokens [][]byte
}

// nearness is two phrases at most so many words apart, in either order.
type nearness struct {
	left, right phrase
	within      int
}

type fieldValue struct{ name, value string }

// constrained tells whether an event needs more than one of the words.
func (rd *reading) constrained() bool { return rd.used&^opPrefix != 0 }

// item is one blank-separated piece of a query, or a quoted one.
type item struct {
	op           operators // 0: text
	raw          string
	field, value string
	quoted       bool
	unknown      bool // field:value whose value does not exist
}

func (i *item) phrase() phrase {
	text := i.raw
	if i.op != 0 {
		text = i.value
	}
	return phrase{text, tokens(text)}
}

// read understands a text; operators that are not allowed are text. There is no text that it refuses.
func read(text string, allowed operators, provider func(string) bool) *reading {
	items := lex(text, provider)
	for i := range items {
		if items[i].op&allowed == 0 {
			items[i].op = 0
		}
	}
	settle(items)
	rd := &reading{}
	for i := range items {
		it := &items[i]
		rd.used |= it.op
		switch it.op {
		case 0:
			rd.text = append(rd.text, it.raw)
			if it.unknown {
				rd.unknown = append(rd.unknown, fieldValue{it.field, it.value})
			}
		case opPhrase:
			rd.text = append(rd.text, it.value)
			rd.phrases = append(rd.phrases, it.phrase())
		case opNear:
			within, _ := strconv.Atoi(it.value)
			rd.near = append(rd.near, nearness{items[i-1].phrase(), items[i+1].phrase(), within})
		case opExclusion:
			rd.without = append(rd.without, it.phrase())
		case opPrefix:
			rd.prefixes = append(rd.prefixes, string(tokens(it.value)[0]))
		case opField:
			rd.fields = append(rd.fields, fieldValue{it.field, it.value})
		}
	}
	rd.terms = lexical.QueryTerms(rd.text...)
	return rd
}

// settle makes text of operators that have no meaning where they stand: NEAR without a word on either side, exclusions that there is
// nothing to exclude from, and -word in a pasted command, where another piece can only be an option (--all, -x).
func settle(items []item) {
	command, positive := false, false
	for i := range items {
		it := &items[i]
		if it.op == opNear && (i == 0 || i == len(items)-1 || !items[i-1].operand() || !items[i+1].operand()) {
			it.op = 0
		}
		command = command || it.op == 0 && isOption(it.raw)
		positive = positive || it.op&^(opExclusion|opNear) != 0 || it.op == 0 && len(tokens(it.raw)) > 0
	}
	for i := range items {
		if it := &items[i]; it.op == opExclusion && (!positive || command && !it.quoted) {
			it.op = 0
		}
	}
}

func (i *item) operand() bool { return (i.op == 0 || i.op == opPhrase) && len(i.phrase().tokens) > 0 }

func isOption(raw string) bool {
	name := strings.TrimPrefix(raw, "-")
	name = strings.TrimPrefix(name, "-")
	c, _ := utf8.DecodeRuneInString(name)
	return len(name) < len(raw) && (unicode.IsLetter(c) || unicode.IsDigit(c))
}

// lex cuts a text into items and finds the forms of operators.
func lex(text string, provider func(string) bool) []item {
	var items []item
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			return items
		}
		it, ok := quoted(text)
		if !ok {
			end := strings.IndexFunc(text, unicode.IsSpace)
			if end < 0 {
				end = len(text)
			}
			it = item{raw: text[:end]}
			it.classify()
		}
		switch {
		case it.op != opField:
		case strings.HasPrefix(it.value, "//"), !it.quoted && it.value[0] == '"':
			it.op = 0
		case it.field == "provider" && !provider(it.value), it.field == "role" && !isRole(it.value):
			it.op, it.unknown = 0, true
		}
		items = append(items, it)
		text = text[len(it.raw):]
	}
}

func isRole(name string) bool {
	code := record.RoleCode(name)
	return code != record.RoleOther && code != record.RoleNone
}

// quoted finds "a phrase", -"a phrase" and field:"a value" at the start of a text: closed on the same line, a blank or the end behind.
func quoted(text string) (item, bool) {
	it := item{op: opPhrase, quoted: true}
	rest := text
	if name, after, found := strings.Cut(text, `:"`); found && slices.Contains(fieldNames, name) {
		it.op, it.field, rest = opField, name, `"`+after
	} else if strings.HasPrefix(text, `-"`) {
		it.op, rest = opExclusion, text[1:]
	}
	if !strings.HasPrefix(rest, `"`) {
		return it, false
	}
	end := strings.IndexAny(rest[1:], "\"\n")
	if end < 0 || rest[1+end] != '"' {
		return it, false
	}
	it.value = rest[1 : 1+end]
	it.raw = text[:len(text)-len(rest)+end+2]
	behind, _ := utf8.DecodeRuneInString(text[len(it.raw):])
	if len(text) > len(it.raw) && !unicode.IsSpace(behind) {
		return it, false
	}
	return it, len(tokens(it.value)) > 0
}

// classify finds the unquoted forms: NEAR, NEAR/5, -word, prefix*, field:value.
func (i *item) classify() {
	raw := i.raw
	switch name, value, found := strings.Cut(raw, ":"); {
	case raw == "NEAR":
		i.op, i.value = opNear, strconv.Itoa(nearWords)
	case strings.HasPrefix(raw, "NEAR/"):
		if n, err := strconv.Atoi(raw[len("NEAR/"):]); err == nil && 1 <= n && n <= maxNear {
			i.op, i.value = opNear, strconv.Itoa(n)
		}
	case strings.HasPrefix(raw, "-"):
		first, size := utf8.DecodeRuneInString(raw[1:])
		if unicode.IsLetter(first) && len(raw) > 1+size && isWord(raw[1:]) {
			i.op, i.value = opExclusion, raw[1:]
		}
	case strings.HasSuffix(raw, "*"):
		value := raw[:len(raw)-1]
		if utf8.RuneCountInString(value) >= minPrefix && isWord(value) && len(tokens(value)) == 1 {
			i.op, i.value = opPrefix, value
		}
	case found && value != "" && slices.Contains(fieldNames, name):
		i.op, i.field, i.value = opField, name, value
	}
}

// isWord tells whether a text is tokens from its start to its end.
func isWord(text string) bool {
	at := 0
	lexical.EachSpan([]byte(text), func(_ []byte, start, end int) bool {
		if start > at {
			return false
		}
		at = end
		return true
	})
	return at == len(text)
}

// tokens returns the tokens of a text in its order.
func tokens(text string) [][]byte {
	var list [][]byte
	lexical.EachSpan([]byte(text), func(token []byte, _, _ int) bool {
		list = append(list, slices.Clone(token))
		return true
	})
	return list
}
