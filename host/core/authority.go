package core

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
	"github.com/google/uuid"
)

// Published names a generation.
type Published struct {
	Directory  string `json:"directory"`  // UUID, the name below generations
	Generation string `json:"generation"` // content-derived id, 64 lower-case hex digits
	Manifest   string `json:"manifest"`   // SHA-256 of its manifest file, hex
}

// Pointer is the content of active.json. It is read and written in one canonical form only (compact JSON, members in this order,
// one LF at the end); anything else is refused.
type Pointer struct {
	SchemaVersion int        `json:"schema_version"`
	Active        *Published `json:"active"`
	Previous      *Published `json:"previous"`
}

const (
	pointerSchema  = 1
	maxPointerSize = 4 << 10
)

func (p Pointer) encode() []byte {
	p.SchemaVersion = pointerSchema
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(b, '\n')
}

func decodePointer(b []byte) (Pointer, error) {
	var p Pointer
	if len(b) > maxPointerSize {
		return p, fmt.Errorf("pointer of %d bytes", len(b))
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, err
	}
	if p.SchemaVersion != pointerSchema || !bytes.Equal(p.encode(), b) {
		return p, errors.New("pointer is not in canonical form")
	}
	if p.Active == nil {
		return p, errors.New("pointer without an active generation")
	}
	for _, g := range p.published() {
		if err := g.valid(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// published lists the generations that the pointer names, the active one first.
func (p Pointer) published() (out []Published) {
	for _, g := range []*Published{p.Active, p.Previous} {
		if g != nil {
			out = append(out, *g)
		}
	}
	return out
}

func (g *Published) valid() error {
	if id, err := uuid.Parse(g.Directory); err != nil || id.String() != g.Directory {
		return errors.New("pointer names no generation directory")
	}
	if !isDigest(g.Generation) || !isDigest(g.Manifest) {
		return errors.New("pointer holds a malformed digest")
	}
	return nil
}

// isDigest tells whether s is the lower-case hex form of 32 bytes.
func isDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	b, err := hex.DecodeString(s)
	return err == nil && hex.EncodeToString(b) == s
}

// Pointer reads which generations are published, without pinning them. It returns the zero Pointer when there is none yet, and the
// fault publication_authority_invalid for a damaged file.
func (s *Store) Pointer() (Pointer, error) {
	b, err := os.ReadFile(s.pointerPath())
	if errors.Is(err, fs.ErrNotExist) {
		return Pointer{}, nil
	}
	var p Pointer
	if err == nil {
		p, err = decodePointer(b)
	}
	if err != nil {
		return Pointer{}, damagedAuthority(err, "pointer")
	}
	return p, nil
}

func (s *Store) writePointer(p Pointer) error {
	return s.replace(s.pointerPath(), p.encode(), StepPointerWrite, StepPointerRename, StepPointerSync)
}

// replace gives path new content in one step, see durable.Replace. The names of its steps are announced, as far as they are given.
func (s *Store) replace(path string, content []byte, steps ...string) error {
	return durable.ReplaceInSteps(path, content, fileMode, func(n int) error {
		if n < len(steps) {
			if err := s.step(steps[n]); err != nil {
				return err
			}
		}
		if n > 0 {
			return nil
		}
		return s.mayWrite(len(content))
	})
}

// Codes that only this package raises.
const (
	CodeGenerationNotRetained = "generation_not_retained"
)

// damagedAuthority says that the pointer or a manifest cannot be trusted. Nothing is guessed from what is left of it.
func damagedAuthority(cause error, what string) error {
	return fault.Wrap(cause, fault.PublicationAuthorityInvalid, "the %s of the index is damaged", what).
		WithHint("run 'ctx import --all' to rebuild it").WithRetry(false)
}

// corruption says that a published file does not hold what it should.
func corruption(cause error, format string, args ...any) error {
	return fault.Wrap(cause, fault.IndexCorruption, format, args...).
		WithHint("run 'ctx import --all' to rebuild the index").WithRetry(false)
}

func noGeneration() error {
	return fault.New(fault.SourceUnavailable, "nothing has been imported yet").
		WithHint("run 'ctx import --all'").WithRetry(true)
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
	case err == nil || errors.As(err, &f):
		return err
	case errors.Is(err, syscall.ENOSPC):
		return fault.Wrap(err, fault.ResourceUnavailable, "the disk is full; the index is unchanged").
			WithHint("free some space and try again").WithRetry(true)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fault.Wrap(err, fault.ResourceUnavailable, "the data root cannot be written").
			WithHint("check the owner and the permissions of the data root").WithRetry(false)
	}
	return fault.Wrap(err, fault.ResourceUnavailable, "the index could not be written; it is unchanged").WithRetry(true)
}

func isIncompatible(err error) bool { return fault.Code(err) == fault.IndexIncompatible }

func unknown(what string, id record.Digest) error {
	return fault.New(fault.NotFound, "%s %s is not stored", what, id)
}
