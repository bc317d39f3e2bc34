// Package nullable holds the texts of JSON answers that are null while there is nothing to say.
package nullable

import (
	"bytes"
	"encoding/json"
)

// Text is a string in JSON, null when it is empty.
type Text string

// MarshalJSON implements json.Marshaler. Whether characters of HTML are escaped is left to the encoder around it.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(string(t))
	return b.Bytes(), err
}
