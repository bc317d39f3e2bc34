package integrations

import (
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated table")

// The table of the clients in the documentation is made from the one in the program: go test ./host/integrations -run TestMatrix -update
func TestMatrix(t *testing.T) {
	const file = "../../docs/mcp-integrations.md"
	const head, end = "## Support matrix\n", "\n## By hand\n"
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(have), head)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("the page has no place for the table")
	}
	var b strings.Builder
	b.WriteString(before + head + "\n| client | id | form | file (yours) | file (project) | read back by |\n| --- | --- | --- | --- | --- | --- |\n")
	for i := range clients {
		c := &clients[i]
		fmt.Fprintf(&b, "| %s | `%s` | %s `%s` | %s | %s | %s |\n", c.name, c.id, form(c), c.table, cellOf(&c.global, "~"), cellOf(&c.project, ""), reader(c))
	}
	b.WriteString("\n`smol-toml`, `jsonc-parser` and `yaml` are independent libraries that read the files of every client after an installation into files\n" +
		"with comments and other entries (`test/clients/run`); `codex mcp list` and `claude mcp list` are the tools of the agents themselves\n" +
		"(`test/clients/run -agents`).\n" + end + after)
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err = os.ReadFile(file); err != nil || string(have) != b.String() {
		t.Errorf("docs/mcp-integrations.md is not what the program knows (%v); write it with -update", err)
	}
}

func form(c *client) string {
	switch c.syntax.(type) {
	case tomlSyntax:
		return "TOML"
	case yamlSyntax:
		return "YAML"
	}
	return "JSON"
}

func reader(c *client) string {
	library := map[string]string{"TOML": "`smol-toml`", "YAML": "`yaml`", "JSON": "`jsonc-parser`"}[form(c)]
	if own := map[string]string{"codex": "codex", "claude-code": "claude"}[c.id]; own != "" {
		return library + ", `" + own + " mcp list`"
	}
	return library
}

// cellOf writes a place: a variable names the directory instead of the home.
func cellOf(p *place, home string) string {
	if len(p.files) == 0 {
		return "-"
	}
	var names []string
	for _, file := range p.files {
		names = append(names, "`"+path.Join(home, p.base, file)+"`")
	}
	text := strings.Join(names, ", ")
	if p.env != "" {
		text += " or in `$" + p.env + "`"
		if p.env == "MIMOCODE_CONFIG_DIR" {
			text += ", `$MIMOCODE_HOME/config`"
		}
	}
	if p.mustHave {
		text += " (only if it exists)"
	}
	return text
}
