package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/agenthistory/ctx/host/fault"
)

// reported is a failure that the command has already told; only the exit code remains.
type reported struct{ code int }

func (r reported) Error() string { return "already reported" }

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// exit prints what there is to say about err, once, and returns the exit code.
func (a *App) exit(err error) int {
	var told reported
	var misuse *usageError
	var output *outputError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &told):
		return told.code
	case errors.As(err, &misuse):
		printUsage(a, misuse)
		return exitUsage
	case errors.As(err, &output):
		return a.outputFailed(output)
	}
	if errors.Is(err, context.Canceled) {
		err = fault.Wrap(err, "cancelled", "stopped before the end; what was published before still answers")
	}
	f := fault.From(err)
	if a.machine() {
		_ = writeLine(a.Stderr, errorObject(f))
		return exitFailed
	}
	a.printFailure(f)
	return exitFailed
}

// outputFailed is silent about a reader that went away: the person who closed the pipe knows it.
func (a *App) outputFailed(err *outputError) int {
	if !brokenPipe(err) {
		a.complain(markFailed, err.Error())
		return exitFailed
	}
	if a.running != nil && a.running.CommandPath() == "ctx list events" {
		return exitDone
	}
	return exitFailed
}

// machine tells whether failures are JSON objects.
func (a *App) machine() bool { return a.format == "json" || a.format == "jsonl" }

// errorObject is the one-line JSON form of a failure: error, error_code, retryable when known, further members.
func errorObject(f *fault.Error) map[string]any {
	object := map[string]any{}
	code := f.Code
	if code == "" {
		code = fault.Internal
	}
	object["error"] = f.Message
	object["error_code"] = code
	if f.Retryable != nil {
		object["retryable"] = *f.Retryable
	}
	if f.Hint != "" {
		object["hint"] = f.Hint
	}
	maps.Copy(object, f.Fields)
	for key, value := range object { // a field set to nil takes a member out where a contract has none
		if value == nil && key == "error" {
			delete(object, key)
		}
	}
	return object
}

func (a *App) printFailure(f *fault.Error) {
	a.complain(markFailed, f.Message)
	hint := a.stderrStyle().safe(f.Hint)
	switch {
	case strings.HasPrefix(f.Hint, "ctx "):
		fmt.Fprintf(a.Stderr, "\nNext\n  %s\n", hint)
	case f.Hint != "":
		fmt.Fprintf(a.Stderr, "  %s\n", hint)
	}
}

// complain writes one line to stderr.
func (a *App) complain(m mark, text string) {
	style := a.stderrStyle()
	fmt.Fprintf(a.Stderr, "%s %s\n", style.mark(m), style.safe(text))
}

func printUsage(a *App, e *usageError) {
	a.complain(markFailed, e.Error())
	if e.cmd != nil {
		line := e.cmd.UseLine()
		if e.cmd.HasSubCommands() {
			line = e.cmd.CommandPath() + onlyHolds
		}
		fmt.Fprintf(a.Stderr, "\nUsage: %s\nSee %s --help\n", line, e.cmd.CommandPath())
	}
}
