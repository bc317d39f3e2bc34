package record

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// toolEvent is a call with its result: all channels hold bytes of their own.
func toolEvent(body, structured, arguments, resultText, resultStructured string) *Event {
	return &Event{
		ID: Digest{1}, Type: ToolOutput, HasBody: body != "", Body: Value{Inline: []byte(body)}, Structured: []byte(structured),
		Activity: &Activity{
			CallID:     text("c"),
			Invocation: &Invocation{Tool: "t", Arguments: present(arguments)},
			Result:     &Result{Text: present(resultText), Structured: present(resultStructured)},
		},
	}
}

func present(value string) Capture {
	if value == "" {
		return Capture{Status: CaptureAbsent}
	}
	return Capture{Status: CapturePresent, Value: Value{Inline: []byte(value)}}
}

func TestAdmitRefuses(t *testing.T) {
	session := &Session{ID: Digest{9}}
	long := strings.Repeat("x", MaxText+1)
	tests := map[string]struct {
		change func(e *Event)
		code   string
	}{
		"no type":                 {func(e *Event) { e.Type = "" }, RejectInvalidField},
		"long type":               {func(e *Event) { e.Type = long }, RejectInvalidField},
		"role not UTF-8":          {func(e *Event) { e.Role = "\xff" }, RejectInvalidText},
		"time of the year 10000":  {func(e *Event) { e.Timed, e.OccurredAt = true, maxTime+1 }, RejectInvalidField},
		"unknown scope":           {func(e *Event) { e.Scope = 3 }, RejectInvalidField},
		"unknown policy":          {func(e *Event) { e.Policy = 3 }, RejectInvalidField},
		"long native id":          {func(e *Event) { e.NativeID = make([]byte, MaxTypedKey+1) }, RejectInvalidKey},
		"copy without proof":      {func(e *Event) { e.Copy = &Copy{} }, RejectInvalidField},
		"copy of its own session": {func(e *Event) { e.Copy = &Copy{Session: Digest{9}, Proof: 1} }, RejectInvalidField},
		"copy of itself":          {func(e *Event) { e.Copy = &Copy{Event: Digest{1}, Proof: 1} }, RejectInvalidField},
		"body not UTF-8":          {func(e *Event) { e.Body.Inline = []byte("a\xc3") }, RejectInvalidText},
		"body without its mark":   {func(e *Event) { e.HasBody = false }, RejectInvalidField},
		"span outside":            {func(e *Event) { e.Body = Value{Spans: []Span{{Offset: 3, Length: 99}}} }, RejectInvalidField},
		"span wraps around":       {func(e *Event) { e.Body = Value{Spans: []Span{{Offset: 1<<32 - 1, Length: 1<<32 - 1}}} }, RejectInvalidField},
		"span cuts a character":   {func(e *Event) { e.Body = Value{Spans: []Span{{Offset: 6, Length: 1}}} }, RejectInvalidText},
		"redacted without reason": {func(e *Event) { e.Policy, e.Activity = PolicyRedacted, nil }, RejectInvalidField},
		"redacted with activity":  {func(e *Event) { e.Policy, e.PolicyReason = PolicyRedacted, "r" }, RejectInvalidField},
		"selected with reason":    {func(e *Event) { e.PolicyReason = "r" }, RejectInvalidField},
		"omitted with content":    {func(e *Event) { e.Policy, e.PolicyReason, e.Activity = PolicyOmitted, "r", nil }, RejectInvalidField},
		"call without id":         {func(e *Event) { e.Activity.CallID = nil }, RejectInvalidField},
		"call without tool":       {func(e *Event) { e.Activity.Invocation.Tool = "" }, RejectInvalidField},
		"long server":             {func(e *Event) { e.Activity.Invocation.Server = long }, RejectInvalidField},
		"arguments not UTF-8":     {func(e *Event) { e.Activity.Invocation.Arguments = present("\"\xff\"") }, RejectInvalidText},
		"unknown capture":         {func(e *Event) { e.Activity.Invocation.Arguments.Status = 9 }, RejectInvalidField},
		"arguments are the body":  {func(e *Event) { e.Activity.Invocation.Arguments.Status = CaptureNormalizedBody }, RejectInvalidField},
		"omitted without reason":  {func(e *Event) { e.Activity.Result.Structured = Capture{Status: CaptureOmitted} }, RejectInvalidField},
		"text is the body that is none": {func(e *Event) {
			e.HasBody, e.Body, e.Activity.Result.Text.Status = false, Value{}, CaptureNormalizedBody
		}, RejectInvalidField},
		"empty fact":     {func(e *Event) { e.Activity.Facts = []Fact{{FactURL, nil}} }, RejectInvalidField},
		"unknown fact":   {func(e *Event) { e.Activity.Facts = []Fact{{factKinds, []byte("x")}} }, RejectInvalidField},
		"long file":      {func(e *Event) { e.Activity.Facts = []Fact{{FactFile, make([]byte, MaxFileFact+1)}} }, RejectInvalidField},
		"too many facts": {func(e *Event) { e.Activity.Facts = make([]Fact, MaxFacts+1) }, RejectInvalidField},
		"nothing":        {func(e *Event) { *e = Event{Type: "x", HasBody: true} }, RejectNoContent},
		"redacted to nothing": {func(e *Event) {
			*e = Event{Type: "x", Policy: PolicyRedacted, PolicyReason: "r"}
		}, RejectNoContent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := toolEvent("body", `{"k":"é"}`, "{}", "text", `"s"`)
			if err := Admit(e, session); err != nil {
				t.Fatalf("refused before the change: %v", err)
			}
			test.change(e)
			var rejection *Rejection
			if err := Admit(e, session); !errors.As(err, &rejection) || rejection.Code != test.code {
				t.Fatalf("got %v, want %s", err, test.code)
			}
		})
	}
}

