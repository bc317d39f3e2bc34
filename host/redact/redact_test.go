package redact

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/agenthistory/ctx/host/record"
)

// Secrets of tests are put together, so that no other tool takes them for some that leaked.
var (
	aws     = "AKIA" + "QYLPMN5HHHFPZAM2"
	github  = "ghp_" + "x7Kd93ksLq02mZaB4vN8tYcE5wRf1GhJ6uQp"
	stripe  = "sk_live_" + "51Habcdefghij0123456789"
	slack   = "xoxb-" + "123456789012-123456789012-abcdefGHIJKL"
	bearer  = "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	face    = "hf_" + "qwertzuiopASDFGHJKLyxcvbnmQWERTZUI"
	secret  = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYzzQLmAb4r9"
	pass    = "hT7kd93ks" + "Lq02mZ"
	private = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA7bq0J4bXk1J4bXk1J4bXk1J4bXk1J4bXk1J4bXk1J4bXk1\nJ4bXk1J4bXk1J4bXk1J4bXk1\n-----END RSA PRIVATE " + "KEY-----"
)

func TestText(t *testing.T) {
	t.Parallel()
	r := New()
	for in, want := range map[string]string{
		"AWS_ACCESS_KEY_ID=" + aws:                               "AWS_ACCESS_KEY_ID=[redacted:aws-access-token]",
		"x\n" + aws + "\n":                                       "x\n[redacted:aws-access-token]\n",
		"push with " + github + ", then":                         "push with [redacted:github-pat], then",
		"(" + stripe + ")":                                       "([redacted:stripe-access-token])",
		"key: '" + stripe + "'":                                  "key: '[redacted:stripe-access-token]'",
		"bot " + slack:                                           "bot [redacted:slack-bot-token]",
		"Authorization: Bearer " + bearer:                        "Authorization: Bearer [redacted:jwt]",
		"login " + face + " ok":                                  "login [redacted:huggingface-access-token] ok",
		"aws_secret_access_key = " + secret:                      "aws_secret_access_key = [redacted:generic-api-key]",
		"export DB_PASSWORD=" + pass + "\nnext":                  "export DB_PASSWORD=[redacted:generic-api-key]\nnext",
		`{"password": "` + pass + `"}`:                           `{"password": "[redacted:generic-api-key]"}`,
		"a\n" + private + "\nb":                                  "a\n[redacted:private-key]\nb",
		"curl -u admin:" + pass + " https://x":                   "curl -u [redacted:curl-auth-user] https://x",
		`curl https://x -H "Authorization: Bearer ` + pass + `"`: `curl https://x -H "Authorization: Bearer [redacted:curl-auth-header]"`,
		"GITHUB_TOKEN=" + github + " " + aws:                     "GITHUB_TOKEN=[redacted:github-pat] [redacted:aws-access-token]",
		// An id that is called a key cannot be told from one.
		`"key": "3491c51d-6712-8fef-8aea-c6d1df334d3d-or-so"`: `"key": "[redacted:generic-api-key]"`,
		// What only looks like a secret.
		"token_usage: TokenUsageWireSchema.optional()":               "token_usage: TokenUsageWireSchema.optional()",
		"AKIAIOSFODNN7EXAMPLE":                                       "AKIAIOSFODNN7EXAMPLE",
		"commit 8fef8aeac6d1df334d3d3491c51d":                        "commit 8fef8aeac6d1df334d3d3491c51d",
		"/home/ada/project/internal/parser/token_reader_test.go:120": "/home/ada/project/internal/parser/token_reader_test.go:120",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q\nbecame %q\n  want %q", in, got, want)
		}
	}
	var off *Redactor
	if got := off.Text(aws); got != aws || off.Event(&record.Event{HasBody: true, Body: record.Value{Inline: []byte(aws)}}) {
		t.Errorf("without a Redactor %q", got)
	}
}

// event is a tool call whose body and arguments lie in its structured content.
func event(t *testing.T, command, output string) *record.Event {
	t.Helper()
	structured, err := json.Marshal(map[string]any{"command": command, "output": []string{"first", output}, "z": 1})
	if err != nil {
		t.Fatal(err)
	}
	e := &record.Event{HasBody: true, Structured: structured, Activity: &record.Activity{
		Invocation: &record.Invocation{}, Result: &record.Result{},
		Facts: []record.Fact{{Kind: record.FactFile, Value: []byte("/tmp/" + github + "/x")}},
	}}
	piece := func(text string, isQuoted bool) record.Span {
		at := bytes.Index(structured, []byte(text))
		if at < 0 {
			t.Fatalf("%s is not in %s", text, structured)
		}
		return record.Span{Offset: uint32(at), Length: uint32(len(text)), Quoted: isQuoted}
	}
	quote := func(text string) string { raw, _ := json.Marshal(text); return string(raw) }
	e.Body.Spans = []record.Span{piece(quote(command), true), piece(quote(output), true)}
	e.Activity.Invocation.Arguments.Value.Spans = []record.Span{{Length: uint32(len(structured))}}
	e.Activity.Result.Text.Value.Inline = []byte(output)
	e.Activity.Result.Structured.Value.Inline = []byte(`{"password":` + quote(pass) + `}`)
	return e
}

