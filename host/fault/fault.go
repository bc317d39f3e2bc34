// Package fault is the one kind of error that ctx shows to people and programs.
//
// A fault says in one line what happened (Message), offers one thing to do about it (Hint) and carries a stable Code that
// machine formats repeat as error_code. Packages below the commands return faults for everything a user can meet; the command
// layer prints a fault exactly once. A fault may wrap the error that caused it: the cause goes to the log, not to the user.
package fault

import (
	"errors"
	"fmt"
)

// Codes that more than one package uses. A package with a code of its own declares it where it is raised.
const (
	Internal                    = "internal"
	InvalidRequest              = "invalid_request"
	NotFound                    = "not_found"
	AmbiguousID                 = "ambiguous_id"
	SourceUnavailable           = "source_unavailable"
	PublicationAuthorityInvalid = "publication_authority_invalid"
	GenerationChanged           = "generation_changed"
	OutputLimitExceeded         = "output_limit_exceeded"
	ConfigMalformed             = "config_malformed"
	Busy                        = "writer_busy"
	ResourceUnavailable         = "resource_unavailable"
	IndexCorruption             = "index_corruption"
	IndexIncompatible           = "index_incompatible"
)

// Error is a fault. The zero Code means Internal.
type Error struct {
	Code    string
	Message string // one line, no trailing period needed
	Hint    string // one command or action, may be empty
	// Retryable is nil where the contract leaves the member out.
	Retryable *bool
	// Fields are further members of the JSON error object (strings, numbers, booleans).
	Fields map[string]any
	cause  error
}

// New returns a fault with a formatted message.
func New(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns a fault that keeps its cause for errors.Is, errors.As and the log.
func Wrap(cause error, code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// WithHint sets the action that a person should take.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithRetry states whether the same request may succeed later.
func (e *Error) WithRetry(retryable bool) *Error {
	e.Retryable = &retryable
	return e
}

// With adds a member to the JSON error object.
func (e *Error) With(name string, value any) *Error {
	if e.Fields == nil {
		e.Fields = map[string]any{}
	}
	e.Fields[name] = value
	return e
}

// Error returns the message, never the cause: a cause may hold paths or file content.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Detail returns the message followed by the chain of causes, for logs.
func (e *Error) Detail() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// From returns the fault in err's chain, or wraps err as an internal fault. It returns nil for a nil error.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return Wrap(err, Internal, "%s", err.Error())
}

// Code returns the code of err, Internal for an error that is no fault, and "" for nil.
func Code(err error) string {
	f := From(err)
	if f == nil {
		return ""
	}
	if f.Code == "" {
		return Internal
	}
	return f.Code
}
