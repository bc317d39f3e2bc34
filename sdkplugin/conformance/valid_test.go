package conformance

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

func soundTranscript() *transcript {
	key := sdkplugin.NativeID("n", sdkplugin.U64(1))
	return &transcript{
		source:   &historyv1.Source{Locator: "s"},
		begin:    &historyv1.SourceBegin{Mode: historyv1.Mode_MODE_FULL},
		sessions: map[uint32]*historyv1.Session{0: {Ref: &historyv1.SessionRef{Kind: "k", Key: key}}},
		events: []*historyv1.Event{
			{Key: key, Kind: "e", Sequence: 4, Type: "message", Structured: []byte(`{"a":"b"}`),
				Body: &historyv1.Value{Spans: []*historyv1.Span{{Offset: 5, Length: 3, Quoted: true}}}},
			{Key: sdkplugin.NativeID("n", sdkplugin.U64(2)), Kind: "e", Sequence: 4, Type: "tool_call", CallId: sdkplugin.Utf8("c"),
				Invocation: &historyv1.Invocation{Tool: "t", Arguments: &historyv1.Capture{Status: historyv1.Capture_STATUS_PRESENT, Value: &historyv1.Value{Inline: []byte(`{}`)}}},
				Result:     &historyv1.Result{Text: &historyv1.Capture{Status: historyv1.Capture_STATUS_ABSENT}},
				Facts:      []*historyv1.Fact{{Kind: historyv1.FactKind_FACT_KIND_FILE, Value: "/a"}},
				Copy: &historyv1.CopyClaim{Session: &historyv1.SessionRef{Kind: "k", Key: key}, EventKind: "e", EventKey: key,
					Proof: historyv1.Proof_PROOF_NATIVE_EVENT_IDENTITY}},
		},
		end: &historyv1.SourceEnd{Observation: []byte("o"), ContentDigest: make([]byte, 32),
			Counts:   &historyv1.Counts{Complete: 3, Retained: 2, Rejected: 1},
			Metadata: []*historyv1.SessionMetadata{{Title: "T"}}},
	}
}

