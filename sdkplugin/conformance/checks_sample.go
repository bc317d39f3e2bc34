package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Sample is a folder (or file) of real history. It is only read; what gets
// cut and completed are copies.
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
func (k *kit) listSample(ctx context.Context) (*process, *historyv1.Route, *inventory, error) {
	path, err := filepath.Abs(k.cfg.Sample.Path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := k.live()
	if err != nil {
		return nil, nil, nil, err
	}
	route := k.sampleRoute(path)
	inv, err := p.inventory(ctx, route)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(inv.sources) == 0 {
		return nil, nil, nil, errors.New("no sources in the sample")
	}
	return p, route, inv, nil
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

func (k *kit) sampleInventory(ctx context.Context) (string, error) {
	p, route, first, err := k.listSample(ctx)
	if err != nil {
		return "", err
	}
	if err := k.sourcesValid(first); err != nil {
		return "", err
	}
	second, err := p.inventory(ctx, route)
	if err != nil {
		return "", err
	}
	if err := sameInventory(first, second); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d sources, state %v", len(first.sources), first.state()), nil
}

func (k *kit) sampleScan(ctx context.Context) (string, error) {
	p, route, inv, err := k.listSample(ctx)
	if err != nil {
		return "", err
	}
	inv = inv.part()
	jobs := make([]scanJob, len(inv.sources))
	for i, s := range inv.sources {
		jobs[i].source = s
	}
	var scans [2][]*transcript
	for i := range scans {
		if scans[i], err = p.scan(ctx, route, jobs...); err != nil {
			return "", err
		}
	}
	failed, events, rejected := 0, 0, uint64(0)
	for i, t := range scans[0] {
		if diff := t.differs(scans[1][i]); diff != "" {
			return "", fmt.Errorf("%q, read twice: %s", t.source.Locator, diff)
		}
		if t.failure != nil {
			if failed++; knownClass(t.failure) != nil {
				return "", fmt.Errorf("%q: %w", t.source.Locator, knownClass(t.failure))
			}
			continue
		}
		if err := t.accounted(); err != nil {
			return "", err
		}
		if err := t.valid(); err != nil {
			return "", fmt.Errorf("%q: %w", t.source.Locator, err)
		}
		events += len(t.events)
		rejected += t.end.Counts.GetRejected()
	}
	if events == 0 {
		return "", fmt.Errorf("no event in %d sources", len(jobs))
	}
	return fmt.Sprintf("%d sources, %d failed; %d events, %d records rejected", len(jobs), failed, events, rejected), nil
}

// sampleAppend cuts copies of the files in half, lets them be read, completes
// them, and compares reading on with reading in full.
func (k *kit) sampleAppend(ctx context.Context) (string, error) {
	p, route, inv, err := k.listSample(ctx)
	if err != nil {
		return "", err
	}
	dir, err := k.workspace()
	if err != nil {
		return "", err
	}
	copied := k.sampleRoute(dir)
	whole := map[string][]byte{}
	for _, s := range inv.part().sources {
		content, head, ok := halved(filepath.Join(route.Path, filepath.FromSlash(s.Locator)))
		if !ok || s.Locator == "" {
			continue
		}
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(s.Locator)), head); err != nil {
			return "", err
		}
		if whole[s.Locator] = content; len(whole) == sampleAppends {
			break
		}
	}
	if len(whole) == 0 {
		return "", notRun{"no file of the sample is text of several lines"}
	}
	halves, err := k.scanWhatCan(ctx, p, copied, nil)
	if err != nil {
		return "", err
	}
	for locator, content := range whole {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(locator)), content); err != nil {
			return "", err
		}
	}
	grown, err := k.scanWhatCan(ctx, p, copied, halves)
	if err != nil {
		return "", err
	}
	full, err := k.scanWhatCan(ctx, p, copied, nil)
	if err != nil {
		return "", err
	}
	appended := 0
	for locator, t := range grown {
		base, want := halves[locator], full[locator]
		if base == nil || want == nil || t.begin.GetMode() != historyv1.Mode_MODE_APPEND {
			continue
		}
		appended++
		sum := *t
		sum.events = append(base.events[:len(base.events):len(base.events)], t.events...)
		sum.rejections = append(base.rejections[:len(base.rejections):len(base.rejections)], t.rejections...)
		if diff := sum.differs(want); diff != "" {
			return "", fmt.Errorf("%q, appended and full: %s", locator, diff)
		}
	}
	if appended == 0 {
		return "", notRun{"the provider reads no file of the sample on"}
	}
	return fmt.Sprintf("%d of %d files were read on", appended, len(whole)), nil
}

// scanWhatCan scans everything below a route, in append where there is a base
// with a frontier, and leaves out what fails.
func (k *kit) scanWhatCan(ctx context.Context, p *process, route *historyv1.Route, bases map[string]*transcript) (map[string]*transcript, error) {
	inv, err := p.inventory(ctx, route)
	if err != nil {
		return nil, err
	}
	jobs := make([]scanJob, len(inv.sources))
	for i, s := range inv.sources {
		jobs[i].source = s
		if base := bases[s.Locator]; base != nil && len(base.end.Frontier) > 0 {
			jobs[i].base = base
		}
	}
	scans, err := p.scan(ctx, route, jobs...)
	if err != nil {
		return nil, err
	}
	out := map[string]*transcript{}
	for _, t := range scans {
		if t.failure == nil {
			out[t.source.Locator] = t
		}
	}
	return out, nil
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
