package record

import (
	"fmt"

	"github.com/agenthistory/ctx/host/fault"
)

// Codes of rejections.
const (
	RejectInvalidKey   = "invalid_key"   // a native key, typed key or anchor breaks the form or its limits
	RejectInvalidField = "invalid_field" // a field breaks its rule
	RejectInvalidText  = "invalid_text"  // bytes are not UTF-8, or a captured value is not JSON
	RejectTooLarge     = "too_large"     // the body alone is over the budget, or the record over its cap
	RejectNoContent    = "no_content"    // a selected event with nothing in it
)

// Rejection says why something a provider sent cannot be stored. Its scope is one record (or the session or source that it
// belongs to, if that is what was converted); Detail never holds content of the history.
type Rejection struct {
	Code   string
	Detail string
}

// Error returns code and detail in one line.
func (r *Rejection) Error() string { return r.Code + ": " + r.Detail }

func reject(code, format string, args ...any) *Rejection {
	return &Rejection{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// corrupt is the error for stored bytes that this version cannot have written.
func corrupt(format string, args ...any) error {
	return fault.New(fault.IndexCorruption, "a stored record is damaged: "+format, args...).
		WithHint("run `ctx doctor --deep`, then `ctx index rebuild`")
}
