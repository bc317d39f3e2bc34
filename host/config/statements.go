package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/agenthistory/ctx/host/fault"
)

// statement is one table header, or one key with its value, of a TOML text. Offsets are bytes of the text; nothing else can stand on
// the lines of a statement but a comment.
type statement struct {
	key        []string // with that of the table around it
	header     bool
	array      bool
	start, end int // of its lines
	value      int // where the value begins
	valueEnd   int
}

// statements takes a text apart. The text is valid TOML or the error says that it is not.
func statements(text []byte) ([]statement, error) {
	var all []statement
	var table []string
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.Comment {
			continue
		}
		s := statement{header: e.Kind != unstable.KeyValue, array: e.Kind == unstable.ArrayTable}
		first, last := -1, 0
		for parts := e.Key(); parts.Next(); {
			raw := parts.Node().Raw
			if first < 0 {
				first = int(raw.Offset)
			}
			last = int(raw.Offset + raw.Length)
			s.key = append(s.key, string(parts.Node().Data))
		}
		if s.header {
			table = s.key
		} else {
			s.key = append(slices.Clone(table), s.key...)
			last = int(e.Raw.Offset + e.Raw.Length)
			s.value, s.valueEnd = valueStart(e.Value(), &p), last
		}
		s.start, s.end = bytes.LastIndexByte(text[:first], '\n')+1, nextLine(text, last)
		all = append(all, s)
	}
	if p.Error() != nil {
		return nil, malformed("it is not valid TOML").fault(text)
	}
	return all, nil
}

func valueStart(value *unstable.Node, p *unstable.Parser) int {
	if value.Raw.Length > 0 {
		return int(value.Raw.Offset)
	}
	return int(p.Range(value.Data).Offset)
}

// nextLine returns the offset of the first byte behind the line that holds at.
func nextLine(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

func hasPrefix(key, prefix []string) bool {
	return len(key) >= len(prefix) && slices.Equal(key[:len(prefix)], prefix)
}

// lineOf returns the line of a key, or of the nearest table around it that stands in the text; 0 = nowhere.
func lineOf(text []byte, key []string) int {
	all, err := statements(text)
	for ; err == nil && len(key) > 0; key = key[:len(key)-1] {
		for _, s := range all {
			if hasPrefix(s.key, key) {
				return 1 + bytes.Count(text[:s.start], []byte("\n"))
			}
		}
	}
	return 0
}

// setKey gives a key of a table its literal; "" removes it. Everything else of the text, comments included, stays byte for byte. The
// table is added at the end when it is missing, a key behind the header of its table.
func setKey(text []byte, table []string, key, literal string) ([]byte, error) {
	all, err := statements(text)
	if err != nil {
		return nil, err
	}
	if err := inlineAbove(all, table); err != nil {
		return nil, err
	}
	header := -1
	for i, s := range all {
		switch {
		case s.header && !s.array && slices.Equal(s.key, table):
			header = i
		case s.header || !slices.Equal(s.key, append(slices.Clone(table), key)):
		case literal == "":
			return slices.Concat(text[:s.start], text[s.end:]), nil
		default:
			return slices.Concat(text[:s.value], []byte(literal), text[s.valueEnd:]), nil
		}
	}
	switch {
	case literal == "":
		return text, nil
	case header >= 0:
		at := all[header].end
		return slices.Concat(text[:at], []byte(lineBreak(text, at)+key+" = "+literal+"\n"), text[at:]), nil
	}
	separator := ""
	if len(text) > 0 {
		separator = lineBreak(text, len(text)) + "\n"
	}
	return append(text, (separator + "[" + strings.Join(table, ".") + "]\n" + key + " = " + literal + "\n")...), nil
}

// inlineAbove refuses a table that could only be written into an inline table.
func inlineAbove(all []statement, table []string) error {
	for _, s := range all {
		if !s.header && hasPrefix(table, s.key) {
			return fault.New(fault.InvalidRequest, "the table [%s] of config.toml is written inline", strings.Join(s.key, ".")).
				WithHint("write it as a table of its own, or edit the file by hand")
		}
	}
	return nil
}

// lineBreak is what is missing before at for a new line to start there.
func lineBreak(text []byte, at int) string {
	if at > 0 && text[at-1] != '\n' {
		return "\n"
	}
	return ""
}

// dropTable removes a table with all its keys, however it is written. Comments on lines of their own stay. A blank line before its
// header goes with it.
func dropTable(text []byte, table []string) ([]byte, error) {
	all, err := statements(text)
	if err != nil {
		return nil, err
	}
	if err := inlineAbove(all, table[:len(table)-1]); err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(all) {
		if !hasPrefix(s.key, table) {
			continue
		}
		start := s.start
		if s.header && (bytes.HasSuffix(text[:start], []byte("\n\n")) || string(text[:start]) == "\n") {
			start--
		}
		text = slices.Concat(text[:start], text[s.end:])
	}
	return text, nil
}
