package record

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// script makes the events of a source one after another; each has an id of its own.
type script struct{ n byte }

func (s *script) next(e *Event) *Event {
	s.n++
	e.ID = Digest{s.n}
	return e
}

func (s *script) call(id, command string) *Event {
	arguments := canonical.AppendString([]byte(`{"cmd":`), []byte(command))
	return s.next(&Event{Type: ToolCall, HasBody: true, Body: Value{Inline: []byte("call")}, Activity: &Activity{
		CallID: text(id), Invocation: &Invocation{Tool: "exec_command", Arguments: present(string(arguments) + "}")},
	}})
}

// output is a result as Codex writes it. members are further members of the payload.
func (s *script) output(id, output, members string) *Event {
	structured := canonical.AppendString([]byte(`{"call_id":"c","output":`), []byte(output))
	structured = append(structured, members+`,"type":"function_call_output"}`...)
	return s.next(&Event{Type: CommandOutput, HasBody: true, Body: Value{Inline: []byte(output)}, Structured: structured, Activity: &Activity{
		CallID: text(id), Result: &Result{Text: present(output)},
	}})
}

// sole is a result whose provider proves that it printed the body and nothing else.
func (s *script) sole(id, output string) *Event {
	e := s.output(id, output, "")
	e.Type, e.Activity.Result.SoleOutput = ToolOutput, true
	return e
}

// bodyless is a further result of a call whose first result has the body.
func (s *script) bodyless(id, disposition string) *Event {
	return s.next(&Event{Type: ToolOutput, Structured: []byte(`{"exit_code":0}`), Activity: &Activity{
		CallID: text(id), Result: &Result{}, Facts: []Fact{{FactProviderDisposition, []byte(disposition)}},
	}})
}

func (s *script) mcp(id, server, payload string) *Event {
	return s.next(&Event{Type: ToolOutput, Structured: []byte(payload), Activity: &Activity{
		CallID: text(id), Invocation: &Invocation{Protocol: "mcp", Server: server, Tool: "search", Arguments: present(`{"query":"q"}`)},
		Result: &Result{HasDuration: true, DurationNS: 5, Structured: present("{}")},
	}})
}

const goodMCP = `{"call_id":"m1","duration":{"nanos":5,"secs":1},"invocation":{"arguments":{"query":"q"},"server":"ctx","tool":"search"},` +
	`"result":{"Ok":{"content":[{"text":"r","type":"text"}],"isError":false}},"type":"mcp_tool_call_end"}`

// linkerCase is a source and which of its events are excluded in the end.
type linkerCase struct {
	name      string
	events    func(s *script) []*Event
	excluded  []bool // after retraction
	retracted int
}

