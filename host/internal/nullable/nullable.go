// Package nullable holds the texts of JSON answers that are null while there is nothing to say.
package nullable

import "github.com/agenthistory/ctx/host/internal/plain"

// Text is a string in JSON, null when it is empty.
type Text string

// MarshalJSON implements json.Marshaler. Whether characters of HTML are escaped is left to the encoder around it.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return plain.JSON(string(t))
}
