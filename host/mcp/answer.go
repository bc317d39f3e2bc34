package mcp

import (
	"encoding/json"
	"strings"

	"github.com/agenthistory/ctx/host/redact"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// answer is the result of a tool.
type answer struct {
	text       string
	structured []byte // one compact JSON object
	code       string // error_code of a failure, "" for success
	rows       *int   // rows given out, where the tool gives rows
	snippets   int    // bytes of the snippets of a search
}

// frame is what surrounds a result on its line.
type frame struct {
	id   json.RawMessage
	most int // bytes that the line of a success may have

	redact *redact.Redactor // for what the answer holds; nil: nothing is taken out
}

const (
	lineHead   = `{"jsonrpc":"2.0","id":`
	textHead   = `,"result":{"content":[{"type":"text","text":`
	structHead = `}],"structuredContent":`
	failedTail = `,"isError":true`
	lineTail   = "}}\n"
)

// size is the length of the line of a without building it.
func (f frame) size(a *answer) int {
	n := len(lineHead) + len(f.id) + len(textHead) + quotedLen(a.text) + len(structHead) + len(a.structured) + len(lineTail)
	if a.code != "" {
		n += len(failedTail)
	}
	return n
}

// line builds the whole line.
func (f frame) line(a *answer) []byte {
	dst := make([]byte, 0, f.size(a))
	dst = append(append(dst, lineHead...), f.id...)
	dst = appendString(append(dst, textHead...), a.text)
	dst = append(append(dst, structHead...), a.structured...)
	if a.code != "" {
		dst = append(dst, failedTail...)
	}
	return append(dst, lineTail...)
}

func appendString(dst []byte, s string) []byte {
	return canonical.AppendString(dst, []byte(strings.ToValidUTF8(s, "\uFFFD")))
}

func quotedLen(s string) int { return canonical.QuotedLen([]byte(strings.ToValidUTF8(s, "\uFFFD"))) }
