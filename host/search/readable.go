package search

import (
	"bytes"
	"strings"
)

// escapes are those of JSON strings that hide the shape of a text. A stored text has no others but those of control characters.
var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\n", `\"`, `"`)

// readable gives a part of a text to people: on lines of JSON, as tools are called with, escapes are decoded; twice where a string
// holds JSON itself.
func readable(text []byte, w window) string {
	var out strings.Builder
	for at := w.from; at < w.to; {
		end := min(w.to, lineEnd(text, at))
		shown := string(text[at:end])
		if isJSON(text, at) {
			if shown = escapes.Replace(shown); bytes.Contains(text[:lineEnd(text, at)][lineStart(text, at):], []byte(`{\"`)) {
				shown = escapes.Replace(shown)
			}
		}
		out.WriteString(shown)
		at = end
	}
	return out.String()
}

// isJSON tells whether a place is on a line of JSON: an object, or a list of objects or texts.
func isJSON(text []byte, at int) bool {
	line := text[lineStart(text, at):]
	return bytes.HasPrefix(line, []byte(`{"`)) || bytes.HasPrefix(line, []byte(`[{`)) || bytes.HasPrefix(line, []byte(`["`))
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns where the line at a place ends, its line feed included.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
