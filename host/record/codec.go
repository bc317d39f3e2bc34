package record

import (
	"encoding/binary"
	"math"
)

// Storage form of an event, version 1. Numbers are unsigned varints in their shortest form, signed ones zigzag first; bytes and
// strings have a length before them; names of closed vocabularies are one byte.
//
//	version, flags, id (32 bytes), session, sequence, [suborder], [time], type, [role], scope, [native id], [copy], [policy],
//	encoded bytes, content bytes, [structured], [body], [activity]
//
// A member in brackets is there when its flag is set. A value is bytes of its own or a list of spans, which has a flag of its own.
// Every event has exactly one encoding: decoding refuses anything that encoding would not have written.
const eventVersion = 1

const (
	hasTime = 1 << iota
	hasRole
	hasCopy
	hasPolicy
	hasBody
	hasStructured
	hasActivity
	hasSuborder
	hasNativeID
	isExcluded
	eventFlags // all flags are below
)

// Encode appends the storage form of an event that was admitted.
func Encode(dst []byte, e *Event) []byte {
	flags := eventFlagsOf(e)
	dst = append(dst, eventVersion)
	dst = binary.AppendUvarint(dst, flags)
	dst = append(dst, e.ID[:]...)
	dst = binary.AppendUvarint(dst, uint64(e.Session))
	dst = binary.AppendUvarint(dst, e.Sequence)
	if flags&hasSuborder != 0 {
		dst = binary.AppendUvarint(dst, uint64(e.Suborder))
	}
	if flags&hasTime != 0 {
		dst = binary.AppendVarint(dst, e.OccurredAt)
	}
	dst = appendName(dst, TypeCode(e.Type), TypeOther, e.Type)
	if flags&hasRole != 0 {
		dst = appendName(dst, RoleCode(e.Role), RoleOther, e.Role)
	}
	dst = append(dst, byte(e.Scope))
	if flags&hasNativeID != 0 {
		dst = appendBlob(dst, e.NativeID)
	}
	if flags&hasCopy != 0 {
		dst = append(dst, e.Copy.Session[:]...)
		dst = append(dst, e.Copy.Event[:]...)
		dst = append(dst, byte(e.Copy.Proof))
	}
	if flags&hasPolicy != 0 {
		dst = append(dst, byte(e.Policy))
		dst = appendBlob(dst, e.PolicyReason)
	}
	dst = binary.AppendUvarint(dst, e.EncodedBytes)
	dst = binary.AppendUvarint(dst, e.ContentBytes)
	if flags&hasStructured != 0 {
		dst = appendBlob(dst, e.Structured)
	}
	if flags&hasBody != 0 {
		dst = appendValue(dst, e.Body)
	}
	if flags&hasActivity != 0 {
		dst = appendActivityCode(dst, e.Activity)
	}
	return dst
}

func eventFlagsOf(e *Event) (flags uint64) {
	set := func(is bool, flag uint64) {
		if is {
			flags |= flag
		}
	}
	set(e.Timed, hasTime)
	set(e.Role != "", hasRole)
	set(e.Copy != nil, hasCopy)
	set(e.Policy != PolicySelected, hasPolicy)
	set(e.HasBody, hasBody)
	set(len(e.Structured) > 0, hasStructured)
	set(e.Activity != nil, hasActivity)
	set(e.Suborder != 0, hasSuborder)
	set(len(e.NativeID) > 0, hasNativeID)
	set(e.Excluded, isExcluded)
	return flags
}

// appendName writes a code, and behind the code that stands for other names the name itself.
func appendName(dst []byte, c, other uint8, name string) []byte {
	dst = append(dst, c)
	if c == other {
		dst = appendBlob(dst, name)
	}
	return dst
}

