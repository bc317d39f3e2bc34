package integrations

import (
	"reflect"
	"testing"
)

type spliceCase struct {
	name, before, after string
	removed             string // after removing again; "" = before
}

func runSplices(t *testing.T, id string, cases []spliceCase) {
	t.Helper()
	c := clientNamed(id)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fresh := &target{client: c, text: []byte(tc.before)}
			fresh.state.Status = Missing
			got, err := fresh.installed()
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.after {
				t.Errorf("installed:\n%s\nwant:\n%s", got, tc.after)
			}
			gone, err := (&target{client: c, text: got}).removed()
			if err != nil {
				t.Fatal(err)
			}
			want := tc.removed
			if want == "" {
				want = tc.before
			}
			if string(gone) != want {
				t.Errorf("removed:\n%q\nwant:\n%q", gone, want)
			}
		})
	}
}

const zedEntry = `"ctx": {
      "command": "ctx",
      "args": ["mcp","serve"]
    }`

func TestJSONSplice(t *testing.T) {
	t.Parallel()
	runSplices(t, "zed", []spliceCase{
		{"empty file", "", "{\n  \"context_servers\": {\n    " + zedEntry + "\n  }\n}\n", "{\n  \"context_servers\": {\n  }\n}\n"},
		{"comments stay", `{
  // theme of the office
  "theme": "dark", // not light
  "context_servers": {
    "other": { "command": "o" } // keep me
  }
}
`, `{
  // theme of the office
  "theme": "dark", // not light
  "context_servers": {
    "other": { "command": "o" }, // keep me
    ` + zedEntry + `
  }
}
`, ""},
		{"trailing commas", `{
  "context_servers": {
    "other": {},
  },
}
`, `{
  "context_servers": {
    "other": {},
    ` + zedEntry + `,
  },
}
`, ""},
		{"no table yet", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"context_servers\": {\n    " + zedEntry + "\n  }\n}\n",
			"{\n  \"a\": 1,\n  \"context_servers\": {\n  }\n}\n"},
		{"tabs", "{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"context_servers\": {\n\t\t\"ctx\": {\n\t\t\t\"command\": \"ctx\",\n\t\t\t\"args\": [\"mcp\",\"serve\"]\n\t\t}\n\t}\n}",
			"{\n\t\"a\": 1,\n\t\"context_servers\": {\n\t}\n}"},
		{"comment alone", "{\n  // mine\n}\n", "{\n  // mine\n  \"context_servers\": {\n    " + zedEntry + "\n  }\n}\n",
			"{\n  // mine\n  \"context_servers\": {\n  }\n}\n"},
		{"comment on an unfinished last line", "{\"context_servers\": {\n  \"a\": 1}} // end", "{\"context_servers\": {\n  \"a\": 1,\n    " + zedEntry + "}} // end",
			"{\"context_servers\": {\n  \"a\": 1\n    }} // end"},
		{"null table", `{"context_servers": null}`, "{\"context_servers\": {\n    " + zedEntry + "\n  }}", "{\"context_servers\": {\n  }}"},
		{"byte order mark alone", "\xef\xbb\xbf", "{\n  \"context_servers\": {\n    " + zedEntry + "\n  }\n}\n", "{\n  \"context_servers\": {\n  }\n}\n"},
		{"one line", `{"context_servers": {"other": {}}}`, `{"context_servers": {"other": {},
    ` + zedEntry + `}}`, "{\"context_servers\": {\"other\": {}\n    }}"},
	})
}

func TestTOMLSplice(t *testing.T) {
	t.Parallel()
	const entry = "[mcp_servers.ctx]\ncommand = \"ctx\"\nargs = [\"mcp\",\"serve\"]\n"
	runSplices(t, "codex", []spliceCase{
		{"empty file", "", entry, ""},
		{"comments and order stay", "# mine\nmodel = \"m\" # favourite\n\n[mcp_servers.other]\ncommand = \"o\"\n",
			"# mine\nmodel = \"m\" # favourite\n\n[mcp_servers.other]\ncommand = \"o\"\n\n" + entry, ""},
		{"a blank line at the end", "a = 1\n\n", "a = 1\n\n" + entry, "a = 1\n"},
		{"last line unfinished", "a = 1", "a = 1\n\n" + entry, "a = 1\n"},
		{"values that JSON does not have", "f = inf\nd = 1979-05-27\n", "f = inf\nd = 1979-05-27\n\n" + entry, ""},
		{"byte order mark alone", "\xef\xbb\xbf", "\xef\xbb\xbf\n" + entry, "\xef\xbb\xbf\n"},
		{"CRLF", "a = 1\r\n", "a = 1\r\n\r\n[mcp_servers.ctx]\r\ncommand = \"ctx\"\r\nargs = [\"mcp\",\"serve\"]\r\n", ""},
	})
}

