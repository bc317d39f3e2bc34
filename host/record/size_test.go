package record

import (
	"encoding/json"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

func TestSizesAreThoseOfTheCoreRecord(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := newSampler(seed)
		e, s := r.event(), r.session()
		if err := Admit(e, s); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		core := AppendCoreJSON(nil, e, s)
		if uint64(len(core)) != e.EncodedBytes {
			t.Fatalf("seed %d: %d bytes, measured %d\n%s", seed, len(core), e.EncodedBytes, core)
		}
		if !canonical.IsCanonical(core) {
			t.Fatalf("seed %d: not canonical\n%s", seed, core)
		}
		var doc canonical.Doc
		if err := doc.Parse(core); err != nil {
			t.Fatal(err)
		}
		if n := len(doc.Root().Get("content").Raw()); uint64(n) != e.ContentBytes {
			t.Fatalf("seed %d: content of %d bytes, measured %d", seed, n, e.ContentBytes)
		}
		if e.Activity != nil {
			raw := doc.Root().Get("content").Get("activity").Raw()
			if got := activityLen(e); got != len(raw) {
				t.Fatalf("seed %d: activity of %d bytes, measured %d", seed, len(raw), got)
			}
		}
		if e.HasBody {
			body := e.AppendBody(nil)
			if got := doc.Root().Get("content").Get("normalized_body").Str(); string(got) != string(body) {
				t.Fatalf("seed %d: body %q, in the record %q", seed, body, got)
			}
			if n := e.valueLen(e.Body); n != len(body) {
				t.Fatalf("seed %d: body of %d bytes, measured %d", seed, len(body), n)
			}
			if direct := e.bytesOf(e.Body, nil); string(direct) != string(body) {
				t.Fatalf("seed %d: body %q read directly %q", seed, body, direct)
			}
		}
	}
}

func TestCoreRecord(t *testing.T) {
	parent := Digest{2}
	e := &Event{
		ID: Digest{1}, NativeID: keyList(text("u-1"), AppendTypedU64(nil, 0)), Sequence: 7, Suborder: 1, Timed: true, OccurredAt: 1767323045678,
		Type: ToolCall, Role: Assistant, Scope: ScopeSubagent, Copy: &Copy{Session: Digest{3}, Event: Digest{4}, Proof: ProofNativeEventIdentity},
		HasBody: true, Structured: []byte(`{"input":{"b":1}}`), Body: Value{Spans: []Span{{Offset: 9, Length: 7}}},
		Activity: &Activity{
			CallID:     text("c"),
			Invocation: &Invocation{Tool: "T", Arguments: Capture{Status: CapturePresent, Value: Value{Spans: []Span{{Offset: 9, Length: 7}}}}},
			Facts:      []Fact{{FactFile, []byte("a")}},
		},
	}
	s := &Session{
		ID: Digest{5}, Source: Digest{6}, Provider: "claude", SourceFormat: "f", SchemaVariant: "v", IdentityVersion: 1,
		Anchor: AppendNativeID(nil, "ns", text("k")), ProviderSessionID: "ps", Parent: &parent, Relationship: RelationshipDelegated, ParserRevision: "p",
	}
	if err := Admit(e, s); err != nil {
		t.Fatal(err)
	}
	zeros := "00000000000000000000000000000000000000000000000000000000000000"
	want := `{"agent_scope":"subagent","content":{"activity":{"facts":[{"kind":"file","value":"a"}],"invocation":{"arguments":` +
		`{"capture_status":"present","value":{"b":1}},"tool":"T"},"provider_call_id":{"Utf8":"c"},"revision":1},"normalized_body":"{\"b\":1}",` +
		`"policy_revision":4,"policy_status":"selected","structured_content":{"input":{"b":1}}},"event_copy":{"ancestor_event_id":"04` + zeros +
		`","ancestor_session_id":"03` + zeros + `","proof":"native_event_identity"},"event_id":"01` + zeros + `","event_sequence":7,` +
		`"event_suborder":1,"event_type":"tool_call","native_event_id":{"Composite":[{"Utf8":"u-1"},{"U64":0}]},"normalization_revision":1,` +
		`"occurred_at_unix_ms":1767323045678,"parent_session_id":"02` + zeros + `","parser_revision":"p","provider_session_id":"ps",` +
		`"record_version":3,"role":"assistant","session_id":"05` + zeros + `","session_relationship":"delegated","source":{"anchor":` +
		`{"ProviderNative":{"key":{"Utf8":"k"},"namespace":"ns"}},"identity":"06` + zeros + `","provider":"claude","provider_identity_version":1,` +
		`"schema_variant":"v","source_format":"f"}}`
	if got := string(AppendCoreJSON(nil, e, s)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCoreRecordOfAnOmittedEvent(t *testing.T) {
	e := &Event{Type: Message, Policy: PolicyOmitted, PolicyReason: "secret"}
	s := &Session{Anchor: append([]byte{anchorLineage}, make([]byte, 32)...)}
	var core map[string]any
	if err := json.Unmarshal(AppendCoreJSON(nil, e, s), &core); err != nil {
		t.Fatal(err)
	}
	content := core["content"].(map[string]any)
	status, _ := content["policy_status"].(map[string]any)
	omitted, _ := status["omitted"].(map[string]any)
	if omitted["reason"] != "secret" {
		t.Errorf("policy %v", content["policy_status"])
	}
	for _, key := range []string{"normalized_body", "structured_content"} {
		if v, there := content[key]; !there || v != nil {
			t.Errorf("%s is %v", key, v)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	e := &Event{
		NativeID: keyList(text("01900000-0000-7000-8000-000000000001"), AppendTypedU64(nil, 0)), Sequence: 7, Timed: true, OccurredAt: 1767323045678,
		Type: ToolCall, Role: Assistant, Scope: ScopePrimary, HasBody: true,
		Structured: []byte(`{"id":"toolu_1","input":{"command":"go test ./... && echo ok","description":"Runs all tests"},"name":"Bash","type":"tool_use"}`),
		Activity: &Activity{
			CallID:     text("toolu_1"),
			Invocation: &Invocation{Tool: "Bash", Arguments: Capture{Status: CapturePresent, Value: Value{Spans: []Span{{Offset: 23, Length: 68}}}}},
			Facts:      []Fact{{FactSessionCWD, []byte("/home/u/project")}, {FactBranch, []byte("main")}, {FactCommand, []byte("go test ./... && echo ok")}},
		},
		Body: Value{Spans: []Span{{Offset: 23, Length: 68}}},
	}
	s := newSampler(1).session()
	b.ReportAllocs()
	for b.Loop() {
		if err := Admit(e, s); err != nil {
			b.Fatal(err)
		}
	}
}
