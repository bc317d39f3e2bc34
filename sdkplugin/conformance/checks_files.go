package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// path of a session's file.
func (k *kit) path(route *historyv1.Route, session int) string {
	return filepath.Join(route.Path, filepath.FromSlash(k.lines.File(session)))
}

// fullScan lists the route and scans everything.
func (k *kit) fullScan(ctx context.Context, route *historyv1.Route) ([]*transcript, error) {
	p, err := k.live()
	if err != nil {
		return nil, err
	}
	inv, err := p.inventory(ctx, route)
	if err != nil {
		return nil, err
	}
	return p.scanAll(ctx, route, inv)
}

// oneScan is fullScan for a history of one source.
func (k *kit) oneScan(ctx context.Context, route *historyv1.Route) (*transcript, error) {
	scans, err := k.fullScan(ctx, route)
	if err != nil {
		return nil, err
	}
	if len(scans) != 1 {
		return nil, fmt.Errorf("%d sources for one file", len(scans))
	}
	return scans[0], scans[0].accounted()
}

// appendScan asks to go on behind base.
func (k *kit) appendScan(ctx context.Context, route *historyv1.Route, base *transcript) (*transcript, error) {
	p, err := k.live()
	if err != nil {
		return nil, err
	}
	inv, err := p.inventory(ctx, route)
	if err != nil {
		return nil, err
	}
	if len(inv.sources) != 1 {
		return nil, fmt.Errorf("%d sources for one file", len(inv.sources))
	}
	out, err := p.scan(ctx, route, scanJob{source: inv.sources[0], base: base})
	if err != nil {
		return nil, err
	}
	if f := out[0].failure; f != nil {
		return nil, fmt.Errorf("an append failed: %s: %s", f.Class, f.Message)
	}
	return out[0], nil
}

func (k *kit) certifiedDigest(ctx context.Context) (string, error) {
	route, err := k.history(2, someRecords)
	if err != nil {
		return "", err
	}
	scans, err := k.fullScan(ctx, route)
	if err != nil {
		return "", err
	}
	for _, t := range scans {
		content, err := os.ReadFile(filepath.Join(route.Path, filepath.FromSlash(t.source.Locator)))
		if err != nil {
			return "", err
		}
		if t.end.CertifiedBytes != uint64(len(content)) {
			return "", fmt.Errorf("%q: %d bytes certified of %d complete ones", t.source.Locator, t.end.CertifiedBytes, len(content))
		}
		if digest := sha256.Sum256(content); !bytes.Equal(digest[:], t.end.ContentDigest) {
			return "", fmt.Errorf("%q: another digest", t.source.Locator)
		}
	}
	return "", nil
}

func (k *kit) tornTail(ctx context.Context) (string, error) {
	route, err := k.history(1, someRecords)
	if err != nil {
		return "", err
	}
	clean, err := k.oneScan(ctx, route)
	if err != nil {
		return "", err
	}
	record, err := k.lines.Record(0, someRecords, "the last record")
	if err != nil {
		return "", err
	}
	half := len(record) / 2
	var torn *transcript
	for _, piece := range [][]byte{record[:half], record[half:]} {
		if err := appendFile(k.path(route, 0), piece); err != nil {
			return "", err
		}
		if torn, err = k.oneScan(ctx, route); err != nil {
			return "", err
		}
		if diff := clean.differs(torn); diff != "" {
			return "", fmt.Errorf("a record without its line feed made a difference: %s", diff)
		}
	}
	if err := appendFile(k.path(route, 0), []byte("\n")); err != nil {
		return "", err
	}
	whole, err := k.oneScan(ctx, route)
	if err != nil {
		return "", err
	}
	if len(whole.events) <= len(clean.events) {
		return "", errors.New("the completed record did not arrive")
	}
	if len(torn.end.Frontier) == 0 {
		return "full reads only", nil
	}
	grown, err := k.appendScan(ctx, route, torn)
	if err != nil {
		return "", err
	}
	if grown.begin.Mode == historyv1.Mode_MODE_APPEND {
		grown.events = append(torn.events[:len(torn.events):len(torn.events)], grown.events...)
	}
	if diff := grown.differs(whole); diff != "" {
		return "", fmt.Errorf("read on and read in full: %s", diff)
	}
	return "", nil
}

