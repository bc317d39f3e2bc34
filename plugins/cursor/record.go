package cursor

import (
	"slices"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// maxSelector is the longest member in bytes that decides what a record is.
const maxSelector = 64 << 10

// record is the envelope of one line.
type record struct {
	root, message, typ, event, status, role, top, timestamp canonical.Value

	holder, content canonical.Value // what holds the content: the message, else the record
	at              sdkplugin.Instant
}

// slot is where a member that decides belongs.
func (r *record) slot(key []byte) *canonical.Value {
	switch string(key) {
	case "role":
		return &r.role
	case "message":
		return &r.message
	case "type":
		return &r.typ
	case "content":
		return &r.top
	case "timestamp":
		return &r.timestamp
	case "event":
		return &r.event
	case "status":
		return &r.status
	}
	return nil
}

// read takes the envelope from an object. A defect is the reason to reject the record.
func (r *record) read(root canonical.Value) (defect string) {
	*r = record{root: root, holder: root}
	repeated := false
	for key, v := range root.Each {
		if slot := r.slot(key); slot != nil {
			repeated = repeated || slot.Exists()
			*slot = v
		}
	}
	r.at, r.content = instant(r.timestamp), r.top
	inner := r.message.Get("role")
	for _, v := range [...]canonical.Value{r.role, r.event, r.typ, r.status, inner} {
		if !v.IsNull() && (!v.IsString() || len(v.Raw()) > maxSelector) {
			return "role, event, type or status is no short string"
		}
	}
	if r.message.IsObject() {
		r.holder, r.content = r.message, r.message.Get("content")
		switch {
		case r.role.IsNull():
			r.role = inner
		case !inner.IsNull() && string(inner.Str()) != string(r.role.Str()):
			return "role and message.role differ"
		}
	}
	switch {
	case repeated || twice(r.message, "role", "content"):
		return "a member that decides twice"
	case r.content.Len() > sdkplugin.MaxEventsRecord:
		return tooManyEvents
	}
	for element := range r.content.Elems {
		if !distinct(element) && twice(element, "type") {
			return "a block type twice"
		}
	}
	return ""
}

// distinct tells at a glance that no key of an object is repeated; objects with many members need a closer look.
func distinct(v canonical.Value) bool {
	var keys [12][]byte
	n := 0
	for key := range v.Each {
		if n == len(keys) {
			return false
		}
		for _, other := range keys[:n] {
			if string(other) == string(key) {
				return false
			}
		}
		keys[n] = key
		n++
	}
	return true
}

// twice tells whether an object has a member of one of these names more than once.
func twice(v canonical.Value, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return v.CountKey(name) > 1 })
}

// is tells whether type or event names a kind of record.
func (r *record) is(kind string) bool { return r.typ.StrEquals(kind) || r.event.StrEquals(kind) }

// No clock shows a time outside of the years 0 to 9999.
const (
	mostMillis = 253402300799999
	yearZero   = -62167219200000
)

// plausible returns the instant of a time that a record can have.
func plausible(t time.Time) sdkplugin.Instant {
	at := sdkplugin.At(t)
	at.Known = at.Millis >= yearZero && at.Millis <= mostMillis
	return at
}

// instant returns the time of a value: RFC 3339 text or a number of seconds or milliseconds since 1970. All else is no time.
func instant(v canonical.Value) sdkplugin.Instant {
	if v.IsString() {
		const separator = len("2006-01-02")
		text := v.Str()
		t, ok := texts.ParseTime(text)
		if !ok || text[separator] == ' ' {
			return sdkplugin.Instant{}
		}
		return plausible(t)
	}
	ms, ok := texts.Epoch(v)
	if !ok || ms > mostMillis {
		return sdkplugin.Instant{}
	}
	return sdkplugin.AtMillis(ms)
}

// block is one element of a content.
type block struct {
	v canonical.Value
	// What a repeated key makes unreadable; any of them withholds the structured copy.
	lostID, lostName, lostInput, lostContent bool
}

// read looks at the members of a block.
func (b *block) read(v canonical.Value) {
	*b = block{v: v}
	if distinct(v) {
		return
	}
	b.lostID, b.lostName = twice(v, "id", "tool_use_id", "toolUseId", "toolCallId"), twice(v, "name")
	b.lostInput, b.lostContent = twice(v, "input", "arguments"), twice(v, "content")
}

func (b *block) repeated() bool { return b.lostID || b.lostName || b.lostInput || b.lostContent }

// str returns the text of the first of some members that has one, exactly as written.
func (b *block) str(names ...string) []byte {
	for _, name := range names {
		if text := b.v.Get(name).Str(); len(text) > 0 {
			return text
		}
	}
	return nil
}

// appendTexts appends what a content says: the string that it is, or the texts of its blocks.
func appendTexts(dst []canonical.Value, content canonical.Value) []canonical.Value {
	if content.IsString() {
		return append(dst, content)
	}
	for element := range content.Elems {
		if text := element.Get("text"); element.Get("type").StrEquals("text") && text.IsString() {
			dst = append(dst, text)
		}
	}
	return dst
}