func TestEvent(t *testing.T) {
	t.Parallel()
	e := event(t, "login \"a\"\n"+aws+"\tb\\", "key\n"+private+"\nend")
	stored := bytes.Clone(e.Structured)
	before := e.Structured
	if !New().Event(e) {
		t.Fatal("nothing was found")
	}
	if !bytes.Equal(before, stored) {
		t.Error("the stored bytes were changed")
	}
	if got, want := string(e.AppendBody(nil)), "login \"a\"\n[redacted:aws-access-token]\tb\\\nkey\n[redacted:private-key]\nend"; got != want {
		t.Errorf("body %q", got)
	}
	if got := e.AppendValue(nil, e.Activity.Invocation.Arguments.Value); !bytes.Equal(got, e.Structured) || !json.Valid(got) || bytes.Equal(got, stored) {
		t.Errorf("arguments %s", got)
	}
	if got := string(e.Activity.Result.Text.Value.Inline); got != "key\n[redacted:private-key]\nend" {
		t.Errorf("result %q", got)
	}
	if got := string(e.Activity.Result.Structured.Value.Inline); got != `{"password":"[redacted:generic-api-key]"}` {
		t.Errorf("structured result %q", got)
	}
	if got := string(e.Activity.Facts[0].Value); got != "/tmp/[redacted:github-pat]/x" {
		t.Errorf("fact %q", got)
	}
	clean := event(t, "ls", "nothing")
	clean.Activity.Result.Structured.Value.Inline, clean.Activity.Facts = nil, nil
	if New().Event(clean) {
		t.Error("an event without a secret was changed")
	}
}

// A secret that goes through several literals, as the lines of a patch do, is taken out of each.
func TestLiterals(t *testing.T) {
	t.Parallel()
	lines, err := json.Marshal(map[string]any{"lines": strings.Split("+"+strings.ReplaceAll(private, "\n", "\n+"), "\n"), "n": 1})
	if err != nil {
		t.Fatal(err)
	}
	out, cuts := New().json(lines)
	if !json.Valid(out) || len(cuts) != 4 || bytes.Contains(out, []byte("MII")) || !bytes.HasSuffix(out, []byte(`],"n":1}`)) {
		t.Errorf("%s", out)
	}
}

