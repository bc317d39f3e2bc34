package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/docs"
)

var (
	updatePages = flag.Bool("update", false, "write what the commands print into the documentation")
	shellBlock  = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?")
)

// Every command that the documentation shows is run as it stands, on the sample history: it must succeed. Ids and places of the
// reader's machine are put in for those of the page. Where a page shows what is printed, that is what is printed: go test ./cmd/ctx
// -run TestDocumentation -update
func TestDocumentation(t *testing.T) {
	t.Parallel()
	for _, topic := range docs.Topics() {
		_, body, _ := docs.Show(topic.ID)
		if !shellBlock.MatchString(body) {
			continue
		}
		t.Run(topic.ID, func(t *testing.T) {
			t.Parallel()
			reader := newReader(t)
			seen := shellBlock.ReplaceAllStringFunc(body, func(block string) string {
				m := shellBlock.FindStringSubmatch(block)
				var printed strings.Builder
				for line := range strings.Lines(m[1]) {
					printed.Write(reader.follow(t, strings.TrimSpace(line)))
				}
				if m[2] == "" {
					return block
				}
				return "```sh\n" + m[1] + "```\n\n```text\n" + strings.ReplaceAll(printed.String(), reader.home, "/home/ada") + "```\n"
			})
			if *updatePages && seen != body {
				if err := os.WriteFile(filepath.Join("..", "..", "docs", topic.ID+".md"), []byte(seen), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if seen != body {
				t.Errorf("the page is not what is printed; write it with -update:\n%s", seen)
			}
		})
	}
}

var exampleBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The commands that the skill teaches an agent are such as work.
func TestSkillExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "host", "integrations", "skill", "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	reader := newReader(t)
	session, event := reader.put.Replace("<session>"), reader.put.Replace("<event>")
	reader.put = strings.NewReplacer("<ctx-session-id>", session, "<ctx-event-id>", event, "5e9f0460", event)
	blocks := exampleBlock.FindAllStringSubmatch(string(text), -1)
	for _, block := range blocks {
		for line := range strings.Lines(strings.TrimSpace(block[1])) {
			reader.follow(t, strings.TrimSpace(line))
		}
	}
	if len(blocks) != 5 {
		t.Errorf("%d blocks of examples", len(blocks))
	}
}

// reader is somebody who has the sample history, has set ctx up, and types what a page says.
type reader struct {
	home string
	env  []string
	put  *strings.Replacer
}

func newReader(t *testing.T) *reader {
	t.Helper()
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "..", "examples", "home"))); err != nil {
		t.Fatal(err)
	}
	codex := filepath.Join(home, "codex-work", "sessions")
	if err := os.MkdirAll(codex, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &reader{home: home, put: strings.NewReplacer()}
	r.env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "CTX_DATA_ROOT="+filepath.Join(home, "data"),
		"CTX_LOCAL_USAGE_ENABLED=false", "CTX_DAEMON_AUTOSTART_OFF=1", "TZ=UTC", "LANG=C.UTF-8", "LC_ALL=", "CODEX_HOME=", "CLAUDE_CONFIG_DIR=")
	r.follow(t, "ctx import --all")
	var found struct {
		Results []struct {
			Session string `json:"ctx_session_id"`
			Event   string `json:"ctx_event_id"`
		} `json:"results"`
	}
	if err := json.Unmarshal(r.follow(t, "ctx search idempotency --format json"), &found); err != nil || len(found.Results) == 0 {
		t.Fatalf("nothing to read: %v", err)
	}
	r.put = strings.NewReplacer("<full-session-id>", found.Results[0].Session, "<session>", found.Results[0].Session, "<event>", found.Results[0].Event,
		"/srv/codex-work", filepath.Dir(codex), "/backup/claude/projects", filepath.Join(home, ".claude", "projects"))
	return r
}

// follow runs one line of a page in the home directory and returns what it prints.
func (r *reader) follow(t *testing.T, line string) []byte {
	t.Helper()
	words, ok := strings.CutPrefix(r.put.Replace(line), "ctx ")
	if !ok {
		t.Fatalf("%q is no ctx command", line)
	}
	cmd := exec.Command(binary, splitWords(words)...)
	cmd.Dir, cmd.Env = r.home, r.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s%s", line, err, out, stderr.String())
	}
	return out
}

// splitWords splits a line at spaces that are not in double quotes.
func splitWords(line string) (words []string) {
	quoted := false
	for _, word := range strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	}) {
		words = append(words, strings.ReplaceAll(word, `"`, ""))
	}
	return words
}
