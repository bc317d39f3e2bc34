package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"github.com/agenthistory/ctx/docs"
)

var update = flag.Bool("update", false, "write the generated pages")

// The command reference is made from the commands, so that it cannot drift: go test ./host/cli -run TestReference -update
func TestReference(t *testing.T) {
	const path = "../../docs/cli-reference.md"
	var b strings.Builder
	b.WriteString("# Command reference\n\nMade from the program itself. Every command takes `--help`.\n")
	a := &App{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	root := a.root()
	root.InitDefaultCompletionCmd()
	b.WriteString("\n## Flags of every command\n\n")
	writeFlags(&b, root.PersistentFlags())
	writeCommands(&b, root)
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != b.String() {
		t.Errorf("docs/cli-reference.md is not what the commands say (%v); write it with -update", err)
	}
}

// So are the manual pages.
func TestManual(t *testing.T) {
	const path = "../../docs/man.txtar"
	a := &App{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	root, dir, day := a.root(), t.TempDir(), time.Time{}
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "ctx " + docs.ManVersion, Manual: "ctx", Date: &day}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	archive := &txtar.Archive{Comment: []byte("The manual pages, made from the commands: go test ./host/cli -run TestManual -update\n")}
	files, err := os.ReadDir(dir)
	for _, f := range files {
		text, read := os.ReadFile(filepath.Join(dir, f.Name()))
		err = errors.Join(err, read)
		text = bytes.Replace(text, []byte(`"`+day.Format("Jan 2006")+`"`), []byte(`""`), 1) // a page has no date: its version says more
		archive.Files = append(archive.Files, txtar.File{Name: f.Name(), Data: text})
	}
	made := txtar.Format(archive)
	if *update {
		err = errors.Join(err, os.WriteFile(path, made, 0o644))
	}
	have, read := os.ReadFile(path)
	if err = errors.Join(err, read); err != nil || !bytes.Equal(have, made) {
		t.Errorf("docs/man.txtar is not what the commands say (%v); write it with -update", err)
	}
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	for _, inner := range cmd.Commands() {
		if inner.Hidden || inner.Name() == "help" {
			continue
		}
		if inner.Runnable() && !inner.HasSubCommands() || inner.Name() == "docs" {
			fmt.Fprintf(b, "\n## %s\n\n", inner.CommandPath())
			text := paragraph(inner.Long)
			if text == "" || inner.Parent().Name() == "completion" {
				text = inner.Short
			}
			fmt.Fprintf(b, "%s\n\n    %s\n", strings.TrimSpace(text), inner.UseLine())
			if inner.LocalNonPersistentFlags().HasAvailableFlags() {
				b.WriteString("\n")
				writeFlags(b, inner.LocalNonPersistentFlags())
			}
		}
		writeCommands(b, inner)
	}
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	b.WriteString("| flag | meaning |\n| --- | --- |\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		if value != "" {
			value = " " + value
		}
		row := strings.ReplaceAll("`--"+f.Name+value+"` @ "+text, "|", "\\|")
		fmt.Fprintf(b, "| %s |\n", strings.Replace(row, " @ ", " | ", 1))
	})
}

// Every page can be shown, names no command that does not exist, and links to no topic that does not.
func TestPages(t *testing.T) {
	t.Parallel()
	a := &App{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	root := a.root()
	root.InitDefaultCompletionCmd()
	fence := regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	link := regexp.MustCompile("ctx docs show ([a-z0-9-]+)")
	for _, topic := range docs.Topics() {
		_, body, found := docs.Show(topic.ID)
		if !found || !strings.HasPrefix(body, "# ") {
			t.Errorf("%s: no page, or no title in it", topic.ID)
		}
		for _, match := range link.FindAllStringSubmatch(body, -1) {
			if _, _, found := docs.Show(match[1]); !found {
				t.Errorf("%s links to %s, which does not exist", topic.ID, match[1])
			}
		}
		for _, block := range fence.FindAllStringSubmatch(body, -1) {
			for line := range strings.Lines(block[1]) {
				words := strings.Fields(line)
				if len(words) < 2 || words[0] != "ctx" {
					t.Errorf("%s: %q is no ctx command", topic.ID, line)
					continue
				}
				checkCommandLine(t, root, topic.ID, words[1:])
			}
		}
	}
}

func checkCommandLine(t *testing.T, root *cobra.Command, topic string, words []string) {
	t.Helper()
	if words[0] == "--version" {
		return
	}
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		t.Errorf("%s: there is no command %q", topic, words)
		return
	}
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if strings.HasPrefix(word, "--") && cmd.Flag(name) == nil {
			t.Errorf("%s: %s has no flag --%s", topic, cmd.CommandPath(), name)
		}
	}
}
