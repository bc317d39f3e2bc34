package core

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/agenthistory/ctx/host/record"
)

// BenchmarkBuild builds an archive of 20,000 events of 2 KB from nothing.
func BenchmarkBuild(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 1024)
	for i := range texts {
		texts[i] = words(r, 2000)
	}
	for b.Loop() {
		a := newArchive(b)
		c, err := a.Begin(context.Background(), BeginOptions{})
		a.must(err)
		var bytes int64
		for i := range 20 {
			s := source{name: fmt.Sprint(i), sessions: []session{{name: fmt.Sprint("s", i)}}}
			for k := range 1000 {
				text := texts[(i*37+k)%len(texts)]
				bytes += int64(len(text))
				s.sessions[0].events = append(s.sessions[0].events, event{key: fmt.Sprint(k), sequence: uint64(k), time: int64(1_700_000_000_000 + i*k), text: text})
			}
			w, err := c.Replace(s.spec())
			a.must(err)
			a.must(s.feed(w))
			a.must(w.Finish(Certificate{ParserRevision: "test-1"}, nil))
		}
		_, err = c.Publish(context.Background(), PublishOptions{})
		a.must(err)
		b.SetBytes(bytes)
	}
}

// BenchmarkPin opens and closes a generation of 70 segments.
func BenchmarkPin(b *testing.B) {
	a := newArchive(b)
	wide(a, 350, 6, 30)
	for b.Loop() {
		g, err := a.Pin(context.Background())
		a.must(err)
		a.must(g.Close())
	}
}

// BenchmarkAppend adds one event to an archive of 70 segments.
func BenchmarkAppend(b *testing.B) {
	a := newArchive(b)
	wide(a, 350, 6, 30)
	n := uint64(0)
	for b.Loop() {
		n++
		added := source{name: "source-0007", sessions: []session{{name: "source-0007-s0", events: []event{{key: fmt.Sprint("new", n), sequence: 100 + n, text: "one more"}}}}}
		a.refresh(func(c *Candidate) {
			w, err := c.Append(added.spec())
			a.must(err)
			a.must(added.feed(w))
			cert := added.certificate()
			cert.CertifiedBytes = 1<<20 + n
			cert.Counts = Counts{Complete: 6 + n, Retained: 6 + n}
			a.must(w.Finish(cert, []byte("f")))
		})
		if n%mergeFanIn == 0 {
			a.merge(MergePolicy{})
		}
	}
}

// BenchmarkEvent reads records at random places.
func BenchmarkEvent(b *testing.B) {
	a := newArchive(b)
	wide(a, 20, 500, 5000)
	g := a.pin()
	docs := docs(a, g.Range(nil, nil, false))
	r := rand.New(rand.NewPCG(7, 8))
	var e record.Event
	var buf []byte
	for b.Loop() {
		var err error
		buf, err = g.EventInto(buf, docs[r.IntN(len(docs))], &e)
		a.must(err)
	}
}
