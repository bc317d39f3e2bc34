package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
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

// oneSource lists a history of one source.
func (k *kit) oneSource(route *historyv1.Route) *inventory {
	inv := k.live().inventory(k.ctx, route)
	if len(inv.sources) != 1 {
		failf("%d sources for one session", len(inv.sources))
	}
	return inv
}

// oneScan is a full scan of a history of one source.
func (k *kit) oneScan(route *historyv1.Route) *transcript {
	t := k.live().scanAll(k.ctx, route, k.oneSource(route))[0]
	try(t.accounted())
	return t
}

// appendScan asks to go on behind base.
func (k *kit) appendScan(route *historyv1.Route, base *transcript) *transcript {
	t := k.live().scan(k.ctx, route, scanJob{source: k.oneSource(route).sources[0], base: base})[0]
	if f := t.failure; f != nil {
		failf("an append failed: %s: %s", f.Class, f.Message)
	}
	return t
}

func (k *kit) certifiedDigest() string {
	route, inv := k.listed(2, someRecords)
	for _, t := range k.live().scanAll(k.ctx, route, inv) {
		content := must(os.ReadFile(filepath.Join(route.Path, filepath.FromSlash(t.source.Locator))))
		if t.end.CertifiedBytes != uint64(len(content)) {
			failf("%q: %d bytes certified of %d complete ones", t.source.Locator, t.end.CertifiedBytes, len(content))
		}
		if digest := sha256.Sum256(content); !bytes.Equal(digest[:], t.end.ContentDigest) {
			failf("%q: another digest", t.source.Locator)
		}
	}
	return ""
}

func (k *kit) tornTail() string {
	route := k.history(1, someRecords)
	clean := k.oneScan(route)
	record := must(k.lines.Record(0, someRecords, "the last record"))
	half := len(record) / 2
	var torn *transcript
	for _, piece := range [][]byte{record[:half], record[half:]} {
		try(appendFile(k.path(route, 0), piece))
		torn = k.oneScan(route)
		if diff := clean.differs(torn); diff != "" {
			failf("a record without its line feed made a difference: %s", diff)
		}
	}
	try(appendFile(k.path(route, 0), []byte("\n")))
	whole := k.oneScan(route)
	if len(whole.events) <= len(clean.events) {
		failf("the completed record did not arrive")
	}
	if len(torn.end.Frontier) == 0 {
		return "full reads only"
	}
	if diff := k.appendScan(route, torn).after(torn).differs(whole); diff != "" {
		failf("read on and read in full: %s", diff)
	}
	return ""
}

func (k *kit) damagedRecord() string { return k.oneBadLine([]byte(`{"type":"torn","te`)) }

func (k *kit) longLine() string {
	record := must(k.lines.Record(0, 10, strings.Repeat("0123456789abcdef", 20<<20/16)))
	if len(record) <= 16<<20 {
		skipf("the fixture does not put the text into the record")
	}
	return k.oneBadLine(record)
}

// oneBadLine puts a line between good ones: it must be rejected, alone, and named by its place.
func (k *kit) oneBadLine(bad []byte) string {
	clean := k.oneScan(k.history(1, 15))
	route := k.history(1, 10)
	before := must(os.ReadFile(k.path(route, 0)))
	try(appendFile(k.path(route, 0), append(bad, '\n')))
	k.grow(route, 10, 5)
	got := k.oneScan(route)
	if counts, want := got.end.Counts, clean.end.Counts; len(got.events) != len(clean.events) || counts.GetRetained() != want.GetRetained() {
		failf("%d events of %d records, want %d of %d", len(got.events), counts.GetRetained(), len(clean.events), want.GetRetained())
	}
	if n := got.end.Counts.GetRejected(); n != 1 || got.end.RejectionsTotal != 1 || len(got.rejections) != 1 {
		failf("%d rejected, %d announced, %d travelled, want 1 each", n, got.end.RejectionsTotal, len(got.rejections))
	}
	r := got.rejections[0]
	if line := uint64(bytes.Count(before, []byte("\n")) + 1); r.Line != line {
		failf("the rejection names line %d, it is line %d", r.Line, line)
	}
	if r.ByteOffset != nil && *r.ByteOffset != uint64(len(before)) {
		failf("the rejection names byte %d, it is byte %d", *r.ByteOffset, len(before))
	}
	return fmt.Sprintf("line %d: %s", r.Line, r.Detail)
}

// rewrittenPrefix removes a line in the middle, and lets the file grow beyond its old length or stay shorter.
func (k *kit) rewrittenPrefix() string {
	for _, added := range []int{5, 0} {
		route := k.history(1, someRecords)
		base := k.oneScan(route)
		if len(base.end.Frontier) == 0 {
			skipf(noFrontier)
		}
		path := k.path(route, 0)
		lines := bytes.SplitAfter(must(os.ReadFile(path)), []byte("\n"))
		lines[len(lines)/2] = nil
		try(os.WriteFile(path, bytes.Join(lines, nil), 0o600))
		if added > 0 {
			k.grow(route, someRecords, added)
		}
		got := k.appendScan(route, base)
		if got.begin.Mode != historyv1.Mode_MODE_FULL {
			failf("it read on behind a prefix that is no longer there")
		}
		if diff := got.differs(k.oneScan(route)); diff != "" {
			failf("after the rewrite: %s", diff)
		}
	}
	return ""
}

func (k *kit) vanishedFile() string { return k.oneBadFile(os.Remove, sdkplugin.Vanished) }

