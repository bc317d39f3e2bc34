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
			Structured: Omitted("size_limit", 1<<33)},
		Facts:  []Fact{{FactFile, "/w/a"}, {FactProviderDisposition, "x"}},
		Policy: Policy{Redacted, "secret"},
	}
}

func optional[T any](v T) *T { return &v }

func fullEventWire() *historyv1.Event {
	return &historyv1.Event{
		Session: 3, Kind: "acme-event", Key: Composite("acme.event", Utf8("u"), U64(1)), Selector: NativeID("acme.part", U64(2)),
		Sequence: 1 << 40, Suborder: 7, OccurredAtMs: optional(int64(-12)), Type: "tool_output", Role: "tool", Scope: historyv1.Scope_SCOPE_SUBAGENT,
		Structured: []byte(`{"content":"a","x":[1]}`),
		Body:       &historyv1.Value{Spans: []*historyv1.Span{{Offset: 11, Length: 3, Quoted: true}, {Length: 300}}},
		Copy: &historyv1.CopyClaim{Session: &historyv1.SessionRef{Anchor: NativeAnchor("n", Utf8("p")), Kind: "k", Key: NativeID("n", Utf8("p"))},
			EventKind: "acme-event", EventKey: NativeID("n", Utf8("e")), Proof: historyv1.Proof_PROOF_NATIVE_COPIED_FROM_FIELD, EventSelector: NativeID("n", U64(9))},
		CallId: Utf8("call-1"),
		Invocation: &historyv1.Invocation{Protocol: "mcp", Server: "s", Tool: "t", StartedAtMs: optional(int64(math.MaxInt64)),
			Arguments: &historyv1.Capture{Status: historyv1.Capture_STATUS_PRESENT, Value: &historyv1.Value{Spans: []*historyv1.Span{{Length: 2}}}}},
		Result: &historyv1.Result{Status: "ok", CompletedAtMs: optional(int64(0)), DurationNs: optional(uint64(0)),
			Text:       &historyv1.Capture{Status: historyv1.Capture_STATUS_NORMALIZED_BODY},
			Structured: &historyv1.Capture{Status: historyv1.Capture_STATUS_OMITTED, Reason: "size_limit", ObservedBytes: optional(uint64(1 << 33))}},
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

func TestEnumsMatchTheWire(t *testing.T) {
	cases := []struct {
		got  int32
		want interface{ String() string }
		name string
	}{
		{int32(ScopePrimary), historyv1.Scope(ScopePrimary), "SCOPE_PRIMARY"},
		{int32(ScopeSubagent), historyv1.Scope(ScopeSubagent), "SCOPE_SUBAGENT"},
		{int32(RelationshipRoot), historyv1.Relationship(RelationshipRoot), "RELATIONSHIP_ROOT"},
		{int32(RelationshipDelegated), historyv1.Relationship(RelationshipDelegated), "RELATIONSHIP_DELEGATED"},
		{int32(RelationshipForked), historyv1.Relationship(RelationshipForked), "RELATIONSHIP_FORKED"},
		{int32(RelationshipResumedFrom), historyv1.Relationship(RelationshipResumedFrom), "RELATIONSHIP_RESUMED_FROM"},
		{int32(RelationshipWorkflowChild), historyv1.Relationship(RelationshipWorkflowChild), "RELATIONSHIP_WORKFLOW_CHILD"},
		{int32(ProofNativeEventIdentity), historyv1.Proof(ProofNativeEventIdentity), "PROOF_NATIVE_EVENT_IDENTITY"},
		{int32(ProofNativeCopiedFrom), historyv1.Proof(ProofNativeCopiedFrom), "PROOF_NATIVE_COPIED_FROM_FIELD"},
		{int32(ProofNativeCallResult), historyv1.Proof(ProofNativeCallResult), "PROOF_NATIVE_CALL_RESULT_IDENTITY"},
		{int32(ProofCertifiedOrderedPrefix), historyv1.Proof(ProofCertifiedOrderedPrefix), "PROOF_CERTIFIED_ORDERED_PREFIX"},
		{int32(CaptureAbsent), historyv1.Capture_Status(CaptureAbsent), "STATUS_ABSENT"},
		{int32(CapturePresent), historyv1.Capture_Status(CapturePresent), "STATUS_PRESENT"},
		{int32(CaptureUnavailable), historyv1.Capture_Status(CaptureUnavailable), "STATUS_UNAVAILABLE"},
		{int32(CaptureOmitted), historyv1.Capture_Status(CaptureOmitted), "STATUS_OMITTED"},
		{int32(CaptureSameAsBody), historyv1.Capture_Status(CaptureSameAsBody), "STATUS_NORMALIZED_BODY"},
		{int32(Selected), historyv1.Policy_Status(Selected), "STATUS_SELECTED"},
		{int32(Redacted), historyv1.Policy_Status(Redacted), "STATUS_REDACTED"},
		{int32(OmittedContent), historyv1.Policy_Status(OmittedContent), "STATUS_OMITTED"},
		{int32(FactSessionCWD), historyv1.FactKind(FactSessionCWD), "FACT_KIND_SESSION_CWD"},
		{int32(FactToolWorkdir), historyv1.FactKind(FactToolWorkdir), "FACT_KIND_TOOL_WORKDIR"},
		{int32(FactFile), historyv1.FactKind(FactFile), "FACT_KIND_FILE"},
		{int32(FactURL), historyv1.FactKind(FactURL), "FACT_KIND_URL"},
		{int32(FactForge), historyv1.FactKind(FactForge), "FACT_KIND_FORGE"},
		{int32(FactProject), historyv1.FactKind(FactProject), "FACT_KIND_PROJECT"},
		{int32(FactVCS), historyv1.FactKind(FactVCS), "FACT_KIND_VCS"},
		{int32(FactCommit), historyv1.FactKind(FactCommit), "FACT_KIND_COMMIT"},
		{int32(FactPullRequest), historyv1.FactKind(FactPullRequest), "FACT_KIND_PULL_REQUEST"},
		{int32(FactCommand), historyv1.FactKind(FactCommand), "FACT_KIND_COMMAND"},
		{int32(FactBranch), historyv1.FactKind(FactBranch), "FACT_KIND_BRANCH"},
		{int32(FactWorkspace), historyv1.FactKind(FactWorkspace), "FACT_KIND_WORKSPACE"},
		{int32(FactProviderDisposition), historyv1.FactKind(FactProviderDisposition), "FACT_KIND_PROVIDER_DISPOSITION"},
		{int32(ModeFull), historyv1.Mode(ModeFull), "MODE_FULL"},
		{int32(ModeAppend), historyv1.Mode(ModeAppend), "MODE_APPEND"},
		{int32(EventLog), historyv1.Family(EventLog), "FAMILY_EVENT_LOG"},
		{int32(JSONDocument), historyv1.Family(JSONDocument), "FAMILY_JSON_DOCUMENT"},
		{int32(ImportUnsupported), historyv1.ImportSupport(ImportUnsupported), "IMPORT_SUPPORT_UNSUPPORTED"},
		{int32(PathFile), historyv1.PathKind(PathFile), "PATH_KIND_FILE"},
		{int32(PathDirectory), historyv1.PathKind(PathDirectory), "PATH_KIND_DIRECTORY"},
		{int32(HomeDir), historyv1.Base(HomeDir), "BASE_HOME"},
		{int32(RoamingDir), historyv1.Base(RoamingDir), "BASE_ROAMING"},
		{int32(WorkingDir), historyv1.Base(WorkingDir), "BASE_CWD"},
		{int32(OtherUnix), historyv1.Platform(OtherUnix), "PLATFORM_OTHER_UNIX"},
		{int32(Windows), historyv1.Platform(Windows), "PLATFORM_WINDOWS"},
		{int32(OverrideLocation), historyv1.Location_Mode(OverrideLocation), "MODE_OVERRIDE"},
		{int32(BesideLocation), historyv1.Location_Mode(BesideLocation), "MODE_BESIDE"},
		{int32(LegacyLocation), historyv1.Location_Mode(LegacyLocation), "MODE_LEGACY"},
		{int32(FromWorkingDir), historyv1.Location_Relative(FromWorkingDir), "RELATIVE_CWD"},
		{int32(FromBase), historyv1.Location_Relative(FromBase), "RELATIVE_BASE"},
		{int32(RouteComplete), historyv1.RouteEnd_State(RouteComplete), "STATE_COMPLETE"},
		{int32(RouteIncomplete), historyv1.RouteEnd_State(RouteIncomplete), "STATE_INCOMPLETE"},
		{int32(RouteMissing), historyv1.RouteEnd_State(RouteMissing), "STATE_MISSING"},
		{int32(RouteUnreadable), historyv1.RouteEnd_State(RouteUnreadable), "STATE_UNREADABLE"},
		{int32(SeverityError), historyv1.Diagnostic_Severity(SeverityError), "SEVERITY_ERROR"},
		{int32(SeverityInfo), historyv1.Diagnostic_Severity(SeverityInfo), "SEVERITY_INFO"},
	}
	for _, c := range cases {
		if c.want.String() != c.name {
			t.Errorf("%d is %s on the wire, want %s", c.got, c.want, c.name)
		}
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
		if err := validEvent(e); err != nil {
			b.Fatal(err)
		}
		buf = appendEvent(buf[:0], e)
	}
}
