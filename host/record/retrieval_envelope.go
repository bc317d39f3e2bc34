package record

import (
	"bytes"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// maxEnvelope bounds the result texts that are looked at, in bytes.
const maxEnvelope = 1 << 20

// Members that the record of a proven result may have; any other may be a warning or further output.
var (
	execMembers   = []string{"type", "call_id", "status", "output"}
	mcpMembers    = []string{"type", "call_id", "invocation", "duration", "result"}
	mcpCallNames  = []string{"server", "tool", "arguments"}
	mcpOKMembers  = []string{"content", "structuredContent", "isError"}
	textHeaders   = []string{"Chunk ID:", "Wall time:", "Process exited with code", "Original token count:", "Output:", "Final output:", "Script completed"}
	truncatedText = []string{"truncated", "omitted"}
)

// resultProven tells whether the result of an event shows, in the provider's own envelope, a success with a payload and nothing
// else. The structured content must be the whole native record of the result.
func resultProven(e *Event) bool {
	r := e.Activity.Result
	if len(e.Structured) == 0 || len(e.Structured) > 2*maxEnvelope {
		return false
	}
	var doc canonical.Doc
	if doc.Parse(e.Structured) != nil || !doc.Root().IsObject() {
		return false
	}
	if call := e.Activity.Invocation; call != nil {
		return call.Protocol == mcpProtocol && r.Structured.Status == CapturePresent && mcpEnvelope(doc.Root(), r)
	}
	return execEnvelope(e, doc.Root())
}

// execEnvelope checks the result of a command: an output string that begins with the headers of a successful run, and a status, if
// any, of success.
func execEnvelope(e *Event, payload canonical.Value) bool {
	if !onlyMembers(payload, execMembers) {
		return false
	}
	if status := payload.Get("status"); status.Exists() && !status.StrEquals("success") {
		return false
	}
	output := payload.Get("output")
	r := e.Activity.Result
	if !output.IsString() || r.Text.Status != CapturePresent && r.Text.Status != CaptureNormalizedBody {
		return false
	}
	return successText(output.Str())
}

// successText checks the text form of a successful command:
//
//	Chunk ID: ab12cd            or  Script completed
//	Wall time: 0.1 seconds
//	Process exited with code 0
//	Original token count: 5     or  Final output:
//	Output:
//	body
func successText(text []byte) bool {
	if len(text) > maxEnvelope || bytes.IndexByte(text, 0) >= 0 {
		return false
	}
	rest := string(text)
	if after, ok := strings.CutPrefix(rest, "Script completed\n"); ok {
		rest = after
	} else if rest, ok = runHeaders(rest); !ok {
		return false
	}
	rest, ok := strings.CutPrefix(rest, "Process exited with code 0\n")
	if !ok {
		return false
	}
	if after, ok := strings.CutPrefix(rest, "Final output:\n"); ok {
		return successBody(after)
	}
	rest, ok = strings.CutPrefix(rest, "Original token count: ")
	if !ok {
		return false
	}
	digits, rest, ok := strings.Cut(rest, "\n")
	if !ok || digits == "" || len(digits) > 20 || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	body, ok := strings.CutPrefix(rest, "Output:\n")
	return ok && successBody(body)
}

// runHeaders takes the lines with the chunk id (6 hex digits) and the wall time (a decimal of at most 32 characters).
func runHeaders(text string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, "Chunk ID: ")
	if !ok || len(rest) < 7 || rest[6] != '\n' || strings.Trim(rest[:6], "0123456789abcdef") != "" {
		return "", false
	}
	rest, ok = strings.CutPrefix(rest[7:], "Wall time: ")
	if !ok {
		return "", false
	}
	seconds, rest, ok := strings.Cut(rest, " seconds\n")
	whole, fraction, _ := strings.Cut(seconds, ".")
	if !ok || len(seconds) > 32 || whole == "" || strings.HasSuffix(seconds, ".") || strings.Trim(whole+fraction, "0123456789") != "" {
		return "", false
	}
	return rest, true
}

// successBody refuses an empty body and one with a line that looks like a header or a warning that something was cut.
func successBody(body string) bool {
	if body == "" {
		return false
	}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		looksLike := func(header string) bool { return strings.HasPrefix(line, header) }
		if slices.ContainsFunc(textHeaders, looksLike) || cutWarning(line) {
			return false
		}
	}
	return true
}

// cutWarning recognises lines such as "Warning: truncated output (original token count: 9)" and "…120 tokens truncated…".
func cutWarning(line string) bool {
	lower := strings.ToLower(line)
	if !slices.ContainsFunc(truncatedText, func(word string) bool { return strings.Contains(lower, word) }) {
		return false
	}
	return strings.HasPrefix(lower, "warning") || strings.HasPrefix(lower, "total output lines") ||
		strings.HasPrefix(line, "…") || strings.HasPrefix(line, "...") || strings.HasPrefix(line, "[")
}

// mcpEnvelope checks the record of a finished MCP call: {"Ok":{"content":[...],"isError":false}} as the result, all parts of the
// invocation given, and a duration that could be read.
func mcpEnvelope(payload canonical.Value, r *Result) bool {
	call, result := payload.Get("invocation"), payload.Get("result")
	if !onlyMembers(payload, mcpMembers) || !onlyMembers(call, mcpCallNames) || call.Len() != len(mcpCallNames) {
		return false
	}
	if payload.Has("duration") && !r.HasDuration {
		return false
	}
	ok := result.Get("Ok")
	if result.Len() != 1 || !onlyMembers(ok, mcpOKMembers) {
		return false
	}
	failed, known := ok.Get("isError").Bool()
	content := ok.Get("content")
	return known && !failed && content.IsArray() && content.Len() > 0
}

// onlyMembers tells whether v is an object without members beyond the known ones.
func onlyMembers(v canonical.Value, known []string) bool {
	if !v.IsObject() {
		return false
	}
	for key := range v.Each {
		if !slices.Contains(known, string(key)) {
			return false
		}
	}
	return true
}