func appendBlob[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// appendValue writes u(2 x length) and the bytes, or u(2 x count + 1) and the spans: offset and 2 x length + quoted.
func appendValue(dst []byte, v Value) []byte {
	if len(v.Spans) == 0 {
		dst = binary.AppendUvarint(dst, uint64(len(v.Inline))<<1)
		return append(dst, v.Inline...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(v.Spans))<<1|1)
	for _, span := range v.Spans {
		dst = binary.AppendUvarint(dst, uint64(span.Offset))
		length := uint64(span.Length) << 1
		if span.Quoted {
			length |= 1
		}
		dst = binary.AppendUvarint(dst, length)
	}
	return dst
}

// Decode reads one event into e, which keeps its memory. The event aliases src. The error is a fault of code index_corruption; e is
// then not usable.
func Decode(src []byte, e *Event) error {
	e.Reset()
	r := reader{src: src, event: e}
	if v := r.byte(); v != eventVersion {
		return corrupt("unknown event version %d", v)
	}
	flags := r.uint()
	if flags >= eventFlags {
		return corrupt("unknown event flags %#x", flags)
	}
	r.digest(&e.ID)
	e.Session = r.uint32()
	e.Sequence = r.uint()
	if flags&hasSuborder != 0 {
		e.Suborder = r.uint32()
		r.check(e.Suborder != 0, "suborder")
	}
	if flags&hasTime != 0 {
		e.Timed, e.OccurredAt = true, r.int()
	}
	e.Type = r.name(typeNames[:], TypeOther)
	if flags&hasRole != 0 {
		e.Role = r.name(roleNames[:], RoleOther)
	}
	e.Scope = Scope(r.code(len(scopeNames)))
	if flags&hasNativeID != 0 {
		e.NativeID = r.filled("native id")
	}
	if flags&hasCopy != 0 {
		e.Copy = &e.own.copied
		r.digest(&e.Copy.Session)
		r.digest(&e.Copy.Event)
		e.Copy.Proof = Proof(r.code(len(proofNames)))
	}
	if flags&hasPolicy != 0 {
		e.Policy = PolicyStatus(r.code(int(policyStates)))
		r.check(e.Policy != PolicySelected, "policy")
		e.PolicyReason = string(r.blob())
	}
	e.Excluded = flags&isExcluded != 0
	e.EncodedBytes = r.uint()
	e.ContentBytes = r.uint()
	if flags&hasStructured != 0 {
		e.Structured = r.filled("structured content")
	}
	if flags&hasBody != 0 {
		e.HasBody, e.Body = true, r.value()
	}
	if flags&hasActivity != 0 {
		e.Activity = &e.own.activity
		r.activity(e)
	}
	return r.end()
}

// reader takes a stored record apart. The first violation is kept and everything behind it reads as zero.
type reader struct {
	src   []byte
	event *Event
	err   error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = corrupt("bad %s", what)
	}
	r.src = nil
}

func (r *reader) check(ok bool, what string) {
	if !ok {
		r.fail(what)
	}
}

func (r *reader) end() error {
	if r.err == nil && len(r.src) > 0 {
		r.err = corrupt("%d bytes behind the end", len(r.src))
	}
	return r.err
}

func (r *reader) byte() byte {
	if len(r.src) == 0 {
		r.fail("length")
		return 0
	}
	b := r.src[0]
	r.src = r.src[1:]
	return b
}

func (r *reader) uint() uint64 {
	if len(r.src) > 0 && r.src[0] < 0x80 { // most numbers
		n := r.src[0]
		r.src = r.src[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.src)
	if size <= 0 || r.src[size-1] == 0 { // a last byte of zero is not the shortest form
		r.fail("number")
		return 0
	}
	r.src = r.src[size:]
	return n
}

func (r *reader) uint32() uint32 {
	n := r.uint()
	if n > math.MaxUint32 {
		r.fail("number")
		return 0
	}
	return uint32(n)
}

func (r *reader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

// code reads a one-byte code below limit.
func (r *reader) code(limit int) uint8 {
	c := r.byte()
	if int(c) >= limit {
		r.fail("code")
		return 0
	}
	return c
}

// bytes takes n bytes.
func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.src)) {
		r.fail("length")
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}

func (r *reader) blob() []byte { return r.bytes(r.uint()) }

// filled reads a blob that is only written when it has bytes.
func (r *reader) filled(what string) []byte {
	b := r.blob()
	r.check(len(b) > 0, what)
	return b
}

func (r *reader) digest(d *Digest) { copy(d[:], r.bytes(uint64(len(d)))) }

// name reads what appendName wrote. A known name that was spelled out is refused.
func (r *reader) name(names []string, other uint8) string {
	c := r.byte()
	if c != other {
		r.check(int(c) < len(names) && names[c] != "", "code")
		return name(names, c)
	}
	text := string(r.filled("name"))
	r.check(code(names, text) == 0, "name")
	return text
}

func (r *reader) value() Value {
	n := r.uint()
	if n&1 == 0 {
		return Value{Inline: r.bytes(n >> 1)}
	}
	count := n >> 1
	if count == 0 || count > uint64(len(r.src)) { // a span takes at least two bytes
		r.fail("spans")
		return Value{}
	}
	from := len(r.event.own.spans)
	for range count {
		r.event.own.spans = append(r.event.own.spans, r.span())
	}
	spans := r.event.own.spans[from:]
	return Value{Spans: spans[:len(spans):len(spans)]}
}

func (r *reader) span() Span {
	offset, length := r.uint32(), r.uint()
	s := Span{Offset: offset, Length: uint32(length >> 1), Quoted: length&1 == 1}
	if length>>1 > math.MaxUint32 || !validSpan(r.event.Structured, s) {
		r.fail("span")
		return Span{}
	}
	return s
}

// validSpan tells whether a span lies inside the structured content and, if quoted, has its quotes.
func validSpan(structured []byte, s Span) bool {
	end := uint64(s.Offset) + uint64(s.Length)
	if end > uint64(len(structured)) {
		return false
	}
	if !s.Quoted {
		return true
	}
	return s.Length >= 2 && structured[s.Offset] == '"' && structured[end-1] == '"'
}
