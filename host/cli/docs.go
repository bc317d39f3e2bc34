package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/docs"
	"github.com/agenthistory/ctx/host/fault"
)

func (a *App) docsCommand() *cobra.Command {
	cmd := a.docsList("docs", "Read the documentation that is built in")
	cmd.AddCommand(a.docsList("list", "List all topics"), a.docsSearch(), a.docsShow(), a.docsMan())
	return cmd
}

// docsList is a command that lists the topics.
func (a *App) docsList(use, short string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArguments}
	cmd.RunE = func(*cobra.Command, []string) error {
		answer := map[string]any{"schema_version": 1, "topics": docs.Topics()}
		return a.answer(answer, func(p *page) {
			var rows [][]string
			for _, t := range docs.Topics() {
				rows = append(rows, []string{t.ID, t.Summary})
			}
			p.table([]string{"Topic", "What it tells"}, rows)
			p.next("ctx docs show <topic>")
		})
	}
	return a.formats(cmd, "text", "json")
}

func (a *App) docsSearch() *cobra.Command {
	limit := 10
	cmd := &cobra.Command{Use: "search <query>", Short: "Find topics by words", Args: exactlyOne("one query (in quotes)")}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		found := docs.Search(args[0], limit)
		next := []string{}
		for _, f := range found[:min(3, len(found))] {
			next = append(next, "ctx docs show "+f.ID)
		}
		answer := map[string]any{"schema_version": 1, "query": args[0], "results": found, "suggested_next_commands": next}
		return a.answer(answer, func(p *page) {
			if len(found) == 0 {
				p.outcome(markWarning, "No topic mentions that")
				p.next("ctx docs list")
				return
			}
			var rows [][]string
			for _, f := range found {
				rows = append(rows, []string{f.ID, f.Summary})
			}
			p.table([]string{"Topic", "What it tells"}, rows)
			p.next(next...)
		})
	}
	cmd.Flags().Var(bounded(&limit, 1, 100), "limit", "topics at most")
	return a.formats(cmd, "text", "json")
}

func (a *App) docsShow() *cobra.Command {
	var out string
	cmd := &cobra.Command{Use: "show <topic>", Short: "Show one topic", Args: exactlyOne("one topic")}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		topic, body, found := docs.Show(args[0])
		if !found {
			hint := "ctx docs list"
			if near := docs.Near(args[0]); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "? ctx docs list names all"
			}
			return fault.New(fault.NotFound, "there is no topic %s", quoteWord(args[0])).WithHint("%s", hint)
		}
		return a.deliver(out, func(w io.Writer) error {
			if a.format == "json" {
				return writeLine(w, struct {
					Schema int `json:"schema_version"`
					docs.Topic
					Body string `json:"body"`
				}{1, topic, body})
			}
			_, err := io.WriteString(w, body)
			return err
		})
	}
	a.formats(cmd, "markdown", "text", "json")
	outFlag(cmd, &out)
	return cmd
}

func (a *App) docsMan() *cobra.Command {
	var print, out string
	cmd := &cobra.Command{Use: "man", Short: "Print a manual page, or write all of them to a folder", Args: noArguments}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if (print == "") == (out == "") {
			return usage(cmd, "one of --print and --out is needed")
		}
		pages := docs.Manual(version)
		if out != "" {
			return writeManual(out, pages)
		}
		page := pages[strings.TrimSuffix(print, ".1")+".1"]
		if page == nil {
			return fault.New(fault.NotFound, "there is no manual page %s", quoteWord(print)).WithHint("ctx docs man --print ctx-search")
		}
		_, err := a.Stdout.Write(page)
		return err
	}
	cmd.Flags().StringVar(&print, "print", "", "print this `page`, for example ctx-search")
	cmd.Flags().StringVar(&out, "out", "", "write all pages to this `folder`")
	return cmd
}

func writeManual(dir string, pages map[string][]byte) error {
	err := os.MkdirAll(dir, 0o755)
	for name, text := range pages {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
	}
	if err != nil {
		return fault.Wrap(err, fault.ResourceUnavailable, "the manual pages cannot be written: %v", err)
	}
	return nil
}
