package integrations

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlSyntax is TOML. The entry is a table with a header of its own; tables below it belong to it.
type tomlSyntax struct{}

func (tomlSyntax) decode(text []byte) (map[string]any, error) {
	document := map[string]any{}
	return document, toml.Unmarshal(trimMark(text), &document)
}

func (tomlSyntax) put(text []byte, table string, entry []member) ([]byte, error) {
	eol := newline(text)
	text = ended(text)
	var b strings.Builder
	if len(text) > 0 {
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
	type lines struct{ from, to int }
	var parts []lines
	var p unstable.Parser
	p.Reset(trimMark(text))
	var header []string
	open := false // the last part still reaches to the next expression
	for p.NextExpression() {
		name, at := tomlName(&p, p.Expression())
		if p.Expression().Kind == unstable.KeyValue {
			name = append(header[:len(header):len(header)], name...)
		} else {
			header = name
		}
		start := lineStart(text, at)
		if open {
			last := &parts[len(parts)-1]
			last.to = trimTail(text, last.from, start)
		}
		if open = len(name) >= 2 && name[0] == table && name[1] == serverName; open {
			parts = append(parts, lines{from: start, to: len(text)})
		}
	}
	if err := p.Error(); err != nil {
		return nil, err
	}
	if open {
		last := &parts[len(parts)-1]
		last.to = trimTail(text, last.from, len(text))
	}
	for i := len(parts) - 1; i >= 0; i-- {
		text = replaceRange(text, parts[i].from, parts[i].to)
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
