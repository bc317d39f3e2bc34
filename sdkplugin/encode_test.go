package sdkplugin

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// fullEvent has every field set, once with and once without optional zeros.
func fullEvent() *Event {
	return &Event{
		Session: 3, Kind: "acme-event", Key: Composite("acme.event", Utf8("u"), U64(1)), Selector: NativeID("acme.part", U64(2)),
		Sequence: 1 << 40, Suborder: 7, At: AtMillis(-12), Type: ToolOutput, Role: RoleTool, Scope: ScopeSubagent,
		Structured: []byte(`{"content":"a","x":[1]}`),
		Body:       Pieces(Span{Offset: 11, Length: 3, Quoted: true}, Span{Offset: 0, Length: 300}),
		Copy: &CopyClaim{Session: SessionRef{Anchor: NativeAnchor("n", Utf8("p")), Kind: "k", Key: NativeID("n", Utf8("p"))},
			EventKind: "acme-event", EventKey: NativeID("n", Utf8("e")), Proof: ProofNativeCopiedFrom, EventSelector: NativeID("n", U64(9))},
		CallID: Utf8("call-1"),
		Invocation: &Invocation{Protocol: "mcp", Server: "s", Tool: "t", StartedAt: AtMillis(math.MaxInt64),
			Arguments: Present(Pieces(Span{Length: 2}))},
		Result: &Result{Status: "ok", CompletedAt: AtMillis(0), Duration: Took(0), Text: SameAsBody(),
			Structured: Omitted("size_limit", 1<<33), SoleOutput: true},
		Facts:  []Fact{{FactFile, "/w/a"}, {FactProviderDisposition, "x"}},
		Policy: Policy{Redacted, "secret"},
	}
}

func pointer[T any](v T) *T { return &v }

func fullEventWire() *historyv1.Event {
	return &historyv1.Event{
		Session: 3, Kind: "acme-event", Key: Composite("acme.event", Utf8("u"), U64(1)), Selector: NativeID("acme.part", U64(2)),
		Sequence: 1 << 40, Suborder: 7, OccurredAtMs: pointer(int64(-12)), Type: "tool_output", Role: "tool", Scope: historyv1.Scope_SCOPE_SUBAGENT,
		Structured: []byte(`{"content":"a","x":[1]}`),
		Body:       &historyv1.Value{Spans: []*historyv1.Span{{Offset: 11, Length: 3, Quoted: true}, {Length: 300}}},
		Copy: &historyv1.CopyClaim{Session: &historyv1.SessionRef{Anchor: NativeAnchor("n", Utf8("p")), Kind: "k", Key: NativeID("n", Utf8("p"))},
			EventKind: "acme-event", EventKey: NativeID("n", Utf8("e")), Proof: historyv1.Proof_PROOF_NATIVE_COPIED_FROM_FIELD, EventSelector: NativeID("n", U64(9))},
		CallId: Utf8("call-1"),
		Invocation: &historyv1.Invocation{Protocol: "mcp", Server: "s", Tool: "t", StartedAtMs: pointer(int64(math.MaxInt64)),
			Arguments: &historyv1.Capture{Status: historyv1.Capture_STATUS_PRESENT, Value: &historyv1.Value{Spans: []*historyv1.Span{{Length: 2}}}}},
		Result: &historyv1.Result{Status: "ok", CompletedAtMs: pointer(int64(0)), DurationNs: pointer(uint64(0)),
			Text:       &historyv1.Capture{Status: historyv1.Capture_STATUS_NORMALIZED_BODY},
			Structured: &historyv1.Capture{Status: historyv1.Capture_STATUS_OMITTED, Reason: "size_limit", ObservedBytes: pointer(uint64(1 << 33))}, SoleOutput: true},
		Facts: []*historyv1.Fact{{Kind: historyv1.FactKind_FACT_KIND_FILE, Value: "/w/a"},
			{Kind: historyv1.FactKind_FACT_KIND_PROVIDER_DISPOSITION, Value: "x"}},
		Policy: &historyv1.Policy{Status: historyv1.Policy_STATUS_REDACTED, Reason: "secret"},
	}
}

func TestEventEncodingIsThatOfProtobuf(t *testing.T) {
	cases := map[string]struct {
		event *Event
		wire  *historyv1.Event
	}{
		"everything": {fullEvent(), fullEventWire()},
		"nothing":    {&Event{}, &historyv1.Event{}},
		"empty body": {&Event{Body: Inline("")}, &historyv1.Event{Body: &historyv1.Value{}}},
		"absent captures": {&Event{Invocation: &Invocation{}, Result: &Result{Text: Present(Inline(""))}},
			&historyv1.Event{Invocation: &historyv1.Invocation{}, Result: &historyv1.Result{
				Text: &historyv1.Capture{Status: historyv1.Capture_STATUS_PRESENT, Value: &historyv1.Value{}}}}},
		"unavailable": {&Event{Result: &Result{Text: Unavailable()}},
			&historyv1.Event{Result: &historyv1.Result{Text: &historyv1.Capture{Status: historyv1.Capture_STATUS_UNAVAILABLE}}}},
		"long body":             {&Event{Body: Inline(strings.Repeat("é", 40000))}, &historyv1.Event{Body: &historyv1.Value{Inline: []byte(strings.Repeat("é", 40000))}}},
		"empty policy and fact": {&Event{Facts: []Fact{{}}}, &historyv1.Event{Facts: []*historyv1.Fact{{}}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.wire)
			if err != nil {
				t.Fatal(err)
			}
			got := appendEvent(nil, c.event)
			payload, n := protowire.ConsumeBytes(got[1:])
			if got[0] != 3<<3|2 || n != len(got)-1 {
				t.Fatalf("bad frame: %x", got[:2])
			}
			if !bytes.Equal(payload, want) {
				var back historyv1.Event
				err := proto.Unmarshal(payload, &back)
				t.Fatalf("bytes differ: %v\ngot  %v\nwant %v", err, &back, c.wire)
			}
		})
	}
}

func TestInlineTakesNoCopy(t *testing.T) {
	b := []byte("abc")
	v := Inline(b)
	b[0] = 'x'
	if string(v.Bytes) != "xbc" {
		t.Fatalf("Inline of bytes copied: %q", v.Bytes)
	}
	if v := Inline("abc"); string(v.Bytes) != "abc" || !v.Present {
		t.Fatalf("Inline of a string: %+v", v)
	}
	if v := Inline(""); v.Bytes != nil || !v.Present {
		t.Fatalf("Inline of nothing: %+v", v)
	}
}

func TestInstants(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	if got := At(when); got != AtMillis(1767323045678) {
		t.Errorf("At = %+v", got)
	}
	if Took(-time.Second) != (Duration{0, true}) {
		t.Error("negative durations must count as 0")
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	e := fullEvent()
	text := strings.Repeat("word ", 400)
	e.Structured = []byte(`{"content":"` + text + `"}`)
	e.Body, e.Policy = Pieces(Span{Offset: 11, Length: uint32(len(text) + 2), Quoted: true}), Policy{}
	buf := make([]byte, 0, 1<<20)
	b.SetBytes(int64(len(appendEvent(nil, e))))
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Validate(); err != nil {
			b.Fatal(err)
		}
		buf = appendEvent(buf[:0], e)
	}
}