func TestTOMLCut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, before, after string }{
		{"with tables below it", "[mcp_servers.ctx]\ncommand = \"x\"\n\n[mcp_servers.ctx.env]\nA = \"1\" # why\n\n# about b\n[b]\nc = 1\n", "\n\n# about b\n[b]\nc = 1\n"},
		{"as a dotted key", "mcp_servers.ctx.command = \"x\"\nmcp_servers.ctx.args = [\n  \"a\", # first\n]\na = 1\n", "a = 1\n"},
		{"with a string that ends like a comment", "[mcp_servers.ctx]\nnote = '''\nx\n# y'''\n\n# about b\n[b]\n", "\n# about b\n[b]\n"},
		{"as an inline table", "[mcp_servers]\nctx = { command = \"x\" }\nother = { command = \"y\" }\n", "[mcp_servers]\nother = { command = \"y\" }\n"},
	} {
		got, err := checked(tomlSyntax{}, []byte(tc.before), "mcp_servers", nil, func(text []byte) ([]byte, error) { return tomlSyntax{}.cut(text, "mcp_servers") })
		if err != nil || string(got) != tc.after {
			t.Errorf("%s: %v\n%q\nwant\n%q", tc.name, err, got, tc.after)
		}
	}
}

const gooseEntry = `  ctx:
    enabled: true
    type: stdio
    name: ctx
    cmd: ctx
    args:
      - mcp
      - serve
    timeout: 300
`

func TestYAMLSplice(t *testing.T) {
	t.Parallel()
	runSplices(t, "goose", []spliceCase{
		{"empty file", "", "extensions:\n" + gooseEntry, "extensions: {}\n"},
		{"comments stay", "MODEL: m # favourite\nextensions:\n  other:\n    cmd: o\n\n# the end\nlast: 1\n",
			"MODEL: m # favourite\nextensions:\n  other:\n    cmd: o\n" + gooseEntry + "\n# the end\nlast: 1\n", ""},
		{"empty table", "extensions: {} # none\n", "extensions: # none\n" + gooseEntry, "extensions: {} # none\n"},
		{"anchors", "d: &d {cmd: o}\nextensions: &e\n  one: *d\nlast: 1\n", "d: &d {cmd: o}\nextensions: &e\n  one: *d\n" + gooseEntry + "last: 1\n", ""},
		{"a text that ends like a comment", "extensions:\n  one:\n    text: |\n      # Heading\n  # the end\nlast: 1\n",
			"extensions:\n  one:\n    text: |\n      # Heading\n" + gooseEntry + "  # the end\nlast: 1\n", ""},
		{"keys that JSON does not have", "ports: {1: a, 2: b}\nextensions:\n  one: {cmd: o}\n", "ports: {1: a, 2: b}\nextensions:\n  one: {cmd: o}\n" + gooseEntry, ""},
		{"null table", "extensions:\nlast: 1\n", "extensions:\n" + gooseEntry + "last: 1\n", "extensions: {}\nlast: 1\n"},
	})
	runSplices(t, "continue", []spliceCase{
		{"new file", "", "name: ctx\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: ctx\n    command: ctx\n    args:\n      - mcp\n      - serve\n",
			"name: ctx\nversion: 0.0.1\nschema: v1\nmcpServers: []\n"},
		{"list without indentation", "mcpServers:\n- name: other\n  command: o\n",
			"mcpServers:\n- name: other\n  command: o\n- name: ctx\n  command: ctx\n  args:\n    - mcp\n    - serve\n", ""},
	})
}

// A form that the splice does not understand is refused, never damaged.
func TestRefusedForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ id, text string }{
		{"codex", "mcp_servers = { other = { command = \"o\" } }\n"},
		{"goose", "extensions: {other: {cmd: o}}\n"},
		{"goose", "{extensions: {}}\n"},
		{"goose", "extensions: &a\n  other: {cmd: o}\n---\nb: 1\n"},
		{"cursor", `{"mcpServers": []}`},
		{"continue", "mcpServers:\n  -\n    name: ctx\n    command: o\n"},
	} {
		c := clientNamed(tc.id)
		one := &target{client: c, text: []byte(tc.text)}
		one.state.Status = Missing
		if got, err := one.installed(); err == nil {
			t.Errorf("%s: %q became %q", tc.id, tc.text, got)
		}
	}
}

// Whatever a file holds, a splice changes nothing but the entry, or refuses.
func FuzzSplice(f *testing.F) {
	for i, seed := range []string{"{}", "{\"mcpServers\":{\"a\":{}}}", "a = 1\n[mcp_servers.ctx]\n", "extensions:\n  a:\n    cmd: x\n", "mcpServers:\n- name: ctx\n", "// c\n{\"mcpServers\":{/*x*/},}"} {
		f.Add(uint8(i), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		c := &clients[int(which)%len(clients)]
		one := &target{client: c, text: text}
		document, err := c.syntax.decode(text)
		if err != nil || len(document) == 0 {
			return // a new file may get a head
		}
		entry, found, err := entryOf(c.syntax, document, c.table)
		if err != nil {
			return
		}
		one.state.Status = Missing
		if found {
			one.state.Status = Conflict
		}
		got, err := one.installed()
		if err != nil {
			return
		}
		after, err := c.syntax.decode(got)
		if err != nil {
			t.Fatalf("%q is not valid: %v", got, err)
		}
		if entry, found, _ = entryOf(c.syntax, after, c.table); !found || !ours(c.entry, entry) {
			t.Fatalf("no entry in %q", got)
		}
		if !reflect.DeepEqual(without(document, c.table), without(after, c.table)) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
