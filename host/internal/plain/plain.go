// Package plain writes JSON without the escapes that only HTML needs.
package plain

import (
	"bytes"
	"encoding/json"
)

// JSON is v as compact JSON.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