func (k *kit) damagedRecord(ctx context.Context) (string, error) {
	return k.oneBadLine(ctx, []byte(`{"type":"torn","te`))
}

func (k *kit) longLine(ctx context.Context) (string, error) {
	record, err := k.lines.Record(0, 10, strings.Repeat("0123456789abcdef", 20<<20/16))
	if err != nil {
		return "", err
	}
	if len(record) <= 16<<20 {
		return "", notRun{"the fixture does not put the text into the record"}
	}
	return k.oneBadLine(ctx, record)
}

// oneBadLine puts a line between good ones: it must be rejected, alone, and
// named by its place.
func (k *kit) oneBadLine(ctx context.Context, bad []byte) (string, error) {
	want, err := k.history(1, 15)
	if err != nil {
		return "", err
	}
	clean, err := k.oneScan(ctx, want)
	if err != nil {
		return "", err
	}
	route, err := k.history(1, 10)
	if err != nil {
		return "", err
	}
	before, err := os.ReadFile(k.path(route, 0))
	if err != nil {
		return "", err
	}
	if err := appendFile(k.path(route, 0), append(bad, '\n')); err != nil {
		return "", err
	}
	if err := k.cfg.Fixture.Append(route.Path, 0, 10, 5); err != nil {
		return "", fmt.Errorf("the fixture cannot append: %w", err)
	}
	got, err := k.oneScan(ctx, route)
	if err != nil {
		return "", err
	}
	if len(got.events) != len(clean.events) || got.end.Counts.GetRetained() != clean.end.Counts.GetRetained() {
		return "", fmt.Errorf("%d events of %d records, want %d of %d", len(got.events), got.end.Counts.GetRetained(),
			len(clean.events), clean.end.Counts.GetRetained())
	}
	if got.end.Counts.GetRejected() != 1 || got.end.RejectionsTotal != 1 || len(got.rejections) != 1 {
		return "", fmt.Errorf("%d rejected, %d announced, %d travelled, want 1 each", got.end.Counts.GetRejected(),
			got.end.RejectionsTotal, len(got.rejections))
	}
	r := got.rejections[0]
	if line := uint64(bytes.Count(before, []byte("\n")) + 1); r.Line != line {
		return "", fmt.Errorf("the rejection names line %d, it is line %d", r.Line, line)
	}
	if r.ByteOffset != nil && *r.ByteOffset != uint64(len(before)) {
		return "", fmt.Errorf("the rejection names byte %d, it is byte %d", *r.ByteOffset, len(before))
	}
	return fmt.Sprintf("line %d: %s", r.Line, r.Detail), nil
}

func (k *kit) rewrittenPrefix(ctx context.Context) (string, error) {
	for _, shorter := range []bool{false, true} {
		route, err := k.history(1, someRecords)
		if err != nil {
			return "", err
		}
		base, err := k.oneScan(ctx, route)
		if err != nil {
			return "", err
		}
		if len(base.end.Frontier) == 0 {
			return "", notRun{"the provider gives no frontier: it always reads the whole source"}
		}
		if err := k.rewrite(route, shorter); err != nil {
			return "", err
		}
		got, err := k.appendScan(ctx, route, base)
		if err != nil {
			return "", err
		}
		if got.begin.Mode != historyv1.Mode_MODE_FULL {
			return "", errors.New("it read on behind a prefix that is no longer there")
		}
		want, err := k.oneScan(ctx, route)
		if err != nil {
			return "", err
		}
		if diff := got.differs(want); diff != "" {
			return "", fmt.Errorf("after the rewrite: %s", diff)
		}
	}
	return "", nil
}

