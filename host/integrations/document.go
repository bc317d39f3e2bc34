package integrations

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
)

// syntax reads and splices the files of one notation. Texts are UTF-8; an empty text is an empty document.
type syntax interface {
	// decode returns the whole document as maps, slices and scalars.
	decode(text []byte) (map[string]any, error)
	// put adds the entry at the end of the table, which is made when it is missing. There is no entry yet.
	put(text []byte, table string, entry []member) ([]byte, error)
	// cut removes the entry, which exists.
	cut(text []byte, table string) ([]byte, error)
}

// errByHand is a file whose form does not allow a safe splice.
var errByHand = errors.New("the file is written in a form that cannot be changed safely; edit it by hand")

var errNoObject = errors.New("the document is no object")

// entryOf returns the entry named "ctx" in a table of a document. The table is an object or, where the notation of the client says so,
// a list of objects with a name.
func entryOf(s syntax, document map[string]any, table string) (entry any, found bool, err error) {
	y, _ := s.(yamlSyntax)
	switch t := document[table].(type) {
	case nil:
		return nil, false, nil
	case map[string]any:
		if !y.list {
			entry, found = t[serverName]
			return entry, found, nil
		}
	case []any:
		if y.list {
			for _, item := range t {
				if o, ok := item.(map[string]any); ok && o["name"] == serverName {
					return item, true, nil
				}
			}
			return nil, false, nil
		}
	}
	return nil, false, fmt.Errorf("%s is not a table of servers", table)
}

// without is a document less the entry, and less the table when that leaves it empty: what a splice must not change.
func without(document map[string]any, table string) map[string]any {
	rest := make(map[string]any, len(document))
	for key, value := range document {
		if key != table {
			rest[key] = value
			continue
		}
		switch t := value.(type) {
		case map[string]any:
			others := map[string]any{}
			for name, entry := range t {
				if name != serverName {
					others[name] = entry
				}
			}
			if len(others) > 0 {
				rest[key] = others
			}
		case []any:
			var others []any
			for _, item := range t {
				if o, ok := item.(map[string]any); !ok || o["name"] != serverName {
					others = append(others, item)
				}
			}
			if len(others) > 0 {
				rest[key] = others
			}
		}
	}
	return rest
}

// checked applies a splice and proves that it did what it should: the entry is there as wanted (or gone, for a nil want), and the
// rest of the document is what it was.
func checked(s syntax, text []byte, table string, want []member, splice func([]byte) ([]byte, error)) ([]byte, error) {
	before, err := s.decode(text)
	if err != nil {
		return nil, err
	}
	edited, err := splice(bytes.Clone(text))
	if err != nil {
		return nil, errByHand // the text itself is valid
	}
	after, err := s.decode(edited)
	if err != nil {
		return nil, errByHand
	}
	entry, found, err := entryOf(s, after, table)
	if err != nil || found != (want != nil) || found && !ours(want, entry) {
		return nil, errByHand
	}
	if !reflect.DeepEqual(without(before, table), without(after, table)) {
		return nil, errByHand
	}
	return edited, nil
}

// trimMark blanks a byte order mark, so that offsets stay.
func trimMark(text []byte) []byte {
	if rest, ok := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); ok {
		return append([]byte("   "), rest...)
	}
	return text
}

// blank is a text that holds nothing.
func blank(text []byte) bool { return len(bytes.TrimSpace(trimMark(text))) == 0 }

// insertAt returns text with pieces put in at an offset.
func insertAt(text []byte, at int, pieces ...string) []byte {
	return replaceRange(text, at, at, pieces...)
}

func replaceRange(text []byte, from, to int, pieces ...string) []byte {
	out := append([]byte{}, text[:from]...)
	for _, p := range pieces {
		out = append(out, p...)
	}
	return append(out, text[to:]...)
}

// newline is the line ending that a text uses.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// ended is a text whose last line is complete.
func ended(text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return text
	}
	return append(text, newline(text)...)
}

// lineStart and lineEnd are the bounds of the line around an offset; the end is behind the line feed.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func lineEnd(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// trimTail moves the end of a block of lines back over blank lines and lines that hold only a comment: they belong to what follows,
// unless they are indented deeper than it.
func trimTail(text []byte, from, to, indent int) int {
	for to > from {
		start := lineStart(text, to-1)
		line := bytes.TrimLeft(text[start:to], " \t")
		comment := bytes.HasPrefix(line, []byte("#")) && to-start-len(line) <= indent
		if start <= from || !comment && len(bytes.TrimSpace(line)) > 0 {
			return to
		}
		to = start
	}
	return to
}
