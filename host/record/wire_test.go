package record

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
	"google.golang.org/protobuf/proto"
)

func testSpec() SourceSpec {
	return SourceSpec{
		Provider: "codex", Format: "codex_session_jsonl", Variant: "codex-nativepath-jsonl-v0", IdentityVersion: 1, ParserRevision: "p1",
		Anchor: AppendNativeID(nil, "codex.session", text(threadP)),
	}
}

func testConverter(t *testing.T) (*Converter, *historyv1.SessionRef) {
	t.Helper()
	c, err := NewConverter(testSpec())
	if err != nil {
		t.Fatal(err)
	}
	return c, &historyv1.SessionRef{Kind: "codex-session", Key: AppendNativeID(nil, "codex.session", text(threadP))}
}

func refTo(thread string) *historyv1.SessionRef {
	key := AppendNativeID(nil, "codex.session", text(thread))
	return &historyv1.SessionRef{Anchor: key, Kind: "codex-session", Key: key}
}

func rejectionCode(err error) string {
	var r *Rejection
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func TestConverterDerivesIDs(t *testing.T) {
	const second = "01900000-0000-7000-8000-000000000002"
	c, ref := testConverter(t)
	source, descriptor := c.Source()
	if source.String() != "0b03403c-ae54-8cc9-bbaa-c0084c89c0af" || descriptor.Hex() != "12760738b34ce994a5cd73987ae130b06e28e341b024b8fee3f328211fa8ccc6" {
		t.Errorf("source %s, descriptor %s", source, descriptor.Hex())
	}
	s, err := c.AddSession(&historyv1.Session{
		Index: 3, Ref: ref, ProviderSessionId: threadP, Parent: refTo(second), Root: ref,
		Relationship: historyv1.Relationship_RELATIONSHIP_FORKED, Scope: historyv1.Scope_SCOPE_PRIMARY,
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.ID.String() != "5e9f0460-5311-83b3-b803-8c23887fddcc" || s.Parent.String() != "19e280e8-554c-8d5c-8bdc-471b0a04a2ab" || *s.Root != s.ID ||
		s.Relationship != RelationshipForked || s.Scope != ScopePrimary || s.ProviderSessionID != threadP || s.Source != source {
		t.Errorf("session %+v", s)
	}
	c.SetOrdinal(3, 41)
	at := int64(1767323045000)
	w := &historyv1.Event{
		Key:  AppendComposite(nil, "codex.event.v1", text("provider-native-v1"), text("call_id"), text("c1"), text("tool_call"), text("assistant"), AppendTypedU64(nil, 0)),
		Kind: "codex-event", Session: 3, Sequence: 4, Suborder: 1, OccurredAtMs: &at, Type: ToolCall, Role: Assistant,
		Body: &historyv1.Value{Inline: []byte("b")},
		Copy: &historyv1.CopyClaim{
			Session: refTo(second), EventKind: "codex-event", EventKey: AppendNativeID(nil, "codex.event.v1", text("e")), Proof: historyv1.Proof_PROOF_CERTIFIED_ORDERED_PREFIX,
		},
	}
	var e Event
	if err := c.FromWire(w, &e); err != nil {
		t.Fatal(err)
	}
	if e.ID.String() != "5809a91d-b97a-8235-bb06-db32045a9e20" || e.Session != 41 || e.Sequence != 4 || e.Suborder != 1 || !e.Timed || e.OccurredAt != at ||
		e.Type != ToolCall || e.Role != Assistant || e.Scope != ScopePrimary {
		t.Errorf("event %+v", &e)
	}
	if got := string(AppendTypedKeyJSON(nil, e.NativeID)); !strings.HasPrefix(got, `{"Composite":[{"Utf8":"provider-native-v1"}`) {
		t.Errorf("native id %s", got)
	}
	ancestor := codexThread(second)
	if want := EventID(ancestor.source(), ancestor.session(), "codex-event", w.Copy.EventKey, nil); e.Copy == nil || e.Copy.Event != want ||
		e.Copy.Session != ancestor.session() || e.Copy.Proof != ProofCertifiedOrderedPrefix {
		t.Errorf("copy %+v", e.Copy)
	}
	if err := Admit(&e, s); err != nil {
		t.Error(err)
	}
}

func TestConverterUnderANamedRoot(t *testing.T) {
	spec := testSpec()
	work := NamedRootLineage("codex", "work")
	spec.Lineage = &work
	c, err := NewConverter(spec)
	if err != nil {
		t.Fatal(err)
	}
	ref := &historyv1.SessionRef{Kind: "codex-session", Key: AppendNativeID(nil, "codex.session", text(threadP))}
	source, session, err := c.Resolve(ref)
	if err != nil || source.String() != "559f312b-c838-8cf3-aaca-367c508f47ab" || session.String() != "617a43f9-7661-8b59-9b7b-cff5a2bff98b" {
		t.Errorf("source %s, session %s, %v", source, session, err)
	}
	// A reference that spells the anchor out means the same session: its anchor gets the lineage as well.
	if _, spelled, err := c.Resolve(refTo(threadP)); err != nil || spelled != session {
		t.Errorf("with the anchor: %s, %v", spelled, err)
	}
	if !bytes.Equal(c.Anchor(), WithLineage(spec.Anchor, work)) {
		t.Errorf("anchor %x", c.Anchor())
	}
}

func TestConverterRefuses(t *testing.T) {
	specs := map[string]func(s *SourceSpec){
		"no provider":        func(s *SourceSpec) { s.Provider = "" },
		"long provider":      func(s *SourceSpec) { s.Provider = strings.Repeat("p", MaxProvider+1) },
		"no format":          func(s *SourceSpec) { s.Format = "" },
		"long variant":       func(s *SourceSpec) { s.Variant = strings.Repeat("v", MaxName+1) },
		"no parser revision": func(s *SourceSpec) { s.ParserRevision = "" },
		"broken anchor":      func(s *SourceSpec) { s.Anchor = []byte{1} },
	}
	for name, change := range specs {
		spec := testSpec()
		change(&spec)
		if _, err := NewConverter(spec); rejectionCode(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, ref := testConverter(t)
	sessions := map[string]*historyv1.Session{
		"no reference":         {},
		"no kind":              {Ref: &historyv1.SessionRef{Key: ref.Key}},
		"broken key":           {Ref: &historyv1.SessionRef{Kind: "k", Key: []byte{9}}},
		"another source":       {Ref: refTo("other")},
		"its own parent":       {Ref: ref, Parent: ref},
		"broken parent":        {Ref: ref, Parent: &historyv1.SessionRef{}},
		"broken root anchor":   {Ref: ref, Root: &historyv1.SessionRef{Anchor: []byte{7}, Kind: "k", Key: ref.Key}},
		"unknown relationship": {Ref: ref, Relationship: 99},
		"unknown scope":        {Ref: ref, Scope: 99},
		"long session id":      {Ref: ref, ProviderSessionId: strings.Repeat("x", MaxText+1)},
	}
	for name, w := range sessions {
		if _, err := c.AddSession(w); rejectionCode(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.AddSession(&historyv1.Session{Ref: ref}); err != nil {
		t.Fatal(err)
	}
	other := &historyv1.SessionRef{Kind: "codex-session", Key: AppendNativeID(nil, "codex.session", text("x"))}
	if _, err := c.AddSession(&historyv1.Session{Ref: other}); rejectionCode(err) != RejectInvalidField {
		t.Errorf("two sessions with one index: %v", err)
	}
}

func TestSessionDeclaredAgain(t *testing.T) {
	c, ref := testConverter(t)
	if _, err := c.AddSession(&historyv1.Session{Ref: ref}); err != nil {
		t.Fatal(err)
	}
	c.SetOrdinal(0, 7)
	if _, err := c.SetMetadata(&historyv1.SessionMetadata{Title: "T"}); err != nil {
		t.Fatal(err)
	}
	s, err := c.AddSession(&historyv1.Session{Ref: ref, Relationship: historyv1.Relationship_RELATIONSHIP_ROOT})
	if err != nil || s.Ordinal != 7 || s.Meta.Title != "T" || s.Relationship != RelationshipRoot || c.Session(0) != s {
		t.Errorf("session %+v, %v", s, err)
	}
}

func TestMetadata(t *testing.T) {
	c, ref := testConverter(t)
	if _, err := c.SetMetadata(&historyv1.SessionMetadata{}); rejectionCode(err) != RejectInvalidField {
		t.Errorf("metadata of no session: %v", err)
	}
	if _, err := c.AddSession(&historyv1.Session{Ref: ref}); err != nil {
		t.Fatal(err)
	}
	start, far := int64(5), int64(maxTime+1)
	s, err := c.SetMetadata(&historyv1.SessionMetadata{
		Title: " one\ntwo " + strings.Repeat("é", 300), Model: strings.Repeat("m", MaxText+1), Cwd: "/w", Models: []string{"a", "", "b"},
		StartedAtMs: &start, EndedAtMs: &far, LastVersion: "2",
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "one two " + strings.Repeat("é", 192); s.Meta.Title != want {
		t.Errorf("title %q", s.Meta.Title)
	}
	if s.Meta.Model != "" || s.Meta.CWD != "/w" || len(s.Meta.Models) != 2 || *s.Meta.StartedAt != 5 || s.Meta.EndedAt != nil || s.Meta.LastVersion != "2" {
		t.Errorf("metadata %+v", s.Meta)
	}
}

// wireEvent is a tool call whose body and arguments lie in its structured content.
func wireEvent() *historyv1.Event {
	structured := []byte(`{"id":"c1","input":{"a":"x\ny"},"name":"T"}`)
	input := []*historyv1.Span{{Offset: 19, Length: 12}}
	return &historyv1.Event{
		Key: AppendNativeID(nil, "ns", text("e")), Kind: "k", Type: ToolCall, Role: Assistant, Structured: structured,
		Body: &historyv1.Value{Spans: input}, CallId: text("c1"),
		Invocation: &historyv1.Invocation{Tool: "T", Arguments: &historyv1.Capture{Status: historyv1.Capture_STATUS_PRESENT, Value: &historyv1.Value{Spans: input}}},
		Facts:      []*historyv1.Fact{{Kind: historyv1.FactKind_FACT_KIND_FILE, Value: "f"}},
	}
}

func convert(t *testing.T, w *historyv1.Event) (*Event, *Session, error) {
	t.Helper()
	c, ref := testConverter(t)
	s, err := c.AddSession(&historyv1.Session{Ref: ref})
	if err != nil {
		t.Fatal(err)
	}
	e := new(Event)
	if err := c.FromWire(w, e); err != nil {
		return nil, s, err
	}
	return e, s, nil
}

func TestSpansStaySpans(t *testing.T) {
	e, s, err := convert(t, wireEvent())
	if err != nil {
		t.Fatal(err)
	}
	if err := Admit(e, s); err != nil {
		t.Fatal(err)
	}
	if len(e.Body.Spans) != 1 || len(e.Activity.Invocation.Arguments.Value.Spans) != 1 {
		t.Errorf("body %+v, arguments %+v", e.Body, e.Activity.Invocation.Arguments.Value)
	}
	if got := string(e.AppendBody(nil)); got != `{"a":"x\ny"}` {
		t.Errorf("body %s", got)
	}
}

// Structured content in another form is brought into the canonical one; the values keep their meaning.
func TestLooseStructuredContent(t *testing.T) {
	w := wireEvent()
	w.Structured = []byte(`{"name":"T", "id":"c1", "input":{"b":1.50,"a":"x\u000ay"}}`)
	at := uint32(strings.Index(string(w.Structured), `{"b"`))
	w.Invocation.Arguments.Value.Spans = []*historyv1.Span{{Offset: at, Length: 25}}
	w.Body = &historyv1.Value{Spans: []*historyv1.Span{{Offset: at + 14, Length: 10, Quoted: true}, {Offset: 9, Length: 1}}}
	e, s, err := convert(t, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := Admit(e, s); err != nil {
		t.Fatal(err)
	}
	if got := string(e.Structured); got != `{"id":"c1","input":{"a":"x\ny","b":1.5},"name":"T"}` {
		t.Errorf("structured %s", got)
	}
	if got := string(e.AppendBody(nil)); got != "x\ny\nT" {
		t.Errorf("body %q", got)
	}
	if got := string(e.AppendValue(nil, e.Activity.Invocation.Arguments.Value)); got != `{"a":"x\ny","b":1.5}` {
		t.Errorf("arguments %s", got)
	}
}

func TestJSONInsideAString(t *testing.T) {
	w := wireEvent()
	w.Body = nil
	for arguments, want := range map[string]string{`"{\"b\":1}"`: `{"b":1}`, `"{ \"b\" : 1, \"a\":2 }"`: `{"a":2,"b":1}`} {
		w.Structured = []byte(`{"arguments":` + arguments + `}`)
		w.Invocation.Arguments.Value.Spans = []*historyv1.Span{{Offset: 13, Length: uint32(len(arguments)), Quoted: true}}
		e, _, err := convert(t, w)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.AppendValue(nil, e.Activity.Invocation.Arguments.Value)); got != want {
			t.Errorf("arguments %s, want %s", got, want)
		}
	}
}

func TestFromWireRefuses(t *testing.T) {
	span := func(offset, length uint32, quoted bool) *historyv1.Value {
		return &historyv1.Value{Spans: []*historyv1.Span{{Offset: offset, Length: length, Quoted: quoted}}}
	}
	present := func(v *historyv1.Value) *historyv1.Capture {
		return &historyv1.Capture{Status: historyv1.Capture_STATUS_PRESENT, Value: v}
	}
	tests := map[string]struct {
		change func(w *historyv1.Event)
		code   string
	}{
		"undeclared session": {func(w *historyv1.Event) { w.Session = 5 }, RejectInvalidField},
		"no kind":            {func(w *historyv1.Event) { w.Kind = "" }, RejectInvalidField},
		"long kind":          {func(w *historyv1.Event) { w.Kind = strings.Repeat("k", MaxName+1) }, RejectInvalidField},
		"no key":             {func(w *historyv1.Event) { w.Key = nil }, RejectInvalidKey},
		"broken selector":    {func(w *historyv1.Event) { w.Selector = []byte{1} }, RejectInvalidKey},
		"broken call id":     {func(w *historyv1.Event) { w.CallId = []byte{2} }, RejectInvalidKey},
		"unknown scope":      {func(w *historyv1.Event) { w.Scope = 9 }, RejectInvalidField},
		"unknown policy":     {func(w *historyv1.Event) { w.Policy = &historyv1.Policy{Status: 9} }, RejectInvalidField},
		"copy without proof": {func(w *historyv1.Event) {
			w.Copy = &historyv1.CopyClaim{Session: refTo("x"), EventKind: "k", EventKey: w.Key}
		}, RejectInvalidField},
		"copy without session": {func(w *historyv1.Event) { w.Copy = &historyv1.CopyClaim{EventKind: "k", EventKey: w.Key, Proof: 1} }, RejectInvalidField},
		"structured no JSON":   {func(w *historyv1.Event) { w.Structured = []byte(`{"id":"c1","input":{"a":"x\ny"},"name":"T"`) }, RejectInvalidText},
		"span outside":         {func(w *historyv1.Event) { w.Body = span(40, 9, false) }, RejectInvalidField},
		"span without content": {func(w *historyv1.Event) { w.Structured = nil }, RejectInvalidField},
		"quoted number":        {func(w *historyv1.Event) { w.Body = span(1, 6, true) }, RejectInvalidField},
		"quoted half a string": {func(w *historyv1.Event) { w.Body = span(0, 4, true) }, RejectInvalidField},
		"bytes and spans":      {func(w *historyv1.Event) { w.Body.Inline = []byte("x") }, RejectInvalidField},
		"arguments no JSON":    {func(w *historyv1.Event) { w.Invocation.Arguments = present(span(19, 5, false)) }, RejectInvalidText},
		"arguments missing":    {func(w *historyv1.Event) { w.Invocation.Arguments = present(nil) }, RejectInvalidText},
		"arguments of the body": {func(w *historyv1.Event) {
			w.Invocation.Arguments = &historyv1.Capture{Status: historyv1.Capture_STATUS_NORMALIZED_BODY}
		}, RejectInvalidField},
		"unknown capture": {func(w *historyv1.Event) { w.Invocation.Arguments = &historyv1.Capture{Status: 9} }, RejectInvalidField},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := proto.Clone(wireEvent()).(*historyv1.Event)
			test.change(w)
			if _, _, err := convert(t, w); rejectionCode(err) != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
		})
	}
}

func TestIsLiteral(t *testing.T) {
	for piece, want := range map[string]bool{
		`""`: true, `"a"`: true, `"a\"b"`: true, `"\\"`: true, `"\\\""`: true, `"`: false, ``: false, `a"`: false, `"a`: false, `"a\"`: false, `"a"b"`: false, `"\\"a"`: false,
	} {
		if got := isLiteral([]byte(piece)); got != want {
			t.Errorf("%s: %v", piece, got)
		}
	}
}

func TestFactsThatCannotBeStoredAreLeftOut(t *testing.T) {
	w := wireEvent()
	long := strings.Repeat("x", MaxFileFact+1)
	w.Facts = []*historyv1.Fact{
		{Kind: historyv1.FactKind_FACT_KIND_FILE, Value: long}, {Kind: historyv1.FactKind_FACT_KIND_URL, Value: ""}, {Kind: 99, Value: "x"}, {Value: "x"},
		{Kind: historyv1.FactKind_FACT_KIND_COMMAND, Value: long},
	}
	for range MaxFacts {
		w.Facts = append(w.Facts, &historyv1.Fact{Kind: historyv1.FactKind_FACT_KIND_FILE, Value: "f"})
	}
	e, s, err := convert(t, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := Admit(e, s); err != nil {
		t.Fatal(err)
	}
	if facts := e.Activity.Facts; len(facts) != MaxFacts || facts[0].Kind != FactCommand || facts[1].Kind != FactFile {
		t.Errorf("%d facts, the first a %s", len(facts), facts[0].Kind)
	}
}

func TestNullStructuredContentIsNone(t *testing.T) {
	w := wireEvent()
	w.Structured, w.Body, w.Invocation, w.CallId = []byte(" null"), &historyv1.Value{}, nil, nil
	e, _, err := convert(t, w)
	if err != nil || e.Structured != nil || !e.HasBody {
		t.Errorf("%+v, %v", e, err)
	}
}

// A plugin can send anything: whatever passes conversion and admission is stored, read back and shown without a panic, and as
// canonical JSON.
func FuzzFromWire(f *testing.F) {
	w := wireEvent()
	loose := wireEvent()
	loose.Structured = []byte(`{"b":1, "a":"\u00e9"}`)
	loose.Body = &historyv1.Value{Spans: []*historyv1.Span{{Offset: 12, Length: 8, Quoted: true}}}
	for _, seed := range []*historyv1.Event{w, loose} {
		raw, err := proto.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var w historyv1.Event
		if proto.Unmarshal(raw, &w) != nil {
			return
		}
		e, s, err := convert(t, &w)
		if err != nil || Admit(e, s) != nil {
			return
		}
		checkStored(t, e, s)
	})
}
