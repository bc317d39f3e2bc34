package core

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// Codes that only this package raises.
const (
	CodeGenerationNotRetained = "generation_not_retained"
)

// damagedAuthority says that the pointer or a manifest cannot be trusted. Nothing is guessed from what is left of it.
func damagedAuthority(cause error, what string) error {
	return fault.Wrap(cause, fault.PublicationAuthorityInvalid, "the %s of the index is damaged", what).
		WithHint("run 'ctx doctor', then rebuild the index from its sources").WithRetry(false)
}

// corruption says that a published file does not hold what it should.
func corruption(cause error, format string, args ...any) error {
	return fault.Wrap(cause, fault.IndexCorruption, format, args...).
		WithHint("run 'ctx doctor --deep' to see what is damaged").WithRetry(false)
}

func noGeneration() error {
	return fault.New(fault.SourceUnavailable, "nothing has been imported yet").
		WithHint("run 'ctx import'").WithRetry(true)
}

func incompatible(have string) error {
	return fault.New(fault.IndexIncompatible, "the index was written by another version of ctx").
		WithHint("run 'ctx import --all' to rebuild it").WithRetry(false).With("index_contract", have)
}

func generationChanged() error {
	return fault.New(fault.GenerationChanged, "generation_changed/active_generation_race").
		WithHint("try again").WithRetry(true).With("failure_kind", "active_generation_race")
}

func notRetained(id string) error {
	return fault.New(CodeGenerationNotRetained, "generation %s is no longer retained", id).
		WithHint("start again without the cursor").WithRetry(false)
}

// writeFailure turns an error of a writer into the fault a person should see; faults pass.
func writeFailure(err error) error {
	var f *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return err
	case errors.Is(err, syscall.ENOSPC):
		return fault.Wrap(err, fault.ResourceUnavailable, "the disk is full; the index is unchanged").
			WithHint("free some space and try again").WithRetry(true)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fault.Wrap(err, fault.ResourceUnavailable, "the data root cannot be written").
			WithHint("check the owner and the permissions of the data root").WithRetry(false)
	default:
		return fault.Wrap(err, fault.ResourceUnavailable, "the index could not be written; it is unchanged").WithRetry(true)
	}
}

func isIncompatible(err error) bool { return err != nil && fault.Code(err) == fault.IndexIncompatible }

func unknownSession(id record.Digest) error {
	return fault.New(fault.NotFound, "session %s is not stored", id)
}
