package record

import (
	"bytes"
	"encoding/hex"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// AppendBody appends the text of the body, nothing when there is none.
func (e *Event) AppendBody(dst []byte) []byte {
	if !e.HasBody {
		return dst
	}
	return e.AppendValue(dst, e.Body)
}

// AppendValue appends the materialised bytes of a value of this event.
func (e *Event) AppendValue(dst []byte, v Value) []byte {
	if len(v.Spans) == 0 {
		return append(dst, v.Inline...)
	}
	for i, span := range v.Spans {
		if i > 0 {
			dst = append(dst, '\n')
		}
		piece := e.piece(span)
		if span.Quoted {
			dst = appendUnquoted(dst, piece)
		} else {
			dst = append(dst, piece...)
		}
	}
	return dst
}

// bytesOf returns the bytes of a value without copying when they lie in one piece, else materialised in scratch.
func (e *Event) bytesOf(v Value, scratch []byte) []byte {
	if len(v.Spans) == 0 {
		return v.Inline
	}
	if len(v.Spans) == 1 {
		span := v.Spans[0]
		piece := e.piece(span)
		if !span.Quoted {
			return piece
		}
		if len(piece) >= 2 && bytes.IndexByte(piece, '\\') < 0 {
			return piece[1 : len(piece)-1]
		}
	}
	return e.AppendValue(scratch[:0], v)
}

// piece returns the bytes of the structured content under a span. Spans of a stored event lie inside; one that does not gives
// nothing rather than a panic.
func (e *Event) piece(s Span) []byte {
	end := uint64(s.Offset) + uint64(s.Length)
	if end > uint64(len(e.Structured)) {
		return nil
	}
	return e.Structured[s.Offset:end]
}

// escapes gives what a character behind a backslash stands for.
var escapes = [256]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\'}

// appendUnquoted decodes a canonical string literal, whose escapes are \" \\ \b \f \n \r \t and \u00xx only. It does not check the
// literal again, as conversion has done: this runs for every text.
func appendUnquoted(dst, literal []byte) []byte {
	if len(literal) < 2 {
		return dst
	}
	rest := literal[1 : len(literal)-1]
	for {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 || at+1 == len(rest) {
			return append(dst, rest...)
		}
		dst = append(dst, rest[:at]...)
		c := rest[at+1]
		rest = rest[at+2:]
		if c != 'u' || len(rest) < 4 {
			dst = append(dst, escapes[c])
			continue
		}
		var low [1]byte
		hex.Decode(low[:], rest[2:4]) // canonical literals escape code points below 0x80 only
		dst, rest = append(dst, low[0]), rest[4:]
	}
}

// unquotedLen returns the length of what appendUnquoted appends for a canonical literal.
func unquotedLen(literal []byte) int {
	if len(literal) < 2 {
		return 0
	}
	rest := literal[1 : len(literal)-1]
	n := len(rest)
	for {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 || at+1 == len(rest) {
			return n
		}
		if rest[at+1] == 'u' { // one byte instead of six
			n -= 5
		} else {
			n--
		}
		rest = rest[at+2:]
	}
}

// valueLen returns the length of a materialised value.
func (e *Event) valueLen(v Value) int {
	if len(v.Spans) == 0 {
		return len(v.Inline)
	}
	n := len(v.Spans) - 1
	for _, span := range v.Spans {
		if span.Quoted {
			n += unquotedLen(e.piece(span))
		} else {
			n += int(span.Length)
		}
	}
	return n
}

// quotedLen returns the length of a value written as a JSON string.
func (e *Event) quotedLen(v Value) int {
	if len(v.Spans) == 0 {
		return canonical.QuotedLen(v.Inline)
	}
	n := 2 + 2*(len(v.Spans)-1) // the quotes, and \n between the pieces
	for _, span := range v.Spans {
		if span.Quoted { // canonical escapes are unique: the literal is what would be written
			n += int(span.Length) - 2
		} else {
			n += canonical.QuotedLen(e.piece(span)) - 2
		}
	}
	return n
}

// appendQuoted appends a value as a JSON string.
func (e *Event) appendQuoted(dst []byte, v Value) []byte {
	if len(v.Spans) == 0 {
		return canonical.AppendString(dst, v.Inline)
	}
	dst = append(dst, '"')
	for i, span := range v.Spans {
		if i > 0 {
			dst = append(dst, '\\', 'n')
		}
		piece := e.piece(span)
		if span.Quoted && len(piece) >= 2 {
			dst = append(dst, piece[1:len(piece)-1]...)
			continue
		}
		from := len(dst)
		dst = canonical.AppendString(dst, piece) // its quotes go again
		dst = append(dst[:from], dst[from+1:len(dst)-1]...)
	}
	return append(dst, '"')
}

// empty tells whether a value has no bytes.
func (e *Event) empty(v Value) bool {
	switch len(v.Spans) {
	case 0:
		return len(v.Inline) == 0
	case 1:
		return v.Spans[0].Length == 0 || v.Spans[0].Quoted && v.Spans[0].Length == 2
	}
	return false // there is an LF between them
}

// isLiteral tells whether a piece of canonical JSON that begins with a quote is one whole string literal: the first quote that is not
// escaped is its last byte. Whatever lies between is canonical already, because the whole text is.
func isLiteral(piece []byte) bool {
	if len(piece) < 2 || piece[0] != '"' {
		return false
	}
	for from := 1; ; {
		at := bytes.IndexByte(piece[from:], '"')
		if at < 0 {
			return false
		}
		at += from
		escapes := 0
		for at-1-escapes > 0 && piece[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at == len(piece)-1
		}
		from = at + 1
	}
}

// validSpan tells whether a span lies inside the structured content and, if quoted, has its quotes.
func validSpan(structured []byte, s Span) bool {
	end := uint64(s.Offset) + uint64(s.Length)
	if end > uint64(len(structured)) {
		return false
	}
	return !s.Quoted || s.Length >= 2 && structured[s.Offset] == '"' && structured[end-1] == '"'
}
