package record

import (
	"bytes"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// checkStored stores an admitted event, reads it back and checks all its forms.
func checkStored(t *testing.T, e *Event, s *Session) {
	t.Helper()
	stored := Encode(nil, e)
	var d Event
	if err := Decode(stored, &d); err != nil {
		t.Fatalf("an admitted event does not decode: %v\n%+v", err, e)
	}
	core := AppendCoreJSON(nil, &d, s)
	if !bytes.Equal(core, AppendCoreJSON(nil, e, s)) || uint64(len(core)) != d.EncodedBytes || !canonical.IsCanonical(core) {
		t.Fatalf("core record of %d bytes, measured %d\n%s", len(core), d.EncodedBytes, core)
	}
	for _, row := range [][]byte{AppendShownRow(nil, &d, s), AppendRangeRow(nil, &d, s, ContentFull)} {
		var doc canonical.Doc
		if err := doc.Parse(row); err != nil {
			t.Fatalf("row: %v\n%s", err, row)
		}
	}
	projected(&d)
}

func TestRandomEventsFromTheWire(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1500) {
		r := newSampler(seed)
		w := toWire(r.event(), r)
		e, s, err := convert(t, w)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := Admit(e, s); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkStored(t, e, s)
	}
}

// toWire is what a provider would send for an event.
func toWire(e *Event, r sampler) *historyv1.Event {
	value := func(v Value) *historyv1.Value {
		w := &historyv1.Value{Inline: v.Inline}
		for _, span := range v.Spans {
			w.Spans = append(w.Spans, &historyv1.Span{Offset: span.Offset, Length: span.Length, Quoted: span.Quoted})
		}
		return w
	}
	capture := func(c Capture) *historyv1.Capture {
		w := &historyv1.Capture{Reason: c.Reason}
		for wire, status := range captureStatus {
			if status == c.Status {
				w.Status = wire
			}
		}
		if c.Status == CapturePresent {
			w.Value = value(c.Value)
		}
		if c.HasObserved {
			w.ObservedBytes = &c.Observed
		}
		return w
	}
	w := &historyv1.Event{
		Key: AppendNativeID(nil, "ns", r.typedKey(0)), Kind: "k", Sequence: e.Sequence, Suborder: e.Suborder, Type: e.Type, Role: e.Role,
		Scope: historyv1.Scope(e.Scope), Structured: e.Structured,
		Policy: &historyv1.Policy{Status: historyv1.Policy_Status(e.Policy), Reason: e.PolicyReason},
	}
	if e.Timed {
		w.OccurredAtMs = &e.OccurredAt
	}
	if e.HasBody {
		w.Body = value(e.Body)
	}
	a := e.Activity
	if a == nil {
		return w
	}
	w.CallId = a.CallID
	if call := a.Invocation; call != nil {
		w.Invocation = &historyv1.Invocation{Protocol: call.Protocol, Server: call.Server, Tool: call.Tool, Arguments: capture(call.Arguments)}
		if call.Started {
			w.Invocation.StartedAtMs = &call.StartedAt
		}
	}
	if res := a.Result; res != nil {
		w.Result = &historyv1.Result{Status: res.Status, Text: capture(res.Text), Structured: capture(res.Structured)}
		if res.HasDuration {
			w.Result.DurationNs = &res.DurationNS
		}
	}
	for _, fact := range a.Facts {
		w.Facts = append(w.Facts, &historyv1.Fact{Kind: historyv1.FactKind(fact.Kind), Value: string(fact.Value)})
	}
	return w
}

// BenchmarkRecord is the whole way of an event in a refresh: from the wire to its storage form and search text.
func BenchmarkRecord(b *testing.B) {
	c, err := NewConverter(testSpec())
	if err != nil {
		b.Fatal(err)
	}
	key := AppendNativeID(nil, "codex.session", text(threadP))
	s, err := c.AddSession(&historyv1.Session{Ref: &historyv1.SessionRef{Kind: "codex-session", Key: key}})
	if err != nil {
		b.Fatal(err)
	}
	w := wireEvent()
	w.Structured = []byte(`{"content":` + quoted(4<<10) + `,"tool_use_id":"toolu_9","type":"tool_result"}`)
	spans := []*historyv1.Span{{Offset: 11, Length: 4 << 10, Quoted: true}}
	w.Body = &historyv1.Value{Spans: spans}
	w.Invocation = nil
	w.Result = &historyv1.Result{
		Text:       &historyv1.Capture{Status: historyv1.Capture_STATUS_PRESENT, Value: &historyv1.Value{Spans: spans}},
		Structured: &historyv1.Capture{Status: historyv1.Capture_STATUS_PRESENT, Value: &historyv1.Value{Spans: []*historyv1.Span{{Length: uint32(len(w.Structured))}}}},
	}
	var e Event
	var p Projection
	var stored []byte
	b.SetBytes(int64(len(w.Structured)))
	b.ReportAllocs()
	for b.Loop() {
		if err := c.FromWire(w, &e); err != nil {
			b.Fatal(err)
		}
		if err := Admit(&e, s); err != nil {
			b.Fatal(err)
		}
		stored = Encode(stored[:0], &e)
		p.Fill(&e)
	}
}

// Sessions may be declared while events of others are converted elsewhere; the race detector sees it if not.
func TestConverterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	c, ref := testConverter(t)
	if _, err := c.AddSession(&historyv1.Session{Ref: ref}); err != nil {
		t.Fatal(err)
	}
	failures := make(chan error, 4)
	for range cap(failures) {
		go func() {
			var e Event
			var err error
			for range 200 {
				if err = c.FromWire(wireEvent(), &e); err != nil {
					break
				}
			}
			failures <- err
		}()
	}
	for i := range uint32(200) {
		key := AppendNativeID(nil, "codex.session", AppendTypedU64(nil, uint64(i)))
		if _, err := c.AddSession(&historyv1.Session{Index: 1 + i, Ref: &historyv1.SessionRef{Kind: "codex-session", Key: key}}); err != nil {
			t.Error(err)
		}
		c.SetOrdinal(1+i, i)
		if _, err := c.SetMetadata(&historyv1.SessionMetadata{Index: 1 + i, Title: "t"}); err != nil {
			t.Error(err)
		}
	}
	for range cap(failures) {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
}
