package integrations

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlSyntax is YAML. The table is a block mapping, or a block sequence of objects with a name when list is set.
type yamlSyntax struct {
	list bool
	head string // the first lines of a new file
}

func (yamlSyntax) decode(text []byte) (map[string]any, error) {
	var document any
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file holds more than one document")
	}
	switch top := document.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return top, nil
	}
	return nil, errNoObject
}

func (y yamlSyntax) put(text []byte, table string, entry []member) ([]byte, error) {
	text = ended(text)
	eol := newline(text)
	block, err := findBlock(text, table)
	if err != nil {
		return nil, err
	}
	if block == nil {
		return append(text, table+":"+eol+y.entry(entry, "  ", eol)...), nil
	}
	if block.value.Kind == yaml.ScalarNode || len(block.value.Content) == 0 {
		return block.fill(text, y.entry(entry, "  ", eol)), nil
	}
	if block.value.Style&yaml.FlowStyle != 0 {
		return nil, errByHand
	}
	return insertAt(text, block.end, y.entry(entry, strings.Repeat(" ", block.indent), eol)), nil
}

func (y yamlSyntax) cut(text []byte, table string) ([]byte, error) {
	block, err := findBlock(text, table)
	if err != nil {
		return nil, err
	}
	if block == nil || block.value.Style&yaml.FlowStyle != 0 {
		return nil, errByHand
	}
	step := 2 // nodes of one entry: key and value
	if y.list {
		step = 1
	}
	nodes := block.value.Content
	for i := 0; i < len(nodes); i += step {
		if nodeName(nodes[i], y.list) != serverName {
			continue
		}
		from, to := lineOffset(text, nodes[i].Line), block.end
		if i+step < len(nodes) {
			to = trimTail(text, from, lineOffset(text, nodes[i+step].Line), block.indent)
		}
		text = replaceRange(text, from, to)
		if len(nodes) == step {
			empty := " {}"
			if y.list {
				empty = " []"
			}
			text = insertAt(text, block.colon, empty)
		}
		return text, nil
	}
	return nil, errByHand
}

func nodeName(node *yaml.Node, list bool) string {
	if !list {
		return node.Value
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == "name" {
			return node.Content[i+1].Value
		}
	}
	return ""
}

// entry is the block of the entry, indented.
func (y yamlSyntax) entry(entry []member, indent, eol string) string {
	var b strings.Builder
	lead := indent + serverName + ":" + eol
	inner := indent + "  "
	if y.list {
		lead = indent + "- name: " + serverName + eol
	}
	b.WriteString(lead)
	for _, m := range entry {
		switch v := m.value.(type) {
		case []string:
			fmt.Fprintf(&b, "%s%s:%s", inner, m.key, eol)
			for _, item := range v {
				fmt.Fprintf(&b, "%s  - %s%s", inner, item, eol)
			}
		default:
			fmt.Fprintf(&b, "%s%s: %v%s", inner, m.key, v, eol)
		}
	}
	return b.String()
}

// block is the place of a table in a text.
type block struct {
	key, value *yaml.Node
	colon      int // offset behind "table:"
	indent     int // of the entries
	end        int // offset of the line behind the last line of the table
}

// findBlock finds a table at the top of a document; nil = it is not there.
func findBlock(text []byte, table string) (*block, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	top := document.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return nil, nil
	}
	if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 {
		return nil, errByHand
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value != table {
			continue
		}
		b := &block{key: top.Content[i], value: top.Content[i+1], end: len(text)}
		start := lineOffset(text, b.key.Line)
		b.colon = start + bytes.IndexByte(text[start:], ':') + 1
		if i+2 < len(top.Content) {
			b.end = lineOffset(text, top.Content[i+2].Line)
		}
		b.indent = b.value.Column - 1
		if b.value.Kind == yaml.MappingNode && len(b.value.Content) > 0 {
			b.indent = b.value.Content[0].Column - 1 // an anchor or a tag stands before the value
		}
		b.end = trimTail(text, start, b.end, b.indent)
		return b, nil
	}
	return nil, nil
}

// fill gives an empty table (nothing, null, {} or []) its first entry.
func (b *block) fill(text []byte, entry string) []byte {
	end := lineEnd(text, b.colon)
	text = insertAt(text, end, entry)
	if b.value.Line != b.key.Line {
		return text
	}
	line := text[b.colon:end]
	for _, empty := range []string{"{}", "[]", "null", "~"} {
		rest := bytes.TrimLeft(line, " \t")
		if bytes.HasPrefix(rest, []byte(empty)) {
			from := b.colon + len(line) - len(rest)
			return replaceRange(text, b.colon, from+len(empty))
		}
	}
	return text
}

// lineOffset is the offset of a line, counted from 1.
func lineOffset(text []byte, line int) int {
	at := 0
	for ; line > 1; line-- {
		at = lineEnd(text, at)
	}
	return at
}
