package record

import (
	"strings"
	"testing"
)

const someUUID = "5e9f0460-5311-83b3-b803-8c23887fddcc"

func TestRetrievalCommands(t *testing.T) {
	derived := []string{
		"ctx search foo",
		"  ctx search 'two words'\t",
		"ctx.exe search foo",
		`ctx search "say \"hi\" to a b"`,
		`ctx search two\ words`,
		"ctx --quiet search foo",
		"ctx --data-root /tmp/x search foo --color never",
		"ctx --data-root=/tmp/x search foo --quiet",
		"ctx search --term a --term b",
		"ctx search --file main.go --limit 200",
		"ctx search foo --limit=1 --events --verbose --format json",
		"ctx search foo --since 7d --backend lexical --semantic-weight 0.5 --refresh off",
		"ctx search foo --since 2026-01-02T03:04:05Z",
		"ctx search foo --content-scope calls",
		"ctx search foo --event-type notice",
		"ctx search foo --session 5e9f0460",
		"ctx search foo --exclude-session 5e9f0460 --exclude-session " + someUUID,
		"ctx search -- --not-an-option",
		"ctx search - ",
		"ctx show event " + someUUID,
		"ctx show event 5E9F0460 --window 50",
		"ctx show event 5e9f0460 --before 0 --after 3 --format markdown",
		"ctx show session " + someUUID + " --mode log --max-events 10 --out /tmp/t.md",
		"ctx show session --provider codex --provider-session abc",
		"ctx list events",
		"ctx list events --since 2026-01-02T03:04:05Z --until 2026-01-03T03:04:05.5+02:00 --limit 10000000 --content none",
		"ctx list events --session " + someUUID + " --provider codex --provider claude --direction descending --scope subagent",
		"ctx locate event 5e9f0460",
		"ctx locate session --provider-session x --format json",
		"ctx search foo --explain --redact",
		"ctx show session 5e9f0460 --format html --redact",
		"ctx show 5e9f0460", "ctx show " + someUUID + " --mode log", "ctx show 5e9f0460 --window 3",
		"ctx list sessions", "ctx list sessions --since 7d --workspace shop --limit 5 --format json",
		"ctx locate 5e9f0460",
		"ctx blame src/main.go --lines 1:4",
		"ctx blame anything --at all",
		`ctx search 'a | b; $(rm)'`,
		"ctx search 'a\nb'",
	}
	ordinary := []string{
		"ctx setup", "ctx status --format json", "ctx --quiet import --all", "ctx index rebuild", "ctx doctor", "ctx mcp serve", "ctx forget " + someUUID,
		"ctx sources add work", "ctx docs show search", "ctx stats", "ctx integrations status mcp", "ctx daemon run", "ctx upgrade", "ctx pro", "ctx referral",
	}
	unknown := []string{
		"", "   ", "ctx", "ctx --quiet", "ctx unknown", "CTX search foo", "/usr/bin/ctx search foo", "./ctx search foo", "sudo ctx search foo", "FOO=1 ctx search foo",
		"ctx search foo | head", "ctx search foo; ls", "ctx search foo && ls", "ctx search foo > f", "ctx search foo < f", "ctx search (foo)", "ctx search foo &",
		"ctx search $HOME", "ctx search `ls`", `ctx search "$HOME"`, "ctx search \"`ls`\"", "ctx search f*", "ctx search f?", "ctx search [f]", "ctx search {a,b}",
		"ctx search foo\nls", "ctx search foo\\\nbar", "ctx search foo\rls", "ctx search foo # note", "# ctx search foo", "ctx search 'foo", `ctx search "foo`, `ctx search foo\`,
		"ctx search \"a\\\nb\"", "ctx search foo\x00", "ctx search 'a\x00b'",
		"ctx search", "ctx search '  '", "ctx search foo bar", "ctx search foo --limit 0", "ctx search foo --limit 201", "ctx search foo --limit -1", "ctx search foo --limit",
		"ctx search foo --limit 5 --limit 6", "ctx search foo --unknown", "ctx search foo -v", "ctx search foo --events=true", "ctx search foo --events --events",
		"ctx search foo --content-scope calls --event-type message", "ctx search foo --content-scope most", "ctx search foo --event-type file_touched",
		"ctx search foo --session 5e9f0460 --exclude-session 5e9f0461", "ctx search foo --session 5e9f", "ctx search foo --session 5e9f046g",
		"ctx search foo --semantic-weight 1.5", "ctx search foo --semantic-weight NaN", "ctx search foo --since yesterday", "ctx search foo --since 2026-01-02",
		"ctx search foo --history-source nodash", "ctx search foo --term ''", "ctx --quiet --quiet search foo", "ctx --quiet search foo --quiet",
		"ctx --color blue search foo", "ctx --help search foo", "ctx search foo --help",
		"ctx show", "ctx show event", "ctx show event 5e9f0460 5e9f0461", "ctx show event xyz", "ctx show event 5e9f0460 --window 51", "ctx show event 5e9f0460 --mode log",
		"ctx show session", "ctx show session 5e9f0460 --provider-session x", "ctx show session 5e9f0460 --max-events 0", "ctx show session 5e9f0460 --mode some",
		"ctx list", "ctx list events x", "ctx list sessions x", "ctx list sessions --limit 10001", "ctx show help", "ctx show 5e9f0460 x", "ctx search foo --redact=false", "ctx list events --since 2026-01-02T03:04:05Z", "ctx list events --until 2026-01-02T03:04:05Z", "ctx list events --limit 10000001",
		"ctx list events --session 5e9f0460", "ctx list events --format text", "ctx list events --since 7d --until 1d",
		"ctx locate event", "ctx locate session", "ctx show-session 5e9f0460", "ctx plugins list",
		"ctx search " + strings.Repeat("a ", maxCommandWords), "ctx search " + strings.Repeat("a", maxCommandText),
	}
	for want, commands := range map[Verdict][]string{VerdictDerived: derived, VerdictOrdinary: ordinary, VerdictUnknown: unknown} {
		for _, command := range commands {
			if got := RetrievalCommand(command); got != want {
				t.Errorf("%.60q: verdict %d, want %d", command, got, want)
			}
		}
	}
}

func TestRetrievalArguments(t *testing.T) {
	tests := map[string]Verdict{
		`{"cmd":"ctx search foo"}`:                                VerdictDerived,
		`{"command":"ctx search foo","timeout":5}`:                VerdictDerived,
		`{"shell_command":"ctx search foo"}`:                      VerdictDerived,
		`"ctx search foo"`:                                        VerdictDerived,
		`"{\"cmd\":\"ctx search foo\"}"`:                          VerdictDerived,
		`{"cmd":"ctx status"}`:                                    VerdictOrdinary,
		`{"cmd":"ctx search foo","command":"ctx search foo"}`:     VerdictUnknown,
		`{"cmd":"ctx search foo","command":null}`:                 VerdictUnknown,
		`{"cmd":"ctx search foo","cmd":"ls"}`:                     VerdictUnknown,
		`{"cmd":["ctx","search","foo"]}`:                          VerdictUnknown,
		`{"script":"ctx search foo"}`:                             VerdictUnknown,
		`["ctx search foo"]`:                                      VerdictUnknown,
		`null`:                                                    VerdictUnknown,
		`{"cmd":`:                                                 VerdictUnknown,
		`{"cmd":"ctx search foo"}` + strings.Repeat(" ", 256<<10): VerdictUnknown,
	}
	for arguments, want := range tests {
		if got := RetrievalArguments([]byte(arguments)); got != want {
			t.Errorf("%.60s: verdict %d, want %d", arguments, got, want)
		}
	}
}

func TestRetrievalMCP(t *testing.T) {
	for _, tool := range []string{"search", "show_event", "show_session", "query_events", "blame"} {
		if RetrievalMCP("ctx", tool) != VerdictDerived || RetrievalMCP("other", tool) != VerdictUnknown {
			t.Errorf("tool %s", tool)
		}
	}
	if RetrievalMCP("ctx", "status") != VerdictOrdinary || RetrievalMCP("ctx", "sources") != VerdictOrdinary || RetrievalMCP("Ctx", "search") != VerdictUnknown {
		t.Error("other tools or servers")
	}
}

func TestCombine(t *testing.T) {
	d, o, u := VerdictDerived, VerdictOrdinary, VerdictUnknown
	tests := []struct {
		in   []Verdict
		want Verdict
	}{{nil, u}, {[]Verdict{d}, d}, {[]Verdict{d, d}, d}, {[]Verdict{d, u}, u}, {[]Verdict{d, o}, o}, {[]Verdict{u, o}, o}, {[]Verdict{u}, u}}
	for _, test := range tests {
		if got := Combine(test.in...); got != test.want {
			t.Errorf("%v give %d, want %d", test.in, got, test.want)
		}
	}
}

const goodOutput = "Chunk ID: ab12cd\nWall time: 0.1234 seconds\nProcess exited with code 0\nOriginal token count: 5\nOutput:\nresult\n"

func TestSuccessText(t *testing.T) {
	replaced := func(old, new string) string { return strings.Replace(goodOutput, old, new, 1) }
	tests := map[string]bool{
		goodOutput: true,
		"Chunk ID: ab12cd\nWall time: 3 seconds\nProcess exited with code 0\nFinal output:\nresult": true,
		"Script completed\nProcess exited with code 0\nFinal output:\nresult":                       true,
		replaced("result\n", ""):                                          false,
		replaced("code 0", "code 1"):                                      false,
		replaced("ab12cd", "AB12CD"):                                      false,
		replaced("ab12cd", "ab12c"):                                       false,
		replaced("0.1234", "0."):                                          false,
		replaced("0.1234", "1e3"):                                         false,
		replaced("0.1234", "0.1.2"):                                       false,
		replaced("0.1234", strings.Repeat("1", 33)):                       false,
		replaced("count: 5", "count: x"):                                  false,
		replaced("count: 5", "count: "+strings.Repeat("1", 21)):           false,
		replaced("result", "  Output: again"):                             false,
		replaced("result", "Process exited with code 1"):                  false,
		replaced("result", "Warning: truncated output"):                   false,
		replaced("result", "…5 tokens truncated…"):                        false,
		replaced("result", "the word truncated in a sentence is no sign"): true,
		replaced("result", "a\x00b"):                                      false,
		goodOutput + strings.Repeat("x", maxEnvelope):                     false,
		"":       false,
		"result": false,
	}
	for text, want := range tests {
		if got := successText([]byte(text)); got != want {
			t.Errorf("%.120q: %v, want %v", text, got, want)
		}
	}
}

func FuzzRetrievalCommand(f *testing.F) {
	for _, seed := range []string{"ctx search foo", `ctx search "a\"b" 'c'`, "ctx --color auto list events --limit 5", "ctx blame x # y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if RetrievalCommand(command) != VerdictDerived {
			return
		}
		words, ok := splitCommand(strings.TrimSpace(command))
		if !ok || words[0] != "ctx" && words[0] != "ctx.exe" {
			t.Fatalf("%q is derived and splits into %q", command, words)
		}
	})
}
