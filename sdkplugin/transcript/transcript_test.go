package transcript

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// mapping keeps records with a text and refuses those without a kind.
type mapping struct{ got []string }

func (m *mapping) Known(v canonical.Value) bool { return v.Has("kind") }

func (m *mapping) Record(at Place, v canonical.Value) (Outcome, error) {
	switch text := v.Get("text").Str(); {
	case string(text) == "stop":
		return Outcome{}, errStop
	case !v.Has("kind"):
		return Outcome{Rejected: "no kind", PayloadType: "p"}, nil
	case len(text) == 0:
		return Outcome{}, nil
	default:
		m.got = append(m.got, fmt.Sprintf("%d.%d %s", at.Line.Ordinal, at.Nth, text))
		return Retained, nil
	}
}

var errStop = errors.New("stop")

// sink keeps rejections; nothing else is called here.
type sink struct {
	Sink
	rejected []string
	progress uint64
}

func (s *sink) Reject(r sdkplugin.Rejection) error {
	s.rejected = append(s.rejected, fmt.Sprintf("%d %s %s %d", r.Line, r.Detail, r.PayloadType, r.ByteOffset))
	return nil
}

func (s *sink) Progress(read uint64) error { s.progress = read; return nil }

func TestMap(t *testing.T) {
	text := strings.Join([]string{
		`{"kind":1,"text":"a"}`, ``, "\x00\x00", `{"kind":1}`, `{"text":"x"}`, `{"kind":1,"text":"b"}{"kind":2,"text":"c"}`,
		`{"kind":1,"te{"kind":2,"text":"d"}`, "{\"kind\":\"\xff\"}", `7`, strings.Repeat(" ", 17<<20), `{"kind":1,"text":"tail"}`,
	}, "\n")
	var s Scanner
	m, out := &mapping{}, &sink{}
	s.Reader.ResetStream(strings.NewReader(text))
	if err := s.Map(context.Background(), 1<<40, m, out); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0.0 a", "5.0 b", "5.1 c", "6.0 d"}; !slices.Equal(m.got, want) {
		t.Errorf("records %q, want %q", m.got, want)
	}
	want := []string{"5 no kind p 0", "7 not one JSON object  93", "8 not UTF-8  0", "9 not one JSON object  141", "10 line over 16 MiB  0"}
	if !slices.Equal(out.rejected, want) {
		t.Errorf("rejections %q, want %q", out.rejected, want)
	}
	if s.Retained != 4 || s.Ignored != 3 || s.Parsed != 7 || out.progress == 0 {
		t.Errorf("%d retained, %d ignored, %d parsed, progress %d", s.Retained, s.Ignored, s.Parsed, out.progress)
	}
	if s.Restart(); s.Retained+s.Ignored+s.Parsed != 0 {
		t.Error("counts after a restart")
	}
	s.Reader.ResetStream(strings.NewReader(`{"kind":1,"text":"stop"}` + "\n"))
	if err := s.Map(context.Background(), 1<<40, m, nil); !errors.Is(err, errStop) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Reader.ResetStream(strings.NewReader("\n\n"))
	if err := s.Map(ctx, 1<<40, m, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// lone counts how many records are mapped at the same time. The first of each line maps a long line of its own.
type lone struct {
	now, most *atomic.Int32
	line      string
	nested    bool
}

func (l *lone) Known(canonical.Value) bool { return true }

func (l *lone) Record(at Place, v canonical.Value) (Outcome, error) {
	if l.nested {
		return Outcome{}, nil
	}
	if n := l.now.Add(1); n > l.most.Load() {
		l.most.Store(n)
	}
	defer l.now.Add(-1)
	inner := Scanner{Nested: true}
	inner.Reader.ResetStream(strings.NewReader(l.line))
	return Outcome{}, inner.Map(context.Background(), 1<<40, &lone{nested: true}, nil)
}

// TestLongLines maps long lines of several files one at a time, also while another one is mapped, and keeps none of their memory.
func TestLongLines(t *testing.T) {
	t.Parallel()
	line := `{"values":[1` + strings.Repeat(",1", keptLine) + "]}\n"
	var now, most atomic.Int32
	var files sync.WaitGroup
	for range 4 {
		files.Go(func() {
			var s Scanner
			s.Reader.ResetStream(strings.NewReader(line + line))
			err := s.Map(context.Background(), 1<<40, &lone{now: &now, most: &most, line: line}, nil)
			if err != nil || s.Ignored != 2 || !s.Grown || cap(s.Doc.Nodes()) > keptNodes {
				t.Errorf("%d ignored, grown %v, room for %d values: %v", s.Ignored, s.Grown, cap(s.Doc.Nodes()), err)
			}
		})
	}
	if files.Wait(); most.Load() != 1 {
		t.Errorf("%d long lines at once", most.Load())
	}
}

// TestTooManyValues rejects a line whose values would take more memory than a provider has, torn or whole, and keeps its neighbours.
func TestTooManyValues(t *testing.T) {
	t.Parallel()
	many := `{"type":"known","values":[1` + strings.Repeat(",1", canonical.MaxValues)
	for line, detail := range map[string]string{many + "]}": "more values than a line may hold", `{"type` + many + "]}": "not one JSON object"} {
		var s Scanner
		var out sink
		s.Reader.ResetStream(strings.NewReader("{}\n" + line + "\n{}\n"))
		if err := s.Map(context.Background(), 1<<40, everything{}, &out); err != nil || s.Ignored != 2 || len(out.rejected) != 1 || !strings.HasPrefix(out.rejected[0], "2 "+detail) {
			t.Errorf("%d ignored, %+v: %v", s.Ignored, out.rejected, err)
		}
	}
}

// everything takes any object for a record without anything to keep.
type everything struct{}

func (everything) Known(canonical.Value) bool                     { return true }
func (everything) Record(Place, canonical.Value) (Outcome, error) { return Outcome{}, nil }

func TestCall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", sdkplugin.MaxString+1)
	for _, bad := range [][2]string{{"", "run"}, {strings.Repeat("x", sdkplugin.MaxTypedKey), "run"}, {"c1", ""}, {"c1", long}} {
		var d Draft
		if d.Call([]byte(bad[0]), bad[1], sdkplugin.Capture{}) || d.Event.Invocation != nil || d.Event.CallID != nil {
			t.Errorf("a call of an id of %d and a tool of %d bytes", len(bad[0]), len(bad[1]))
		}
	}
	var d Draft
	if !d.Call([]byte("c1"), "mcp__s__t", sdkplugin.Capture{}) || d.Event.Invocation.Tool != "mcp__s__t" {
		t.Errorf("%+v", d.Event.Invocation)
	}
	for _, odd := range [][2]string{{"", "t"}, {"s", ""}, {long, "t"}, {"s", long}} {
		if d.MCP([]byte(odd[0]), []byte(odd[1])); d.Invocation.Protocol != "" || d.Invocation.Tool != "mcp__s__t" {
			t.Errorf("%+v", d.Invocation)
		}
	}
	if d.MCP([]byte("s"), []byte("t")); d.Invocation.Protocol != "mcp" || d.Invocation.Server != "s" || d.Invocation.Tool != "t" {
		t.Errorf("%+v", d.Invocation)
	}
}
