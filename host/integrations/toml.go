package integrations

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlSyntax is TOML. The entry is a table with a header of its own; tables below it belong to it.
type tomlSyntax struct{}

func (tomlSyntax) decode(text []byte) (map[string]any, error) {
	document := map[string]any{}
	err := toml.Unmarshal(trimMark(text), &document)
	if place := (*toml.DecodeError)(nil); errors.As(err, &place) {
		line, _ := place.Position()
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return document, err
}

func (tomlSyntax) put(text []byte, table string, entry []member) ([]byte, error) {
	eol := newline(text)
	text = ended(text)
	var b strings.Builder
	if !blank(text) && !bytes.HasSuffix(text, []byte(eol+eol)) {
		b.WriteString(eol)
	}
	fmt.Fprintf(&b, "[%s.%s]%s", table, serverName, eol)
	for _, m := range entry {
		fmt.Fprintf(&b, "%s = %s%s", m.key, jsonText(m.value), eol) // strings and lists of them are written alike
	}
	return append(text, b.String()...), nil
}

// cut removes the lines of every header and key whose full name begins with the entry's.
func (tomlSyntax) cut(text []byte, table string) ([]byte, error) {
	type lines struct{ from, last, to int } // last is where the line begins on which the expression ends
	var parts []lines
	var p unstable.Parser
	p.Reset(trimMark(text))
	var header []string
	end := func(next int) {
		p := &parts[len(parts)-1]
		p.to = trimTail(text, p.last, next, math.MaxInt)
	}
	open := false // the last part still reaches to the next expression
	for p.NextExpression() {
		e := p.Expression()
		name, at := tomlName(&p, e)
		start := lineStart(text, at)
		last := start
		if e.Kind == unstable.KeyValue {
			name = append(header[:len(header):len(header)], name...)
			value := e.Value().Raw // of a string; others end with a bracket or on their first line
			last = max(start, lineStart(text, int(value.Offset+value.Length)))
		} else {
			header = name
		}
		if open {
			end(start)
		}
		if open = len(name) >= 2 && name[0] == table && name[1] == serverName; open {
			parts = append(parts, lines{from: start, last: last})
		}
	}
	if err := p.Error(); err != nil {
		return nil, err
	}
	if open {
		end(len(text))
	}
	for i := len(parts) - 1; i >= 0; i-- {
		text = replaceRange(text, parts[i].from, parts[i].to)
	}
	if eol := newline(text); open && bytes.HasSuffix(text, []byte(eol+eol)) {
		text = text[:len(text)-len(eol)] // the blank line before the entry
	}
	return text, nil
}

// tomlName is the dotted name of an expression and the offset of its first part.
func tomlName(p *unstable.Parser, e *unstable.Node) (name []string, at int) {
	at = -1
	for keys := e.Key(); keys.Next(); {
		node := keys.Node()
		if at < 0 {
			at = int(node.Raw.Offset)
		}
		name = append(name, string(node.Data))
	}
	return name, max(at, 0)
}
