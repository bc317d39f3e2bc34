package history

import (
	"context"
	"errors"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/nullable"
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
	SchemaVersion   int           `json:"schema_version"`
	ErrorCode       string        `json:"error_code"`
	Detail          string        `json:"detail"`
	Retryable       bool          `json:"retryable"`
	RestartRequired bool          `json:"restart_required"`
	Recommendation  nullable.Text `json:"recommendation"`
}

// RangeError returns the error object of a listing: one compact JSON object with nulls kept. ok is false for an error that keeps its
// ordinary form: invalid_request, a generation that changed while it was opened, a cancelled call.
func RangeError(err error) (object []byte, ok bool) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, false
	}
	f := fault.From(err)
	o := rangeErrorObject{SchemaVersion: 1, ErrorCode: f.Code, Detail: f.Message, Recommendation: nullable.Text(f.Hint)}
	const restart = "start again without a cursor"
	switch f.Code {
	case fault.InvalidRequest, fault.GenerationChanged:
		return nil, false
	case InvalidRange, ResourceLimit, InvalidPage, OutputFailed, fault.PublicationAuthorityInvalid:
	case InvalidCursor, InvalidCursorCoordinate, CursorRequestMismatch, CursorGenerationMismatch:
		o.Recommendation = restart
	case GenerationNotRetained:
		o.RestartRequired, o.Recommendation = true, restart
	case fault.OutputLimitExceeded:
		o.Retryable, o.Recommendation = true, "stream it with: ctx list events --format jsonl"
	case fault.SourceUnavailable:
		o.Retryable = true
	default:
		o.ErrorCode = EventQueryFailed
	}
	object, err = appendJSON(nil, o)
	return object, err == nil
}
