package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/refresh"
)

// What a person sees on a terminal must never depend on the buffer between.
func TestResultWriterKnowsItsFile(t *testing.T) {
	t.Parallel()
	if streamBehind(newResultWriter(os.Stdout)) != os.Stdout || streamBehind(&metered{w: os.Stdout}) != os.Stdout {
		t.Fatal("the terminal behind the buffer is not known")
	}
	p := page{w: &bytes.Buffer{}, style: style{terminal: true, width: 40}}
	p.body(3, "\x1b[2Jgone")
	if got := p.w.(*bytes.Buffer).String(); strings.Contains(got, "\x1b") {
		t.Fatalf("a control sequence reached the terminal: %q", got)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	p := page{style: style{width: 30}}
	got := p.wrap("a few words that are longer than the line and averyveryverylongwordthatstayswhole end", 3)
	for _, line := range got[:2] {
		if len(line) > 27 {
			t.Errorf("%q is wider than the line", line)
		}
	}
	if strings.Join(got, " ") != "a few words that are longer than the line and averyveryverylongwordthatstayswhole end" {
		t.Errorf("wrapping changed the text: %q", got)
	}
	if whole := (&page{}).wrap(strings.Repeat("x y ", 200), 0); len(whole) != 1 {
		t.Error("piped text is wrapped")
	}
}

func TestFieldsOfANarrowTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := page{w: &out, style: style{terminal: true, width: 40}}
	p.fields(2, 8, []field{{"Title", "a title that goes on below itself and not below its label"}, {"Inspect", "ctx show session 0123456789abcdef --mode log"}})
	want := "  Title     a title that goes on below\n            itself and not below its\n            label\n  Inspect   ctx show session 0123456789abcdef --mode log\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		count(0): "0", count(1234567): "1,234,567", count(-4321): "-4,321", count(999): "999",
		plural(1, "session"): "1 session", plural(2000, "event"): "2,000 events",
		size(int64(999)): "999 B", size(int64(1500)): "1.5 KB", size(uint64(2_000_000_000)): "2.0 GB",
		clipGraphemes("e\u0301e\u0301e\u0301", 2): "e\u0301…", clipGraphemes("e\u0301e\u0301", 2): "e\u0301e\u0301", clipGraphemes("ab", 2): "ab", clipGraphemes("a bc", 3): "a…",
		paragraph("one\ntwo\n\nthree"): "one two\n\nthree",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestProgressBarKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	source, left := "-w-shop/0a111111-2222-4333-8444-555555555501.jsonl", uint64(5400)
	reading := refresh.Progress{Stage: refresh.StageReading, Percent: 100, CompletedBytes: 176e6, TotalBytes: 200e6, TotalSources: 208,
		CompletedSource: 20, ElapsedMillis: 1000, RemainingMillis: &left, CurrentSource: &source}
	merging := reading
	merging.Stage = refresh.StagePhysical
	for _, c := range []struct {
		p     refresh.Progress
		width int
		want  []string
	}{
		{reading, 140, []string{"0a111111-2222-4333-8444…", "99 %", "176.0 MB/s", "about 5.4 s left", "20 of 208 sources"}},
		{reading, 60, []string{"0a111111-2222-4333-8444…", "99 %"}},
		{merging, 60, []string{"physical verification", "99 %"}},
	} {
		var out bytes.Buffer
		bar := progressBar{w: &out, style: style{width: c.width}}
		bar.show(c.p)
		line := strings.TrimPrefix(out.String(), "\r\x1b[K")
		if n := len([]rune(line)); n >= c.width {
			t.Errorf("%d columns on a terminal of %d: %q", n, c.width, line)
		}
		for _, part := range c.want {
			if !strings.Contains(line, part) {
				t.Errorf("%q is missing in %q", part, line)
			}
		}
	}
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	app := App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, LookupEnv: func(string) (string, bool) { return "", false }}
	code = app.Run(context.Background(), args)
	return code, out.String(), errs.String()
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, message string }{
		{"--quiet", "needs a command"},
		{"serach x", "did you mean search?"},
		{"forgt x --format json", `unknown command "forgt"`},
		{"sessions", "did you mean list sessions?"},
		{"list", "needs a command: events, sessions"},
		{"show", "needs an id, or a command: event, session"},
		{"locate xyz", `"xyz" is no id`},
		{"show sesion x", "did you mean session?"},
		{"search x --limit 0", `--limit: "0" is not a whole number from 1 to 200`},
		{"search x --format yaml", "text, json"},
		{"show event", "an event id is needed"},
		{"show session a b", `one session id at most, got "b" too`},
		{"show session a --max-events -1", "whole number above 0"},
		{"search a b", `put several words in quotes: "a b"`},
		{"list events --since x", "go together"},
		{"import --all --path x", "exclude each other"},
		{"status --quiet=maybe", "neither true nor false"},
	} {
		code, stdout, stderr := run(t, strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.message) {
			t.Errorf("ctx %s: exit %d, stdout %q, stderr %q; want %q", c.args, code, stdout, stderr, c.message)
		}
	}
}

func TestHelpIsNarrowAndListsWhatWorks(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"help", "search --help", "help show session", "list events --help", "import --help"} {
		code, stdout, stderr := run(t, strings.Fields(args)...)
		if code != exitDone || stderr != "" {
			t.Errorf("ctx %s: exit %d, %q", args, code, stderr)
		}
		for line := range strings.SplitSeq(stdout, "\n") {
			if len([]rune(line)) > helpWidth {
				t.Errorf("ctx %s: a line of %d: %q", args, len([]rune(line)), line)
			}
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no") }

func TestFailedOutputIsAFailure(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	app := App{Stdout: brokenWriter{}, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := app.Run(context.Background(), []string{"--version"}); code != exitFailed || errs.Len() == 0 {
		t.Fatalf("exit %d, stderr %q", code, errs.String())
	}
}