// rewrite removes a line in the middle, and then lets the file grow beyond its
// old length or stay shorter.
func (k *kit) rewrite(route *historyv1.Route, shorter bool) error {
	path := k.path(route, 0)
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	middle := len(lines) / 2
	rest := bytes.Join(append(lines[:middle:middle], lines[middle+1:]...), nil)
	if err := os.WriteFile(path, rest, 0o600); err != nil {
		return err
	}
	if shorter {
		return nil
	}
	return k.cfg.Fixture.Append(route.Path, 0, someRecords, 5)
}

func (k *kit) vanishedFile(ctx context.Context) (string, error) {
	return k.oneBadFile(ctx, func(path string) error { return os.Remove(path) }, sdkplugin.Vanished)
}

func (k *kit) unreadableFile(ctx context.Context) (string, error) {
	if os.Geteuid() == 0 {
		return "", notRun{"the user is root, who can read everything"}
	}
	return k.oneBadFile(ctx, makeUnreadable, sdkplugin.Unreadable)
}

// oneBadFile spoils one of three files after the inventory.
func (k *kit) oneBadFile(ctx context.Context, spoil func(path string) error, want sdkplugin.FailureClass) (string, error) {
	p, route, inv, err := k.listed(ctx, 3, 2)
	if err != nil {
		return "", err
	}
	if err := spoil(k.path(route, 1)); err != nil {
		return "", err
	}
	jobs := make([]scanJob, len(inv.sources))
	for i, s := range inv.sources {
		jobs[i].source = s
	}
	scans, err := p.scan(ctx, route, jobs...)
	if err != nil {
		return "", err
	}
	for _, t := range scans {
		bad := t.source.Locator == k.lines.File(1)
		switch {
		case bad && t.failure == nil:
			return "", fmt.Errorf("%q was certified with %d events", t.source.Locator, len(t.events))
		case bad && t.failure.Class != string(want):
			return "", fmt.Errorf("class %q (%s), want %q", t.failure.Class, t.failure.Message, want)
		case !bad && t.failure != nil:
			return "", fmt.Errorf("the untouched %q failed: %s: %s", t.source.Locator, t.failure.Class, t.failure.Message)
		}
	}
	return "", nil
}

// hangTimeout ends a call that waits for a pipe.
const hangTimeout = 10 * time.Second

func (k *kit) linksAndPipes(ctx context.Context) (string, error) {
	p, route, before, err := k.listed(ctx, 3, 2)
	if err != nil {
		return "", err
	}
	outside, err := k.history(3, 2)
	if err != nil {
		return "", err
	}
	link, pipe := k.path(route, 1), k.path(route, 2)
	for _, path := range []string{link, pipe} {
		if err := os.Remove(path); err != nil {
			return "", err
		}
	}
	if err := os.Symlink(k.path(outside, 1), link); err != nil {
		return "", notRun{"this user cannot make symbolic links"}
	}
	if err := makePipe(pipe); err != nil {
		return "", notRun{"there are no named pipes here"}
	}
	defer os.Remove(pipe)
	ctx, cancel := context.WithTimeout(ctx, hangTimeout)
	defer cancel()
	inv, err := p.inventory(ctx, route)
	if err != nil {
		return "", err
	}
	if len(inv.sources) != 1 || inv.sources[0].Locator != k.lines.File(0) {
		return "", fmt.Errorf("%d sources are listed, only %q is a regular file", len(inv.sources), k.lines.File(0))
	}
	// As if they had taken the place of files after the inventory.
	for session := 1; session <= 2; session++ {
		source := before.byLocator(k.lines.File(session))
		if source == nil {
			continue
		}
		scans, err := p.scan(ctx, route, scanJob{source: source})
		if err != nil {
			return "", err
		}
		if scans[0].failure == nil {
			return "", fmt.Errorf("%q was read although it is no regular file", source.Locator)
		}
	}
	return "", nil
}

const (
	bigRecords = 16384
	bigText    = 4 << 10
	// After a cancellation the provider is looked at this often and this
	// far apart. At half of the looks it may be running: less is the work of
	// the runtime, more is work for nobody. Whether it is running or waiting
	// shows on a busy machine too, where used time would not.
	looks     = 20
	lookEvery = 25 * time.Millisecond
)

