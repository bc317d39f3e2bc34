package transcript

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
		return Outcome{Verdict: Rejected, Detail: "no kind", PayloadType: "p"}, nil
	case len(text) == 0:
		return Outcome{}, nil
	default:
		m.got = append(m.got, fmt.Sprintf("%d.%d %s", at.Line.Ordinal, at.Nth, text))
		return Outcome{Verdict: Retained}, nil
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
