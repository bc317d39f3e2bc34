package claude

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

// corpusRoute returns real transcripts: those of the home directory that CTX_CORPUS names.
func corpusRoute(t testing.TB) sdkplugin.Route {
	home := os.Getenv("CTX_CORPUS")
	if home == "" {
		t.Skip("CTX_CORPUS is not set")
	}
	dir := filepath.Join(home, ".claude", projectsDir)
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	return sdkplugin.Route{Path: dir, Format: formatName, Role: routeRole}
}

// digestSink keeps a digest of everything it gets.
type digestSink struct {
	recorder
	sum    hash.Hash
	events int
}

func (d *digestSink) Event(e *sdkplugin.Event) error {
	d.events++
	if d.sum != nil {
		fmt.Fprintln(d.sum, renderEvent(e))
	}
	return nil
}

func (d *digestSink) Reject(r sdkplugin.Rejection) error {
	if d.sum != nil {
		fmt.Fprintln(d.sum, r)
	}
	return d.recorder.Reject(r)
}

func TestCorpus(t *testing.T) {
	route := corpusRoute(t)
	p := &provider{}
	inv, err := p.list(context.Background(), []sdkplugin.Route{route})
	if err != nil {
		t.Fatal(err)
	}
	var digests [2]string
	for round := range digests {
		sum := sha256.New()
		s := &scanner{}
		var events int
		var counts sdkplugin.Counts
		for i := range inv.found {
			sink := &digestSink{sum: sum}
			req := sdkplugin.ScanRequest{Route: route, Source: inv.found[i].source(), Mode: sdkplugin.ModeFull}
			if err := s.scan(context.Background(), &req, sink); err != nil {
				t.Fatalf("%s: %v", inv.found[i].locator, err)
			}
			fmt.Fprintf(sum, "%+v %x\n", sink.ending, sink.ending.Frontier)
			for _, r := range sink.rejections {
				t.Logf("%s: %s", inv.found[i].locator, r)
			}
			events += sink.events
			counts.Retained += sink.retained
			counts.Ignored += sink.ignored
			counts.Rejected += sink.rejected
		}
		digests[round] = fmt.Sprintf("%x", sum.Sum(nil))
		if round == 0 {
			t.Logf("%d sources, %d events, %+v", len(inv.found), events, counts)
		}
		if counts.Rejected*1000 > counts.Retained {
			t.Errorf("%d rejected beside %d retained", counts.Rejected, counts.Retained)
		}
	}
	if digests[0] != digests[1] {
		t.Error("two scans of one tree differ")
	}
}

func BenchmarkCorpus(b *testing.B) {
	route := corpusRoute(b)
	p := &provider{}
	inv, err := p.list(context.Background(), []sdkplugin.Route{route})
	if err != nil {
		b.Fatal(err)
	}
	var bytes int64
	for i := range inv.found {
		bytes += int64(inv.found[i].observed.transcript.Size)
	}
	s := &scanner{}
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		for i := range inv.found {
			sink := &digestSink{}
			req := sdkplugin.ScanRequest{Route: route, Source: inv.found[i].source(), Mode: sdkplugin.ModeFull}
			if err := s.scan(context.Background(), &req, sink); err != nil {
				b.Fatal(err)
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
}
