package pluginhost

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/onscreen"
)

// Failed is the code of every fault of this package; the member provider_failure holds the Class.
const Failed = "provider_failed"

// Class is the way in which a plugin failed.
type Class string

// The classes of failures.
const (
	NotStarted   Class = "not_started"  // no such executable, no permission, bad specification
	NotTrusted   Class = "not_trusted"  // the executable is not the one that was pinned
	Handshake    Class = "handshake"    // it printed something else than the handshake, or asked for a place that is not its own
	Incompatible Class = "incompatible" // another protocol version
	TimedOut     Class = "timed_out"    // no handshake, description or progress in time; the plugin was ended
	Crashed      Class = "crashed"      // the process ended
	Malformed    Class = "malformed"    // messages that break the contract; the plugin was ended
	Oversized    Class = "oversized"    // a message beyond the cap; the plugin was ended
	Memory       Class = "memory"       // it used more memory than it may; the plugin was ended
	Refused      Class = "refused"      // it answered a call with an error
	Cancelled    Class = "cancelled"    // the caller's context ended
)

// ClassOf returns the class of an error of this package, "" for other errors.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	class, _ := fault.From(err).Fields["provider_failure"].(Class)
	return class
}

// failure makes the fault of a class. The message is all that a user sees and holds nothing that the plugin said.
func failure(name string, class Class, cause error, format string, args ...any) *fault.Error {
	message := fmt.Sprintf("provider %s: %s", name, fmt.Sprintf(format, args...))
	f := fault.Wrap(cause, Failed, "%s", message).With("provider", name).With("provider_failure", class)
	switch class {
	case NotTrusted:
		return f.WithHint("ctx plugins trust %s", name)
	case Incompatible:
		return f.WithHint("install a version of the provider for this version of ctx")
	case NotStarted:
		return f.WithHint("check that the provider's executable exists and may be run")
	case Cancelled:
		return f
	}
	return f.WithHint("see the log of ctx for what the provider printed")
}

// broken is a rule of the contract that a message breaks. Its text is made here and quotes nothing of the message.
type broken struct{ rule string }

func (b *broken) Error() string { return b.rule }

func brokenf(format string, args ...any) error { return &broken{fmt.Sprintf(format, args...)} }

// foreign is the text of an error that the plugin sent, made fit for a log: one short printable line.
func foreign(err error) error {
	return fmt.Errorf("%s: %s", status.Code(err), onscreen.Plain(status.Convert(err).Message(), 512))
}

// callError turns the error of a call into the fault that the caller gets and, if the plugin is of no further use, into its end.
func (p *Plugin) callError(ctx context.Context, call string, err error) error {
	if f := p.doomed(); f != nil {
		return f
	}
	if ctx.Err() != nil {
		return failure(p.name, Cancelled, context.Cause(ctx), "%s was cancelled", call)
	}
	var rule *broken
	if errors.As(err, &rule) {
		return p.end(failure(p.name, Malformed, err, "%s broke the protocol (%s)", call, rule.rule))
	}
	if err := p.codec.broken.Load(); err != nil {
		return p.end(failure(p.name, Malformed, *err, "%s sent a message that can not be decoded", call))
	}
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return p.end(failure(p.name, Oversized, foreign(err), "%s sent a message beyond the limit", call))
	case codes.Unavailable, codes.Canceled, codes.Unknown, codes.Internal:
		if how, ended := p.process.ended(exitNotice); ended {
			return p.end(failure(p.name, Crashed, foreign(err), "the process ended during %s (%s)", call, how))
		}
		if status.Code(err) == codes.Unavailable {
			return p.end(failure(p.name, Crashed, foreign(err), "the connection broke during %s", call))
		}
	case codes.DeadlineExceeded:
		return p.end(failure(p.name, TimedOut, foreign(err), "%s took too long", call))
	}
	return failure(p.name, Refused, foreign(err), "%s failed", call)
}
