package record

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// sampler makes random events that keep all rules, for properties that must hold of every event.
type sampler struct{ *rand.Rand }

func newSampler(seed uint64) sampler { return sampler{rand.New(rand.NewPCG(seed, 7))} }

func (r sampler) half() bool { return r.IntN(2) == 0 }

func (r sampler) text() string {
	pieces := []string{"a", "word ", "\n", `"`, `\`, "\x00", "\x1f", "\u007f", "é", "日本", "🙂", "\u2028", "<&>", "/w/a.go", "\t"}
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func (r sampler) filled() string { return "x" + r.text() }

func (r sampler) digest() (d Digest) {
	for i := range d {
		d[i] = byte(r.Uint32())
	}
	return d
}

func (r sampler) number() uint64 { return r.Uint64() >> r.IntN(64) }

func (r sampler) typedKey(depth int) []byte {
	switch n := r.IntN(9); {
	case n == 0:
		return []byte{tkNull}
	case n == 1:
		return appendLP([]byte{tkBytes}, r.text())
	case n == 2:
		return binary.BigEndian.AppendUint64([]byte{tkI64}, r.number())
	case n == 3:
		return binary.BigEndian.AppendUint64([]byte{tkF64}, r.number())
	case n == 4:
		return AppendTypedU64(nil, r.number())
	case n == 5:
		return []byte{tkBool, byte(r.IntN(2))}
	case n == 6 && depth < 3:
		var items [][]byte
		for range r.IntN(4) {
			items = append(items, r.typedKey(depth+1))
		}
		return keyList(items...)
	}
	return AppendTypedUTF8(nil, r.filled())
}

// json returns a canonical value.
func (r sampler) json(depth int) []byte {
	switch n := r.IntN(8); {
	case n == 0:
		return []byte("null")
	case n == 1:
		return []byte("-12.5")
	case n < 5 && depth < 4:
		raw := []byte("{")
		for i := range r.IntN(4) {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = canonical.AppendString(raw, []byte(r.text()))
			raw = append(append(raw, ':'), r.json(depth+1)...)
		}
		fixed, err := canonical.Canonical(append(raw, '}'))
		if err != nil {
			panic(err)
		}
		return fixed
	case n == 5 && depth < 4:
		return append(append(append([]byte("["), r.json(depth+1)...), ','), append(r.json(depth+1), ']')...)
	}
	return canonical.AppendString(nil, []byte(r.text()))
}

// spans returns every value of structured content as a span: strings quoted, all others as they are.
func spans(structured []byte) (quoted, raw []Span) {
	var doc canonical.Doc
	if doc.Parse(structured) != nil {
		return nil, nil
	}
	for _, node := range doc.Nodes() {
		span := Span{Offset: node.Start, Length: node.End - node.Start}
		raw = append(raw, span)
		if node.Kind == canonical.String {
			span.Quoted = true
			quoted = append(quoted, span)
		}
	}
	return quoted, raw
}

func (r sampler) textValue(e *Event) Value {
	quoted, raw := spans(e.Structured)
	switch {
	case len(quoted) > 0 && r.half():
		return Value{Spans: quoted[:1+r.IntN(len(quoted))]}
	case len(raw) > 0 && r.half():
		return Value{Spans: raw[r.IntN(len(raw)):][:1]}
	}
	return Value{Inline: []byte(r.text())}
}

func (r sampler) capture(e *Event, json bool) (c Capture) {
	switch c.Status = CaptureStatus(r.IntN(int(CaptureNormalizedBody))); c.Status {
	case CapturePresent:
		_, raw := spans(e.Structured)
		switch {
		case !json:
			c.Value = r.textValue(e)
		case len(raw) > 0 && r.half():
			c.Value = Value{Spans: raw[r.IntN(len(raw)):][:1]}
		default:
			c.Value = Value{Inline: r.json(0)}
		}
	case CaptureOmitted:
		c.Reason = r.filled()
		if r.half() {
			c.HasObserved, c.Observed = true, r.number()>>11
		}
	}
	return c
}

func (r sampler) activity(e *Event) *Activity {
	a := &Activity{Facts: []Fact{{Kind: FactSessionCWD, Value: []byte("/w")}}}
	for range r.IntN(3) {
		a.Facts = append(a.Facts, Fact{Kind: FactKind(1 + r.IntN(int(factKinds)-1)), Value: []byte(r.filled())})
	}
	if r.half() {
		a.CallID = r.typedKey(0)
		a.Invocation = &Invocation{Tool: r.filled(), Arguments: r.capture(e, true)}
		if r.half() {
			a.Invocation.Protocol, a.Invocation.Server = "mcp", r.filled()
			a.Invocation.Started, a.Invocation.StartedAt = true, int64(r.number())
		}
	}
	if r.half() {
		a.CallID = r.typedKey(0)
		a.Result = &Result{Text: r.capture(e, false), Structured: r.capture(e, true)}
		if r.half() {
			a.Result.Status, a.Result.HasDuration, a.Result.DurationNS = r.filled(), true, r.number()
			a.Result.Completed, a.Result.CompletedAt = true, -int64(r.number()>>1)
		}
	}
	return a
}

func (r sampler) event() *Event {
	e := &Event{ID: r.digest(), Session: uint32(r.number()), Sequence: r.number(), Type: r.filled()}
	if r.half() {
		e.Type = typeNames[1+r.IntN(len(typeNames)-1)]
	}
	if r.half() {
		e.Suborder = uint32(r.IntN(5))
		e.Timed, e.OccurredAt = true, r.Int64N(maxTime-minTime)+minTime
		e.Scope = Scope(r.IntN(3))
	}
	switch r.IntN(3) {
	case 0:
		e.Role = roleNames[1+r.IntN(len(roleNames)-1)]
	case 1:
		e.Role = r.filled()
	}
	if r.half() {
		e.NativeID = r.typedKey(0)
		e.Copy = &Copy{Session: r.digest(), Event: r.digest(), Proof: Proof(1 + r.IntN(4))}
	}
	e.Policy = PolicyStatus(r.IntN(int(policyStates)))
	if e.Policy != PolicySelected {
		e.PolicyReason = r.filled()
	}
	if e.Policy == PolicyOmitted {
		return e
	}
	if r.half() {
		if e.Structured = r.json(0); string(e.Structured) == "null" { // which is the same as none
			e.Structured = []byte("{}")
		}
	}
	e.HasBody = len(e.Structured) == 0 || r.half()
	if e.HasBody {
		e.Body = r.textValue(e)
		if e.empty(e.Body) {
			e.Body = Value{Inline: []byte("body")}
		}
	}
	if e.Policy == PolicySelected {
		e.Excluded = r.half()
		e.Activity = r.activity(e)
	}
	return e
}

func (r sampler) session() *Session {
	s := &Session{
		Ordinal: r.Uint32(), ID: r.digest(), Source: r.digest(), Descriptor: r.digest(),
		Provider: "codex", SourceFormat: r.filled(), SchemaVariant: r.filled(), IdentityVersion: r.Uint32(),
		Anchor: AppendNativeID(nil, "codex.session", r.typedKey(0)), Key: AppendNativeID(nil, "codex.session", r.typedKey(0)), Kind: r.filled(),
		ProviderSessionID: r.text(), Relationship: Relationship(r.IntN(6)), Scope: Scope(r.IntN(3)), ParserRevision: "p1",
	}
	if r.half() {
		parent, root, at := r.digest(), r.digest(), int64(r.number())
		s.Parent, s.Root, s.Meta.StartedAt = &parent, &root, &at
		s.Anchor = append([]byte{anchorLineage}, root[:]...)
		s.Meta.Models = []string{"m1", r.text()}
		s.Meta.ApproximateTimes = true
	}
	for _, field := range s.Meta.texts() {
		*field = r.text()
	}
	return s
}

// sameEvent compares everything that is stored. Two values are the same when they are written the same way.
func sameEvent(t *testing.T, got, want *Event) {
	t.Helper()
	normal := func(e *Event) *Event {
		c := e.Clone()
		fix := func(v *Value) {
			if len(v.Inline) == 0 {
				v.Inline = nil
			}
			if len(v.Spans) == 0 {
				v.Spans = nil
			}
		}
		fix(&c.Body)
		if a := c.Activity; a != nil {
			if a.Invocation != nil {
				fix(&a.Invocation.Arguments.Value)
			}
			if a.Result != nil {
				fix(&a.Result.Text.Value)
				fix(&a.Result.Structured.Value)
			}
		}
		return c
	}
	if g, w := normal(got), normal(want); !reflect.DeepEqual(g, w) {
		t.Fatalf("got  %+v\nwant %+v", g, w)
	}
}

// Clone returns a deep copy that shares no memory with e.
func (e *Event) Clone() *Event {
	c := *e
	c.own = storage{}
	c.NativeID = bytes.Clone(e.NativeID)
	c.Structured = bytes.Clone(e.Structured)
	c.Body = e.Body.clone()
	if e.Copy != nil {
		copied := *e.Copy
		c.Copy = &copied
	}
	if e.Activity != nil {
		c.Activity = e.Activity.clone()
	}
	return &c
}

func (v Value) clone() Value {
	return Value{Inline: bytes.Clone(v.Inline), Spans: slices.Clone(v.Spans)}
}

func (a *Activity) clone() *Activity {
	c := *a
	c.CallID = bytes.Clone(a.CallID)
	c.Facts = slices.Clone(a.Facts)
	for i := range c.Facts {
		c.Facts[i].Value = bytes.Clone(c.Facts[i].Value)
	}
	if a.Invocation != nil {
		invocation := *a.Invocation
		invocation.Arguments.Value = invocation.Arguments.Value.clone()
		c.Invocation = &invocation
	}
	if a.Result != nil {
		result := *a.Result
		result.Text.Value = result.Text.Value.clone()
		result.Structured.Value = result.Structured.Value.clone()
		c.Result = &result
	}
	return &c
}
