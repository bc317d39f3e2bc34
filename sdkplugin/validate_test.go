package sdkplugin

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
)

func nullLog() hclog.Logger { return hclog.NewNullLogger() }

func TestEventRules(t *testing.T) {
	good := func() *Event {
		e := fullEvent()
		e.Policy, e.Body = Policy{}, Pieces(Span{Offset: 11, Length: 3, Quoted: true})
		return e
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", MaxString+1)
	cases := map[string]func(*Event){
		"no key":               func(e *Event) { e.Key = nil },
		"no kind":              func(e *Event) { e.Kind = "" },
		"long kind":            func(e *Event) { e.Kind = strings.Repeat("k", MaxLabel+1) },
		"bad selector":         func(e *Event) { e.Selector = NativeKey{9} },
		"no type":              func(e *Event) { e.Type = "" },
		"type not UTF-8":       func(e *Event) { e.Type = "\xff" },
		"long role":            func(e *Event) { e.Role = long },
		"scope":                func(e *Event) { e.Scope = 9 },
		"span outside":         func(e *Event) { e.Body.Spans[0].Length = 99 },
		"span overflow":        func(e *Event) { e.Body.Spans[0].Offset = 1<<32 - 1 },
		"span not quoted":      func(e *Event) { e.Body.Spans[0].Offset = 1 },
		"span of one quote":    func(e *Event) { e.Body.Spans[0].Length = 1 },
		"bytes and spans":      func(e *Event) { e.Body.Bytes = []byte("x") },
		"value not present":    func(e *Event) { e.Body.Present = false },
		"call id missing":      func(e *Event) { e.CallID = nil },
		"call id bad":          func(e *Event) { e.CallID = Utf8("") },
		"no tool":              func(e *Event) { e.Invocation.Tool = "" },
		"tool not UTF-8":       func(e *Event) { e.Invocation.Tool = "\xff" },
		"present without":      func(e *Event) { e.Invocation.Arguments = Capture{Status: CapturePresent} },
		"omitted without":      func(e *Event) { e.Result.Structured = Omitted("", 1) },
		"absent with value":    func(e *Event) { e.Invocation.Arguments = Capture{Value: Inline("1")} },
		"absent with reason":   func(e *Event) { e.Invocation.Arguments = Capture{Reason: "x"} },
		"arguments as body":    func(e *Event) { e.Invocation.Arguments = SameAsBody() },
		"body missing":         func(e *Event) { e.Body = Value{} },
		"capture status":       func(e *Event) { e.Result.Text = Capture{Status: 9} },
		"status not UTF-8":     func(e *Event) { e.Result.Status = "\xff" },
		"fact kind":            func(e *Event) { e.Facts[0].Kind = 0 },
		"fact empty":           func(e *Event) { e.Facts[0].Value = "" },
		"fact not UTF-8":       func(e *Event) { e.Facts[0].Value = "\xff" },
		"file fact too long":   func(e *Event) { e.Facts[0].Value = long[:MaxFileFact+1] },
		"fact too long":        func(e *Event) { e.Facts[1].Value = long },
		"too many facts":       func(e *Event) { e.Facts = make([]Fact, MaxFacts+1) },
		"copy without proof":   func(e *Event) { e.Copy.Proof = 0 },
		"copy without kind":    func(e *Event) { e.Copy.EventKind = "" },
		"copy without key":     func(e *Event) { e.Copy.EventKey = nil },
		"copy bad selector":    func(e *Event) { e.Copy.EventSelector = NativeKey{1} },
		"copy bad anchor":      func(e *Event) { e.Copy.Session.Anchor = Anchor{7} },
		"copy without session": func(e *Event) { e.Copy.Session = SessionRef{} },
		"policy reason alone":  func(e *Event) { e.Policy.Reason = "x" },
		"policy status":        func(e *Event) { e.Policy.Status = 9 },
		"redacted no reason":   func(e *Event) { e.Policy.Status = Redacted },
		"omitted with content": func(e *Event) { e.Policy = Policy{OmittedContent, "r"} },
		"nothing at all":       func(e *Event) { *e = Event{Key: e.Key, Kind: e.Kind, Type: e.Type} },
		"redacted and empty":   func(e *Event) { *e = Event{Key: e.Key, Kind: e.Kind, Type: e.Type, Policy: Policy{Redacted, "r"}} },
		"too big to travel":    func(e *Event) { e.Structured = make([]byte, maxWireEvent+1) },
	}
	for name, change := range cases {
		e := good()
		change(e)
		if e.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	omitted := &Event{Key: good().Key, Kind: "k", Type: "t", Policy: Policy{OmittedContent, "r"}}
	if err := omitted.Validate(); err != nil {
		t.Error(err)
	}
}

func TestSessionRules(t *testing.T) {
	if s := ownSession(); s.Validate() != nil {
		t.Fatal(s.Validate())
	}
	cases := map[string]func(*Session){
		"no kind":       func(s *Session) { s.Ref.Kind = "" },
		"own anchor":    func(s *Session) { s.Ref.Anchor = NativeAnchor("n", U64(1)) },
		"no key":        func(s *Session) { s.Ref.Key = nil },
		"bad parent":    func(s *Session) { s.Parent = &SessionRef{} },
		"bad root":      func(s *Session) { s.Root = &SessionRef{} },
		"bad yields":    func(s *Session) { s.YieldsTo = &SessionRef{} },
		"relationship":  func(s *Session) { s.Relationship = 9 },
		"scope":         func(s *Session) { s.Scope = -1 },
		"id not UTF-8":  func(s *Session) { s.ProviderSessionID = "\xff" },
		"id too long":   func(s *Session) { s.ProviderSessionID = strings.Repeat("x", MaxString+1) },
		"parent anchor": func(s *Session) { s.Parent = &SessionRef{Anchor: Anchor{9}, Kind: "k", Key: NativeID("n", U64(1))} },
	}
	for name, change := range cases {
		s := ownSession()
		change(&s)
		if s.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestLocators(t *testing.T) {
	for _, s := range []string{"", "a", "a/b.jsonl", "..a/b..", ".hidden", "a b/ü"} {
		if !ValidLocator(s) {
			t.Errorf("%q: refused", s)
		}
	}
	for _, s := range []string{"/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\x00", "\xff", strings.Repeat("x", MaxLocator+1)} {
		if ValidLocator(s) {
			t.Errorf("%q: accepted", s)
		}
	}
}

func TestClip(t *testing.T) {
	if got := clip(" a\n\tb\xff "); got != "a b\uFFFD" {
		t.Errorf("%q", got)
	}
	got := clip("x" + strings.Repeat("ü", MaxMessage))
	if len(got) != MaxMessage-1 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestDescriptionRules(t *testing.T) {
	good := func() *DescribeResponse {
		return &DescribeResponse{Id: "acme_cli", ParserRevision: "1",
			Formats: []*Format{{Name: "acme", SchemaVariant: "v1", Family: JSONLTranscript}},
			Root:    &RootCapability{PathKind: PathDirectory, Children: []*RootChild{{Format: "acme", Role: "r"}}},
			Locations: []*Location{{Base: HomeDir, Suffix: ".acme", Format: "acme", Role: "r"},
				{Env: "ACME_HOME", Suffix: "sessions/", Format: "acme", Role: "r", Mode: OverrideLocation}},
			CurrentSession: &CurrentSession{SessionEnv: "ACME_SESSION", AnyOf: []*EnvMatch{{Name: "ACME", Values: []string{"1"}}}},
			Resume:         &ResumeCommand{Argv: []string{"acme"}},
			ExactPaths:     []*PathRule{{NameGlob: "*", Format: "acme", Role: "r"}},
		}
	}
	d := good()
	complete(d)
	if err := ValidateDescription(d); err != nil {
		t.Fatal(err)
	}
	if d.CliName != "acme-cli" || d.DisplayName != "acme-cli" || d.Formats[0].Leaf != "acme" || d.Formats[0].IdentityVersion != 1 ||
		d.Formats[0].ParserRevision != "1" || d.Locations[0].Slot != "r" || d.Root.Expander != "exact_source" || d.SdkVersion != Version {
		t.Errorf("defaults: %+v", d)
	}
	cases := map[string]func(*DescribeResponse){
		"no id":               func(d *DescribeResponse) { d.Id = "" },
		"upper case":          func(d *DescribeResponse) { d.Id = "Acme" },
		"long id":             func(d *DescribeResponse) { d.Id = strings.Repeat("a", MaxProviderID+1) },
		"no revision":         func(d *DescribeResponse) { d.ParserRevision = "" },
		"no format":           func(d *DescribeResponse) { d.Formats, d.Locations, d.Root = nil, nil, nil },
		"format twice":        func(d *DescribeResponse) { d.Formats = append(d.Formats, d.Formats[0]) },
		"no variant":          func(d *DescribeResponse) { d.Formats[0].SchemaVariant = "" },
		"unknown format":      func(d *DescribeResponse) { d.Locations[0].Format = "x" },
		"no role":             func(d *DescribeResponse) { d.Locations[0].Role = "" },
		"no base":             func(d *DescribeResponse) { d.Locations[0].Base = 0 },
		"override without":    func(d *DescribeResponse) { d.Locations[1].Env, d.Locations[1].Base = "", HomeDir },
		"relative to nothing": func(d *DescribeResponse) { d.Locations[1].Relative = FromBase },
		"absolute suffix":     func(d *DescribeResponse) { d.Locations[0].Suffix = "/etc" },
		"suffix goes up":      func(d *DescribeResponse) { d.Locations[0].Suffix = "a/../.." },
		"child format":        func(d *DescribeResponse) { d.Root.Children[0].Format = "x" },
		"root of any kind":    func(d *DescribeResponse) { d.Root.PathKind = 0 },
		"no session variable": func(d *DescribeResponse) { d.CurrentSession.SessionEnv = "" },
		"empty resume":        func(d *DescribeResponse) { d.Resume.Argv = nil },
		"no place at all":     func(d *DescribeResponse) { d.Locations = nil },
		"no family":           func(d *DescribeResponse) { d.Formats[0].Family = 0 },
		"known and unknown":   func(d *DescribeResponse) { d.NoKnownLocation = true },
	}
	for name, change := range cases {
		d := good()
		change(d)
		complete(d)
		if ValidateDescription(d) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