// A secret that begins or ends within an escape takes the whole escape with it, each of several.
func TestEscapesStayWhole(t *testing.T) {
	t.Parallel()
	text := `["a\u0041b\nc"]`
	for _, c := range []struct {
		found []finding
		want  string
	}{
		{[]finding{{5, 9, "x"}}, `["a[redacted:x]b\nc"]`},                             // within \u0041
		{[]finding{{2, 4, "x"}, {7, 10, "y"}}, `["[redacted:x][redacted:y]\nc"]`},     // both in it
		{[]finding{{2, 3, "x"}, {9, 11, "y"}}, `["[redacted:x]\u0041[redacted:y]c"]`}, // the second ends within \n
		{[]finding{{0, 15, "x"}}, `["[redacted:x]"]`},
	} {
		if got, _ := replace([]byte(text), quoted([]byte(text), c.found)); string(got) != c.want {
			t.Errorf("%v: %s, want %s", c.found, got, c.want)
		}
	}
	if got := string(new(scanner).neutral([]byte(`"a\u0041b\"c\n\\d\`))); got != `"a      b "c `+"\n"+`  d\` {
		t.Errorf("%q", got)
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	stored := &record.Session{Meta: record.SessionMeta{Title: "use " + github, CWD: "/work/" + aws, Branch: "main"}}
	m := New().Session(stored).Meta
	if m.Title != "use [redacted:github-pat]" || m.CWD != "/work/[redacted:aws-access-token]" || m.Branch != "main" || stored.Meta.Title != "use "+github {
		t.Errorf("%+v, stored %+v", m, stored.Meta)
	}
}

var placeholder = regexp.MustCompile(`\[redacted:[a-z0-9-]+\]`)

// Whatever a record holds: the text stays text, JSON stays JSON, what is no secret stays as it is, and spans lie inside.
func FuzzEvent(f *testing.F) {
	f.Add("login "+aws, "x\n"+private)
	f.Add("password=\""+pass+"\"\\", "\\\"\n"+github)
	f.Add("-----BEGIN PGP PRIVATE "+"KEY BLOCK-----", strings.Repeat("a1", 40)+"\n-----END PGP PRIVATE "+"KEY BLOCK-----")
	f.Add("curl -u a:"+pass, "\x00\u2028é token: "+secret)
	r := New()
	f.Fuzz(func(t *testing.T, command, output string) {
		if !utf8.ValidString(command) || !utf8.ValidString(output) {
			t.Skip()
		}
		e := event(t, command, output)
		whole := len(e.AppendBody(nil))
		r.Event(e)
		if !json.Valid(e.Structured) {
			t.Fatalf("no JSON: %s", e.Structured)
		}
		body := e.AppendBody(nil)
		if !utf8.Valid(body) {
			t.Fatalf("no text: %q", body)
		}
		if len(body) != whole && !bytes.Contains(body, []byte("[redacted:")) {
			t.Fatalf("%d bytes became %q", whole, body)
		}
		for _, text := range []string{command, output} {
			again := r.Text(text)
			if !utf8.ValidString(again) || again != text && !strings.Contains(again, "[redacted:") {
				t.Fatalf("%q became %q", text, again)
			}
			kept, rest := placeholder.Split(again, -1), text
			for i, piece := range kept {
				at := strings.Index(rest, piece)
				if i == len(kept)-1 {
					at = strings.LastIndex(rest, piece)
				}
				if at < 0 || i == 0 && at > 0 || i == len(kept)-1 && at+len(piece) < len(rest) {
					t.Fatalf("%q became %q: %q was not so", text, again, piece)
				}
				rest = rest[at+len(piece):]
			}
		}
	})
}

// first is three bytes that a keyword begins with, or it and what follows.
func (k *keyword) first() uint64 { return k.bytes(0)[0] | k.bytes(1)[0]<<8 | k.bytes(2)[0]<<16 }

// Rules are read one by one; together they are the whole rule set, and every one of them compiles and is found by its keywords.
func TestRules(t *testing.T) {
	t.Parallel()
	var file struct {
		Rules []struct {
			rule
			Path     string
			Keywords []string
		}
	}
	for _, source := range []string{config.DefaultConfig, "[[rules]]\n" + ownRules} {
		if err := toml.Unmarshal([]byte(source), &file); err != nil {
			t.Fatal(err)
		}
		if source == config.DefaultConfig && len(file.Rules) < 200 {
			t.Errorf("only %d rules", len(file.Rules))
		}
		for i := range file.Rules {
			want := &file.Rules[i]
			for _, word := range want.Keywords {
				var got *rule
				low := strings.ToLower(word)
				first := hash((&keyword{word: low, behind: follows[low]}).first())
				for _, k := range rules().words[rules().places[first>>19]] {
					if n := slices.IndexFunc(k.uses, func(u *use) bool { return u.ID == want.ID }); k.word == low && n >= 0 {
						got = k.uses[n].rule
					}
				}
				if got == nil {
					t.Fatalf("rule %s is not found by %q", want.ID, word)
				}
				if got.once.Do(got.read); got.path != (want.Path != "") || got.path {
					continue
				}
				got.judged.Do(got.judge)
				if !strings.HasPrefix(got.Regex, strings.Split(want.Regex, ending)[0]) || got.Entropy != want.Entropy || got.least == 0 {
					t.Errorf("rule %s was read as %+v", want.ID, got.Regex)
				}
				for j, x := range got.Allowlists {
					if len(x.patterns) != len(x.Regexes) || len(x.patterns)+len(x.StopWords) == 0 {
						t.Errorf("exception %d of %s is not ready", j, want.ID)
					}
				}
			}
		}
	}
}

// BenchmarkText measures what text without secrets costs: what a tool printed, code, and the JSON around them.
func BenchmarkText(b *testing.B) {
	text := []byte(strings.Repeat("total 48\n-rw-r--r-- 1 ada ada  1204 Nov 17 09:03 client.go\nfunc (c *Client) retry(ctx context.Context, key string) error {\n\treturn c.post(ctx, \"/v1/charges\", key)\n}\n"+
		"{\"id\": \"toolu_01AbCdEfGhIjKlMnOpQrStUv\", \"uuid\": \"3491c51d-6712-8fef-8aea-c6d1df334d3d\", \"token_usage\": 1204}\nThe retry sends the same charge again when the first answer times out.\n", 2000))
	r := New()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, found := r.bytes(text); found {
			b.Fatal("there is no secret in it")
		}
	}
}
