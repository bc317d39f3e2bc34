// Command bench measures the built program as a user runs it: whole processes, on real or amplified histories.
//
//	go run ./bench -ctx bin/ctx -home DIR [-runs 5] [-only cold,noop,append,search,show,disk,mcp] [-json FILE]
//
// A *scenario* is one thing a user waits for. Each is run several times; the median is the figure to quote. README.md in this
// folder explains the method.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

type settings struct {
	ctx, home, work string
	runs            int
	queries, calls  int
	cursorMiB       int
	root            string
	rounds          int
	seed            uint64
	length          time.Duration
}

func main() {
	var s settings
	var only, out string
	flag.StringVar(&s.ctx, "ctx", "bin/ctx", "the program under test")
	flag.StringVar(&s.home, "home", "../shared/corpus/home", "home directory whose histories are indexed; never written")
	flag.StringVar(&s.work, "work", "", "scratch directory (default: a temporary one)")
	flag.IntVar(&s.runs, "runs", 5, "runs of each scenario")
	flag.IntVar(&s.queries, "queries", 100, "fresh processes of the search and show scenarios")
	flag.IntVar(&s.calls, "calls", 1000, "calls of the mcp scenario")
	flag.IntVar(&s.cursorMiB, "cursor-mib", 2048, "size of the database that the cursor scenario makes")
	flag.StringVar(&s.root, "root", "", "a data root that is indexed already, for the scenarios that only read")
	flag.IntVar(&s.rounds, "rounds", 200, "kills of the crash scenario")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the crash scenario")
	flag.DurationVar(&s.length, "for", 2*time.Minute, "length of the live and idle scenarios")
	flag.StringVar(&only, "only", "", "comma separated scenarios")
	flag.StringVar(&out, "json", "", "also write the figures to this file")
	flag.Parse()
	if err := run(s, only, out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(s settings, only, out string) error {
	var err error
	if s.ctx, err = filepath.Abs(s.ctx); err != nil {
		return err
	}
	if s.home, err = filepath.Abs(s.home); err != nil {
		return err
	}
	if s.work == "" {
		if s.work, err = os.MkdirTemp("", "ctx-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(s.work)
	}
	b := &bench{settings: s, indexed: s.root}
	if err := b.prepare(); err != nil {
		return err
	}
	for _, sc := range scenarios {
		if only == "" && sc.costly || only != "" && !strings.Contains(","+only+",", ","+sc.name+",") {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s ...\n", sc.name)
		if sc.index {
			err = b.needIndex()
		}
		if err == nil {
			err = sc.run(b)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
	}
	report := map[string]any{
		"machine":      fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		"source_bytes": b.sourceBytes, "source_files": b.sourceFiles, "runs": s.runs, "figures": b.figures,
	}
	printTable(b)
	if out == "" {
		return nil
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(data, '\n'), 0o644)
}
