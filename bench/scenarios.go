package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type bench struct {
	settings
	sourceBytes, sourceFiles int64
	indexed                  string // a data root with the whole home imported
	figures                  []figure
}

type scenario struct {
	name   string
	run    func(*bench) error
	index  bool // wants the whole home imported
	costly bool // runs only when it is named
}

// The order matters: the later ones read the data root that the first leaves behind.
var scenarios = []scenario{
	{"cold", (*bench).cold, false, false}, {"disk", (*bench).disk, true, false}, {"noop", (*bench).noop, true, false},
	{"append", (*bench).append, false, false}, {"search", (*bench).search, true, false}, {"show", (*bench).show, true, false},
	{"mcp", (*bench).mcp, true, false}, {"filters", (*bench).filtered, true, true}, {"redact", (*bench).redact, true, true},
	{"cursor", (*bench).cursor, false, true}, {"crash", (*bench).crash, false, true}, {"live", (*bench).live, false, true},
	{"idle", (*bench).idle, false, true},
}

// prepare measures the histories.
func (b *bench) prepare() error {
	return b.sources(func(_ string, info fs.FileInfo) error {
		b.sourceBytes += info.Size()
		b.sourceFiles++
		return nil
	})
}

// sources visits the history files of Claude Code and Codex.
func (b *bench) sources(visit func(path string, info fs.FileInfo) error) error {
	for _, tree := range []string{".claude/projects", ".codex/sessions", ".codex/archived_sessions"} {
		err := filepath.WalkDir(filepath.Join(b.home, tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".jsonl" {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return visit(path, info)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (b *bench) cold() error {
	var samples []sample
	for i := range b.runs {
		root := filepath.Join(b.work, fmt.Sprintf("cold-%d", i))
		s, err := b.importAll(b.home, root)
		if err != nil {
			return err
		}
		samples = append(samples, s)
		if b.indexed != "" {
			os.RemoveAll(b.indexed)
		}
		b.indexed = root
	}
	mb := float64(b.sourceBytes) / 1e6
	b.add("cold import", "MB/s", ">= 120", pick(samples, func(s sample) float64 { return mb / s.wall.Seconds() }))
	b.add("cold import CPU", "ms/MB", "<= 13", pick(samples, func(s sample) float64 { return ms(s.cpu) / mb }))
	b.add("cold import wall", "s", "", pick(samples, func(s sample) float64 { return s.wall.Seconds() }))
	b.add("cold import host RSS", "MiB", "<= 600", pick(samples, func(s sample) float64 { return mib(s.hostRSS) }))
	b.add("cold import plugin RSS", "MiB", "<= 200", pick(samples, func(s sample) float64 { return mib(s.pluginRSS) }))
	return nil
}

// needIndex imports the home once for the scenarios that only read.
func (b *bench) needIndex() error {
	if b.indexed != "" {
		return nil
	}
	b.indexed = filepath.Join(b.work, "indexed")
	_, err := b.importAll(b.home, b.indexed)
	return err
}

func (b *bench) importAll(home, root string) (sample, error) {
	return b.exec(home, root, "import", "--all", "--format", "json")
}

func (b *bench) disk() error {
	total := int64(0)
	for f := range files(filepath.Join(b.indexed, "core")) {
		total += f.size
	}
	b.add("index and records on disk", "% of source", "<= 25", []float64{100 * float64(total) / float64(b.sourceBytes)})
	return nil
}

func (b *bench) noop() error {
	var samples []sample
	for range b.runs {
		s, err := b.importAll(b.home, b.indexed)
		if err != nil {
			return err
		}
		samples = append(samples, s)
	}
	b.add(fmt.Sprintf("no-op refresh of %d files", b.sourceFiles), "ms", "<= 80", pick(samples, func(s sample) float64 { return ms(s.wall) }))
	return nil
}

// append adds 200 events to one session of a private copy of the home: hard links, but for the file that grows.
func (b *bench) append() error {
	home := filepath.Join(b.work, "home")
	grown, err := b.linkHome(home)
	if err != nil {
		return err
	}
	root := filepath.Join(b.work, "append")
	if _, err := b.importAll(home, root); err != nil {
		return err
	}
	var walls, written, factor []float64
	for i := range b.runs {
		before := files(root)
		added, err := appendEvents(grown, i, 200)
		if err != nil {
			return err
		}
		s, err := b.importAll(home, root)
		if err != nil {
			return err
		}
		fresh := int64(0)
		for f := range files(root) {
			if !before[f] {
				fresh += f.size
			}
		}
		walls = append(walls, ms(s.wall))
		written = append(written, float64(fresh)/1024)
		factor = append(factor, float64(fresh-64<<10)/float64(added))
	}
	b.add("append of 200 events", "ms", "<= 300", walls)
	b.add("append, bytes in new files", "KiB", "", written)
	b.add("append, (bytes - 64 KiB) / appended", "x", "<= 8", factor)
	return nil
}

func (b *bench) linkHome(home string) (grown string, err error) {
	err = b.sources(func(path string, info fs.FileInfo) error {
		rel, err := filepath.Rel(b.home, path)
		if err != nil {
			return err
		}
		target := filepath.Join(home, rel)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		main := filepath.Base(filepath.Dir(filepath.Dir(target))) == "projects"
		if grown == "" && main && info.Size() < 8<<20 {
			grown = target
			return copyFile(path, target)
		}
		if os.Link(path, target) == nil {
			return nil
		}
		return copyFile(path, target)
	})
	if err == nil && grown == "" {
		err = errors.New("no transcript to append to")
	}
	return grown, err
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

func appendEvents(path string, round, n int) (int64, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	session := filepath.Base(path[:len(path)-len(".jsonl")])
	total := int64(0)
	for i := range n {
		line, err := json.Marshal(map[string]any{
			"type": "user", "uuid": fmt.Sprintf("bench-%d-%d", round, i), "sessionId": session, "cwd": "/bench",
			"timestamp": time.Unix(1780000000+int64(i), 0).UTC().Format(time.RFC3339),
			"message":   map[string]any{"role": "user", "content": fmt.Sprintf("benchmark line %d of round %d about a retry with a timeout", i, round)},
		})
		if err != nil {
			return 0, err
		}
		wrote, err := f.Write(append(line, '\n'))
		if err != nil {
			return 0, err
		}
		total += int64(wrote)
	}
	return total, nil
}

// queries are of the kinds people type; none is taken from a history.
var queries = [][]string{
	{"error"}, {"permission denied"}, {"retry timeout"}, {"failing test"}, {"update the readme"}, {"the file is in"},
	{"function returns wrong value"}, {"git rebase conflict"}, {"parse json"}, {"config"}, {"out of memory"},
	{"how do we release"}, {"database migration"}, {"websocket reconnect"}, {"lint warning unused variable"},
	{"--events", "panic"}, {"--provider", "claude", "cache"}, {"--content-scope", "calls", "go test"},
	{"--content-scope", "outputs", "exit status"}, {"--since", "3650d", "deploy"}, {"--primary-only", "refactor"},
	{"--file", "README", "install"}, {"--workspace", "src", "build"}, {"zebra quagga okapi"}, {"the to and"},
}

// searches runs one fresh process a search and adds the quantiles of their times. CPU tells more than the clock on a busy machine.
func (b *bench) searches(name string, n int, args func(i int) []string) ([]sample, error) {
	var samples []sample
	for i := range n {
		s, err := b.exec(b.home, b.indexed, append([]string{"search", "--refresh", "off", "--format", "json"}, args(i)...)...)
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
	}
	b.addAt(name+", CPU p50", "ms", "", pick(samples, func(s sample) float64 { return ms(s.cpu) }), 0.50)
	return samples, nil
}

// filtered searches the same words without a filter and with each of them. The session is that of the first row without one.
func (b *bench) filtered() error {
	words := []string{"permission denied", "error", "the to and"}
	first, err := b.exec(b.home, b.indexed, "search", "--refresh", "off", "--format", "json", "--limit", "1", words[0])
	if err != nil {
		return err
	}
	var answer struct {
		Results []struct {
			Session string `json:"ctx_session_id"`
		}
	}
	if err := json.Unmarshal(first.stdout, &answer); err != nil || len(answer.Results) == 0 {
		return errors.Join(err, errors.New("no session to search in"))
	}
	for _, filter := range [][]string{
		{"--limit", "20"}, {"--session", answer.Results[0].Session}, {"--since", "30d"}, {"--since", "3650d"}, {"--provider", "codex"}, {"--provider", "claude"},
		{"--workspace", "src"}, {"--content-scope", "transcript"}, {"--primary-only"},
	} {
		name := "search " + strings.Join(filter, " ")
		samples, err := b.searches(name, b.queries, func(i int) []string { return append([]string{words[i%len(words)]}, filter...) })
		if err != nil {
			return err
		}
		b.addAt(name+", p50", "ms", "", pick(samples, func(s sample) float64 { return ms(s.wall) }), 0.50)
	}
	return nil
}

// redact shows one session with and without its secrets, in turn, and compares what the processor did.
func (b *bench) redact() error {
	session, err := b.largest()
	if err != nil {
		return err
	}
	for _, format := range []string{"json", "text", "html"} {
		var plain, redacted, more []float64
		for range b.queries {
			var cpu [2]float64
			for i, redact := range []string{"--redact=false", "--redact"} {
				s, err := b.exec(b.home, b.indexed, "show", "session", session, "--mode", "log", "--format", format, redact)
				if err != nil {
					return err
				}
				cpu[i] = ms(s.cpu)
			}
			plain, redacted, more = append(plain, cpu[0]), append(redacted, cpu[1]), append(more, 100*(cpu[1]/cpu[0]-1))
		}
		b.add("show session, "+format+", CPU", "ms", "", plain)
		b.add("the same redacted", "ms", "", redacted)
		b.add("redaction costs", "%", "<= 10", more)
	}
	return nil
}

// largest returns the session with the most events among the newest 1,000.
func (b *bench) largest() (string, error) {
	listed, err := b.exec(b.home, b.indexed, "list", "sessions", "--limit", "1000", "--format", "json")
	if err != nil {
		return "", err
	}
	var list struct {
		Sessions []struct {
			ID     string `json:"ctx_session_id"`
			Events int    `json:"events"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal(listed.stdout, &list); err != nil {
		return "", err
	}
	most, id := 0, ""
	for _, s := range list.Sessions {
		if s.Events > most {
			most, id = s.Events, s.ID
		}
	}
	if id == "" {
		return "", errors.New("no session to show")
	}
	return id, nil
}

func (b *bench) search() error {
	common, err := b.searches("three common words", b.queries, func(int) []string { return []string{"the to and"} })
	if err != nil {
		return err
	}
	b.addAt("three common words, fresh process, p99", "ms", "<= 300", pick(common, func(s sample) float64 { return ms(s.wall) }), 0.99)
	samples, err := b.searches("search, fresh process", b.queries, func(i int) []string { return queries[i%len(queries)] })
	if err != nil {
		return err
	}
	walls := pick(samples, func(s sample) float64 { return ms(s.wall) })
	b.addAt("search, fresh process, p50", "ms", "<= 30", walls, 0.50)
	b.addAt("search, fresh process, p99", "ms", "<= 200", walls, 0.99)
	b.addAt("search, peak private RSS", "MiB", "<= 80", pick(samples, func(s sample) float64 { return mib(s.privateRSS) }), 1)
	return nil
}

func (b *bench) show() error {
	found, err := b.exec(b.home, b.indexed, "search", "--refresh", "off", "--format", "json", "--events", "error")
	if err != nil {
		return err
	}
	var answer struct {
		Results []struct {
			Event   string `json:"ctx_event_id"`
			Session string `json:"ctx_session_id"`
		}
	}
	if err := json.Unmarshal(found.stdout, &answer); err != nil {
		return err
	}
	if len(answer.Results) == 0 {
		return errors.New("no event to show")
	}
	for _, kind := range [][]string{{"show", "event"}, {"locate", "event"}, {"locate", "session"}} {
		var walls []float64
		for i := range b.queries {
			row := answer.Results[i%len(answer.Results)]
			id := row.Event
			if kind[1] == "session" {
				id = row.Session
			}
			s, err := b.exec(b.home, b.indexed, kind[0], kind[1], id, "--format", "json")
			if err != nil {
				return err
			}
			walls = append(walls, ms(s.wall))
		}
		b.addAt(kind[0]+" "+kind[1]+", fresh process, p50", "ms", "<= 20", walls, 0.50)
	}
	return nil
}