// What the SDK would not let through, another implementation may send.
func TestUnsoundTranscripts(t *testing.T) {
	if tr := soundTranscript(); tr.valid() != nil || tr.accounted() != nil {
		t.Fatal(tr.valid(), tr.accounted())
	}
	cases := map[string]func(*transcript){
		"undeclared session":   func(t *transcript) { t.events[0].Session = 9 },
		"sequence back":        func(t *transcript) { t.events[1].Sequence = 3 },
		"key twice":            func(t *transcript) { t.events[1].Key = t.events[0].Key },
		"bad key":              func(t *transcript) { t.events[0].Key = []byte{9} },
		"no kind":              func(t *transcript) { t.events[0].Kind = "" },
		"no type":              func(t *transcript) { t.events[0].Type = "" },
		"white space":          func(t *transcript) { t.events[0].Structured = []byte(`{"a": "b"}`) },
		"unsorted":             func(t *transcript) { t.events[1].Structured = []byte(`{"b":1,"a":1}`) },
		"span outside":         func(t *transcript) { t.events[0].Body.Spans[0].Offset = 1 << 31 },
		"span no literal":      func(t *transcript) { t.events[0].Body.Spans[0].Offset = 4 },
		"bytes and spans":      func(t *transcript) { t.events[0].Body.Inline = []byte("x") },
		"body not UTF-8":       func(t *transcript) { t.events[0].Body = &historyv1.Value{Inline: []byte{0xff}} },
		"arguments no JSON":    func(t *transcript) { t.events[1].Invocation.Arguments.Value.Inline = []byte("{") },
		"no call id":           func(t *transcript) { t.events[1].CallId = nil },
		"bad call id":          func(t *transcript) { t.events[1].CallId = []byte{9} },
		"no tool":              func(t *transcript) { t.events[1].Invocation.Tool = "" },
		"fact without kind":    func(t *transcript) { t.events[1].Facts[0].Kind = 0 },
		"long file fact":       func(t *transcript) { t.events[1].Facts[0].Value = strings.Repeat("x", sdkplugin.MaxFileFact+1) },
		"facts without end":    func(t *transcript) { t.events[1].Facts = make([]*historyv1.Fact, sdkplugin.MaxFacts+1) },
		"omitted, no reason":   func(t *transcript) { t.events[1].Result.Text.Status = historyv1.Capture_STATUS_OMITTED },
		"body that is not":     func(t *transcript) { t.events[1].Result.Text.Status = historyv1.Capture_STATUS_NORMALIZED_BODY },
		"copy without proof":   func(t *transcript) { t.events[1].Copy.Proof = 0 },
		"copy without session": func(t *transcript) { t.events[1].Copy.Session = nil },
		"copy without key":     func(t *transcript) { t.events[1].Copy.EventKey = nil },
		"no content":           func(t *transcript) { t.events[0].Body, t.events[0].Structured = nil, nil },
		"policy, no reason":    func(t *transcript) { t.events[0].Policy = &historyv1.Policy{Status: historyv1.Policy_STATUS_REDACTED} },
		"omitted with content": func(t *transcript) {
			t.events[0].Policy = &historyv1.Policy{Status: historyv1.Policy_STATUS_OMITTED, Reason: "r"}
		},
		"session without ref": func(t *transcript) { t.sessions[0].Ref = nil },
		"bad session key":     func(t *transcript) { t.sessions[0].Ref.Key = nil },
		"bad anchor of parent": func(t *transcript) {
			t.sessions[0].Parent = &historyv1.SessionRef{Kind: "k", Key: t.sessions[0].Ref.Key, Anchor: []byte{9}}
		},
		"long session id":      func(t *transcript) { t.sessions[0].ProviderSessionId = strings.Repeat("x", sdkplugin.MaxString+1) },
		"metadata of nobody":   func(t *transcript) { t.end.Metadata[0].Index = 4 },
		"long title":           func(t *transcript) { t.end.Metadata[0].Title = strings.Repeat("ü", 201) },
		"counts do not add up": func(t *transcript) { t.end.Counts.Complete = 9 },
		"retained for nothing": func(t *transcript) { t.end.Counts.Retained, t.end.Counts.Complete = 7, 8 },
		"no observation":       func(t *transcript) { t.end.Observation = nil },
		"short digest":         func(t *transcript) { t.end.ContentDigest = []byte{1} },
		"big frontier":         func(t *transcript) { t.end.Frontier = make([]byte, sdkplugin.MaxFrontier+1) },
		"more rejections":      func(t *transcript) { t.rejections = []*historyv1.Rejection{{}} },
	}
	for name, change := range cases {
		tr := soundTranscript()
		change(tr)
		if tr.valid() == nil && tr.accounted() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestOrderOfMessages(t *testing.T) {
	begin := &historyv1.ScanMessage{Message: &historyv1.ScanMessage_Begin{Begin: &historyv1.SourceBegin{Mode: historyv1.Mode_MODE_FULL}}}
	batch := &historyv1.ScanMessage{Message: &historyv1.ScanMessage_Batch{Batch: &historyv1.Batch{}}}
	end := &historyv1.ScanMessage{Message: &historyv1.ScanMessage_End{End: &historyv1.SourceEnd{}}}
	failure := &historyv1.ScanMessage{Message: &historyv1.ScanMessage_Failure{Failure: &historyv1.SourceFailure{}}}
	other := &historyv1.ScanMessage{Message: &historyv1.ScanMessage_Batch{Batch: &historyv1.Batch{Source: 4}}}
	cases := map[string]struct {
		messages []*historyv1.ScanMessage
		ok       bool
	}{
		"whole":               {[]*historyv1.ScanMessage{begin, batch, batch, end}, true},
		"failure at once":     {[]*historyv1.ScanMessage{failure}, true},
		"failure in between":  {[]*historyv1.ScanMessage{begin, batch, failure}, true},
		"no begin":            {[]*historyv1.ScanMessage{batch}, false},
		"end without begin":   {[]*historyv1.ScanMessage{end}, false},
		"two begins":          {[]*historyv1.ScanMessage{begin, begin}, false},
		"batch after the end": {[]*historyv1.ScanMessage{begin, end, batch}, false},
		"end after a failure": {[]*historyv1.ScanMessage{failure, end}, false},
		"unknown source":      {[]*historyv1.ScanMessage{other}, false},
		"empty message":       {[]*historyv1.ScanMessage{{}}, false},
	}
	for name, c := range cases {
		out := []*transcript{{source: &historyv1.Source{}, sessions: map[uint32]*historyv1.Session{}}}
		var err error
		for _, m := range c.messages {
			if err == nil {
				err = take(out, m)
			}
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTranscriptsAreCompared(t *testing.T) {
	// The numbers of sessions do not matter, what they stand for does.
	renumbered := soundTranscript()
	renumbered.sessions[5] = renumbered.sessions[0]
	delete(renumbered.sessions, 0)
	renumbered.events[0].Session, renumbered.events[1].Session, renumbered.end.Metadata[0].Index = 5, 5, 5
	renumbered.end.Frontier = []byte("another")
	if diff := soundTranscript().differs(renumbered); diff != "" {
		t.Errorf("renumbered: %s", diff)
	}
	cases := map[string]func(*transcript){
		"event":     func(t *transcript) { t.events[0].Role = "user" },
		"events":    func(t *transcript) { t.events = t.events[:1] },
		"session":   func(t *transcript) { t.sessions[0].Scope = 1 },
		"sessions":  func(t *transcript) { t.sessions[1] = proto.CloneOf(t.sessions[0]); t.sessions[1].Ref.Kind = "z" },
		"metadata":  func(t *transcript) { t.end.Metadata[0].Title = "U" },
		"counts":    func(t *transcript) { t.end.Counts.Ignored = 1 },
		"bytes":     func(t *transcript) { t.end.CertifiedBytes = 1 },
		"digest":    func(t *transcript) { t.end.ContentDigest[0] = 1 },
		"rejection": func(t *transcript) { t.rejections = []*historyv1.Rejection{{Line: 1}} },
		"failure":   func(t *transcript) { t.failure = &historyv1.SourceFailure{Class: "x"} },
		"no end":    func(t *transcript) { t.end = nil },
	}
	for name, change := range cases {
		tr := soundTranscript()
		change(tr)
		if soundTranscript().differs(tr) == "" {
			t.Errorf("%s: no difference", name)
		}
	}
}