func (k *kit) cancelledScan(ctx context.Context) (string, error) {
	route, err := k.history(1, 1)
	if err != nil {
		return "", err
	}
	if err := k.writeBig(route); err != nil {
		return "", err
	}
	p, err := k.live()
	if err != nil {
		return "", err
	}
	inv, err := p.inventory(ctx, route)
	if err != nil {
		return "", err
	}
	if len(inv.sources) != 1 {
		return "", fmt.Errorf("%d sources for one file", len(inv.sources))
	}
	// Other work on the machine can disturb one measurement.
	detail := ""
	for range 3 {
		if detail, err = k.cancelOnce(ctx, p, route, inv.sources[0]); err == nil {
			break
		}
	}
	if err != nil {
		return "", err
	}
	if _, err := p.describe(ctx); err != nil {
		return "", fmt.Errorf("it does not answer any more: %w", err)
	}
	return detail, nil
}

func (k *kit) writeBig(route *historyv1.Route) error {
	text := strings.Repeat("0123456789abcdef", bigText/16)
	var content []byte
	for i := 1; i <= bigRecords; i++ {
		record, err := k.lines.Record(0, i, text)
		if err != nil {
			return err
		}
		content = append(append(content, record...), '\n')
		if _, slow := k.lines.(*CommandFixture); slow && i == 1 {
			content = bytes.Repeat(content, bigRecords)
			break
		}
	}
	return appendFile(k.path(route, 0), content)
}

func (k *kit) cancelOnce(ctx context.Context, p *process, route *historyv1.Route, source *historyv1.Source) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.api.Scan(ctx)
	if err != nil {
		return "", err
	}
	if err := stream.Send(scanSource(route, 0, scanJob{source: source})); err != nil {
		return "", err
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return "", fmt.Errorf("the scan ended before it was cancelled: %w", err)
		}
		if m.GetEnd() != nil || m.GetFailure() != nil {
			return "", errors.New("the source ended before it was cancelled")
		}
		if len(m.GetBatch().GetEvents()) > 0 {
			break
		}
	}
	cancel()
	time.Sleep(cancelTimeout)
	busy := 0
	for range looks {
		time.Sleep(lookEvery)
		running, known := isRunning(p.pid())
		if !known {
			return "the state of another process cannot be read here", nil
		}
		if running {
			busy++
		}
	}
	if busy > looks/2 {
		return "", fmt.Errorf("%v after the cancellation it was still running, at %d of %d looks", cancelTimeout, busy, looks)
	}
	return fmt.Sprintf("running at %d of %d looks after the cancellation", busy, looks), nil
}

func (k *kit) manySources(ctx context.Context) (string, error) {
	if k.cfg.Sources < 0 {
		return "", notRun{"switched off"}
	}
	p, route, inv, err := k.listed(ctx, k.cfg.Sources, 2)
	if err != nil {
		return "", err
	}
	if !inv.end.Complete {
		return "", fmt.Errorf("not complete: state %v, %d sources", inv.state(), len(inv.sources))
	}
	began := time.Now()
	if _, err := p.inventory(ctx, route); err != nil {
		return "", err
	}
	listing := time.Since(began)
	began = time.Now()
	scans, err := p.scanAll(ctx, route, inv)
	if err != nil {
		return "", err
	}
	reading := time.Since(began)
	sessions := 0
	for _, t := range scans {
		used := map[uint32]bool{}
		for _, e := range t.events {
			used[e.Session] = true
		}
		sessions += len(used)
	}
	if sessions != k.cfg.Sources {
		return "", fmt.Errorf("events of %d sessions, %d were written", sessions, k.cfg.Sources)
	}
	detail := fmt.Sprintf("%d sources listed in %v, read in %v", len(inv.sources), listing.Round(time.Millisecond), reading.Round(time.Millisecond))
	if peak, known := peakMemory(p.pid()); known {
		detail += fmt.Sprintf(", peak memory %d MiB", peak>>20)
	}
	return detail, nil
}
