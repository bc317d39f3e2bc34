package onscreen

import "testing"

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\nnext":  "plain\ttext\nnext",
		"\x1b[31mred\x07":    `\x1b[31mred\x07`,
		"\u009b2J \u202eabc": `\x9b2J \u202eabc`,
		"日本語 é":              "日本語 é",
		"a\r\nb\r":           `a` + "\n" + `b\x0d`,
		"\r\x7f\u2028":       `\x0d\x7f\u2028`,
		"half \xe6\x97":      "half \ufffd\ufffd",
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	if got, want := Line("  a\n\n\tb \x1b]0;title\x07 c\u2028d "), `a b \x1b]0;title\x07 c d`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x1b[1m\tb\n": "a [1m b ",
		"half \xe6\x97": "half \ufffd",
		"日本語日本語":        "日本語",
	} {
		if got := Plain(in, 10); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
