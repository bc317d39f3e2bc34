package record

import (
	"strconv"
	"time"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// writer puts JSON together, or only counts its bytes: one description of an object serves the text and its length, so that the two
// cannot differ. Members are written as key, then value; the writer sets the commas.
type writer struct {
	buf      []byte
	n        int // bytes counted
	counting bool
	comma    bool // a member of the open object was written
	scratch  []byte
}

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
	if w.counting {
		w.n += len(name) + 3
		if w.comma {
			w.n++
		}
	} else {
		if w.comma {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, '"')
		w.buf = append(w.buf, name...)
		w.buf = append(w.buf, '"', ':')
	}
	w.comma = true
}

func (w *writer) quoted(b []byte) {
	if w.counting {
		w.n += canonical.QuotedLen(b)
		return
	}
	w.buf = canonical.AppendString(w.buf, b)
}

func (w *writer) text(s string) { w.quoted(stringBytes(s)) }

func (w *writer) uint(n uint64) {
	if w.counting {
		w.scratch = strconv.AppendUint(w.scratch[:0], n, 10)
		w.n += len(w.scratch)
		return
	}
	w.buf = strconv.AppendUint(w.buf, n, 10)
}

func (w *writer) int(n int64) {
	if w.counting {
		w.scratch = strconv.AppendInt(w.scratch[:0], n, 10)
		w.n += len(w.scratch)
		return
	}
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

const lowerHex = "0123456789abcdef"

func (w *writer) hex(b []byte) {
	if w.counting {
		w.n += 2 + 2*len(b)
		return
	}
	w.buf = append(w.buf, '"')
	for _, c := range b {
		w.buf = append(w.buf, lowerHex[c>>4], lowerHex[c&15])
	}
	w.buf = append(w.buf, '"')
}

// uuid writes the public form of a digest.
func (w *writer) uuid(d Digest) {
	if w.counting {
		w.n += 38
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

func (w *writer) typedKey(key []byte) {
	if w.counting {
		w.scratch = AppendTypedKeyJSON(w.scratch[:0], key)
		w.n += len(w.scratch)
		return
	}
	w.buf = AppendTypedKeyJSON(w.buf, key)
}

func (w *writer) anchor(anchor []byte) {
	if w.counting {
		w.scratch = appendAnchorJSON(w.scratch[:0], anchor)
		w.n += len(w.scratch)
		return
	}
	w.buf = appendAnchorJSON(w.buf, anchor)
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

func (w *writer) time(unixMilli int64) {
	w.lit(`"`)
	if w.counting {
		w.scratch = AppendTime(w.scratch[:0], unixMilli)
		w.n += len(w.scratch)
	} else {
		w.buf = AppendTime(w.buf, unixMilli)
	}
	w.lit(`"`)
}

func (w *writer) textMember(key, value string) {
	w.key(key)
	w.text(value)
}

// optionalText leaves the member out when the value is empty.
func (w *writer) optionalText(key, value string) {
	if value != "" {
		w.textMember(key, value)
	}
}

// nullableText writes null for an empty value.
func (w *writer) nullableText(key, value string) {
	w.key(key)
	if value == "" {
		w.lit("null")
		return
	}
	w.text(value)
}

func (w *writer) null(key string) {
	w.key(key)
	w.lit("null")
}

func (w *writer) uuidMember(key string, d Digest) {
	w.key(key)
	w.uuid(d)
}

func (w *writer) optionalUUID(key string, d *Digest) {
	if d != nil {
		w.uuidMember(key, *d)
	}
}

func (w *writer) nullableUUID(key string, d *Digest) {
	if d == nil {
		w.null(key)
		return
	}
	w.uuidMember(key, *d)
}

func (w *writer) uintMember(key string, n uint64) {
	w.key(key)
	w.uint(n)
}

func (w *writer) intMember(key string, n int64) {
	w.key(key)
	w.int(n)
}

// AppendTime appends a time in Unix milliseconds as RFC 3339 in UTC with milliseconds and Z, without quotes.
func AppendTime(dst []byte, unixMilli int64) []byte {
	return time.UnixMilli(unixMilli).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

func (w *writer) boolMember(key string, b bool) {
	w.key(key)
	if b {
		w.lit("true")
	} else {
		w.lit("false")
	}
}