func TestLinkerOfCommands(t *testing.T) {
	runLinker(t, []linkerCase{
		{"call and result in the exact envelope", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, "")}
		}, []bool{true, true}, 0},
		{"a status of success", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, `,"status":"success"`)}
		}, []bool{true, true}, 0},
		{"another status", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, `,"status":"completed"`)}
		}, []bool{true, false}, 0},
		{"an extra member", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, `,"stderr":""`)}
		}, []bool{true, false}, 0},
		{"members beside the payload", func(s *script) []*Event {
			e := s.output("c1", goodOutput, "")
			e.Activity.Result.Structured.Status = CaptureUnavailable
			return []*Event{s.call("c1", "ctx search foo"), e}
		}, []bool{true, false}, 0},
		{"output without the envelope", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", "result", "")}
		}, []bool{true, false}, 0},
		{"a pipe", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo | head"), s.output("c1", goodOutput, "")}
		}, []bool{false, false}, 0},
		{"an ordinary command", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx status"), s.output("c1", goodOutput, "")}
		}, []bool{false, false}, 0},
		{"no call", func(s *script) []*Event { return []*Event{s.output("c1", goodOutput, "")} }, []bool{false}, 0},
		{"two calls with one id", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.call("c1", "ctx search foo"), s.output("c1", goodOutput, "")}
		}, []bool{true, true, false}, 0},
		{"an earlier result has the id", func(s *script) []*Event {
			return []*Event{s.output("c1", "x", ""), s.call("c1", "ctx search foo"), s.output("c1", goodOutput, "")}
		}, []bool{false, true, false}, 0},
		{"a second result takes the exclusion back", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, ""), s.output("c1", goodOutput, "")}
		}, []bool{true, false, false}, 1},
		{"a second result without a body shares it", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, ""), s.bodyless("c1", "exit_code:0")}
		}, []bool{true, true, true}, 0},
		{"unless it declares a failure", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, ""), s.bodyless("c1", "exit_code:1")}
		}, []bool{true, true, false}, 0},
		{"a third one with a body takes both back", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, ""), s.bodyless("c1", "exit_code:0"), s.output("c1", "x", "")}
		}, []bool{true, false, false, false}, 2},
		{"a second call after the result makes a further result count", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, ""), s.call("c1", "ls"), s.bodyless("c1", "exit_code:0")}
		}, []bool{true, false, false, false}, 1},
		{"a result without a call id makes none unique", func(s *script) []*Event {
			loose := s.output("c9", "x", "")
			loose.Activity, loose.Type = nil, ToolOutput
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, ""), loose, s.call("c2", "ctx search foo"), s.output("c2", goodOutput, "")}
		}, []bool{true, false, false, true, false}, 1},
		{"what a person's own command printed disturbs nothing", func(s *script) []*Event {
			typed := s.output("c9", "x", "")
			typed.Activity = nil
			return []*Event{s.call("c1", "ctx search foo"), s.output("c1", goodOutput, ""), typed}
		}, []bool{true, true, false}, 0},
		{"a provider that proves the output", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.sole("c1", "result"), s.call("c2", "ls"), s.sole("c2", "result")}
		}, []bool{true, true, false, false}, 0},
		{"a proven output that was cut", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.sole("c1", "a\n\n... [9 characters truncated] ...\n\nb"), s.call("c2", "ctx search foo"), s.sole("c2", "")}
		}, []bool{true, false, true, false}, 0},
		{"names of tools in any case", func(s *script) []*Event {
			call := s.call("c1", "ctx search foo")
			call.Activity.Invocation.Tool = "Bash"
			return []*Event{call, s.sole("c1", "result")}
		}, []bool{true, true}, 0},
		{"other calls do not disturb", func(s *script) []*Event {
			return []*Event{s.call("c1", "ctx search foo"), s.call("c2", "ls"), s.output("c2", "x", ""), s.output("c1", goodOutput, ""), s.output("c2", "x", "")}
		}, []bool{true, false, false, true, false}, 0},
	})
}

func TestLinkerOfMCP(t *testing.T) {
	replaced := func(old, new string) string {
		return string(bytes.Replace([]byte(goodMCP), []byte(old), []byte(new), 1))
	}
	runLinker(t, []linkerCase{
		{"exact MCP call", func(s *script) []*Event { return []*Event{s.mcp("m1", "ctx", goodMCP)} }, []bool{true}, 0},
		{"MCP call of another server", func(s *script) []*Event { return []*Event{s.mcp("m1", "other", goodMCP)} }, []bool{false}, 0},
		{"MCP error", func(s *script) []*Event {
			return []*Event{s.mcp("m1", "ctx", replaced(`"isError":false`, `"isError":true`))}
		}, []bool{false}, 0},
		{"MCP without isError", func(s *script) []*Event {
			return []*Event{s.mcp("m1", "ctx", replaced(`,"isError":false`, ``))}
		}, []bool{false}, 0},
		{"MCP without content", func(s *script) []*Event {
			return []*Event{s.mcp("m1", "ctx", replaced(`[{"text":"r","type":"text"}]`, `[]`))}
		}, []bool{false}, 0},
		{"MCP without arguments", func(s *script) []*Event {
			return []*Event{s.mcp("m1", "ctx", replaced(`"arguments":{"query":"q"},`, ``))}
		}, []bool{false}, 0},
		{"MCP failure", func(s *script) []*Event {
			return []*Event{s.mcp("m1", "ctx", replaced(`{"Ok":{"content":[{"text":"r","type":"text"}],"isError":false}}`, `{"Err":"x"}`))}
		}, []bool{false}, 0},
		{"MCP with an unreadable duration", func(s *script) []*Event {
			e := s.mcp("m1", "ctx", goodMCP)
			e.Activity.Result.HasDuration = false
			return []*Event{e}
		}, []bool{false}, 0},
	})
}

func runLinker(t *testing.T, tests []linkerCase) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			events := test.events(new(script))
			l := new(Linker)
			for _, e := range events {
				l.Observe(e)
			}
			retracted, fullScan := l.Retracted()
			if len(retracted) != test.retracted || fullScan {
				t.Errorf("%d retracted, full scan %v", len(retracted), fullScan)
			}
			for i, e := range events {
				want := test.excluded[i]
				if got := e.Excluded && !slices.Contains(retracted, e.ID); got != want {
					t.Errorf("event %d excluded: %v, want %v", i, got, want)
				}
			}
		})
	}
}

