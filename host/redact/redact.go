package redact

import (
	"bytes"
	"sync"

	"github.com/agenthistory/ctx/host/record"
)

// Redactor replaces secrets. A nil Redactor replaces nothing. It is safe for concurrent use; the rules are read when the first text
// comes.
type Redactor struct {
	scanners sync.Pool
}

// New returns a Redactor.
func New() *Redactor {
	return &Redactor{scanners: sync.Pool{New: func() any { return newScanner(rules()) }}}
}

// Text returns a text without its secrets.
func (r *Redactor) Text(text string) string {
	if r == nil || len(text) < 4 {
		return text
	}
	out, changed := r.bytes([]byte(text))
	if !changed {
		return text
	}
	return string(out)
}

// bytes is Text. What has no secret is returned as it came.
func (r *Redactor) bytes(text []byte) ([]byte, bool) {
	s := r.scanners.Get().(*scanner)
	defer r.scanners.Put(s)
	found := s.scan(text, false)
	if len(found) == 0 {
		return text, false
	}
	out, _ := replace(text, found)
	return out, true
}

// json is bytes for JSON: what lies between quotes is replaced, so that it stays JSON. cuts tell where.
func (r *Redactor) json(text []byte) (out []byte, cuts []cut) {
	s := r.scanners.Get().(*scanner)
	defer r.scanners.Put(s)
	found := s.scan(text, true)
	if len(found) == 0 {
		return text, nil
	}
	return replace(text, quoted(text, found))
}

// cut is a replaced range of a text: where it was, and where its placeholder is.
type cut struct{ from, to, start, end int }

func replace(text []byte, found []finding) (out []byte, cuts []cut) {
	at := 0
	for _, f := range found {
		out = append(out, text[at:f.from]...)
		start := len(out)
		out = append(append(append(out, "[redacted:"...), f.rule...), ']')
		cuts = append(cuts, cut{f.from, f.to, start, len(out)})
		at = f.to
	}
	return append(out, text[at:]...), cuts
}

// neutral returns JSON with white space or quotes in place of escapes, byte for byte at the same places, so that rules see words where
// words are.
func (s *scanner) neutral(text []byte) []byte {
	at := bytes.IndexByte(text, '\\')
	if at < 0 {
		return text
	}
	s.plain = append(s.plain[:0], text...)
	for plain := s.plain; at >= 0 && at+1 < len(plain); at = bytes.IndexByte(plain, '\\') {
		end := at + escapeLength(plain[at:])
		letter, last := plain[at+1], byte(' ')
		if letter == '\\' && end < len(plain) && (plain[end] == 'n' || plain[end] == 'r' || plain[end] == 't') { // JSON in JSON
			letter = plain[end]
			end++
		}
		switch letter {
		case '"':
			last = '"'
		case 'n', 'r':
			last = '\n'
		}
		for i := at; i < end; i++ {
			plain[i] = ' '
		}
		plain[end-1] = last
		plain = plain[end:]
	}
	return s.plain
}

// escapeLength is the length of the escape that a JSON text begins with, no more than there is.
func escapeLength(text []byte) int {
	if len(text) > 1 && text[1] == 'u' {
		return min(len(`\u0000`), len(text))
	}
	return min(len(`\n`), len(text))
}

// quoted cuts findings to the insides of the string literals that they touch. An escape is never cut in two.
func quoted(text []byte, found []finding) (out []finding) {
	begin, i := -1, 0 // begin: of the inside of a literal
	next := 0         // the first finding that ends behind the place
	for at := 0; at < len(text) && i < len(found); at++ {
		switch {
		case text[at] == '\\' && begin >= 0:
			end := at + escapeLength(text[at:])
			for ; next < len(found) && found[next].to <= at; next++ {
			}
			whole(found[next:], at, end)
			at = end - 1
		case text[at] == '"' && begin < 0:
			begin = at + 1
		case text[at] == '"':
			for ; i < len(found) && found[i].from < at; i++ {
				f := found[i]
				if from, to := max(begin, f.from), min(at, f.to); from < to {
					out = append(out, finding{from, to, f.rule})
				}
				if f.to > at {
					break // it goes on in the next literal
				}
			}
			begin = -1
		}
	}
	return out
}

// whole makes findings that begin or end within a range take in all of it, the first one where there are several.
func whole(found []finding, from, to int) {
	for j := range found {
		f := &found[j]
		if f.from >= to {
			return
		}
		if f.from > from {
			if f.from = from; j > 0 {
				f.from = max(from, found[j-1].to)
			}
		}
		if f.to > from && f.to < to {
			f.to = to
		}
	}
}

// Event replaces the secrets of an event in place and tells whether there were any. The bytes that the event was decoded from stay as
// they are. EncodedBytes and ContentBytes still are those of the stored record.
func (r *Redactor) Event(e *record.Event) (changed bool) {
	if r == nil {
		return false
	}
	var cuts []cut
	if e.Structured, cuts = r.json(e.Structured); len(cuts) > 0 {
		changed = true
	}
	fix := func(v *record.Value, json bool) {
		if len(v.Spans) > 0 {
			v.Spans = moved(v.Spans, cuts)
			return
		}
		out, some := v.Inline, false
		if json {
			var inner []cut
			out, inner = r.json(v.Inline)
			some = len(inner) > 0
		} else {
			out, some = r.bytes(v.Inline)
		}
		v.Inline, changed = out, changed || some
	}
	fix(&e.Body, false)
	if e.Activity == nil {
		return changed
	}
	if call := e.Activity.Invocation; call != nil {
		fix(&call.Arguments.Value, true)
	}
	if result := e.Activity.Result; result != nil {
		fix(&result.Text.Value, false)
		fix(&result.Structured.Value, true)
	}
	for i := range e.Activity.Facts {
		fact := &e.Activity.Facts[i]
		var some bool
		fact.Value, some = r.bytes(fact.Value)
		changed = changed || some
	}
	return changed
}

// moved returns spans of a text as spans of what it became.
func moved(spans []record.Span, cuts []cut) []record.Span {
	if len(cuts) == 0 {
		return spans
	}
	out := make([]record.Span, len(spans))
	for i, span := range spans {
		from, to := place(int(span.Offset), cuts, false), place(int(span.Offset+span.Length), cuts, true)
		out[i] = record.Span{Offset: uint32(from), Length: uint32(to - from), Quoted: span.Quoted}
	}
	return out
}

// place returns where a place of the old text is in the new one; inside a cut it is the end or the beginning of the placeholder.
func place(at int, cuts []cut, end bool) int {
	shift := 0
	for _, c := range cuts {
		switch {
		case at <= c.from:
			return at + shift
		case at >= c.to:
			shift = c.end - c.to
		case end:
			return c.end
		default:
			return c.start
		}
	}
	return at + shift
}

// Session returns a session without the secrets of its title, its directory, its branches and its names.
func (r *Redactor) Session(s *record.Session) *record.Session {
	if r == nil {
		return s
	}
	clean := *s
	m := &clean.Meta
	for _, text := range []*string{&m.Title, &m.CWD, &m.WorkspaceLabel, &m.Branch, &m.LastBranch, &m.AgentName, &m.Entrypoint, &m.LastEntrypoint} {
		*text = r.Text(*text)
	}
	return &clean
}
