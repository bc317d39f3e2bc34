package record

import (
	"bytes"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// maxEnvelope bounds the result texts that are looked at, in bytes.
const maxEnvelope = 1 << 20

// Members that the record of a proven result may have; any other may be a warning or further output.
var (
	execMembers  = []string{"type", "call_id", "status", "output"}
	mcpMembers   = []string{"type", "call_id", "invocation", "duration", "result"}
	mcpCallNames = []string{"server", "tool", "arguments"}
	mcpOKMembers = []string{"content", "structuredContent", "isError"}
)

// resultProven tells whether the result of an event shows, in the provider's own envelope, a success with a payload and nothing
// else: the provider proved it, or the structured content is the whole native record of the result and does.
func resultProven(e *Event) bool {
	r := e.Activity.Result
	if r.SoleOutput && e.Activity.Invocation == nil {
		return wholeBody(e.AppendBody(nil))
	}
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
// any, of success. The text is all there is: a provider marks the structured channel of a result as unavailable when the record
// around the payload holds more, or when the call ids of the source are ambiguous.
func execEnvelope(e *Event, payload canonical.Value) bool {
	if !onlyMembers(payload, execMembers) {
		return false
	}
	if status := payload.Get("status"); status.Exists() && !status.StrEquals("success") {
		return false
	}
	output := payload.Get("output")
	r := e.Activity.Result
	if !output.IsString() || r.Structured.Status != CaptureAbsent || r.Text.Status != CapturePresent && r.Text.Status != CaptureNormalizedBody {
		return false
	}
	return successText(output.Str())
}

// successHead is how the text of a successful command begins; the only group is the time it took. The body follows.
//
//	Chunk ID: ab12cd            or  Script completed
//	Wall time: 0.1 seconds
//	Process exited with code 0
//	Original token count: 5     or  Final output:
//	Output:
var successHead = pattern(`^(?:Script completed\n|Chunk ID: [0-9a-f]{6}\nWall time: ([0-9]+(?:\.[0-9]+)?) seconds\n)` +
	`Process exited with code 0\n(?:Final output:\n|Original token count: [0-9]{1,20}\nOutput:\n)`)

// suspectLine is a line of a body that looks like a header or like a warning that something was cut: "Warning: truncated output
// (original token count: 9)" and "…120 tokens truncated…".
var suspectLine = pattern(`(?m)^[\s\v\p{Z}\x{85}]*(?:Chunk ID:|Wall time:|Process exited with code|Original token count:|Output:|` +
	`Final output:|Script completed|(?i:(?:warning|total output lines|…|\.\.\.|\[).*(?:truncated|omitted)))`)

// successText checks the text form of a successful command with a body.
func successText(text []byte) bool {
	head := successHead().FindSubmatchIndex(text[:min(len(text), 1024)])
	return head != nil && head[3]-head[2] <= 32 && wholeBody(text[head[1]:])
}

// wholeBody tells whether a body is one, and nothing in it looks like a header or a cut.
func wholeBody(body []byte) bool {
	return len(body) > 0 && len(body) <= maxEnvelope && bytes.IndexByte(body, 0) < 0 && !suspectLine().Match(body)
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
