package history

import (
	"context"
	"errors"

	"github.com/agenthistory/ctx/host/fault"
)

// Codes of a listing. invalid_request and the codes of a generation keep their ordinary form.
const (
	InvalidRange             = "invalid_range"
	ResourceLimit            = "resource_limit"
	InvalidCursorCoordinate  = "invalid_cursor_coordinate"
	CursorRequestMismatch    = "cursor_request_mismatch"
	CursorGenerationMismatch = "cursor_generation_mismatch"
	GenerationNotRetained    = "generation_not_retained"
	InvalidPage              = "invalid_page"
	OutputFailed             = "output_failed"
	EventQueryFailed         = "event_query_failed"
)

func rangeFault(code, format string, args ...any) *fault.Error {
	return fault.New(code, format, args...).WithRetry(false)
}

type rangeErrorObject struct {
	SchemaVersion   int     `json:"schema_version"`
	ErrorCode       string  `json:"error_code"`
	Detail          string  `json:"detail"`
	Retryable       bool    `json:"retryable"`
	RestartRequired bool    `json:"restart_required"`
	Recommendation  *string `json:"recommendation"`
}

// RangeError returns the error object of a listing: one compact JSON object with nulls kept. ok is false for an error that keeps its
// ordinary form: invalid_request, a generation that changed while it was opened, a cancelled call.
func RangeError(err error) (object []byte, ok bool) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, false
	}
	f := fault.From(err)
	o := rangeErrorObject{SchemaVersion: 1, ErrorCode: f.Code, Detail: f.Message}
	switch f.Code {
	case fault.InvalidRequest, fault.GenerationChanged:
		return nil, false
	case InvalidRange, ResourceLimit, InvalidCursor, InvalidCursorCoordinate, CursorRequestMismatch, CursorGenerationMismatch,
		InvalidPage, OutputFailed, fault.PublicationAuthorityInvalid:
	case GenerationNotRetained:
		o.RestartRequired = true
	case fault.OutputLimitExceeded, fault.SourceUnavailable:
		o.Retryable = true
	default:
		o.ErrorCode = EventQueryFailed
	}
	if text := recommendation(o.ErrorCode, f.Hint); text != "" {
		o.Recommendation = &text
	}
	object, err = appendJSON(nil, o)
	return object, err == nil
}

func recommendation(code, hint string) string {
	switch code {
	case fault.OutputLimitExceeded:
		return "stream it with: ctx list events --format jsonl"
	case InvalidCursor, InvalidCursorCoordinate, CursorRequestMismatch, CursorGenerationMismatch, GenerationNotRetained:
		return "start again without a cursor"
	}
	return hint
}
