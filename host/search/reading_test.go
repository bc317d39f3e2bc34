package search

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/lexical"
)

func known(provider string) bool { return provider == "claude" || provider == "codex" }

// Every input is read as the one line says; "= words" stands for a text without any operator.
func TestReadings(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		// Plain words, whatever they contain.
		{"", "no word"},
		{"   ", "no word"},
		{"?!", "no word"},
		{"falcon gateway", "= falcon gateway"},
		{"multi-agent", "= agent multi"},
		{"foo-bar baz", "= bar baz foo"},
		{"foo:bar", "= bar foo"},
		{"a:b c", "= a b c"},
		{"don't", "= don t"},
		{"c++ v2.1", "= 1 c v2"},
		{"src/auth.go:12:5", "= 12 5 auth go src"},
		{"https://example.org/a?b=c", "= a b c example https org"},
		{"file:///srv/a.go", "= a file go srv"},
		{"near NEARBY Near", "= near nearby"},
		{"AND OR NOT", "= and not or"},
		{"(a OR b)", "= a b or"},
		// Unfinished forms.
		{`"unclosed phrase`, "= phrase unclosed"},
		{`unclosed "`, "= unclosed"},
		{`""`, "no word"},
		{`"?!" word`, "= word"},
		{"-", "no word"}, {"*", "no word"}, {"--", "no word"}, {"- word", "= word"}, {"* word", "= word"},
		{"file:", "= file"}, {"file: x", "= file x"}, {"role:", "= role"}, {"-file:x y", "= file x y"},
		{`-"unclosed`, "= unclosed"},
		{`file:"unclosed x`, "= file unclosed x"},
		{"NEAR", "= near"}, {"NEAR word", "= near word"}, {"word NEAR", "= near word"}, {"a NEAR/0 b", "= 0 a b near"},
		{"a NEAR/999 b", "= 999 a b near"}, {"a NEAR/x b", "= a b near x"}, {"a NEAR ? b", "= a b near"}, {"a NEAR NEAR b", "words: a, b, near; near: NEAR NEAR/10 b"},
		{"ab*", "= ab"}, {"src/*", "= src"}, {"*.go", "= go"}, {"foo-bar*", "= bar foo"}, {"foo*bar", "= bar foo"}, {"foo**", "= foo"},
		// Only what stands alone is an operator.
		{"-1", "= 1"}, {"-x", "= x"}, {"-word", "= word"}, {"falcon -1", "= 1 falcon"}, {"falcon -x", "= falcon x"},
		{"falcon -foo-bar", "= bar falcon foo"}, {"falcon --verbose", "= falcon verbose"}, {"falcon -foo=1", "= 1 falcon foo"},
		{`say"hello world"`, "= hello say world"}, {`"a b", c`, "= a b c"}, {`"a b".`, "= a b"}, {`x="a b" y`, "= a b x y"},
		{"unknown:value", "= unknown value"}, {"role:boss x", "= boss role x"}, {"provider:nobody x", "= nobody provider x"},
		{"File:x", "= file x"},
		// Pasted commands and messages.
		{"go test -bench BenchmarkX -benchmem -count=10", "= 10 bench benchmarkx benchmem count go test"},
		{"git commit -m fix -amend", "= amend commit fix git m"},
		{"tar -xzf a.tar --strip 1", "= 1 a strip tar xzf"},
		{"ModuleNotFoundError: No module named 'yaml'", "= module modulenotfounderror named no yaml"},
		{`{"error": {"code": -32600}}`, "= 32600 code error"},
		{"error[E0382]: borrow of moved value: `x`", "= borrow e0382 error moved of value x"},
		{"std::vector<int*> v = *p->q;", "= int p q std v vector"},
		{`panic: runtime error: index out of range [5] with length 3`, "= 3 5 error index length of out panic range runtime with"},
		{"fatal: pathspec 'a*' did not match", "= a did fatal match not pathspec"},
		{"Error: Cannot find module \"x\",\nRequire stack:", "= cannot error find module require stack x"},
		{"a \"b\nc\" d", "= a b c d"},
		{`expected "not found" got`, "words: expected, found, got, not; phrases: not found"},
		// Operators.
		{`"exact phrase"`, "words: exact, phrase; phrases: exact phrase"},
		{`"word"`, "words: word; phrases: word"},
		{`x "src/auth.go" y`, "words: auth, go, src, x, y; phrases: src/auth.go"},
		{`"a" "b c"`, "words: a, b, c; phrases: a, b c"},
		{"falcon -gateway", "words: falcon; without: gateway"},
		{"-gateway falcon", "words: falcon; without: gateway"},
		{`falcon -"gate way"`, "words: falcon; without: gate way"},
		{`git -v -"gate way"`, "words: git, v; without: gate way"},
		{`"a b" -word`, "words: a, b; phrases: a b; without: word"},
		{"a NEAR b", "words: a, b; near: a NEAR/10 b"},
		{"x a NEAR/5 b.c y", "words: a, b, c, x, y; near: a NEAR/5 b.c"},
		{"a NEAR b NEAR/2 c", "words: a, b, c; near: a NEAR/10 b, b NEAR/2 c"},
		{`"a b" NEAR c`, "words: a, b, c; phrases: a b; near: a b NEAR/10 c"},
		{"Time*", "prefixes: time"}, {"falcon gate*", "words: falcon; prefixes: gate"}, {"gate* -way", "without: way; prefixes: gate"},
		{"file:auth.go", "fields: file:auth.go"}, {"x file:/srv/a", "words: x; fields: file:/srv/a"},
		{`file:"my file.go" x`, "words: x; fields: file:my file.go"},
		{"cmd:make tool:Bash role:user provider:codex branch:main x", "words: x; fields: cmd:make, tool:Bash, role:user, provider:codex, branch:main"},
		{"role:tool -gateway", "without: gateway; fields: role:tool"},
		{"修复 -登录", "words: 修, 复; without: 登录"},
	} {
		rd := read(tt[0], allOperators, known)
		report := rd.report()
		got, want := report.String(), tt[1]
		if list, plain := strings.CutPrefix(want, "= "); plain {
			want = "words: " + strings.ReplaceAll(list, " ", ", ")
		}
		if got != want {
			t.Errorf("%q is read as\n\t%s, want\n\t%s", tt[0], got, want)
		}
	}
}

