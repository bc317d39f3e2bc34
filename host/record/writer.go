package record

import (
	"strconv"
	"time"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// writer puts JSON together, or only counts its bytes: one description of an object serves the text and its length, so that the two
// cannot differ. Members are written as key, then value; the writer sets the commas. Where it counts, small values may still go into
// the buffer; the length is that of both together.
type writer struct {
	buf      []byte
	n        int // bytes counted
	counting bool
	comma    bool // a member of the open object was written
	nulls    bool // members without a value are null instead of left out
}

func (w *writer) size() int { return w.n + len(w.buf) }

func (w *writer) lit(s string) {
	if w.counting {
		w.n += len(s)
		return
	}
	w.buf = append(w.buf, s...)
}

func (w *writer) raw(b []byte) {
	if w.counting {
		w.n += len(b)
		return
	}
	w.buf = append(w.buf, b...)
}

func (w *writer) open() {
	w.lit("{")
	w.comma = false
}

func (w *writer) close() {
	w.lit("}")
	w.comma = true
}

// key begins a member. Keys are plain ASCII names.
func (w *writer) key(name string) {
	if w.comma {
		w.lit(",")
	}
	w.comma = true
	if w.counting {
		w.n += len(name) + 3
		return
	}
	w.buf = append(append(append(w.buf, '"'), name...), '"', ':')
}

func (w *writer) quoted(b []byte) {
	if w.counting {
		w.n += canonical.QuotedLen(b)
		return
	}
	w.buf = canonical.AppendString(w.buf, b)
}

// quotedValue writes a value of an event as a JSON string.
func (w *writer) quotedValue(e *Event, v Value) {
	if w.counting {
		w.n += e.quotedLen(v)
		return
	}
	w.buf = e.appendQuoted(w.buf, v)
}

// jsonValue writes a value of an event that is JSON itself.
func (w *writer) jsonValue(e *Event, v Value) {
	if w.counting {
		w.n += e.valueLen(v)
		return
	}
	w.buf = e.AppendValue(w.buf, v)
}

// member begins a member and tells whether it has a value. One without is null or left out.
func (w *writer) member(key string, there bool) bool {
	if there || w.nulls {
		w.key(key)
	}
	if !there && w.nulls {
		w.lit("null")
	}
	return there
}

func (w *writer) text(key, value string) {
	w.key(key)
	w.quoted(stringBytes(value))
}

func (w *writer) optionalText(key, value string) {
	if w.member(key, value != "") {
		w.quoted(stringBytes(value))
	}
}

func (w *writer) uint(key string, n uint64) {
	w.key(key)
	w.buf = strconv.AppendUint(w.buf, n, 10)
}

func (w *writer) int(key string, n int64) {
	w.key(key)
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

func (w *writer) bool(key string, b bool) {
	w.key(key)
	w.buf = strconv.AppendBool(w.buf, b)
}

func (w *writer) typedKey(key string, typedKey []byte) {
	if w.member(key, len(typedKey) > 0) {
		w.buf = AppendTypedKeyJSON(w.buf, typedKey)
	}
}

const lowerHex = "0123456789abcdef"

// hex writes a whole digest.
func (w *writer) hex(key string, d *Digest) {
	if d == nil {
		return
	}
	w.key(key)
	if w.counting {
		w.n += 2 + 2*len(d)
		return
	}
	w.buf = append(w.buf, '"')
	for _, c := range d {
		w.buf = append(w.buf, lowerHex[c>>4], lowerHex[c&15])
	}
	w.buf = append(w.buf, '"')
}

// uuid writes the public form of a digest.
func (w *writer) uuid(key string, d Digest) { w.optionalUUID(key, &d) }

func (w *writer) optionalUUID(key string, d *Digest) {
	if !w.member(key, d != nil) {
		return
	}
	w.buf = append(w.buf, '"')
	for i, c := range d.UUID() {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			w.buf = append(w.buf, '-')
		}
		w.buf = append(w.buf, lowerHex[c>>4], lowerHex[c&15])
	}
	w.buf = append(w.buf, '"')
}

// time writes when an event occurred.
func (w *writer) time(key string, e *Event) {
	if w.member(key, e.Timed) {
		w.buf = append(w.buf, '"')
		w.buf = append(AppendTime(w.buf, e.OccurredAt), '"')
	}
}

// AppendTime appends a time in Unix milliseconds as RFC 3339 in UTC with milliseconds and Z, without quotes.
func AppendTime(dst []byte, unixMilli int64) []byte {
	return time.UnixMilli(unixMilli).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}
