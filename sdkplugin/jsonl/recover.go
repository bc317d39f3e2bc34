package jsonl

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// MaxStarts is how many places of one damaged line are tried.
const MaxStarts = 4096

// Recover reads the objects of a complete line that is not one JSON object: two records without a line feed between them, or
// the stub of an interrupted write with a whole record behind it. Values are read one after another. Where none can be read,
// reading goes on at the next `{"` that starts an object which known accepts, at most MaxStarts tries in the line. each gets
// every object; the value is valid until each returns. An error of each ends the recovery.
//
// torn is the offset in the line of the first byte that belongs to no record, -1 if there is none. A value that is no object
// counts as torn from its first byte.
//
// Two tries that read the same bytes lie inside each other, so a line is never read more often than values can nest.
func Recover(doc *canonical.Doc, line []byte, known func(canonical.Value) bool, each func(canonical.Value) error) (torn int, err error) {
	torn = -1
	starts := 0
	for pos := skipSpace(line, 0); pos < len(line); pos = skipSpace(line, pos) {
		n, err := doc.ParsePrefix(line[pos:])
		if err != nil || !doc.Root().IsObject() {
			if torn < 0 {
				torn = pos
			}
			if err == nil {
				pos += n
				continue
			}
			if pos, n = resume(doc, line, pos+1, known, &starts); pos < 0 {
				return torn, nil
			}
		}
		if err := each(doc.Root()); err != nil {
			return torn, err
		}
		pos += n
	}
	return torn, nil
}

// resume returns the next place at or after from where a known object starts, and its length; -1 if there is none. The object
// is left in doc.
func resume(doc *canonical.Doc, line []byte, from int, known func(canonical.Value) bool, starts *int) (at, n int) {
	for ; *starts < MaxStarts; *starts++ {
		next := bytes.Index(line[from:], []byte(`{"`))
		if next < 0 {
			return -1, 0
		}
		at = from + next
		n, err := doc.ParsePrefix(line[at:])
		switch syntax, _ := err.(*canonical.SyntaxError); {
		case err == nil && known(doc.Root()):
			*starts++
			return at, n
		case syntax != nil && syntax.Code == canonical.TooMany:
			return -1, 0 // so would be the objects inside it, each a long way to go
		}
		from = at + 1
	}
	return -1, 0
}

func skipSpace(b []byte, pos int) int { return len(b) - len(bytes.TrimLeft(b[pos:], " \t\r\n")) }
