package search

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/agenthistory/ctx/host/lexical"
)

func clusters(s string) []string {
	var out []string
	for g := uniseg.NewGraphemes(s); g.Next(); {
		out = append(out, g.Str())
	}
	return out
}

// cutOut is snippet with the text of the window.
func cutOut(text string, subject func([]byte) window) (string, bool) {
	w, cut := snippet([]byte(text), snippetGraphemes, subject)
	return text[w.from:w.to], cut
}

func about(queries ...string) func([]byte) window {
	r := &run{query: &query{snippet: snippetGraphemes}, said: &understanding{needles: queries}, termSet: map[string]int{}}
	for i, term := range lexical.QueryTerms(queries...) {
		r.termSet[string(term)] = i
	}
	return r.subject
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	left, right := strings.Repeat("l", 400), strings.Repeat("r", 400)
	tests := []struct {
		name, text string
		queries    []string
		before     int // clusters before the match, -1: the whole text
		match      string
	}{
		{"short", "a short text", []string{"short"}, -1, ""},
		{"exactly 320", strings.Repeat("a", 320), []string{"a"}, -1, ""},
		{"empty", "", []string{"x"}, -1, ""},
		{"centre", left + "zephyr" + right, []string{"ZEPHYR"}, 157, "zephyr"},
		{"odd length", left + "abc" + right, []string{"abc"}, 158, "abc"},
		{"near the start", "ab zephyr" + right, []string{"zephyr"}, 3, "zephyr"},
		{"near the end", left + "zephyr!!", []string{"zephyr"}, 312, "zephyr"},
		{"no match", left + right, []string{"zephyr"}, 0, "l"},
		{"no query", left + right, nil, 0, "l"},
		{"the longest alternative", left + "owl " + strings.Repeat("-", 400) + " pelican" + right, []string{"owl", "pelican"}, 156, "pelican"},
		{"the earliest of equal length", left + "emu" + strings.Repeat("-", 400) + "owl" + right, []string{"owl", "emu"}, 158, "emu"},
		{"words of an alternative", left + "-falcon-" + right, []string{"the falcon flies"}, 157, "falcon"},
		{"most words of an alternative", left + "-falcon-" + right + "-the/falcon-" + right, []string{"falcon, the"}, 155, "the/falcon"},
		{"the shortest place", left + "-the-red-falcon-" + right + "-the/falcon-" + right, []string{"falcon, the"}, 155, "the/falcon"},
		{"case with growth", left + "İstanbul" + right, []string{"i\u0307STANBUL"}, 156, "İstanbul"},
		{"case with shrinking", strings.Repeat("K", 400) + "zebra" + right, []string{"zebra"}, 157, "zebra"},
		{"matches longer than the window", strings.Repeat("z", 1000), []string{strings.Repeat("z", 900)}, 0, strings.Repeat("z", 320)},
		{"graphemes", strings.Repeat("👩‍👩‍👧‍👦", 400) + "zephyr" + strings.Repeat("e\u0301", 400), []string{"zephyr"}, 157, "zephyr"},
	}
	for _, tt := range tests {
		got, cut := cutOut(tt.text, about(tt.queries...))
		if tt.before < 0 {
			if got != tt.text || cut {
				t.Errorf("%s: %q cut %v", tt.name, got, cut)
			}
			continue
		}
		parts := clusters(got)
		if len(parts) != 320 || !cut {
			t.Errorf("%s: %d clusters, cut %v", tt.name, len(parts), cut)
			continue
		}
		if rest := strings.Join(parts[tt.before:], ""); !strings.HasPrefix(rest, tt.match) {
			t.Errorf("%s: behind %d clusters %.30q, want %q", tt.name, tt.before, rest, tt.match)
		}
	}
}

