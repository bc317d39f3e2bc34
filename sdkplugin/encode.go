package sdkplugin

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// The encoder of the hot path. It writes Event messages of historyv1 straight
// into the buffer that goes on the wire: sizes first, then one pass, so bodies
// are copied once and nothing is allocated. Field numbers are those of
// history.proto; a test holds the result against proto.Marshal.

const (
	varintField = protowire.VarintType
	bytesField  = protowire.BytesType
)

func tagged(dst []byte, field protowire.Number, typ protowire.Type) []byte {
	return append(dst, byte(field)<<3|byte(typ)) // fields 1 to 15
}

func wideTagged(dst []byte, field protowire.Number, typ protowire.Type) []byte {
	return protowire.AppendTag(dst, field, typ)
}

// sizeLP is the size of a length-prefixed payload of n bytes with a one-byte tag.
func sizeLP(n int) int { return 1 + protowire.SizeBytes(n) }

func sizeOptional(n int) int {
	if n == 0 {
		return 0
	}
	return sizeLP(n)
}

func sizeUint(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(v)
}

func sizeInstant(t Instant) int {
	if !t.Known {
		return 0
	}
	return 1 + protowire.SizeVarint(protowire.EncodeZigZag(t.Millis))
}

func appendUint(dst []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(tagged(dst, field, varintField), v)
}

func appendInstant(dst []byte, field protowire.Number, t Instant) []byte {
	if !t.Known {
		return dst
	}
	return protowire.AppendVarint(tagged(dst, field, varintField), protowire.EncodeZigZag(t.Millis))
}

func appendText[T ~string | ~[]byte](dst []byte, field protowire.Number, s T) []byte {
	if len(s) == 0 {
		return dst
	}
	return append(appendHead(dst, field, len(s)), s...)
}

func appendHead(dst []byte, field protowire.Number, n int) []byte {
	return protowire.AppendVarint(tagged(dst, field, bytesField), uint64(n))
}

// appendEvent appends field 3 of Batch.
func appendEvent(dst []byte, e *Event) []byte {
	dst = appendHead(dst, 3, sizeEvent(e))
	dst = appendText(dst, 1, e.Key)
	dst = appendText(dst, 2, e.Kind)
	dst = appendUint(dst, 3, uint64(e.Session))
	dst = appendUint(dst, 4, e.Sequence)
	dst = appendUint(dst, 5, uint64(e.Suborder))
	dst = appendInstant(dst, 6, e.At)
	dst = appendText(dst, 7, e.Type)
	dst = appendText(dst, 8, e.Role)
	dst = appendUint(dst, 9, uint64(e.Scope))
	if e.Body.Present {
		dst = appendValue(appendHead(dst, 10, sizeValue(&e.Body)), &e.Body)
	}
	dst = appendText(dst, 11, e.Structured)
	if e.Copy != nil {
		dst = appendCopy(appendHead(dst, 12, sizeCopy(e.Copy)), e.Copy)
	}
	dst = appendText(dst, 13, e.CallID)
	if e.Invocation != nil {
		dst = appendInvocation(appendHead(dst, 14, sizeInvocation(e.Invocation)), e.Invocation)
	}
	if e.Result != nil {
		dst = appendResult(appendHead(dst, 15, sizeResult(e.Result)), e.Result)
	}
	for i := range e.Facts {
		f := &e.Facts[i]
		dst = wideTagged(dst, 16, bytesField)
		dst = protowire.AppendVarint(dst, uint64(sizeFact(f)))
		dst = appendUint(dst, 1, uint64(f.Kind))
		dst = appendText(dst, 2, f.Value)
	}
	if e.Policy != (Policy{}) {
		dst = wideTagged(dst, 17, bytesField)
		dst = protowire.AppendVarint(dst, uint64(sizePolicy(&e.Policy)))
		dst = appendUint(dst, 1, uint64(e.Policy.Status))
		dst = appendText(dst, 2, e.Policy.Reason)
	}
	if len(e.Selector) > 0 {
		dst = wideTagged(dst, 18, bytesField)
		dst = protowire.AppendBytes(dst, e.Selector)
	}
	return dst
}

func sizeEvent(e *Event) int {
	n := sizeOptional(len(e.Key)) + sizeOptional(len(e.Kind)) + sizeUint(uint64(e.Session)) +
		sizeUint(e.Sequence) + sizeUint(uint64(e.Suborder)) + sizeInstant(e.At) +
		sizeOptional(len(e.Type)) + sizeOptional(len(e.Role)) + sizeUint(uint64(e.Scope)) +
		sizeOptional(len(e.Structured)) + sizeOptional(len(e.CallID))
	if e.Body.Present {
		n += sizeLP(sizeValue(&e.Body))
	}
	if e.Copy != nil {
		n += sizeLP(sizeCopy(e.Copy))
	}
	if e.Invocation != nil {
		n += sizeLP(sizeInvocation(e.Invocation))
	}
	if e.Result != nil {
		n += sizeLP(sizeResult(e.Result))
	}
	for i := range e.Facts {
		n += 1 + sizeLP(sizeFact(&e.Facts[i]))
	}
	if e.Policy != (Policy{}) {
		n += 1 + sizeLP(sizePolicy(&e.Policy))
	}
	if len(e.Selector) > 0 {
		n += 1 + sizeLP(len(e.Selector))
	}
	return n
}

