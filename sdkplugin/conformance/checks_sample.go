package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Sample is a folder (or file) of real history. It is only read; what gets cut and completed are copies.
type Sample struct {
	Path         string
	Format, Role string // empty = the first that the provider declares
}

// A sample may be a whole archive: this much of it is looked at.
const (
	sampleSources  = 200
	sampleBytes    = 64 << 20
	sampleAppends  = 20
	sampleCopySize = 8 << 20
)

func (k *kit) sampleRoute(path string) *historyv1.Route {
	route := k.route(path)
	if s := k.cfg.Sample; s.Format != "" {
		route.Format, route.Role = s.Format, s.Role
	}
	return route
}

// listSample lists the sample.
func (k *kit) listSample() (*historyv1.Route, *inventory) {
	route := k.sampleRoute(must(filepath.EvalSymlinks(must(filepath.Abs(k.cfg.Sample.Path)))))
	inv := k.live().inventory(k.ctx, route)
	if len(inv.sources) == 0 {
		failf("no sources in the sample")
	}
	return route, inv
}

// part is the beginning of the inventory that is looked at.
func (i *inventory) part() *inventory {
	total := uint64(0)
	for n, s := range i.sources {
		if total += s.Size; n > 0 && (n == sampleSources || total > sampleBytes) {
			return &inventory{sources: i.sources[:n], end: i.end}
		}
	}
	return i
}

func (k *kit) sampleScan() string {
	route, inv := k.listSample()
	k.sourcesValid(inv)
	k.listsTheSame(route, inv)
	jobs := inv.part().jobs(nil)
	scans, again := k.live().scan(k.ctx, route, jobs...), k.live().scan(k.ctx, route, jobs...)
	failed, events, rejected := 0, 0, uint64(0)
	for i, t := range scans {
		if diff := t.differs(again[i]); diff != "" {
			failf("%q, read twice: %s", t.source.Locator, diff)
		}
		if t.failure != nil {
			failed++
			try(knownClass(t.failure))
			continue
		}
		try(t.accounted())
		try(t.valid())
		events += len(t.events)
		rejected += t.end.Counts.GetRejected()
	}
	if events == 0 {
		failf("no event in %d sources", len(jobs))
	}
	return fmt.Sprintf("%d sources listed, %d read, %d failed; %d events, %d records rejected", len(inv.sources), len(jobs), failed, events, rejected)
}

// sampleAppend cuts copies of the files in half, lets them be read, completes them, and compares reading on with reading in full.
func (k *kit) sampleAppend() string {
	route, inv := k.listSample()
	copied := k.sampleRoute(k.workspace())
	whole := map[string][]byte{}
	for _, s := range inv.part().sources {
		content, head, ok := halved(filepath.Join(route.Path, filepath.FromSlash(s.Locator)))
		if !ok || s.Locator == "" {
			continue
		}
		try(writeFile(filepath.Join(copied.Path, filepath.FromSlash(s.Locator)), head))
		if whole[s.Locator] = content; len(whole) == sampleAppends {
			break
		}
	}
	if len(whole) == 0 {
		skipf("no file of the sample is text of several lines")
	}
	halves := k.scanWhatCan(copied, nil)
	for locator, content := range whole {
		try(writeFile(filepath.Join(copied.Path, filepath.FromSlash(locator)), content))
	}
	grown, full := k.scanWhatCan(copied, halves), k.scanWhatCan(copied, nil)
	appended := 0
	for locator, t := range grown {
		base, want := halves[locator], full[locator]
		if base == nil || want == nil || t.begin.GetMode() != historyv1.Mode_MODE_APPEND {
			continue
		}
		appended++
		if diff := t.after(base).differs(want); diff != "" {
			failf("%q, appended and full: %s", locator, diff)
		}
	}
	if appended == 0 {
		skipf("the provider reads no file of the sample on")
	}
	return fmt.Sprintf("%d of %d files were read on", appended, len(whole))
}

// scanWhatCan scans everything below a route, in append where there is a base with a frontier, and leaves out what fails.
func (k *kit) scanWhatCan(route *historyv1.Route, bases map[string]*transcript) map[string]*transcript {
	out := map[string]*transcript{}
	for _, t := range k.live().scan(k.ctx, route, k.live().inventory(k.ctx, route).jobs(bases)...) {
		if t.failure == nil {
			out[t.source.Locator] = t
		}
	}
	return out
}

// halved returns a file of lines, and its lines up to the middle.
func halved(path string) (content, head []byte, ok bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > sampleCopySize {
		return nil, nil, false
	}
	content, err = os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(content, []byte("\n")) || bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) {
		return nil, nil, false
	}
	head = content[:bytes.LastIndexByte(content[:len(content)/2], '\n')+1]
	return content, head, len(head) > 0
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