func TestReadingsGiveUp(t *testing.T) {
	t.Parallel()
	const text = `"a b" c NEAR d -bad file:x pre*`
	allowed, got := allOperators, []string{}
	for _, step := range append(relaxing, relaxing[0]) {
		report := read(text, allowed, known).report()
		got = append(got, report.String())
		allowed &^= step.op
	}
	want := []string{
		"words: a, b, c, d; phrases: a b; near: c NEAR/10 d; without: bad; prefixes: pre; fields: file:x",
		"words: a, b, c, d, near; phrases: a b; without: bad; prefixes: pre; fields: file:x",
		"words: a, b, c, d, near; without: bad; prefixes: pre; fields: file:x",
		"words: a, b, c, d, file, near, x; without: bad; prefixes: pre",
		"words: a, b, bad, c, d, file, near, x; prefixes: pre",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// Any text is read, plain words stay what they are, and without operators every word of the text counts.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "falcon gateway", `"a b" c NEAR/3 d -e -"f g" file:"x y" pre* tool:Bash`, `"`, `-"`, `file:"`, "NEAR", "a NEAR", "*", "-", "\xff -\xff*",
		"\u0130* -\u0130x", "修* -登录", "a\u2003NEAR\u2003b", "go test -run X", "\"\n\"", "a NEAR NEAR NEAR b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rd := read(text, allOperators, known)
		all := lexical.QueryTerms(text)
		for _, term := range rd.terms {
			if _, ok := slices.BinarySearchFunc(all, term, bytes.Compare); !ok {
				t.Fatalf("%q: %q is no word of it", text, term)
			}
		}
		if plain := read(text, 0, known); plain.used != 0 || !slices.EqualFunc(plain.terms, all, bytes.Equal) {
			t.Fatalf("%q without operators is %q", text, plain.terms)
		}
		if rd.used == 0 && !slices.EqualFunc(rd.terms, all, bytes.Equal) {
			t.Fatalf("%q without operators is %q", text, rd.terms)
		}
		if !strings.ContainsAny(text, `"-*:`) && !strings.Contains(text, "NEAR") && rd.used != 0 {
			t.Fatalf("%q is read as %v", text, rd.report())
		}
		newTests(rd)
	})
}
