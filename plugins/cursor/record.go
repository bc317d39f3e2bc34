package cursor

import (
	"math"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// maxSelector is the longest member in bytes that decides what a record is.
const maxSelector = 64 << 10

// record is the envelope of one line.
type record struct {
	root, typ, event, status, role, content canonical.Value
	holder                                  canonical.Value // that has the content: the message, else the record
	at                                      sdkplugin.Instant
}

// read takes the envelope from an object. A defect is the reason to reject the record.
func (r *record) read(root canonical.Value) (defect string) {
	message := root.Get("message")
	*r = record{
		root: root, typ: root.Get("type"), event: root.Get("event"), status: root.Get("status"), role: root.Get("role"),
		holder: root, at: instant(root.Get("timestamp")),
	}
	for _, v := range [...]canonical.Value{r.role, r.event, r.typ, r.status, message.Get("role")} {
		if !v.IsNull() && (!v.IsString() || len(v.Raw()) > maxSelector) {
			return "role, event, type or status is no short string"
		}
	}
	if message.IsObject() {
		r.holder = message
		inner := message.Get("role")
		switch {
		case r.role.IsNull():
			r.role = inner
		case !inner.IsNull() && string(inner.Str()) != string(r.role.Str()):
			return "role and message.role differ"
		}
	}
	r.content = r.holder.Get("content")
	if twice(root, "role", "event", "type", "status", "message", "content", "timestamp") || twice(message, "role", "content") {
		return "a member that decides twice"
	}
	return ""
}

// twice tells whether an object has a member of one of these names more than once.
func twice(v canonical.Value, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return v.CountKey(name) > 1 })
}

// is tells whether type or event names a kind of record.
func (r *record) is(kind string) bool { return r.typ.StrEquals(kind) || r.event.StrEquals(kind) }

// Borders of numeric timestamps: at least a milliseconds value is read as milliseconds, at least a seconds value as seconds.
const (
	leastSeconds = 1e9
	leastMillis  = 1e12
)

// instant returns the time of a value: RFC 3339 text or a number of seconds or milliseconds since 1970. All else is no time.
func instant(v canonical.Value) sdkplugin.Instant {
	if v.IsString() {
		const separator = len("2006-01-02")
		text := v.Str()
		t, ok := texts.ParseTime(text)
		if !ok || text[separator] == ' ' {
			return sdkplugin.Instant{}
		}
		return sdkplugin.At(t)
	}
	f, ok := v.Float64()
	switch {
	case !ok || f < leastSeconds || f >= math.MaxInt64/2:
		return sdkplugin.Instant{}
	case f < leastMillis:
		return sdkplugin.AtMillis(int64(math.Floor(f * 1000)))
	}
	return sdkplugin.AtMillis(int64(f))
}

// block is one element of a content.
type block struct {
	v canonical.Value
	// What a repeated key makes unreadable; any of them withholds the structured copy.
	lostID, lostName, lostInput, lostContent bool
}

// read looks at the members of a block. A defect is the reason to reject the record.
func (b *block) read(v canonical.Value) (defect string) {
	*b = block{v: v}
	if v.Len() > 1 {
		b.lostID, b.lostName = twice(v, "id", "tool_use_id", "toolUseId", "toolCallId"), twice(v, "name")
		b.lostInput, b.lostContent = twice(v, "input", "arguments"), twice(v, "content")
		if twice(v, "type") {
			return "a block type twice"
		}
	}
	return ""
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
