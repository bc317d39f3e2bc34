package lexical

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// byteCount counts what is written to it.
type byteCount int

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}

// benchmarkBuild builds one segment of all texts an iteration.
func benchmarkBuild(b *testing.B, texts [][]byte) {
	var size int64
	for _, text := range texts {
		size += int64(len(text))
	}
	terms := []Term{{EventType, []byte("message")}, {FactSessionCWD, []byte("/home/dev/project")}}
	builder := NewBuilder(nil)
	b.SetBytes(size)
	var segment Segment
	var written byteCount
	for b.Loop() {
		for i, text := range texts {
			builder.Add(text, terms, Row{ID: uint64(i), Eligible: true})
		}
		var err error
		written = 0
		if segment, err = builder.Flush(&written, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(written)/float64(size)*100, "%index/text")
	b.ReportMetric(float64(segment.Docs), "docs")
}

func BenchmarkBuildSynthetic(b *testing.B) {
	g := newSynthetic(3)
	var texts [][]byte
	for range 20_000 {
		texts = append(texts, bytes.Clone(g.document()))
	}
	benchmarkBuild(b, texts)
}

// BenchmarkBuildCorpus indexes lines of real session files; CTX_CORPUS names their directory.
func BenchmarkBuildCorpus(b *testing.B) {
	root := os.Getenv("CTX_CORPUS")
	if root == "" {
		b.Skip("CTX_CORPUS is not set")
	}
	const enough = 100 << 20
	var texts [][]byte
	size := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jsonl") || size > enough {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			texts = append(texts, bytes.Clone(lines.Bytes()))
			size += len(lines.Bytes())
		}
		return lines.Err()
	})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkBuild(b, texts)
}

// benchmarkIndex writes segments of 20,000 documents; CTX_BENCH_DOCS is their number in total (100,000 without). Each segment holds the
// same texts with other columns.
func benchmarkIndex(b *testing.B) (string, []Segment) {
	documents := 100_000
	if v := os.Getenv("CTX_BENCH_DOCS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			b.Fatal(err)
		}
		documents = n
	}
	const inSegment = 20_000
	g := newSynthetic(1)
	texts := make([][]byte, inSegment)
	for i := range texts {
		texts[i] = bytes.Clone(g.document())
	}
	texts[8] = append(texts[8], " rarestword otherrareword"...)
	var sizes []int
	for n := 0; n < documents; n += inSegment {
		sizes = append(sizes, min(inSegment, documents-n))
	}
	dir := b.TempDir()
	return dir, buildIndex(b, dir, nil, func(builder *Builder, n int) {
		builder.Add(texts[n%inSegment], g.terms(n), g.row(n))
	}, sizes...)
}

func BenchmarkReader(b *testing.B) {
	dir, segments := benchmarkIndex(b)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			r, err := OpenReader(dir, segments)
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
	})
	b.Run("open and search", func(b *testing.B) {
		for b.Loop() {
			r, err := OpenReader(dir, segments)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkSearch(b, r, Query{Terms: QueryTerms("rarestword the"), Limit: 256})
			r.Close()
		}
	})
	r, err := OpenReader(dir, segments)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	half := r.Where(ByScope, func(v uint32) bool { return v == 0 })
	for _, c := range []struct {
		name  string
		query Query
	}{
		{"three common words", Query{Terms: QueryTerms("the to file"), Limit: 256}},
		{"three common words filtered", Query{Terms: QueryTerms("the to file"), Limit: 256, Filter: half}},
		{"two rare words", Query{Terms: QueryTerms("rarestword otherrareword"), Limit: 256}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				benchmarkSearch(b, r, c.query)
			}
		})
	}
	b.Run("file substring", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.MatchTerms([]Field{FactFile}, func(v []byte) bool { return bytes.Contains(v, []byte("src/file7.go")) }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("four sessions", func(b *testing.B) {
		for b.Loop() {
			r.InSessions([]uint32{5, 1000, 1001, 2400})
		}
	})
	b.Run("where", func(b *testing.B) {
		for b.Loop() {
			r.Where(ByScope, func(v uint32) bool { return v == 0 })
		}
	})
}

func benchmarkSearch(b *testing.B, r *Reader, q Query) {
	result, err := r.Search(context.Background(), q)
	if err != nil || result.Matches == 0 {
		b.Fatal(result.Matches, err)
	}
}
