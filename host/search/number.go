package search

import (
	"bytes"
	"strconv"
)

// Decimal is a number that always shows a fraction (0.0, not 0), so that readers in typed languages see a float.
type Decimal float64

// Decimal32 is a Decimal of single precision.
type Decimal32 float32

// MarshalJSON implements json.Marshaler.
func (d Decimal) MarshalJSON() ([]byte, error) { return decimal(float64(d), 64), nil }

// MarshalJSON implements json.Marshaler.
func (d Decimal32) MarshalJSON() ([]byte, error) { return decimal(float64(d), 32), nil }

func decimal(f float64, bits int) []byte {
	text := strconv.AppendFloat(nil, f, 'f', -1, bits)
	if !bytes.ContainsRune(text, '.') {
		text = append(text, ".0"...)
	}
	return text
}
