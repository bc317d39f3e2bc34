package lexical

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func tokensOf(text string) []string {
	var out []string
	eachToken([]byte(text), func(token []byte) { out = append(out, string(token)) })
	return out
}

func TestTokens(t *testing.T) {
	run := func(n int) string { // n distinct-looking characters
		return strings.Repeat("abcdefghijklmnopqrstuvwxyz012345", n/32+1)[:n]
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"separators only", " \t\n_-.,;\x00", nil},
		{"words", "Hello, World 42", []string{"hello", "world", "42"}},
		{"underscore separates", "snake_case", []string{"snake", "case"}},
		{"path", "/usr/Local/bin.go:12", []string{"usr", "local", "bin", "go", "12"}},
		{"accents kept", "Äpfel NAÏVE straße", []string{"äpfel", "naïve", "straße"}},
		{"ascii then wide in one run", "cafés", []string{"cafés"}},
		{"wide separator", "a—b…c", []string{"a", "b", "c"}},
		{"dotted capital i", "İstanbul", []string{"i̇stanbul"}},
		{"no final sigma rule", "ΟΔΟΣ", []string{"οδοσ"}},
		{"dense scripts", "日本語abc한국 ไทย", []string{"日", "本", "語", "abc", "한", "국", "ไ", "ท", "ย"}},
		{"dense splits a run", "ab漢cd", []string{"ab", "漢", "cd"}},
		{"dense mark alone", "ก็", []string{"ก", "็"}},
		{"numbers of other scripts", "x² Ⅷ ٣", []string{"x²", "ⅷ", "٣"}},
		{"vowel signs join", "कि", []string{"कि"}},
		{"invalid utf-8 separates", "ab\xffcd\xc3", []string{"ab", "cd"}},
		{"truncated character", "ab\xe6\x97", []string{"ab"}},
		{"replacement character separates", "a\ufffdb", []string{"a", "b"}},
		{"32 characters", run(32), []string{run(32)}},
		{"33 characters", run(33), []string{run(32), run(33)[24:]}},
		{"56 characters", run(56), []string{run(32), run(56)[24:]}},
		{"57 characters", run(57), []string{run(32), run(57)[24:56], run(57)[48:]}},
		{"32 then wide", run(32) + "é", []string{run(32), run(32)[24:] + "é"}},
		{"32 then dense", run(32) + "日", []string{run(32), "日"}},
		{"32 then wide separator", run(32) + "—b", []string{run(32), "b"}},
		{"33 wide", strings.Repeat("é", 33), []string{strings.Repeat("é", 32), strings.Repeat("é", 9)}},
		{"33 astral", strings.Repeat("𝕬", 33), []string{strings.Repeat("𝕬", 32), strings.Repeat("𝕬", 9)}},
		{"upper chunk", strings.ToUpper(run(40)), []string{run(32), run(40)[24:]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := tokensOf(c.text); !reflect.DeepEqual(got, c.want) {
				t.Errorf("tokens of %q\n got %q\nwant %q", c.text, got, c.want)
			}
		})
	}
}

func TestEachSpan(t *testing.T) {
	t.Parallel()
	text := "Ab —İx " + strings.Repeat("é", 40)
	type span struct {
		token      string
		start, end int
	}
	var got []span
	EachSpan([]byte(text), func(token []byte, start, end int) bool {
		got = append(got, span{string(token), start, end})
		return len(got) < 3
	})
	want := []span{{"ab", 0, 2}, {"i̇x", 6, 9}, {strings.Repeat("é", 32), 10, 74}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v want %v", got, want)
	}
}

func eachToken(text []byte, visit func(token []byte)) {
	EachSpan(text, func(token []byte, _, _ int) bool {
		visit(token)
		return true
	})
}

