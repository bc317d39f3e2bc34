package record

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func rowEvent() (*Event, *Session) {
	parent := Digest{0x22}
	e := &Event{
		ID: Digest{0x11}, NativeID: keyList(text("u-1"), AppendTypedU64(nil, 1)), Sequence: 458753, Timed: true, OccurredAt: 1767323045006,
		Type: ToolCall, Role: Assistant, Scope: ScopePrimary, HasBody: true, Structured: []byte(`{"input":{"a":null},"type":"tool_use"}`),
		Body: Value{Spans: []Span{{Offset: 9, Length: 10}}},
		Activity: &Activity{
			CallID: text("toolu_9"),
			Invocation: &Invocation{
				Tool: "Read", Arguments: Capture{Status: CapturePresent, Value: Value{Spans: []Span{{Offset: 9, Length: 10}}}}, Started: true, StartedAt: 5,
			},
			Facts: []Fact{{FactSessionCWD, []byte("/w")}},
		},
	}
	s := &Session{
		ID: Digest{0x33}, Source: Digest{0x44}, Provider: "claude", SourceFormat: "claude_projects_jsonl_tree", SchemaVariant: "v6", IdentityVersion: 1,
		Anchor: AppendNativeID(nil, "claude.session-leaf", text("k")), ProviderSessionID: "root", Parent: &parent, ParserRevision: "p1",
		Relationship: RelationshipForked, Scope: ScopePrimary, Meta: SessionMeta{Title: "T", CWD: "/w", WorkspaceLabel: "-w"},
	}
	return e, s
}

const (
	eventUUID   = "11000000-0000-8000-8000-000000000000"
	parentUUID  = "22000000-0000-8000-8000-000000000000"
	sessionUUID = "33000000-0000-8000-8000-000000000000"
	sourceUUID  = "44000000-0000-8000-8000-000000000000"
)

const rowActivity = `{"facts":[{"kind":"session_cwd","value":"/w"}],"invocation":{"arguments":{"capture_status":"present","value":{"a":null}},` +
	`"started_at_unix_ms":5,"tool":"Read"},"provider_call_id":{"Utf8":"toolu_9"},"revision":1}`