func (k *kit) unreadableFile() string {
	if os.Geteuid() == 0 {
		skipf("the user is root, who can read everything")
	}
	return k.oneBadFile(makeUnreadable, sdkplugin.Unreadable)
}

// oneBadFile spoils one of three files after the inventory.
func (k *kit) oneBadFile(spoil func(path string) error, want sdkplugin.FailureClass) string {
	route, inv := k.listed(3, 2)
	try(spoil(k.path(route, 1)))
	for _, t := range k.live().scan(k.ctx, route, inv.jobs(nil)...) {
		bad := t.source.Locator == k.lines.File(1)
		switch {
		case bad && t.failure == nil:
			failf("%q was certified with %d events", t.source.Locator, len(t.events))
		case bad && t.failure.Class != string(want):
			failf("class %q (%s), want %q", t.failure.Class, t.failure.Message, want)
		case !bad && t.failure != nil:
			failf("the untouched %q failed: %s: %s", t.source.Locator, t.failure.Class, t.failure.Message)
		}
	}
	return ""
}

// hangTimeout ends a call that waits for a pipe.
const hangTimeout = 10 * time.Second

func (k *kit) linksAndPipes() string {
	route, before := k.listed(3, 2)
	outside := k.history(3, 2)
	link, pipe := k.path(route, 1), k.path(route, 2)
	try(os.Remove(link))
	try(os.Remove(pipe))
	if os.Symlink(k.path(outside, 1), link) != nil {
		skipf("this user cannot make symbolic links")
	}
	if makePipe(pipe) != nil {
		skipf("there are no named pipes here")
	}
	defer os.Remove(pipe)
	ctx, cancel := context.WithTimeout(k.ctx, hangTimeout)
	defer cancel()
	inv := k.live().inventory(ctx, route)
	if len(inv.sources) != 1 || inv.sources[0].Locator != k.lines.File(0) {
		failf("%d sources are listed, only %q is a regular file", len(inv.sources), k.lines.File(0))
	}
	// As if they had taken the place of files after the inventory.
	for _, source := range before.sources {
		if source.Locator != k.lines.File(0) && k.live().scan(ctx, route, scanJob{source: source})[0].failure == nil {
			failf("%q was read although it is no regular file", source.Locator)
		}
	}
	return ""
}

const (
	bigRecords = 16384
	bigText    = 4 << 10
	// After a cancellation the provider is looked at this often and this far apart. At half of the looks it may be running: less
	// is the work of the runtime, more is work for nobody. Whether it is running or waiting shows on a busy machine too, where
	// used time would not.
	looks     = 20
	lookEvery = 25 * time.Millisecond
)

func (k *kit) cancelledScan() string {
	route := k.history(1, 1)
	text := strings.Repeat("0123456789abcdef", bigText/16)
	_, slow := k.lines.(*CommandFixture) // a process for each record
	var content []byte
	for i := 1; i <= bigRecords; i++ {
		content = append(append(content, must(k.lines.Record(0, i, text))...), '\n')
		if slow {
			content = bytes.Repeat(content, bigRecords)
			break
		}
	}
	try(appendFile(k.path(route, 0), content))
	source := k.oneSource(route).sources[0]
	busy, known := 0, false
	for range 3 { // other work on the machine can disturb one measurement
		if busy, known = k.cancelOnce(route, source); busy <= looks/2 {
			break
		}
	}
	k.live().answers(k.ctx)
	switch {
	case !known:
		return "the state of another process cannot be read here"
	case busy > looks/2:
		failf("%v after the cancellation it was still running, at %d of %d looks", cancelTimeout, busy, looks)
	}
	return fmt.Sprintf("running at %d of %d looks after the cancellation", busy, looks)
}

// cancelOnce cancels a scan after its first events and counts at how many looks the provider is busy after that.
func (k *kit) cancelOnce(route *historyv1.Route, source *historyv1.Source) (busy int, known bool) {
	p := k.live()
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	stream := must(p.api.Scan(ctx))
	try(stream.Send(scanSource(route, 0, scanJob{source: source})))
	for {
		m, err := stream.Recv()
		if err != nil || m.GetEnd() != nil || m.GetFailure() != nil {
			failf("the source ended before it was cancelled: %v", err)
		}
		if len(m.GetBatch().GetEvents()) > 0 {
			break
		}
	}
	cancel()
	time.Sleep(cancelTimeout)
	for range looks {
		time.Sleep(lookEvery)
		running, can := isRunning(p.pid())
		if !can {
			return 0, false
		}
		if running {
			busy++
		}
	}
	return busy, true
}

func (k *kit) manySources() string {
	if k.cfg.Sources < 0 {
		skipf("switched off")
	}
	route, inv := k.listed(k.cfg.Sources, 2)
	if !inv.end.Complete {
		failf("not complete: state %v, %d sources", inv.state(), len(inv.sources))
	}
	p := k.live()
	began := time.Now()
	p.inventory(k.ctx, route)
	listing := time.Since(began).Round(time.Millisecond)
	began = time.Now()
	scans := p.scanAll(k.ctx, route, inv)
	reading := time.Since(began).Round(time.Millisecond)
	sessions := 0
	for _, t := range scans {
		used := map[uint32]bool{}
		for _, e := range t.events {
			used[e.Session] = true
		}
		sessions += len(used)
	}
	if sessions != k.cfg.Sources {
		failf("events of %d sessions, %d were written", sessions, k.cfg.Sources)
	}
	return fmt.Sprintf("%d sources listed in %v, read in %v", len(inv.sources), listing, reading)
}
