package core

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

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
	for _, g := range []*Published{p.Active, p.Previous} {
		if g == nil {
			continue
		}
		if err := g.valid(); err != nil {
			return p, err
		}
	}
	return p, nil
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
	if err != nil {
		return Pointer{}, damagedAuthority(err, "pointer")
	}
	p, err := decodePointer(b)
	if err != nil {
		return Pointer{}, damagedAuthority(err, "pointer")
	}
	return p, nil
}

func (s *Store) writePointer(p Pointer) error {
	return s.replaceDurably(s.pointerPath(), p.encode(), [3]string{StepPointerWrite, StepPointerRename, StepPointerSync})
}
