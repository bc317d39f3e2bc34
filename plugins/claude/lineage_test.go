package claude

import "testing"

func TestLineage(t *testing.T) {
	runCases(t, []mapCase{{
		name:    "T18 foreign session id",
		lines:   []string{`{"type":"user","uuid":"q","sessionId":"OLD","message":{"role":"user","content":"copied"}}`, user("q2", "own")},
		session: "S1 resumed_from parent=OLD",
		events: []string{
			`0:0 message/user "copied" id=q,0 copy=OLD:q,0`,
			`1:0 message/user "own" id=q2,0`,
		},
		title: "copied",
	}, {
		name:    "T19 fork",
		lines:   []string{`{"type":"user","uuid":"r","sessionId":"S1","forkedFrom":{"sessionId":"P","messageUuid":"r"},"message":{"role":"user","content":"c"}}`},
		session: "S1 forked parent=P",
		events:  []string{`0:0 message/user "c" id=r,0 copy=P:r,0`},
		title:   "c",
	}, {
		name: "other forms of a fork",
		lines: []string{
			`{"type":"user","uuid":"1","sessionId":"S1","forkedFrom":"P","message":{"content":"text form"}}`,
			`{"type":"user","uuid":"2","sessionId":"OLD","forkedFrom":{"sessionId":"P","messageUuid":"1"},"message":{"content":"other uuid"}}`,
			`{"type":"user","uuid":"3","sessionId":"S1","forkedFrom":{"sessionId":"S1","messageUuid":"3"},"message":{"content":"of itself"}}`,
			`{"type":"user","sessionId":"OLD","message":{"content":"foreign without uuid"}}`,
			`{"type":"user","uuid":"5","sessionId":"OLD","forkedFrom":{},"message":{"content":"empty fork"}}`,
			`{"type":"user","uuid":"6","sessionId":"OLD","forkedFrom":{"sessionId":"S1","messageUuid":"6"},"message":{"content":"foreign, forked from here"}}`,
			`{"type":"user","uuid":"7","sessionId":"OLD","forkedFrom":"S1","message":{"content":"foreign, text form"}}`,
			`{"type":"user","uuid":"8","sessionId":"S1","forkedFrom":{"sessionId":"P","messageUuid":"1"},"message":{"content":"own, other uuid"}}`,
		},
		session: "S1 forked parent=P",
		events: []string{
			`0:0 message/user "text form" id=1,0 copy=P:1,0`,
			`1:0 message/user "other uuid" id=2,0 copy=OLD:2,0`,
			`2:0 message/user "of itself" id=3,0`,
			`3:0 message/user "foreign without uuid" id=#,0`,
			`4:0 message/user "empty fork" id=5,0 copy=OLD:5,0`,
			`5:0 message/user "foreign, forked from here" id=6,0 copy=OLD:6,0`,
			`6:0 message/user "foreign, text form" id=7,0 copy=OLD:7,0`,
			`7:0 message/user "own, other uuid" id=8,0 copy=P:1,0(field)`,
		},
		title: "text form",
	}, {
		name: "only the first chain record tells the origin",
		lines: []string{
			`{"type":"mode","sessionId":"OLD","mode":"x"}`,
			`{"type":"summary","summary":"s","leafUuid":"x"}`,
			user("1", "own"),
			`{"type":"user","uuid":"2","sessionId":"B","message":{"content":"written to the wrong file"}}`,
		},
		session: "S1 root",
		events: []string{
			`1:0 summary "s" id=#,0`,
			`2:0 message/user "own" id=1,0`,
			`3:0 message/user "written to the wrong file" id=2,0 copy=B:2,0`,
		},
		ignored: 1,
		title:   "own",
	}, {
		name: "the origin may come behind the first event, from a record that gives none",
		lines: []string{
			`{"type":"summary","summary":"s","leafUuid":"x"}`,
			`{"type":"progress","uuid":"p","sessionId":"OLD"}`,
		},
		session: "S1 resumed_from parent=OLD",
		events:  []string{`0:0 summary "s" id=#,0`},
		ignored: 1,
	}, {
		name:    "T28 subagent",
		locator: "-w/S1/subagents/agent-ab12.jsonl",
		lines:   []string{`{"type":"user","uuid":"z1","sessionId":"S1","isSidechain":true,"agentId":"ab12","parentUuid":null,"message":{"role":"user","content":"find X"}}`},
		session: "S1/subagents/agent-ab12 delegated parent=S1 root=S1 subagent",
		events:  []string{`0:0 message/user "find X" id=z1,0 subagent`},
		title:   "find X",
	}, {
		name:    "T29 flat subagent",
		locator: "-w/agent-ab12.jsonl",
		lines:   []string{`{"type":"user","uuid":"z1","sessionId":"S1","isSidechain":true,"agentId":"ab12","parentUuid":null,"message":{"role":"user","content":"find X"}}`},
		session: "S1/subagents/agent-ab12 delegated parent=S1 root=S1 subagent",
		events:  []string{`0:0 message/user "find X" id=z1,0 subagent`},
		title:   "find X",
	}, {
		name:    "T30 workflow subagent",
		locator: "-w/S1/subagents/workflows/wf_1/agent-cd.jsonl",
		lines:   []string{`{"type":"user","uuid":"z1","sessionId":"S1","isSidechain":true,"message":{"role":"user","content":"find X"}}`},
		session: "S1/subagents/workflows/wf_1/agent-cd workflow_child parent=S1 root=S1 subagent",
		events:  []string{`0:0 message/user "find X" id=z1,0 subagent`},
		title:   "find X",
	}, {
		name:    "copied agents name the session of the copied line",
		locator: "-w/S1/subagents/agent-ab12.jsonl",
		lines:   []string{`{"type":"user","uuid":"z1","sessionId":"OLD","message":{"role":"user","content":"find X"}}`},
		session: "S1/subagents/agent-ab12 delegated parent=S1 root=S1 subagent",
		events:  []string{`0:0 message/user "find X" id=z1,0 subagent copy=OLD:z1,0`},
		title:   "find X",
	}})
}

// TestDeclarations: a session is declared again only when that says something new.
func TestDeclarations(t *testing.T) {
	summary, foreign := `{"type":"summary","summary":"s"}`+"\n", `{"type":"user","uuid":"1","sessionId":"OLD","message":{"content":"x"}}`+"\n"
	for content, want := range map[string]int{
		summary + user("1", "x") + "\n" + user("2", "y") + "\n": 1,
		summary + foreign + user("2", "y") + "\n":               2,
		`{"type":"mode","mode":"x"}` + "\n":                     0,
	} {
		tr := newTree(t)
		tr.write("-w/S1.jsonl", content)
		if got := tr.full(tr.only()); len(got.sessions) != want || len(got.ending.Metadata) != min(want, 1) {
			t.Errorf("%q: %d declarations and %d metadata, want %d", content, len(got.sessions), len(got.ending.Metadata), want)
		}
	}
}
