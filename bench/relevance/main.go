// Command relevance measures how well search ranks, against queries that were judged by hand.
//
//	go run ./bench/relevance -ctx bin/ctx -home DIR [-data-root DIR] [-misses] [-update]
//
// A *judgement* names an event or a session that answers a query, with a grade: 2 is right, 1 is acceptable. A *ranker* puts
// the rows of a query in order: ctx itself, plain BM25 and a grep, each once with sessions and once with events as rows. The
// *tuning half* are the odd query numbers, which may be looked at while ranking is changed; the *report half* are the even ones,
// which may not. docs/relevance.md explains the method.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

type settings struct {
	ctx, home, root string
	misses, update  bool
}

func main() {
	var s settings
	flag.StringVar(&s.ctx, "ctx", "bin/ctx", "the program under test")
	flag.StringVar(&s.home, "home", "../shared/corpus/home", "home directory with the judged histories; never written")
	flag.StringVar(&s.root, "data-root", "", "data root that holds those histories already (default: import into a temporary one)")
	flag.BoolVar(&s.misses, "misses", false, "list the queries of the tuning half that ctx does not answer in its first five rows")
	flag.BoolVar(&s.update, "update", false, "write the table to bench/relevance/golden.txt and docs/relevance.md")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "relevance:", err)
		os.Exit(1)
	}
}

func run(s settings) error {
	results, err := measure(s)
	if err != nil {
		return err
	}
	table := render(results)
	fmt.Print(table)
	if s.misses {
		fmt.Print(renderMisses(results))
	}
	if !s.update {
		return nil
	}
	if err := os.WriteFile("bench/relevance/golden.txt", []byte(table), 0o644); err != nil {
		return err
	}
	return updatePage("docs/relevance.md", table)
}

// measure runs every query through every ranker.
func measure(s settings) ([]result, error) {
	queries, err := parseQueries(judgedQueries)
	if err != nil {
		return nil, err
	}
	program, cleanup, err := open(s)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	events, err := program.events()
	if err != nil {
		return nil, err
	}
	c, err := newCorpus(events, queries)
	if err != nil {
		return nil, err
	}
	var results []result
	for _, q := range queries {
		ranked := map[string][]*event{"bm25": c.bm25(q.text), "grep": c.grep(q.text)}
		for _, rows := range rowKinds {
			if ranked["ctx"], err = program.search(c, q.text, rows); err != nil {
				return nil, fmt.Errorf("query %d: %w", q.number, err)
			}
			wanted := c.answers(q, rows)
			for _, ranker := range rankers {
				list := ranked[ranker]
				if rows == "sessions" {
					list = firstOfSession(list)
				}
				list = list[:min(len(list), depth)]
				results = append(results, result{q, rows, ranker, score(gains(wanted, list), wanted)})
			}
		}
	}
	return results, nil
}

// open prepares the data root and returns the program that reads it.
func open(s settings) (*program, func(), error) {
	bin, err := filepath.Abs(s.ctx)
	if err != nil {
		return nil, nil, err
	}
	home, err := filepath.Abs(s.home)
	if err != nil {
		return nil, nil, err
	}
	if s.root != "" {
		root, err := filepath.Abs(s.root)
		return &program{bin: bin, home: home, root: root}, func() {}, err
	}
	root, err := os.MkdirTemp("", "ctx-relevance-")
	if err != nil {
		return nil, nil, err
	}
	p := &program{bin: bin, home: home, root: root}
	if _, err := p.exec("import", "--all", "--format", "json"); err != nil {
		os.RemoveAll(root)
		return nil, nil, err
	}
	return p, func() { os.RemoveAll(root) }, nil
}

var tableMarks = [2][]byte{[]byte("<!-- table -->\n```\n"), []byte("```\n<!-- end of table -->")}

// updatePage replaces what stands between the marks of the page.
func updatePage(path, table string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(page, tableMarks[0])
	_, tail, closed := bytes.Cut(rest, tableMarks[1])
	if !ok || !closed {
		return fmt.Errorf("%s has lost the marks around its table", path)
	}
	return os.WriteFile(path, bytes.Join([][]byte{head, tableMarks[0], []byte(table), tableMarks[1], tail}, nil), 0o644)
}
