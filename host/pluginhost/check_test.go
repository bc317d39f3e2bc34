package pluginhost

import (
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

func isBroken(err error) bool {
	var rule *broken
	return errors.As(err, &rule)
}

// opened returns a source of a scan with one session and one event.
func opened(t *testing.T, asked historyv1.Mode) *scanned {
	t.Helper()
	s := &scanned{asked: asked}
	limits := Limits{}.withDefaults()
	for _, m := range []*historyv1.ScanMessage{begin(0), batch(0, event())} {
		if err := s.message(m, &limits); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestEventsThatBreakARule(t *testing.T) {
	t.Parallel()
	span := func(e *historyv1.Event, offset, length uint32) {
		e.Body = &historyv1.Value{Spans: []*historyv1.Span{{Offset: offset, Length: length}}}
	}
	outside := &historyv1.Capture{Value: &historyv1.Value{Spans: []*historyv1.Span{{Offset: 5, Length: 7}}}}
	good := map[string]func(e *historyv1.Event){ // structured is {"a":"é"}, 10 bytes
		"as it is":           func(*historyv1.Event) {},
		"whole":              func(e *historyv1.Event) { span(e, 0, 10) },
		"empty piece at end": func(e *historyv1.Event) { span(e, 10, 0) },
		"no body":            func(e *historyv1.Event) { e.Body = nil },
	}
	bad := map[string]func(e *historyv1.Event){
		"undeclared session": func(e *historyv1.Event) { e.Session = 1 },
		"huge session":       func(e *historyv1.Event) { e.Session = math.MaxUint32 },
		"piece behind":       func(e *historyv1.Event) { span(e, 11, 0) },
		"piece over the end": func(e *historyv1.Event) { span(e, 5, 7) },
		"piece that wraps":   func(e *historyv1.Event) { span(e, math.MaxUint32, math.MaxUint32) },
		"piece of nothing":   func(e *historyv1.Event) { e.Structured = nil },
		"arguments":          func(e *historyv1.Event) { e.Invocation = &historyv1.Invocation{Arguments: outside} },
		"result text":        func(e *historyv1.Event) { e.Result = &historyv1.Result{Text: outside} },
		"structured result":  func(e *historyv1.Event) { e.Result = &historyv1.Result{Structured: outside} },
		"pieces that blow up": func(e *historyv1.Event) {
			e.Structured = []byte(`"` + strings.Repeat("x", 16<<20) + `"`)
			e.Body.Spans = nil
			for range 5 {
				e.Body.Spans = append(e.Body.Spans, &historyv1.Span{Length: 16 << 20})
			}
		},
	}
	for name, change := range good {
		e := event()
		if change(e); opened(t, historyv1.Mode_MODE_FULL).event(e) != nil {
			t.Errorf("%s: refused: %v", name, opened(t, historyv1.Mode_MODE_FULL).event(e))
		}
	}
	for name, change := range bad {
		e := event()
		if change(e); !isBroken(opened(t, historyv1.Mode_MODE_FULL).event(e)) {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestMessagesThatBreakTheOrder(t *testing.T) {
	t.Parallel()
	full, more := historyv1.Mode_MODE_FULL, historyv1.Mode_MODE_APPEND
	mode := func(m historyv1.Mode) *historyv1.ScanMessage {
		out := begin(0)
		out.GetBegin().Mode = m
		return out
	}
	sequence := func(n uint64) *historyv1.ScanMessage {
		e := event()
		e.Sequence = n
		return batch(0, e)
	}
	changed := func(m *historyv1.ScanMessage, change func(*historyv1.Batch)) *historyv1.ScanMessage {
		change(m.GetBatch())
		return m
	}
	ended := func(change func(*historyv1.SourceEnd)) *historyv1.ScanMessage {
		m := end(0)
		change(m.GetEnd())
		return m
	}
	limits := Limits{Events: 3, Sessions: 2}.withDefaults()
	for name, tt := range map[string]struct {
		asked    historyv1.Mode
		messages []*historyv1.ScanMessage // all but the last are fine
		fine     bool
	}{
		"full":                      {full, []*historyv1.ScanMessage{begin(0), batch(0, event()), end(0)}, true},
		"append":                    {more, []*historyv1.ScanMessage{mode(more), batch(0, event()), end(0)}, true},
		"append answered with full": {more, []*historyv1.ScanMessage{mode(full)}, true},
		"full answered with append": {full, []*historyv1.ScanMessage{mode(more)}, false},
		"no mode":                   {full, []*historyv1.ScanMessage{mode(0)}, false},
		"begin twice":               {full, []*historyv1.ScanMessage{begin(0), begin(0)}, false},
		"batch first":               {full, []*historyv1.ScanMessage{batch(0)}, false},
		"end first":                 {full, []*historyv1.ScanMessage{end(0)}, false},
		"failure first":             {full, []*historyv1.ScanMessage{refusal(0, errors.New("x"))}, true},
		"sequence stands":           {full, []*historyv1.ScanMessage{begin(0), sequence(5), sequence(5)}, true},
		"sequence goes back":        {full, []*historyv1.ScanMessage{begin(0), sequence(5), sequence(4)}, false},
		"progress goes back": {full, []*historyv1.ScanMessage{begin(0),
			changed(batch(0), func(b *historyv1.Batch) { b.ReadBytes = 2 }), changed(batch(0), func(b *historyv1.Batch) { b.ReadBytes = 1 })}, false},
		"session skipped":   {full, []*historyv1.ScanMessage{begin(0), changed(batch(0), func(b *historyv1.Batch) { b.Sessions[0].Index = 1 })}, false},
		"session again":     {full, []*historyv1.ScanMessage{begin(0), batch(0), batch(0)}, true},
		"too many sessions": {full, []*historyv1.ScanMessage{begin(0), batch(0), changed(batch(0), func(b *historyv1.Batch) { b.Sessions[0].Index = 1 }), changed(batch(0), func(b *historyv1.Batch) { b.Sessions[0].Index = 2 })}, false},
		"events":            {full, []*historyv1.ScanMessage{begin(0), batch(0, event(), event(), event())}, true},
		"too many events":   {full, []*historyv1.ScanMessage{begin(0), batch(0, event(), event()), batch(0, event(), event())}, false},
		"too many batches":  {full, []*historyv1.ScanMessage{begin(0), batch(0), batch(0), batch(0), batch(0)}, false},
		"rejections": {full, []*historyv1.ScanMessage{begin(0), changed(batch(0), func(b *historyv1.Batch) {
			for range 65 {
				b.Rejections = append(b.Rejections, &historyv1.Rejection{})
			}
		})}, false},
		"no observation": {full, []*historyv1.ScanMessage{begin(0), ended(func(e *historyv1.SourceEnd) { e.Observation = nil })}, false},
		"short digest":   {full, []*historyv1.ScanMessage{begin(0), ended(func(e *historyv1.SourceEnd) { e.ContentDigest = e.ContentDigest[1:] })}, false},
		"huge frontier":  {full, []*historyv1.ScanMessage{begin(0), ended(func(e *historyv1.SourceEnd) { e.Frontier = make([]byte, 64<<10+1) })}, false},
		"counts":         {full, []*historyv1.ScanMessage{begin(0), ended(func(e *historyv1.SourceEnd) { e.Counts.Complete = 2 })}, false},
		"counts that wrap": {full, []*historyv1.ScanMessage{begin(0), ended(func(e *historyv1.SourceEnd) {
			e.Counts = &historyv1.Counts{Retained: math.MaxUint64, Rejected: 2, Complete: 1}
		})}, false},
		"many models": {full, []*historyv1.ScanMessage{begin(0), batch(0), ended(func(e *historyv1.SourceEnd) {
			e.Metadata = []*historyv1.SessionMetadata{{Models: make([]string, mostModels+1)}}
		})}, false},
		"metadata of none": {full, []*historyv1.ScanMessage{begin(0), ended(func(e *historyv1.SourceEnd) { e.Metadata = []*historyv1.SessionMetadata{{}} })}, false},
		"metadata":         {full, []*historyv1.ScanMessage{begin(0), batch(0), ended(func(e *historyv1.SourceEnd) { e.Metadata = []*historyv1.SessionMetadata{{Title: "t"}} })}, true},
	} {
		s := &scanned{asked: tt.asked}
		for i, m := range tt.messages {
			err := s.message(m, &limits)
			switch last := i == len(tt.messages)-1; {
			case (!last || tt.fine) && err != nil:
				t.Errorf("%s: message %d is refused: %v", name, i, err)
			case last && !tt.fine && !isBroken(err):
				t.Errorf("%s: accepted", name)
			}
		}
	}
}

func TestInventoriesThatLie(t *testing.T) {
	t.Parallel()
	request := &historyv1.InventoryRequest{Routes: []*historyv1.Route{{}, {}}, MaxSources: 2}
	sources := func(change func(*historyv1.Source), n int) *historyv1.InventoryMessage {
		out := &historyv1.Sources{}
		for range n {
			s := source()
			change(s)
			out.Sources = append(out.Sources, s)
		}
		return &historyv1.InventoryMessage{Message: &historyv1.InventoryMessage_Sources{Sources: out}}
	}
	same := func(*historyv1.Source) {}
	state := func(s historyv1.RouteEnd_State, n uint64) *historyv1.RouteEnd {
		return &historyv1.RouteEnd{State: s, Sources: n}
	}
	complete, missing, incomplete := historyv1.RouteEnd_STATE_COMPLETE, historyv1.RouteEnd_STATE_MISSING, historyv1.RouteEnd_STATE_INCOMPLETE
	ending := func(all bool, routes ...*historyv1.RouteEnd) *historyv1.InventoryMessage {
		return &historyv1.InventoryMessage{Message: &historyv1.InventoryMessage_End{End: &historyv1.InventoryEnd{Complete: all, Routes: routes}}}
	}
	limited := func(all bool) *historyv1.InventoryMessage {
		m := ending(all, state(incomplete, 1), state(incomplete, 0))
		m.GetEnd().Limited = true
		return m
	}
	fine := ending(true, state(complete, 1), state(complete, 0))
	for name, tt := range map[string]struct {
		messages []*historyv1.InventoryMessage
		fine     bool
	}{
		"fine":               {[]*historyv1.InventoryMessage{sources(same, 1), fine}, true},
		"one missing":        {[]*historyv1.InventoryMessage{sources(same, 1), ending(false, state(incomplete, 1), state(missing, 0))}, true},
		"two ends":           {[]*historyv1.InventoryMessage{sources(same, 1), fine, fine}, false},
		"sources behind":     {[]*historyv1.InventoryMessage{sources(same, 1), fine, sources(same, 1)}, false},
		"nothing":            {[]*historyv1.InventoryMessage{{}}, false},
		"empty sources":      {[]*historyv1.InventoryMessage{sources(same, 0)}, false},
		"too many":           {[]*historyv1.InventoryMessage{sources(same, 2), sources(same, 1)}, false},
		"wrong number":       {[]*historyv1.InventoryMessage{sources(same, 2), fine}, false},
		"missing with one":   {[]*historyv1.InventoryMessage{sources(same, 1), ending(false, state(missing, 1), state(complete, 0))}, false},
		"not complete":       {[]*historyv1.InventoryMessage{sources(same, 1), ending(true, state(complete, 1), state(incomplete, 0))}, false},
		"no state":           {[]*historyv1.InventoryMessage{sources(same, 1), ending(false, state(complete, 1), state(0, 0))}, false},
		"one route reported": {[]*historyv1.InventoryMessage{sources(same, 1), ending(true, state(complete, 1))}, false},
		"other route":        {[]*historyv1.InventoryMessage{sources(func(s *historyv1.Source) { s.Route = 2 }, 1)}, false},
		"no anchor":          {[]*historyv1.InventoryMessage{sources(func(s *historyv1.Source) { s.Anchor = nil }, 1)}, false},
		"no format":          {[]*historyv1.InventoryMessage{sources(func(s *historyv1.Source) { s.Format = "" }, 1)}, false},
		"absolute locator":   {[]*historyv1.InventoryMessage{sources(func(s *historyv1.Source) { s.Locator = "/etc/passwd" }, 1)}, false},
		"climbing locator":   {[]*historyv1.InventoryMessage{sources(func(s *historyv1.Source) { s.Locator = "a/../../b" }, 1)}, false},
		"locator with NUL":   {[]*historyv1.InventoryMessage{sources(func(s *historyv1.Source) { s.Locator = "a\x00" }, 1)}, false},
		"no observation":     {[]*historyv1.InventoryMessage{sources(func(s *historyv1.Source) { s.Observation = nil }, 1)}, false},
		"limited unasked":    {[]*historyv1.InventoryMessage{sources(same, 1), limited(false)}, false},
		"limited, complete":  {[]*historyv1.InventoryMessage{sources(same, 1), limited(true)}, false},
		"huge observation":   {[]*historyv1.InventoryMessage{sources(func(s *historyv1.Source) { s.Observation = make([]byte, 4097) }, 1)}, false},
	} {
		check := newInventoryCheck(request)
		var err error
		for _, m := range tt.messages {
			if err = check.message(m); err != nil {
				break
			}
		}
		if (err == nil) != tt.fine || err != nil && !isBroken(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDescriptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	location := func(l *historyv1.Location) func(*historyv1.DescribeResponse) {
		return func(d *historyv1.DescribeResponse) { d.Locations = []*historyv1.Location{l} }
	}
	if err := checkDescription(description()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*historyv1.DescribeResponse){
		"no id":             func(d *historyv1.DescribeResponse) { d.Id = "" },
		"upper case id":     func(d *historyv1.DescribeResponse) { d.Id = "Liar" },
		"long id":           func(d *historyv1.DescribeResponse) { d.Id = strings.Repeat("x", 129) },
		"no name":           func(d *historyv1.DescribeResponse) { d.CliName = "" },
		"no revision":       func(d *historyv1.DescribeResponse) { d.ParserRevision = "" },
		"escape in name":    func(d *historyv1.DescribeResponse) { d.DisplayName = "\x1b[31mred" },
		"long name":         func(d *historyv1.DescribeResponse) { d.DisplayName = strings.Repeat("x", 5000) },
		"no format":         func(d *historyv1.DescribeResponse) { d.Formats = nil },
		"format twice":      func(d *historyv1.DescribeResponse) { d.Formats = append(d.Formats, d.Formats[0]) },
		"variable":          func(d *historyv1.DescribeResponse) { d.Environment = []string{"A=B"} },
		"foreign location":  location(&historyv1.Location{Env: "X", Format: "other"}),
		"placeless":         location(&historyv1.Location{Format: "liar_tree"}),
		"climbing location": location(&historyv1.Location{Env: "X", Format: "liar_tree", Suffix: "../../.ssh"}),
		"absolute suffix":   location(&historyv1.Location{Env: "X", Format: "liar_tree", Suffix: "/etc"}),
		"deep probe":        location(&historyv1.Location{Env: "X", Format: "liar_tree", Probe: &historyv1.Probe{MaxDepth: 65}}),
		"many names":        func(d *historyv1.DescribeResponse) { d.Aliases = make([]string, mostNames+1) },
		"escape in a list":  func(d *historyv1.DescribeResponse) { d.Resume = &historyv1.ResumeCommand{Argv: []string{"a\x1b"}} },
		"foreign child": func(d *historyv1.DescribeResponse) {
			d.Root = &historyv1.RootCapability{Children: []*historyv1.RootChild{{Format: "other"}}}
		},
		"foreign rule": func(d *historyv1.DescribeResponse) { d.ExactPaths = []*historyv1.PathRule{{Format: "other"}} },
	} {
		d := description()
		if change(d); !isBroken(checkDescription(d)) {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestMessagesAreMeasuredBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	// Two bytes for an event: 800,000 of them fit a small message and would fill a quarter of a gigabyte.
	events := strings.Repeat("\x1a\x00", 2*mostParts)
	message := append([]byte{0x12, 0x80, 0xea, 0x30}, events...)
	if n := len(events); n != 1_600_000 {
		t.Fatalf("%d bytes do not fit the length written above", n)
	}
	message[1], message[2], message[3] = byte(1_600_000&0x7f|0x80), byte(1_600_000>>7&0x7f|0x80), byte(1_600_000>>14)
	for name, data := range map[string][]byte{"parts": message, "no message": []byte("\x12\xff"), "cut": message[:100], "bad tag": {0x00}} {
		c := newCodec()
		err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, &historyv1.ScanMessage{})
		if !isBroken(err) || c.broken.Load() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	want := batch(3, event())
	encoded, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got historyv1.ScanMessage
	encoded = append(encoded, 0x7a, 0x03, 'n', 'e', 'w') // a field of a later version
	if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(encoded[:20]), mem.SliceBuffer(encoded[20:])}, &got); err != nil || !proto.Equal(want, &got) {
		t.Errorf("decoded %v, %v", &got, err)
	}
}

func FuzzScanMessage(f *testing.F) {
	for _, m := range []*historyv1.ScanMessage{begin(0), batch(0, event()), end(0), refusal(0, errors.New("x"))} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m historyv1.ScanMessage
		if newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, &m) != nil {
			return
		}
		s := opened(t, historyv1.Mode_MODE_FULL)
		limits := Limits{}.withDefaults()
		if err := s.message(&m, &limits); err != nil || m.GetBatch() == nil {
			return
		}
		for _, e := range m.GetBatch().GetEvents() {
			for _, span := range e.GetBody().GetSpans() {
				_ = e.Structured[span.Offset : span.Offset+span.Length]
			}
		}
	})
}