func TestShownRow(t *testing.T) {
	e, s := rowEvent()
	want := `{"ctx_event_id":"` + eventUUID + `","item_id":"` + eventUUID + `","record_type":"event","ctx_session_id":"` + sessionUUID +
		`","provider":"claude","provider_session_id":"root","source_format":"claude_projects_jsonl_tree","parent_ctx_session_id":"` + parentUUID +
		`","session_relationship":"forked","agent_scope":"primary","sequence":458753,"event_type":"tool_call","role":"assistant",` +
		`"occurred_at":"2026-01-02T03:04:05.006Z","text":"{\"a\":null}","structured_content":{"input":{"a":null},"type":"tool_use"},` +
		`"content":{"complete":true,"policy_status":"selected"},"activity":` + rowActivity + `}`
	if got := string(AppendShownRow(nil, e, s)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	bare := &Event{ID: e.ID, Type: Notice, HasBody: true, Body: Value{Inline: []byte("x")}, Excluded: true}
	want = `{"ctx_event_id":"` + eventUUID + `","item_id":"` + eventUUID + `","record_type":"event","ctx_session_id":"` + sessionUUID +
		`","provider":"codex","source_format":"f","sequence":0,"event_type":"notice","text":"x",` +
		`"content":{"complete":true,"policy_status":"selected","discovery_exclusion":"ctx_retrieval_derived"}}`
	if got := string(AppendShownRow(nil, bare, &Session{ID: s.ID, Provider: "codex", SourceFormat: "f"})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRangeRow(t *testing.T) {
	e, s := rowEvent()
	e.Copy = &Copy{Session: Digest{0x55}, Event: Digest{0x66}, Proof: ProofCertifiedOrderedPrefix}
	head := `{"schema_version":1,"record_version":3,"ctx_event_id":"` + eventUUID + `","ctx_source_id":"` + sourceUUID + `","ctx_session_id":"` + sessionUUID +
		`","parent_ctx_session_id":"` + parentUUID + `","root_ctx_session_id":null,"session_relationship":"forked","event_copy":` +
		`{"ancestor_ctx_session_id":"55000000-0000-8000-8000-000000000000","ancestor_ctx_event_id":"66000000-0000-8000-8000-000000000000",` +
		`"proof":"certified_ordered_prefix"},"occurred_at":"2026-01-02T03:04:05.006Z","occurred_at_ms":1767323045006,"sequence":458753,` +
		`"provider":"claude","source_format":"claude_projects_jsonl_tree","source":{"anchor":{"ProviderNative":{"key":{"Utf8":"k"},` +
		`"namespace":"claude.session-leaf"}},"identity":"44` + strings.Repeat("0", 62) + `","provider":"claude","provider_identity_version":1,` +
		`"schema_variant":"v6","source_format":"claude_projects_jsonl_tree"},"provider_session_id":"root",` +
		`"native_event_id":{"Composite":[{"Utf8":"u-1"},{"U64":1}]},"event_type":"tool_call","agent_scope":"primary","role":"assistant",` +
		`"parser_revision":"p1","normalization_revision":1,`
	tail := `"content":{"complete":true,"policy_revision":4,"policy_status":"selected","policy_reason":null},"citations":[{"target_type":"event",` +
		`"ctx_event_id":"` + eventUUID + `","ctx_session_id":"` + sessionUUID + `","label":"tool_call","time":"2026-01-02T03:04:05.006Z",` +
		`"provider":"claude","session_id":"root","event_seq":458753}],"content_projection":`
	for projection, want := range map[ContentProjection]string{
		ContentFull: head + `"text":"{\"a\":null}","structured_content":{"input":{"a":null},"type":"tool_use"},` + tail + `"full","activity":` + rowActivity + `}`,
		ContentText: head + `"text":"{\"a\":null}","structured_content":null,` + tail + `"text"}`,
		ContentNone: head + `"text":null,"structured_content":null,` + tail + `"none"}`,
	} {
		if got := string(AppendRangeRow(nil, e, s, projection)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", projection, got, want)
		}
	}
}

func TestRangeRowKeepsNulls(t *testing.T) {
	e := &Event{Type: "x", Policy: PolicyOmitted, PolicyReason: "secret"}
	s := &Session{Anchor: append([]byte{anchorLineage}, make([]byte, 32)...)}
	var row map[string]any
	if err := json.Unmarshal(AppendRangeRow(nil, e, s, ContentFull), &row); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"parent_ctx_session_id", "root_ctx_session_id", "session_relationship", "event_copy", "occurred_at", "occurred_at_ms",
		"provider_session_id", "native_event_id", "agent_scope", "role", "text", "structured_content",
	} {
		if v, there := row[key]; !there || v != nil {
			t.Errorf("%s is %v", key, v)
		}
	}
	if _, there := row["activity"]; there {
		t.Error("activity of an event without one")
	}
	content := row["content"].(map[string]any)
	if content["complete"] != false || content["policy_status"] != "omitted" || content["policy_reason"] != "secret" {
		t.Errorf("content %v", content)
	}
}

func TestSessionObject(t *testing.T) {
	_, s := rowEvent()
	want := `{"id":"` + sessionUUID + `","item_id":"` + sessionUUID + `","ctx_session_id":"` + sessionUUID + `","record_type":"session","title":"T",` +
		`"source_state":"gone","provider":"claude","provider_session_id":"root","source_format":"claude_projects_jsonl_tree",` +
		`"parent_ctx_session_id":"` + parentUUID + `","session_relationship":"forked","agent_scope":"primary"}`
	if got := string(AppendSession(nil, s, "gone")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Meta.CWD = ""
	if got := string(AppendSession(nil, s, "present")); !strings.Contains(got, `"source_state":"present","workspace_label":"-w"`) {
		t.Errorf("no label without a directory: %s", got)
	}
}

// Rows and activity are valid JSON with the right text for every event, and captured values come out as they went in.
func TestRowsOfRandomEvents(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1500) {
		r := newSampler(seed)
		e, s := r.event(), r.session()
		var shown, ranged map[string]json.RawMessage
		if err := json.Unmarshal(AppendShownRow(nil, e, s), &shown); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := json.Unmarshal(AppendRangeRow(nil, e, s, ContentFull), &ranged); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for key, value := range shown {
			if string(value) == "null" && key != "structured_content" {
				t.Fatalf("seed %d: %s is null", seed, key)
			}
		}
		if e.HasBody {
			var text string
			if err := json.Unmarshal(ranged["text"], &text); err != nil || text != string(e.AppendBody(nil)) {
				t.Fatalf("seed %d: text %q, %v", seed, text, err)
			}
		}
		if string(shown["activity"]) != string(ranged["activity"]) {
			t.Fatalf("seed %d: the activities differ", seed)
		}
		if len(e.Structured) > 0 && string(ranged["structured_content"]) != string(e.Structured) {
			t.Fatalf("seed %d: structured content %s", seed, ranged["structured_content"])
		}
		if keys := slices.Sorted(maps.Keys(shown)); !slices.Contains(keys, "content") {
			t.Fatalf("seed %d: %v", seed, keys)
		}
	}
}

func TestTimes(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "1970-01-01T00:00:00.000Z", -1: "1969-12-31T23:59:59.999Z", minTime: "0000-01-01T00:00:00.000Z", maxTime: "9999-12-31T23:59:59.999Z",
	} {
		if got := string(AppendTime(nil, ms)); got != want {
			t.Errorf("%d is %s, want %s", ms, got, want)
		}
	}
}

func TestContentProjectionNames(t *testing.T) {
	for _, c := range []ContentProjection{ContentFull, ContentText, ContentNone} {
		if got, ok := ParseContentProjection(c.String()); !ok || got != c {
			t.Errorf("%s read as %v, %v", c, got, ok)
		}
	}
	if _, ok := ParseContentProjection(""); ok {
		t.Error("the empty name is accepted")
	}
}

func TestResultCaptures(t *testing.T) {
	e := &Event{Activity: &Activity{CallID: []byte{tkNull}, Result: &Result{
		Status: "error", Completed: true, CompletedAt: -3, HasDuration: true, DurationNS: 1<<64 - 1,
		Text: Capture{Status: CaptureOmitted, Reason: "size_limit", HasObserved: true, Observed: 7}, Structured: Capture{Status: CaptureUnavailable},
	}}}
	want := `{"provider_call_id":"Null","result":{"completed_at_unix_ms":-3,"duration_ns":18446744073709551615,"status":"error",` +
		`"structured_content":{"capture_status":"unavailable"},"text":{"capture_status":"omitted","observed_bytes":7,"reason":"size_limit"}},"revision":1}`
	if got := activityJSON(e); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e.Activity.Result = &Result{Text: Capture{Status: CaptureNormalizedBody}, Structured: Capture{Status: CaptureOmitted, Reason: "binary"}}
	want = `{"provider_call_id":"Null","result":{"structured_content":{"capture_status":"omitted","reason":"binary"},"text":{"capture_status":"normalized_body"}},"revision":1}`
	if got := activityJSON(e); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func activityJSON(e *Event) string {
	var w writer
	w.activityObject(e, e.Activity)
	return string(w.buf)
}
