package integrations

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonSyntax is JSON, also with comments and trailing commas: a client that allows neither writes neither, and what is there stays.
type jsonSyntax struct{}

func (jsonSyntax) decode(text []byte) (map[string]any, error) {
	if blank(text) {
		return map[string]any{}, nil
	}
	standard, err := hujson.Standardize(jsonSource(text))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	var document any
	d := json.NewDecoder(bytes.NewReader(standard))
	d.UseNumber()
	if err := d.Decode(&document); err != nil {
		return nil, err
	}
	if object, ok := document.(map[string]any); ok {
		return object, nil
	}
	return nil, errNoObject
}

// jsonSource is a copy of a text that ends with a line feed, which a comment on the last line needs.
func jsonSource(text []byte) []byte { return append(bytes.Clone(trimMark(text)), '\n') }

func (jsonSyntax) put(text []byte, table string, entry []member) ([]byte, error) {
	if blank(text) {
		text = []byte("{}\n")
	}
	root, object, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	unit, eol := indentOf(text), newline(text)
	servers, value := memberOf(object, table), "{"+eol+unit+unit+jsonEntry(entry, unit+unit, unit, eol)+eol+unit+"}"
	if servers == nil {
		return addMember(text, root, object, jsonText(table)+": "+value, unit, "", eol), nil
	}
	if null, ok := servers.Value.Value.(hujson.Literal); ok && null.Kind() == 'n' {
		return replaceRange(text, servers.Value.StartOffset, servers.Value.EndOffset, value), nil
	}
	inner, ok := servers.Value.Value.(*hujson.Object)
	if !ok {
		return nil, errByHand
	}
	return addMember(text, &servers.Value, inner, jsonEntry(entry, unit+unit, unit, eol), unit+unit, unit, eol), nil
}

func (jsonSyntax) cut(text []byte, table string) ([]byte, error) {
	_, object, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	servers := memberOf(object, table)
	inner, ok := servers.Value.Value.(*hujson.Object)
	if !ok {
		return nil, errByHand
	}
	for i := range inner.Members {
		if memberName(&inner.Members[i]) == serverName {
			return cutMember(text, inner, i), nil
		}
	}
	return nil, errByHand
}

func parseObject(text []byte) (*hujson.Value, *hujson.Object, error) {
	root, err := hujson.Parse(jsonSource(text))
	if err != nil {
		return nil, nil, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, nil, errNoObject
	}
	return &root, object, nil
}

func memberName(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

func memberOf(object *hujson.Object, name string) *hujson.ObjectMember {
	for i := range object.Members {
		if memberName(&object.Members[i]) == name {
			return &object.Members[i]
		}
	}
	return nil
}

// indentOf is the indentation of the first member that stands on its own line.
func indentOf(text []byte) string {
	for line := range bytes.Lines(text) {
		body := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(body); n > 0 && len(body) > 0 && body[0] == '"' {
			return string(line[:n])
		}
	}
	return "  "
}

// jsonEntry is the member of the table. Its first line is not indented.
func jsonEntry(entry []member, indent, unit, eol string) string {
	var lines []string
	for _, m := range entry {
		lines = append(lines, indent+unit+jsonText(m.key)+": "+jsonText(m.value))
	}
	return jsonText(serverName) + ": {" + eol + strings.Join(lines, ","+eol) + eol + indent + "}"
}

// addMember puts a member behind the last one of an object. A comment behind the last value stays on its line, a trailing comma
// stays a trailing comma.
func addMember(text []byte, value *hujson.Value, object *hujson.Object, member, indent, closing, eol string) []byte {
	if len(object.Members) == 0 {
		comment := strings.TrimRight(string(object.AfterExtra), " \t\r\n")
		return replaceRange(text, value.StartOffset, value.EndOffset, "{"+comment+eol+indent+member+eol+closing+"}")
	}
	last := &object.Members[len(object.Members)-1].Value
	tail := len(bytes.TrimRight(object.AfterExtra, " \t\r\n")) // comments between the last comma or value and the brace
	if hasTrailingComma(last) {
		comma := last.EndOffset + len(last.AfterExtra) + 1
		return insertAt(text, comma+tail, eol+indent+member+",")
	}
	text = insertAt(text, last.EndOffset+tail, eol+indent+member)
	return insertAt(text, last.EndOffset, ",")
}

// hasTrailingComma uses how hujson keeps it: the last value then has something behind it, if only an empty text.
func hasTrailingComma(last *hujson.Value) bool { return last.AfterExtra != nil }

// cutMember removes member i with its comma. Comments around it stay.
func cutMember(text []byte, object *hujson.Object, i int) []byte {
	m := &object.Members[i]
	from, to := m.Name.StartOffset, m.Value.EndOffset
	comma := to + len(m.Value.AfterExtra)
	switch {
	case i+1 < len(object.Members) || hasTrailingComma(&m.Value):
		text = replaceRange(text, comma, comma+1)
		return cutBlank(text, from, to)
	case i > 0:
		previous := &object.Members[i-1].Value
		text = cutBlank(text, from, to)
		before := previous.EndOffset + len(previous.AfterExtra)
		return replaceRange(text, before, before+1)
	}
	return cutBlank(text, from, to)
}

// cutBlank removes a range, and its lines when nothing else stands on them.
func cutBlank(text []byte, from, to int) []byte {
	start, end := lineStart(text, from), lineEnd(text, to)
	if len(bytes.TrimSpace(text[start:from])) == 0 && len(bytes.TrimSpace(text[to:end])) == 0 {
		return replaceRange(text, start, end)
	}
	for to < len(text) && text[to] == ' ' {
		to++
	}
	return replaceRange(text, from, to)
}
