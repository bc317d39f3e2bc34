package selection

import (
	"regexp"
	"strconv"
	"time"
)

var rfc3339 = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$`)

// ParseTime reads an RFC 3339 time. A date alone or a time without offset is refused, so that no day is cut by guessing a zone.
func ParseTime(text string) (time.Time, bool) {
	if !rfc3339.MatchString(text) {
		return time.Time{}, false
	}
	// The standard library knows capital letters only.
	upper := []byte(text)
	for i, c := range upper {
		if c == 't' || c == 'z' {
			upper[i] = c - 'a' + 'A'
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(upper))
	return t, err == nil
}

// WholeMilliseconds returns the Unix milliseconds of t; ok is false when t lies between two of them.
func WholeMilliseconds(t time.Time) (ms int64, ok bool) {
	return t.UnixMilli(), t.Nanosecond()%int(time.Millisecond) == 0
}

var daysBack = regexp.MustCompile(`^(\d{1,7})d$`)

// ParseSince reads an RFC 3339 time or "<n>d", n days before now, in Unix milliseconds. A time between two milliseconds counts from
// the later one, so that no event before it slips in.
func ParseSince(text string, now time.Time) (ms int64, ok bool) {
	if m := daysBack.FindStringSubmatch(text); m != nil {
		days, err := strconv.ParseInt(m[1], 10, 64)
		return now.UnixMilli() - days*24*60*60*1000, err == nil
	}
	t, ok := ParseTime(text)
	if !ok {
		return 0, false
	}
	ms, whole := WholeMilliseconds(t)
	if !whole {
		ms++
	}
	return ms, true
}

// FormatTime writes Unix milliseconds as RFC 3339 in UTC with milliseconds.
func FormatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