func TestSnippetBeginsWithAWord(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("left ", 60)
	tests := []struct{ name, before, behind, begins, ends string }{
		{"words", words, strings.Repeat(" right", 60), "left left", "right"},
		{"a line", words + "\nthe line " + strings.Repeat("x", 125) + " ", strings.Repeat(" right", 60), "the line", "right"},
		{"an escaped line", words + `\nthe line ` + strings.Repeat("x", 125) + " ", `\n` + strings.Repeat(`y\n`, 120), "the line", "y"},
		{"between words", strings.Repeat(`"left",`, 60), strings.Repeat(`,"right"`, 60), `left","left`, `"`},
		{"one long word", strings.Repeat("l", 300) + "-", "-" + strings.Repeat("r", 300), "lll", "rrr"},
		{"other scripts", strings.Repeat("слово ", 60), strings.Repeat(" 日本語", 60), "слово слово", "日本語"},
	}
	for _, tt := range tests {
		got, cut := cutOut(tt.before+"zephyr"+tt.behind, about("zephyr"))
		if !cut || !strings.HasPrefix(got, tt.begins) || !strings.HasSuffix(got, tt.ends) || !strings.Contains(got, "zephyr") || len(clusters(got)) < 240 {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestSnippetByteBound(t *testing.T) {
	t.Parallel()
	// One cluster of many bytes each: 320 of them are more than 16 KiB.
	heavy := "a" + strings.Repeat("\u0301", 50)
	text := strings.Repeat(heavy, 200) + "zephyr" + strings.Repeat(heavy, 200)
	got, cut := cutOut(text, about("zephyr"))
	if len(got) > snippetBytes || len(got) < snippetBytes-3*len(heavy) || !cut || !strings.Contains(got, "zephyr") {
		t.Errorf("%d bytes, cut %v", len(got), cut)
	}
	if at := strings.Index(got, "zephyr"); at < 7000 || at > 9300 {
		t.Errorf("the match stands at %d of %d", at, len(got))
	}
	// Few clusters, but too many bytes.
	got, cut = cutOut(strings.Repeat(heavy, 310), about())
	if len(got) > snippetBytes || got == "" || !cut || !strings.HasPrefix(got, heavy) {
		t.Errorf("%d bytes, cut %v", len(got), cut)
	}
	// Not even the match fits.
	monster := "z" + strings.Repeat("\u0301", 10_000)
	got, cut = cutOut(strings.Repeat("l", 400)+monster+strings.Repeat("r", 400), about("z"))
	if got != "" || !cut {
		t.Errorf("%d bytes, cut %v", len(got), cut)
	}
}

// TestSnippetNeighbourhood compares the window with one that is cut out of a text segmented as a whole.
func TestSnippetNeighbourhood(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "B", " ", "\n", "\r\n", "é", "e\u0301", "日", "本", "か\u3099", "ก", "กำ", "한", "\u1112\u1161\u11ab", "🇩🇪", "👍🏽", "👩‍🚀", "İ", "ẞ", "\u200d", "\u0600", "K"}
	for range 400 {
		var b strings.Builder
		var match int
		n := 330 + rnd.IntN(900)
		at := rnd.IntN(n)
		for i := range n {
			if i == at {
				b.WriteString(" ")
				match = b.Len()
				b.WriteString("zephyr ")
			}
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		text := b.String()
		w := centre([]byte(text), about("zephyr")([]byte(text)), snippetGraphemes)
		got := text[w.from:w.to]
		all := clusters(text)
		if len(all) <= 320 {
			continue
		}
		pos, start := 0, 0
		for i, c := range all {
			if pos <= match && match < pos+len(c) {
				start = i
			}
			pos += len(c)
		}
		from := min(max(0, start-157), len(all)-320)
		if want := strings.Join(all[from:from+320], ""); got != want {
			t.Fatalf("match at cluster %d of %d:\n got %q\nwant %q", start, len(all), got, want)
		}
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, from, want string }{
		{`{"command":"a\n\tb \"c\" \u0001\\d"}`, "", "{\"command\":\"a\n\tb \"c\" \\u0001\\d\"}"},
		{`{"command":"a\nb\qc\`, "b", `b\qc\`},
		{`{"arguments":"{\"cmd\":\"echo \\\"x\\\"\\n\"}"}`, "echo", "echo \"x\"\n\"}\"}"},
		{"printf(\"a\\n\")\n{\"k\":\"a\\nb\"}\nend\\n", "printf", "printf(\"a\\n\")\n{\"k\":\"a\nb\"}\nend\\n"},
		{`{"k":"\u12`, "", `{"k":"\u12`},
	} {
		from := strings.Index(tt.text, tt.from)
		if got := readable([]byte(tt.text), window{from, len(tt.text)}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestFoldKeepsPlaces(t *testing.T) {
	t.Parallel()
	text := "aİbKcẞdȺeÄ"
	f := fold([]byte(text))
	if string(f.low) != "ai̇bkcßdⱥeä" {
		t.Errorf("lower case %q", f.low)
	}
	for _, word := range []string{"a", "b", "k", "c", "ß", "d", "ⱥ", "e", "ä", "i̇", "̇b"} {
		at := strings.Index(string(f.low), word)
		from, to := f.original(at, false), f.original(at+len(word), true)
		if back := string(fold([]byte(text[from:to])).low); !strings.Contains(back, word) || !utf8.ValidString(text[from:to]) {
			t.Errorf("%q came back as %q", word, text[from:to])
		}
	}
	if f.original(len(f.low), true) != len(text) {
		t.Error("the end moved")
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("a text with zephyr in it", "zephyr")
	f.Add(strings.Repeat("İx", 500)+"q", "Q")
	f.Add(strings.Repeat("\xff", 700), "\xff")
	f.Fuzz(func(t *testing.T, text, query string) {
		got, cut := cutOut(text, about(query))
		if len(got) > snippetBytes || !cut && got != text || !strings.Contains(text, got) {
			t.Errorf("snippet of %d bytes, cut %v", len(got), cut)
		}
		if n := uniseg.GraphemeClusterCount(got); n > snippetGraphemes+1 {
			t.Errorf("%d clusters", n)
		}
	})
}
