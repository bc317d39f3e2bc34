// Package digest keeps short hashes of texts, for sets and counters of any size whose members cannot be made to meet, and for
// the occurrence numbers that tell events of equal content apart.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Print stands for a text: 128 bits of its SHA-256.
type Print [16]byte

// Of returns the print of a text.
func Of(text []byte) Print {
	sum := sha256.Sum256(text)
	return Print(sum[:])
}

// MarshalText makes a print a key of a JSON object.
func (p Print) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, p[:]), nil }

var errPrint = errors.New("not the print of a text")

// UnmarshalText reads what MarshalText writes.
func (p *Print) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(p[:], text[:min(len(text), 2*len(p))]); err != nil || n < len(p) || len(text) > 2*len(p) {
		return errPrint
	}
	return nil
}

// Counter counts how often a text came.
type Counter map[Print]uint64

// Next returns how often the text of a whole digest came before, and counts it.
func (c Counter) Next(p Print) uint64 {
	n := c[p]
	c[p] = n + 1
	return n
}
