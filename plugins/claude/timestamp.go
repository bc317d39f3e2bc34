package claude

import (
	"math"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
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
		t, ok := texts.ParseTime(v.Str())
		return t.UnixMilli(), ok
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
