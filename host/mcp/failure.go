package mcp

import (
	"maps"
	"strings"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/onscreen"
	"github.com/agenthistory/ctx/host/internal/plain"
)

// typed are the codes that a tool error may have, besides the semantic_ ones. Anything else is internal.
var typed = map[string]bool{
	fault.InvalidRequest: true, fault.SourceUnavailable: true, fault.PublicationAuthorityInvalid: true, fault.GenerationChanged: true,
	fault.OutputLimitExceeded: true, fault.NotFound: true, fault.AmbiguousID: true,
	history.CursorStale: true, history.CursorMismatch: true, history.InvalidCursor: true,
}

// withDetail are the codes whose object repeats the message as detail.
var withDetail = map[string]bool{fault.SourceUnavailable: true, fault.PublicationAuthorityInvalid: true, fault.GenerationChanged: true}

func invalid(format string, args ...any) error {
	return fault.New(fault.InvalidRequest, format, args...)
}

// failure is the answer for an error of a tool.
func failure(err error) *answer {
	f := fault.From(err)
	code := f.Code
	if !typed[code] && !strings.HasPrefix(code, "semantic_") {
		code = fault.Internal
	}
	object := map[string]any{"error": f.Message, "error_code": code}
	if f.Retryable != nil && code != fault.Internal {
		object["retryable"] = *f.Retryable
	}
	if withDetail[code] {
		object["detail"] = f.Message
	}
	if code != fault.Internal {
		maps.Copy(object, f.Fields)
	}
	text := f.Message
	if !strings.HasPrefix(text, code) {
		text = code + ": " + text
	}
	return failed(code, text, object)
}

// failed is a failure with an object of its own.
func failed(code, text string, object map[string]any) *answer {
	structured, err := plain.JSON(object)
	if err != nil {
		structured = []byte(`{"error":"internal","error_code":"internal"}`)
	}
	return &answer{text: onscreen.Line(text), structured: structured, code: code}
}
