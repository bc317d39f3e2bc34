package sdkplugin

import (
	"errors"
	"fmt"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Diagnostic is something a person should know although the work went on.
type Diagnostic struct {
	Severity Severity
	Code     string // snake_case
	Message  string // one line without content of the history; cut at MaxMessage
	Locator  string // of the file, below the route; empty = none
	Route    int    // index into the request's routes
}

// Diagnostics collects at most MaxDiagnostics of them.
type Diagnostics []Diagnostic

// Add keeps d, unless the list is full.
func (ds *Diagnostics) Add(d Diagnostic) {
	if len(*ds) < MaxDiagnostics {
		*ds = append(*ds, d)
	}
}

// AddError adds a diagnostic of SeverityError.
func (ds *Diagnostics) AddError(code, message string) {
	ds.Add(Diagnostic{Severity: SeverityError, Code: code, Message: message})
}

func (ds Diagnostics) wire() []*historyv1.Diagnostic {
	out := make([]*historyv1.Diagnostic, 0, len(ds))
	for _, d := range ds {
		locator := d.Locator
		if !ValidLocator(locator) {
			locator = ""
		}
		out = append(out, &historyv1.Diagnostic{
			Severity: d.Severity, Code: clip(d.Code), Message: clip(d.Message),
			Locator: locator, Route: uint32(max(d.Route, 0)),
		})
	}
	return out
}

// FailureClass says why a source could not be read. The host keeps what it has of that source and goes on with the others.
type FailureClass string

const (
	Unreadable        FailureClass = jsonl.Unreadable     // no permission, an I/O error, not a regular file
	Vanished          FailureClass = jsonl.Vanished       // no longer there
	Changed           FailureClass = jsonl.Changed        // replaced or rewritten while it was read; worth another try
	MalformedSource   FailureClass = "malformed_source"   // no record of it can be trusted
	UnsupportedSchema FailureClass = "unsupported_schema" // of a version that the provider does not know
	Internal          FailureClass = "internal"           // a defect of the provider
)

// Failure is the error of a scan.
type Failure struct {
	Class   FailureClass
	Message string // one line without content of the history; cut at MaxMessage
}

func (f *Failure) Error() string { return string(f.Class) + ": " + f.Message }

// Fail makes a *Failure; the message is formatted as by fmt.Sprintf.
func Fail(class FailureClass, format string, args ...any) *Failure {
	return &Failure{Class: class, Message: fmt.Sprintf(format, args...)}
}

// failureOf gives any error a class. The text of an unknown error stays behind: it could hold a path or a line of the history.
func failureOf(err error) *Failure {
	var own *Failure
	if errors.As(err, &own) {
		return own
	}
	var file *jsonl.Failure
	if errors.As(err, &file) {
		return &Failure{Class: FailureClass(file.Class), Message: file.Reason}
	}
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		return Fail(Internal, "%v", invalid)
	}
	return Fail(Internal, "the provider reported an error of type %T", err)
}

// InvalidError reports a value that breaks the contract: a defect of the provider.
type InvalidError struct {
	What string // e.g. "event 17"
	Err  error
}

func (e *InvalidError) Error() string { return "invalid " + e.What + ": " + e.Err.Error() }
func (e *InvalidError) Unwrap() error { return e.Err }