// An append that restores the state decides as one run over the whole source does.
func TestLinkerGoesOn(t *testing.T) {
	whole := func() []*Event {
		s := new(script)
		return []*Event{
			s.call("c1", "ctx search foo"), s.call("c2", "ctx search bar"), s.output("c2", goodOutput, ""), s.call("c3", "ls"), s.output("c3", "x", ""),
			s.output("c1", goodOutput, ""), s.bodyless("c2", "exit_code:0"), s.call("c3", "ctx search foo"), s.output("c3", goodOutput, ""), s.call("c4", "ctx search foo"),
			s.output("c4", goodOutput, ""),
		}
	}
	full := new(Linker)
	want := whole()
	for _, e := range want {
		full.Observe(e)
	}
	for cut := range want {
		got := whole()
		before := new(Linker)
		for _, e := range got[:cut] {
			before.Observe(e)
		}
		state := before.AppendState(nil)
		after := new(Linker)
		if err := after.RestoreState(state); err != nil {
			t.Fatal(err)
		}
		for i, e := range got[cut:] {
			if after.Observe(e); e.Excluded != want[cut+i].Excluded {
				t.Errorf("cut at %d: event %d excluded %v", cut, cut+i, e.Excluded)
			}
		}
		if !bytes.Equal(after.AppendState(nil), full.AppendState(nil)) {
			t.Errorf("cut at %d: another state at the end", cut)
		}
	}
}

func TestRetractionOfAnEarlierRunAsksForAFullScan(t *testing.T) {
	s := new(script)
	before, after := new(Linker), new(Linker)
	before.Observe(s.call("c1", "ctx search foo"))
	before.Observe(s.output("c1", goodOutput, ""))
	if err := after.RestoreState(before.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	after.Observe(s.output("c1", "again", ""))
	if events, fullScan := after.Retracted(); len(events) != 0 || !fullScan {
		t.Errorf("%d events, full scan %v", len(events), fullScan)
	}
}

func TestLinkerStateIsBounded(t *testing.T) {
	t.Parallel()
	l, s := new(Linker), new(script)
	excluded := 0
	for i := range 20_000 {
		id := fmt.Sprintf("call_%d", i)
		l.Observe(s.call(id, "ctx search foo"))
		if i%2 == 1 {
			continue // stays pending
		}
		e := s.output(id, goodOutput, "")
		if l.Observe(e); e.Excluded {
			excluded++
		}
	}
	if excluded != maxExcluded {
		t.Errorf("%d results excluded", excluded)
	}
	state := l.AppendState(nil)
	if limit := bloomBytes + 5*(maxPending+maxExcluded) + 16; len(state) > limit {
		t.Errorf("state of %d bytes, at most %d", len(state), limit)
	}
	var again Linker
	if err := again.RestoreState(state); err != nil || !bytes.Equal(again.AppendState(nil), state) {
		t.Errorf("restored: %v", err)
	}
	if empty := new(Linker).AppendState(nil); len(empty) != 0 {
		t.Errorf("state of nothing has %d bytes", len(empty))
	}
}

// Past the exact set no repetition may be missed, and few new ids may look repeated.
func TestCallSet(t *testing.T) {
	var s callSet
	wrong := 0
	for i := range uint32(8000) {
		if !s.add(hashCall(fmt.Appendf(nil, "call_%d", i))) {
			wrong++
		}
	}
	if wrong > 400 {
		t.Errorf("%d of 8000 new hashes look repeated", wrong)
	}
	for i := range uint32(8000) {
		if s.add(hashCall(fmt.Appendf(nil, "call_%d", i))) {
			t.Fatalf("call %d is forgotten", i)
		}
	}
}

func FuzzLinkerState(f *testing.F) {
	l, s := new(Linker), new(script)
	f.Add([]byte{})
	l.Observe(s.call("c1", "ctx search foo"))
	f.Add(l.AppendState(nil))
	l.Observe(s.output("c1", goodOutput, ""))
	f.Add(l.AppendState(nil))
	f.Fuzz(func(t *testing.T, state []byte) {
		var l Linker
		if l.RestoreState(state) != nil {
			return
		}
		kept := l.AppendState(nil)
		var again Linker
		if err := again.RestoreState(kept); err != nil || !bytes.Equal(again.AppendState(nil), kept) {
			t.Fatalf("state %x does not come back: %v", kept, err)
		}
	})
}
