package claude

import (
	"math"
	"time"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// Borders of numeric timestamps: at least a milliseconds value is read as milliseconds, at least a seconds value as seconds.
const (
	leastSeconds = 1e9
	leastMillis  = 1e12
)

// instant returns the time of a record's timestamp in milliseconds since 1970: RFC 3339 text, also with a space in place of
// the T, or a number of seconds or milliseconds. Everything else is no time.
func instant(v canonical.Value) (ms int64, ok bool) {
	if v.IsString() {
		return parseTime(v.Str())
	}
	f, ok := v.Float64()
	switch {
	case !ok || f < leastSeconds || f >= math.MaxInt64/2:
		return 0, false
	case f < leastMillis:
		return int64(math.Floor(f * 1000)), true
	}
	return int64(f), true
}

// parseTime reads an RFC 3339 time with T, t or a space, and Z or z.
func parseTime(s []byte) (ms int64, ok bool) {
	const separator = len("2006-01-02")
	var room [64]byte
	text := append(room[:0], s...)
	if len(text) <= separator {
		return 0, false
	}
	if c := text[separator]; c == 't' || c == ' ' {
		text[separator] = 'T'
	}
	if last := len(text) - 1; text[last] == 'z' {
		text[last] = 'Z'
	}
	var t time.Time
	if t.UnmarshalText(text) != nil {
		return 0, false
	}
	return t.UnixMilli(), true
}