func TestQueryTerms(t *testing.T) {
	t.Parallel()
	var got []string
	for _, term := range QueryTerms("Zeta alpha", "", "ALPHA-beta") {
		got = append(got, string(term))
	}
	if want := []string{"alpha", "beta", "zeta"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
	if terms := QueryTerms("?!", " "); len(terms) != 0 {
		t.Errorf("no token expected, got %q", terms)
	}
}

func TestTokenizerDoesNotAllocate(t *testing.T) {
	text := []byte("The QUICK brown föx " + strings.Repeat("A1b2", 40) + " 日本")
	n := 0
	if got := testing.AllocsPerRun(50, func() { eachToken(text, func(token []byte) { n += len(token) }) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// slowTokens is the rule book written down literally.
func slowTokens(text []byte) []string {
	var out []string
	var run []rune
	flush := func() {
		for len(run) > 0 {
			n := min(len(run), 32)
			var b strings.Builder
			for _, c := range run[:n] {
				if c == 0x130 {
					b.WriteString("i\u0307")
				} else {
					b.WriteRune(unicode.ToLower(c))
				}
			}
			out = append(out, b.String())
			if n == len(run) {
				break
			}
			run = run[24:]
		}
		run = nil
	}
	dense := &unicode.RangeTable{R16: []unicode.Range16{
		{0x0E00, 0x0EFF, 1}, {0x1000, 0x109F, 1}, {0x1100, 0x11FF, 1}, {0x1780, 0x17FF, 1}, {0x3040, 0x30FF, 1},
		{0x3130, 0x318F, 1}, {0x31F0, 0x31FF, 1}, {0x3400, 0x4DBF, 1}, {0x4E00, 0x9FFF, 1}, {0xAC00, 0xD7AF, 1}, {0xF900, 0xFAFF, 1},
	}}
	for _, c := range string(text) {
		switch {
		case unicode.Is(dense, c):
			flush()
			out = append(out, string(c))
		case unicode.In(c, unicode.Letter, unicode.Number, unicode.Other_Alphabetic):
			run = append(run, c)
		default:
			flush()
		}
	}
	flush()
	return out
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		"", "Hello_World", strings.Repeat("x", 200), strings.Repeat("É1", 80), "日本語テキスト한국어", "a\xffb\xe6\x97c",
		"İ" + strings.Repeat("İ", 40), strings.Repeat("ab", 15) + "é" + strings.Repeat("cd", 30), "กิน ข้าว x", "Ⅷ²٣𝕬𝔘",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := slowTokens(text)
		i, last := 0, -1
		EachSpan(text, func(token []byte, start, end int) bool {
			if i >= len(want) || string(token) != want[i] {
				t.Fatalf("token %d of %q is %q, want %q", i, text, token, want)
			}
			if start <= last || end > len(text) {
				t.Fatalf("range %d-%d of token %d does not follow %d", start, end, i, last)
			}
			// A range gives its token again, unless it is the middle of a long run, which it is all the same.
			if got := slowTokens(text[start:end]); len(got) != 1 || got[0] != string(token) {
				t.Fatalf("range %q gives %q, want %q", text[start:end], got, token)
			}
			i, last = i+1, start
			return true
		})
		if i != len(want) {
			t.Fatalf("%d tokens of %q, want %d", i, text, len(want))
		}
	})
}

func TestSymbolsAreNoWords(t *testing.T) {
	t.Parallel()
	symbols := 0
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if !isSymbol(c) {
			continue
		}
		symbols++
		if unicode.In(c, unicode.Letter, unicode.Number, unicode.Other_Alphabetic) || isDense(c) {
			t.Errorf("%U is taken for a symbol", c)
		}
	}
	if symbols < 3000 {
		t.Errorf("only %d symbols", symbols)
	}
}

func TestLowerNeverOutgrowsBuffer(t *testing.T) {
	t.Parallel()
	var buf []byte
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if buf = appendLower(buf[:0], c); len(buf) > utf8.UTFMax {
			t.Fatalf("lower case of %U takes %d bytes", c, len(buf))
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	text := bytes.Repeat([]byte("func (r *Reader) Search(ctx context.Context, q Query) (Result, error) { return r.run(ctx, q) } // see DESIGN.md\n"), 1000)
	b.SetBytes(int64(len(text)))
	n := 0
	for b.Loop() {
		eachToken(text, func([]byte) { n++ })
	}
}