func sizeFact(f *Fact) int { return sizeUint(uint64(f.Kind)) + sizeOptional(len(f.Value)) }

func sizePolicy(p *Policy) int { return sizeUint(uint64(p.Status)) + sizeOptional(len(p.Reason)) }

func sizeValue(v *Value) int {
	n := sizeOptional(len(v.Bytes))
	for i := range v.Spans {
		n += sizeLP(sizeSpan(&v.Spans[i]))
	}
	return n
}

func appendValue(dst []byte, v *Value) []byte {
	dst = appendText(dst, 1, v.Bytes)
	for i := range v.Spans {
		s := &v.Spans[i]
		dst = appendHead(dst, 2, sizeSpan(s))
		dst = appendUint(dst, 1, uint64(s.Offset))
		dst = appendUint(dst, 2, uint64(s.Length))
		if s.Quoted {
			dst = append(dst, 3<<3, 1)
		}
	}
	return dst
}

func sizeSpan(s *Span) int {
	n := sizeUint(uint64(s.Offset)) + sizeUint(uint64(s.Length))
	if s.Quoted {
		n += 2
	}
	return n
}

func sizeRef(r *SessionRef) int {
	return sizeOptional(len(r.Anchor)) + sizeOptional(len(r.Kind)) + sizeOptional(len(r.Key))
}

func appendRef(dst []byte, field protowire.Number, r *SessionRef) []byte {
	dst = appendHead(dst, field, sizeRef(r))
	dst = appendText(dst, 1, r.Anchor)
	dst = appendText(dst, 2, r.Kind)
	return appendText(dst, 3, r.Key)
}

func sizeCopy(c *CopyClaim) int {
	return sizeLP(sizeRef(&c.Session)) + sizeOptional(len(c.EventKind)) + sizeOptional(len(c.EventKey)) +
		sizeUint(uint64(c.Proof)) + sizeOptional(len(c.EventSelector))
}

func appendCopy(dst []byte, c *CopyClaim) []byte {
	dst = appendRef(dst, 1, &c.Session)
	dst = appendText(dst, 2, c.EventKind)
	dst = appendText(dst, 3, c.EventKey)
	dst = appendUint(dst, 4, uint64(c.Proof))
	return appendText(dst, 5, c.EventSelector)
}

func sizeCapture(c *Capture) int {
	n := sizeUint(uint64(c.Status)) + sizeOptional(len(c.Reason)) + sizeUint(c.ObservedBytes)
	if c.Value.Present {
		n += sizeLP(sizeValue(&c.Value))
	}
	return n
}

func appendCapture(dst []byte, field protowire.Number, c *Capture) []byte {
	n := sizeCapture(c)
	if n == 0 { // absent
		return dst
	}
	dst = appendHead(dst, field, n)
	dst = appendUint(dst, 1, uint64(c.Status))
	if c.Value.Present {
		dst = appendValue(appendHead(dst, 2, sizeValue(&c.Value)), &c.Value)
	}
	dst = appendText(dst, 3, c.Reason)
	return appendUint(dst, 4, c.ObservedBytes)
}

func sizeCaptureField(c *Capture) int { return sizeOptional(sizeCapture(c)) }

func sizeInvocation(i *Invocation) int {
	return sizeOptional(len(i.Protocol)) + sizeOptional(len(i.Server)) + sizeOptional(len(i.Tool)) +
		sizeCaptureField(&i.Arguments) + sizeInstant(i.StartedAt)
}

func appendInvocation(dst []byte, i *Invocation) []byte {
	dst = appendText(dst, 1, i.Protocol)
	dst = appendText(dst, 2, i.Server)
	dst = appendText(dst, 3, i.Tool)
	dst = appendCapture(dst, 4, &i.Arguments)
	return appendInstant(dst, 5, i.StartedAt)
}

func sizeResult(r *Result) int {
	n := sizeOptional(len(r.Status)) + sizeInstant(r.CompletedAt) +
		sizeCaptureField(&r.Text) + sizeCaptureField(&r.Structured)
	if r.Duration.Known {
		n += 1 + protowire.SizeVarint(r.Duration.Nanos)
	}
	return n
}

func appendResult(dst []byte, r *Result) []byte {
	dst = appendText(dst, 1, r.Status)
	dst = appendInstant(dst, 2, r.CompletedAt)
	if r.Duration.Known {
		dst = protowire.AppendVarint(tagged(dst, 3, varintField), r.Duration.Nanos)
	}
	dst = appendCapture(dst, 4, &r.Text)
	return appendCapture(dst, 5, &r.Structured)
}
