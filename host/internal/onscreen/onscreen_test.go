package onscreen

import (
	"bytes"
	"encoding/json"
	"testing"
)

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

// Whatever the pieces are, JSON means the same on a terminal, and nothing in it is obeyed.
func TestWriter(t *testing.T) {
	t.Parallel()
	const value = "a\u009b2J \u202eabc\x7f\u2028 日本語 😀 \x1b[0m"
	text := []byte("{\"v\": \"a\u009b2J \u202eabc\x7f\u2028 日本語 😀 \\u001b[0m\"}\n\x1b[1m")
	const want = "{\"v\": \"a\\u009b2J \\u202eabc\\u007f\\u2028 日本語 😀 \\u001b[0m\"}\n\x1b[1m"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := Writer(&out)
		for rest := text; len(rest) > 0; {
			n, err := w.Write(rest[:min(size, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if out.String() != want {
			t.Fatalf("in pieces of %d: %q", size, out.String())
		}
	}
	var back struct{ V string }
	if err := json.NewDecoder(bytes.NewReader([]byte(want))).Decode(&back); err != nil || back.V != value {
		t.Errorf("%q %v", back.V, err)
	}
}