func TestAdmitAccepts(t *testing.T) {
	tests := map[string]*Event{
		"only structured content": {Type: Message, Structured: []byte(`{}`)},
		"only a fact":             {Type: "new_type", Activity: &Activity{Facts: []Fact{{FactURL, []byte("u")}}}},
		"empty body beside more":  {Type: Message, HasBody: true, Structured: []byte(`{}`)},
		"text of the body":        {Type: ToolOutput, HasBody: true, Body: Value{Inline: []byte("x")}, Activity: &Activity{CallID: text("c"), Result: &Result{Text: Capture{Status: CaptureNormalizedBody}}}},
		"empty captured text":     {Type: ToolOutput, Activity: &Activity{CallID: text("c"), Result: &Result{Text: Capture{Status: CapturePresent}}}},
		"largest file fact":       {Type: Message, Activity: &Activity{Facts: []Fact{{FactFile, bytes.Repeat([]byte("x"), MaxFileFact)}}}},
		"omitted":                 {Type: Message, Policy: PolicyOmitted, PolicyReason: "r"},
		"first and last time":     {Type: Message, Structured: []byte(`1`), Timed: true, OccurredAt: minTime},
	}
	for name, e := range tests {
		t.Run(name, func(t *testing.T) {
			if err := Admit(e, &Session{ID: Digest{9}}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestActivityOfACallIDAloneIsNone(t *testing.T) {
	e := &Event{Type: Message, Structured: []byte(`1`), Activity: &Activity{CallID: text("c")}}
	if err := Admit(e, &Session{}); err != nil || e.Activity != nil {
		t.Fatalf("activity %v, %v", e.Activity, err)
	}
}

func quoted(n int) string { return `"` + strings.Repeat("s", n-2) + `"` }

func TestOverflowOrder(t *testing.T) {
	const mib = 1 << 20
	words := func(n int) string { return strings.Repeat("b", n) }
	tests := []struct {
		name                                    string
		e                                       *Event
		structured                              bool
		arguments, resultText, resultStructured CaptureStatus
		code                                    string
	}{
		{"fits exactly", &Event{Type: Message, HasBody: true, Body: Value{Inline: []byte(words(8 * mib))}, Structured: []byte(quoted(8 * mib))},
			true, 0, 0, 0, ""},
		{"structured content alone is enough", toolEvent(words(8*mib), quoted(8*mib+1), quoted(2*mib), words(mib), quoted(mib)),
			false, CapturePresent, CapturePresent, CapturePresent, ""},
		{"structured content alone over the cap", toolEvent(words(10), quoted(16*mib+1), "1", "t", "2"),
			false, CapturePresent, CapturePresent, CapturePresent, ""},
		{"the largest value first, until it fits", toolEvent(words(12*mib), quoted(mib), quoted(6*mib), words(7*mib), quoted(mib)),
			true, CaptureOmitted, CaptureOmitted, CapturePresent, ""},
		{"values first, then structured content after all", toolEvent(words(10*mib), quoted(10*mib), quoted(8*mib), words(mib), quoted(mib)),
			false, CaptureOmitted, CapturePresent, CapturePresent, ""},
		{"body too big", toolEvent(words(16*mib+1), "1", "2", "t", "3"), true, 0, 0, 0, RejectTooLarge},
		{"nothing fits", &Event{Type: Message, Structured: []byte(quoted(16*mib + 1))}, true, 0, 0, 0, RejectTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := Admit(test.e, &Session{ID: Digest{9}})
			var rejection *Rejection
			if errors.As(err, &rejection) != (test.code != "") || rejection != nil && rejection.Code != test.code {
				t.Fatalf("got %v, want %q", err, test.code)
			}
			if test.code != "" {
				return
			}
			if got := len(test.e.Structured) > 0; got != test.structured {
				t.Errorf("structured content kept: %v", got)
			}
			if a := test.e.Activity; a != nil {
				got := [3]CaptureStatus{a.Invocation.Arguments.Status, a.Result.Text.Status, a.Result.Structured.Status}
				if want := [3]CaptureStatus{test.arguments, test.resultText, test.resultStructured}; got != want {
					t.Errorf("captures %v, want %v", got, want)
				}
			}
			if n := len(AppendCoreJSON(nil, test.e, &Session{ID: Digest{9}})); uint64(n) != test.e.EncodedBytes {
				t.Errorf("measured %d, is %d", test.e.EncodedBytes, n)
			}
		})
	}
}

func TestOmittedValueTellsItsSize(t *testing.T) {
	e := toolEvent(strings.Repeat("b", 15<<20), "", quoted(2<<20), "t", "1")
	if err := Admit(e, &Session{}); err != nil {
		t.Fatal(err)
	}
	got := activityJSON(e)
	if want := `"arguments":{"capture_status":"omitted","observed_encoded_bytes":2097152,"reason":"size_limit"}`; !strings.Contains(got, want) {
		t.Errorf("activity %s", got)
	}
}

func TestFactsGoFromTheEnd(t *testing.T) {
	body := strings.Repeat("b", MaxContent-200_000)
	e := &Event{Type: Message, HasBody: true, Body: Value{Inline: []byte(body)}, Activity: &Activity{}}
	for i := range 4 {
		e.Activity.Facts = append(e.Activity.Facts, Fact{FactURL, bytes.Repeat([]byte{'0' + byte(i)}, MaxText)})
	}
	if err := Admit(e, &Session{}); err != nil {
		t.Fatal(err)
	}
	// 65,536 bytes and 25 of names each: three of them would be 196,683 bytes, and 23 around them.
	if len(e.Activity.Facts) != 3 || e.Activity.Facts[0].Value[0] != '0' || e.Activity.Facts[2].Value[0] != '2' {
		t.Fatalf("%d facts left", len(e.Activity.Facts))
	}
	e = &Event{Type: Message, HasBody: true, Body: Value{Inline: bytes.Repeat([]byte("b"), MaxContent)}, Activity: e.Activity}
	if err := Admit(e, &Session{}); err != nil || e.Activity != nil {
		t.Fatalf("activity left: %v, %v", e.Activity != nil, err)
	}
}

func TestDroppedStructuredContentLeavesItsValues(t *testing.T) {
	structured := []byte(`{"input":{"a":"q\"x"},"pad":` + quoted(9<<20) + `}`)
	e := toolEvent("", string(structured), "", "", "")
	e.HasBody, e.Body = true, Value{Spans: []Span{{Offset: 14, Length: 6, Quoted: true}, {Offset: 9, Length: 12}}}
	e.Activity.Invocation.Arguments = Capture{Status: CapturePresent, Value: Value{Spans: []Span{{Offset: 9, Length: 12}}}}
	e.Activity.Facts = nil
	if got := string(e.AppendBody(nil)); got != "q\"x\n"+`{"a":"q\"x"}` {
		t.Fatalf("body %q", got)
	}
	e.Activity.Result.Text = present(strings.Repeat("t", 8<<20))
	if err := Admit(e, &Session{ID: Digest{9}}); err != nil {
		t.Fatal(err)
	}
	if e.Structured != nil {
		t.Fatal("structured content is still there")
	}
	if got := string(e.AppendBody(nil)); got != "q\"x\n"+`{"a":"q\"x"}` {
		t.Errorf("body %q", got)
	}
	if got := string(e.AppendValue(nil, e.Activity.Invocation.Arguments.Value)); got != `{"a":"q\"x"}` {
		t.Errorf("arguments %q", got)
	}
}

func TestRecordCap(t *testing.T) {
	// Control characters take six bytes each in JSON: a body within its budget can still make a record of over 64 MiB.
	e := &Event{Type: Message, HasBody: true, Body: Value{Inline: bytes.Repeat([]byte{1}, 12<<20)}}
	var rejection *Rejection
	if err := Admit(e, &Session{}); !errors.As(err, &rejection) || rejection.Code != RejectTooLarge {
		t.Fatalf("got %v", err)
	}
}
