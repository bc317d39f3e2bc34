package htmlpage

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func render(t *testing.T, events []Event, cut string) string {
	t.Helper()
	var b strings.Builder
	next := func() (*Event, error) {
		if len(events) == 0 {
			return nil, nil
		}
		e := events[0]
		events = events[1:]
		return &e, nil
	}
	head := Head{Title: "A <b>title</b>", Fields: []Field{{"Agent", "claude"}, {"Directory", ""}}}
	if err := Write(&b, head, next, func() string { return cut }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	t.Parallel()
	got := render(t, []Event{
		{ID: "id-1", Role: "user", Type: "message", Time: "2026-11-17T09:00:00Z", Text: "Why does **it** fail?\nsecond"},
		{ID: "id-2", Role: "assistant", Type: "tool_call", Tool: true, Label: "Bash", Text: "go test"},
		{ID: "id-3", Role: "tool", Type: "command_output", Tool: true, Text: strings.Repeat("line\n", 50)},
		{ID: "id-4", Role: "user", Type: "message", Text: "<command-name>/exit</command-name>\n\n<rules>\nkeep me\n</rules>"},
	}, "Cut after 4 events")
	for _, want := range []string{
		"<title>A &lt;b&gt;title&lt;/b&gt;</title>", "<div><dt>Agent</dt><dd>claude</dd></div>",
		"<article id=\"e1\" class=\"user\"", "<strong>it</strong>", "<time datetime=\"2026-11-17T09:00:00Z\">",
		"<li><a href=\"#e1\">Why does **it** fail?</a></li>", "<details open><summary>Bash</summary><pre>go test</pre>",
		"<details><summary>line</summary>", "Cut after 4 events", "<li><a href=\"#e4\">/exit</a></li>", "&lt;rules&gt;\nkeep me\n&lt;/rules&gt;", "<label for=\"find\">", "Command output",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	if strings.Contains(got, "Directory") {
		t.Error("a field without a value is shown")
	}
}

// Nothing of a session becomes markup that acts: the only script is the page's own, and nothing is loaded.
func TestHostileText(t *testing.T) {
	t.Parallel()
	hostile := "<script>alert(1)</script> <img src=x onerror=alert(1)> \x1b]0;owned\x07 \u202e [x](javascript:alert(1)) </pre></details></article><iframe src=//e>"
	got := render(t, []Event{
		{ID: "\"><script>", Role: "user\" onload=\"x", Type: "message", Text: hostile},
		{ID: "2", Role: "tool", Type: "tool_output\"><script>", Tool: true, Label: "<script>", Text: hostile},
	}, "")
	body := got[strings.Index(got, "<body>"):]
	body = strings.Replace(body, "<script>"+script+"</script>", "", 1)
	if bad := regexp.MustCompile(`(?i)<(script|img|iframe)|href="javascript|onload="x`).FindString(body); bad != "" {
		t.Errorf("%s in the page", bad)
	}
	if strings.ContainsAny(body, "\x1b\x07\u202e") || strings.Count(body, `\x1b]0;owned\x07 \u202e`) != 2 {
		t.Error("a control is in the page, or not shown")
	}
	if n := strings.Count(body, "</article>"); n != 2 {
		t.Errorf("%d articles are closed", n)
	}
}

// The policy names the digests of exactly the style and the script that stand in the page.
func TestPolicy(t *testing.T) {
	t.Parallel()
	got := render(t, nil, "")
	if !strings.Contains(got, "script-src "+digest(script)) || !strings.Contains(got, "<script>"+script+"</script>") ||
		!strings.Contains(got, "style-src "+digest(style)) || !strings.Contains(got, "<style>"+style+"</style>") {
		t.Error("policy and page differ")
	}
	if strings.Contains(got, "http://") || strings.Contains(got, "https://") {
		t.Error("the page refers to the network")
	}
}

func TestFailureOfReading(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := Write(&strings.Builder{}, Head{}, func() (*Event, error) { return nil, broken }, func() string { return "" })
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
