package record

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestProjectionOfAllTenParts(t *testing.T) {
	e := toolEvent("the body", `{"structured":1}`, `{"argument":2}`, "result text", `{"result":3}`)
	e.Activity.Invocation.Protocol, e.Activity.Invocation.Server, e.Activity.Invocation.Tool = "mcp", "server", "tool"
	e.Activity.Result.Status = "ok"
	e.Activity.Facts = []Fact{{FactSessionCWD, []byte("/w")}, {FactFile, []byte("a.go")}}
	want := "the body\n{\"structured\":1}\nmcp\nserver\ntool\n{\"argument\":2}\nok\nresult text\n{\"result\":3}\n/w\na.go"
	if got := string(projected(e)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var p Projection
	p.Fill(e)
	if string(p.Text) != want || string(p.Text[:p.Body]) != "the body" {
		t.Errorf("text %q, body of %d bytes", p.Text, p.Body)
	}
}

func TestProjection(t *testing.T) {
	span := func(structured, piece string, quoted bool) Value {
		return Value{Spans: []Span{{Offset: uint32(strings.Index(structured, piece)), Length: uint32(len(piece)), Quoted: quoted}}}
	}
	const call = `{"id":"toolu_9","input":{"command":"go \"x\""},"name":"Bash","type":"tool_use"}`
	const output = `{"content":"line 1\nline 2","tool_use_id":"toolu_9","type":"tool_result"}`
	tests := []struct {
		name string
		e    *Event
		want string
	}{
		{"body and arguments lie in the structured content", &Event{
			HasBody: true, Structured: []byte(call), Body: span(call, `{"command":"go \"x\""}`, false),
			Activity: &Activity{CallID: text("toolu_9"), Invocation: &Invocation{
				Tool: "Bash", Arguments: Capture{Status: CapturePresent, Value: span(call, `{"command":"go \"x\""}`, false)},
			}, Facts: []Fact{{FactCommand, []byte(`go "x"`)}}},
		}, `{"command":"go \"x\""}` + "\n" + `{"id":"toolu_9","input":…,"name":"Bash","type":"tool_use"}` + "\n" + `go "x"`},
		{"quoted body is decoded and given once", &Event{
			HasBody: true, Structured: []byte(output), Body: span(output, `"line 1\nline 2"`, true),
			Activity: &Activity{CallID: text("toolu_9"), Result: &Result{
				Text:       Capture{Status: CapturePresent, Value: span(output, `"line 1\nline 2"`, true)},
				Structured: Capture{Status: CapturePresent, Value: span(output, output, false)},
			}},
		}, "line 1\nline 2\n" + `{"content":…,"tool_use_id":"toolu_9","type":"tool_result"}`},
		{"escaped text that the body does not hold is added decoded", &Event{
			Structured: []byte(output),
			Activity: &Activity{CallID: text("c"), Result: &Result{
				Text: Capture{Status: CapturePresent, Value: span(output, `"line 1\nline 2"`, true)},
			}},
		}, output + "\nline 1\nline 2"},
		{"the body is the structured content", &Event{HasBody: true, Structured: []byte(output), Body: span(output, output, false)}, output},
		{"spans out of order", &Event{
			HasBody: true, Structured: []byte(`["a","b","c"]`), Body: Value{Spans: []Span{{9, 3, true}, {1, 3, true}}},
		}, "c\na\n[…,\"b\",…]"},
		{"spans that overlap", &Event{
			HasBody: true, Structured: []byte(`["abc"]`), Body: Value{Spans: []Span{{1, 3, false}, {2, 4, false}}},
		}, "\"ab\nabc\"\n[……]"},
		{"parts inside earlier ones", &Event{HasBody: true, Body: Value{Inline: []byte("see /w/a.go, on main")}, Activity: &Activity{
			Facts: []Fact{{FactFile, []byte("/w/a.go")}, {FactBranch, []byte("main")}, {FactFile, []byte("b.go")}, {FactFile, []byte("b.go")}},
		}}, "see /w/a.go, on main\nb.go"},
		{"a word inside a word is another word", &Event{HasBody: true, Body: Value{Inline: []byte("remain domain main2 émain")}, Activity: &Activity{
			Facts: []Fact{{FactBranch, []byte("main")}},
		}}, "remain domain main2 émain\nmain"},
		{"found behind a false start", &Event{HasBody: true, Body: Value{Inline: []byte("domain main")}, Activity: &Activity{
			Facts: []Fact{{FactBranch, []byte("main")}},
		}}, "domain main"},
		{"empty body and empty text", &Event{HasBody: true, Structured: []byte(`1`), Activity: &Activity{CallID: text("c"), Result: &Result{
			Text: Capture{Status: CapturePresent},
		}}}, "1"},
		{"states and reasons are no text", &Event{HasBody: true, Body: Value{Inline: []byte("b")}, Activity: &Activity{CallID: text("c"), Result: &Result{
			Text: Capture{Status: CaptureNormalizedBody}, Structured: Capture{Status: CaptureOmitted, Reason: "why"},
		}}}, "b"},
		{"excluded", &Event{HasBody: true, Body: Value{Inline: []byte("b")}, Excluded: true}, ""},
		{"redacted", &Event{HasBody: true, Body: Value{Inline: []byte("b")}, Policy: PolicyRedacted, PolicyReason: "r"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(projected(test.e)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// Whatever is left out of the projection stands in another part of it: no word may get lost.
func TestProjectionLosesNoWord(t *testing.T) {
	t.Parallel()
	words := func(s []byte) map[string]bool {
		found := map[string]bool{}
		for _, w := range bytes.FieldsFunc(s, func(r rune) bool { return !inWord(r) }) {
			found[string(w)] = true
		}
		return found
	}
	for seed := range uint64(3000) {
		e := newSampler(seed).event()
		if !e.Discoverable() {
			continue
		}
		got := words(projected(e))
		expect := func(part []byte) {
			for w := range words(part) {
				if !got[w] {
					t.Fatalf("seed %d: %q is lost\nevent %s\ntext %q", seed, w, AppendCoreJSON(nil, e, &Session{}), projected(e))
				}
			}
		}
		expect(e.AppendBody(nil))
		for _, fact := range e.Activity.Facts {
			expect(fact.Value)
		}
		if r := e.Activity.Result; r != nil && r.Text.Status == CapturePresent {
			// An unquoted piece is JSON: "\ta" has no word ta, although it looks so.
			if v := r.Text.Value; len(v.Spans) == 0 || v.Spans[0].Quoted {
				expect(e.AppendValue(nil, v))
			}
		}
		if call := e.Activity.Invocation; call != nil {
			expect([]byte(call.Tool))
		}
	}
}

func TestManyFactsBesideALargeBodyAreBounded(t *testing.T) {
	e := &Event{HasBody: true, Body: Value{Inline: bytes.Repeat([]byte("x "), 4<<20)}, Activity: &Activity{}}
	for i := range MaxFacts {
		e.Activity.Facts = append(e.Activity.Facts, Fact{FactURL, fmt.Appendf(nil, "y%d", i)})
	}
	p := Projection{budget: containmentBudget}
	text := projected(e)
	searched := containmentBudget / len(text)
	if n := bytes.Count(text, []byte("\ny")); n < MaxFacts-searched-1 {
		t.Errorf("%d facts added: more than %d bytes were searched", n, p.budget)
	}
}

func BenchmarkProjection(b *testing.B) {
	structured := `{"content":` + quoted(4<<10) + `,"tool_use_id":"toolu_9","type":"tool_result"}`
	value := Value{Spans: []Span{{Offset: 11, Length: 4 << 10, Quoted: true}}}
	e := &Event{HasBody: true, Structured: []byte(structured), Body: value, Activity: &Activity{
		CallID: text("toolu_9"), Result: &Result{Text: Capture{Status: CapturePresent, Value: value}},
		Facts: []Fact{{FactSessionCWD, []byte("/home/u/project")}, {FactBranch, []byte("main")}},
	}}
	var p Projection
	b.SetBytes(int64(len(structured)))
	b.ReportAllocs()
	for b.Loop() {
		p.Fill(e)
	}
}

func projected(e *Event) []byte {
	var p Projection
	p.Fill(e)
	return p.Text
}
