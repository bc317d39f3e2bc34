package cli

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"provider", "provider-session", "search", "show", "claude", "out"}
	for word, want := range map[string]string{
		"provder": "provider", "porvider": "provider", "serach": "search", "claud": "claude", "clade": "claude", "provider-ses": "provider-session",
		"xyz": "", "zzzzzzzz": "", "": "", "Show": "show",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("%q is near %q, want %q", word, got, want)
		}
	}
}

func TestContained(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ntext":                                 "plain\ntext",
		"# One\n###### Six\n#no heading":              "### One\n###### Six\n#no heading",
		"Title\n===\nother\n---\n\n---":               "Title\n\n===\nother\n\n---\n\n---",
		"```sh\n# a comment\n<b>\n```\n# after":       "```sh\n# a comment\n<b>\n```\n### after",
		"````\n```\n# still code\n````":               "````\n```\n# still code\n````",
		"left open\n~~~\n# code":                      "left open\n~~~\n# code\n~~~",
		"```not a fence``` <i>":                       "```not a fence``` \\<i>",
		"<rules> and `<b>` and <https://example.com>": "\\<rules> and `<b>` and <https://example.com>",
		"a < b, <!-- gone, a<T>(x)":                   "a < b, \\<!-- gone, a\\<T>(x)",
	} {
		if got := contained(in); got != want {
			t.Errorf("%q\n became %q\n want   %q", in, got, want)
		}
	}
}

// Whatever a text holds, what follows it in a document is outside of its code blocks.
func FuzzMarkdownStaysInside(f *testing.F) {
	for _, seed := range []string{"```\nopen", "~~~~ x\n```\n~~~", "a\n```` ```\n", "\t```\n# x", "``````", "\n\n# a\n=", "```\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, written := range map[string]string{"contained": contained(text), "fenced": fenced(text)} {
			var code fence
			for line := range strings.SplitSeq(written, "\n") {
				code.holds(line)
			}
			if code.mark != "" {
				t.Errorf("%s leaves a block open: %q", name, written)
			}
		}
	})
}

func TestFold(t *testing.T) {
	t.Parallel()
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat("line\n", n), "\n") }
	for _, c := range []struct {
		text             string
		most, kept, more int
	}{
		{"one", 3, 1, 0},
		{lines(3 + foldSlack), 3, 3 + foldSlack, 0},
		{lines(4 + foldSlack), 3, 3, 1 + foldSlack},
		{lines(500), math.MaxInt, 500, 0},
		{strings.Repeat("x", 1000), 3, 3, 1},
		{"a\n" + strings.Repeat("x", 1000) + "\nb", 3, 3, 2},
		{"\n\n", 3, 3, 0},
	} {
		kept, more := fold(c.text, 20, c.most)
		if len(kept) != c.kept || more != c.more {
			t.Errorf("%.20q at %d: %d lines and %d more, want %d and %d", c.text, c.most, len(kept), more, c.kept, c.more)
		}
		for _, line := range kept {
			if uniseg.StringWidth(line) > 20 {
				t.Errorf("%q is wider than the terminal", line)
			}
		}
	}
	if kept, _ := fold("a word and anotherlongerword", 20, 5); !slices.Equal(kept, []string{"a word and ", "anotherlongerword"}) {
		t.Errorf("broken within a word: %q", kept)
	}
}

func TestWrapKeepsShape(t *testing.T) {
	t.Parallel()
	p := page{style: style{terminal: true, width: 30}}
	for text, want := range map[string][]string{
		"- a list item that goes on below its mark": {"- a list item that goes on", "  below its mark"},
		"  12. indented and numbered, too long":     {"  12. indented and numbered,", "      too long"},
		"日本語の文章は空白なしに続いていくので途中で折り返す":                {"日本語の文章は空白なしに続い", "ていくので途中で折り返す"},
		"": {""},
	} {
		if got := p.wrap(text, 2); !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestArgumentLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"command":"git status","timeout":12345678901234567890,"env":{"A":"b"}}`: "command: git status\nenv: {\"A\":\"b\"}\ntimeout: 12345678901234567890\n",
		`{"new":"one\ntwo\n"}`: "new: \n  one\n  two\n",
		`*** Begin Patch`:      `*** Begin Patch`,
		`["not","an object"]`:  `["not","an object"]`,
		`{"command":"git stat`: `{"command":"git stat`,
	} {
		if got := argumentLines(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
